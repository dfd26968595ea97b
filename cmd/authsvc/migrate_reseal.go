package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"authsvc/engine"
)

type migrateReseal struct {
	neverAsks
	DryRun bool `help:"Only count."`
}

// Run has the engine reseal the records that later secrets sealed.
func (c migrateReseal) Run(p *program) error {
	return p.withPeople(func(p *people) error {
		r, err := p.engine.Reseal(p.ctx, c.DryRun, progressOf(p.stderr))
		verb := map[bool]string{true: "would reseal ", false: "resealed "}[c.DryRun]
		if r.Stale() == 0 {
			verb = "nothing to reseal"
		}
		fmt.Fprintf(p.stdout, "%s%s; read the records of %s\n", verb, sealedText(r), plural(r.Users, "user", "users"))
		if err != nil {
			return err
		}
		if r.Left > 0 {
			fmt.Fprintf(p.stdout, "left %s, which no configured secret opens\n", plural(r.Left, "record", "records"))
			return errFindings
		}
		return nil
	})
}

// sealedText lists what later secrets sealed, "" if that is nothing.
func sealedText(r engine.Resealed) string {
	var parts []string
	if r.Accounts > 0 {
		parts = append(parts, "the tokens of "+plural(r.Accounts, "account", "accounts"))
	}
	if r.Credentials > 0 {
		parts = append(parts, plural(r.Credentials, "credential", "credentials"))
	}
	if r.SigningKeys {
		parts = append(parts, "the signing keys")
	}
	return strings.Join(parts, ", ")
}

// progressEvery is how often a long operation reports its progress.
const progressEvery = 10 * time.Second

// progressEach returns a function that reports, once in progressEvery, that progress is
// due.
func progressEach() (due func() bool) {
	last := time.Now()
	return func() bool {
		if time.Since(last) < progressEvery {
			return false
		}
		last = time.Now()
		return true
	}
}

// stillRunning reports once in progressEvery how long work that cannot be counted has
// taken, until stop is called.
func (p *program) stillRunning() (stop func()) {
	began, done := time.Now(), make(chan struct{})
	var reports sync.WaitGroup
	reports.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				fmt.Fprintf(p.stderr, "still running after %s\n", now.Sub(began).Round(time.Second))
			}
		}
	})
	return func() { close(done); reports.Wait() }
}

// progressOf returns a function that Reseal calls after each step, and that reports the
// progress to w.
func progressOf(w io.Writer) func(engine.Resealed) error {
	due := progressEach()
	return func(r engine.Resealed) error {
		if !due() {
			return nil
		}
		_, err := fmt.Fprintf(w, "%s so far: %s\n", plural(r.Users, "user", "users"), cmp.Or(sealedText(r), "nothing"))
		return err
	}
}
