package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"authsvc/adapter"
	"authsvc/internal/text/plainlog"
)

type usersExport struct {
	Who  string `arg:"" optional:"" help:"The id or the address of the user."`
	All  bool   `help:"Everything about everyone: one JSON object a line for each person."`
	JSON bool   `name:"json" hidden:"" help:"Has no effect: the output is JSON."`
}

// Run prints what a person, or each person, can export on the account page.
func (c usersExport) Run(p *program) error {
	if err := oneOrAll(c.Who, c.All); err != nil {
		return err
	}
	return p.withPeople(func(p *people) error {
		if c.All {
			return p.exportAll()
		}
		u, err := p.find(c.Who)
		if err != nil {
			return err
		}
		return p.engine.Export(p.ctx, u.ID, plainLines{p.stdout, "\n"})
	})
}

// oneOrAll refuses a command line that names neither a user nor all of them, or both.
func oneOrAll(who string, all bool) error {
	switch {
	case who == "" && !all:
		return fmt.Errorf("name a user, or give --all: %w", errUsage)
	case who != "" && all:
		return fmt.Errorf("--all must not be combined with a user: %w", errUsage)
	}
	return nil
}

// exportAll prints the export of each user on a line of its own. It holds one page of
// users in memory, and one page of events. It leaves out users that are deleted
// meanwhile.
func (p *people) exportAll() error {
	due, n := progressEach(), 0
	out := bufio.NewWriter(p.stdout)
	for after := ""; ; {
		page, err := p.adapter.ListUsers(p.ctx, after, usersPage)
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		for _, u := range page {
			after = u.ID
			err := p.engine.Export(p.ctx, u.ID, plainLines{out, ""})
			if errors.Is(err, adapter.ErrNotFound) {
				continue
			}
			if err == nil {
				err = out.WriteByte('\n')
			}
			if err != nil {
				return errors.Join(fmt.Errorf("the export ends at the user %s: %w", plainlog.Text(u.ID), err), out.Flush())
			}
			if n++; due() {
				fmt.Fprintf(p.stderr, "%s so far\n", plural(n, "user", "users"))
			}
		}
		if len(page) < usersPage {
			return out.Flush()
		}
	}
}

// plainLines removes control characters from JSON. It ends each line with end, which may
// be empty: between its values, JSON needs no line ends.
type plainLines struct {
	io.Writer
	end string
}

// Write implements [io.Writer]. Each call must get whole characters.
func (w plainLines) Write(b []byte) (int, error) {
	lines := strings.Split(string(b), "\n")
	for i := range lines {
		lines[i] = plainlog.Text(lines[i])
	}
	if _, err := io.WriteString(w.Writer, strings.Join(lines, w.end)); err != nil {
		return 0, err
	}
	return len(b), nil
}
