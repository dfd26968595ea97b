package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/text"
	"authsvc/internal/text/plainlog"
)

type (
	usersCreate struct {
		neverAsks
		Email    string `required:"" placeholder:"ADDRESS" help:"The address."`
		Verified bool   `help:"The address is known to belong to the person; otherwise it is verified once the person opens a mailed link."`
		Name     string `placeholder:"TEXT" help:"The name."`
		JSON     bool   `name:"json" help:"One JSON object."`
	}
	usersInvite struct {
		neverAsks
		Addresses []string `arg:"" name:"address" help:"The addresses."`
		Language  string   `placeholder:"TAG" help:"The language of the mails, such as de."`
		JSON      bool     `name:"json" help:"One JSON object a line."`
	}
	usersSet struct {
		destructive
		Name     *string `placeholder:"TEXT" help:"The new name; empty: none."`
		Email    *string `placeholder:"ADDRESS" help:"The new address. All sessions end, and links to both addresses are void."`
		Verified bool    `help:"The new address is known to belong to the person."`
	}
)

// Run adds a user.
func (c usersCreate) Run(p *program) error {
	if err := checkAddress(c.Email); err != nil {
		return err
	}
	return p.withPeople(func(p *people) error {
		u := authsvc.User{Name: c.Name, Email: c.Email}
		if c.Verified {
			u.EmailVerified = time.Now()
		}
		u, err := p.engine.CreateUser(p.ctx, u)
		if err != nil {
			return wrongValue(addressTaken(err, c.Email))
		}
		return p.printUser("added", u, c.JSON)
	})
}

// Run invites each person separately. A failure does not stop the others.
func (c usersInvite) Run(p *program) error {
	return p.withPeople(func(p *people) error {
		var failed []error
		for _, address := range c.Addresses {
			u, err := p.engine.Invite(p.ctx, authsvc.Invitation{Email: address, Language: c.Language})
			switch {
			case errors.Is(err, adapter.ErrConflict):
				err = errors.New("is the address of a user who has already proved it")
			case err == nil:
				err = p.printUser("invited", u, c.JSON)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("%q: %w", truncate(address), err))
			}
		}
		return errors.Join(failed...)
	})
}

// Run changes the name or the address of a user.
func (c usersSet) Run(p *program) error {
	change := adapter.UserUpdate{Name: c.Name, Email: c.Email}
	switch {
	case c.Name == nil && c.Email == nil:
		return fmt.Errorf("name a change with --name or --email: %w", errUsage)
	case c.Verified && c.Email == nil:
		return fmt.Errorf("--verified requires --email: %w", errUsage)
	case c.Verified:
		now := time.Now()
		change.EmailVerified = &now
	}
	if c.Email != nil && *c.Email != "" {
		if err := checkAddress(*c.Email); err != nil {
			return err
		}
	}
	return p.withPeople(func(p *people) error {
		what, done := "change the name", "changed the name"
		if c.Email != nil {
			what, done = "change the address and end all sessions", "changed the address and ended all sessions"
		} else {
			c.Yes = true // nothing ends, so there is nothing to confirm
		}
		explain := func(err error) error {
			if c.Email != nil {
				err = addressTaken(err, *c.Email)
			}
			return wrongValue(err)
		}
		u, err := p.find(c.Who)
		if err == nil {
			err = explain(p.engine.DryRunUpdate(p.ctx, u.ID, change)) // before the question
		}
		if err != nil {
			return err
		}
		return p.do(c.destructive, what, done, func(u authsvc.User) error {
			_, err := p.engine.UpdateUser(p.ctx, u.ID, change)
			return explain(err)
		})
	})
}

// checkAddress refuses a --email that is not an address.
func checkAddress(address string) error {
	if _, err := authsvc.NormaliseEmail(address); err != nil {
		return fmt.Errorf("--email %q cannot be used: %w: %w", truncate(address), err, errUsage)
	}
	return nil
}

// addressTaken returns a readable error if the address belongs to another user.
func addressTaken(err error, address string) error {
	if errors.Is(err, adapter.ErrConflict) {
		return fmt.Errorf("a user with the address %q already exists", truncate(address))
	}
	return err
}

// wrongValue marks an error about the value of a flag as a mistake in the command line.
// Other errors stay as they are.
func wrongValue(err error) error {
	var invalid *text.Invalid
	if !errors.As(err, &invalid) {
		return err
	}
	return fmt.Errorf("%s: %w", strings.ReplaceAll(invalid.Error(), "authsvc: ", ""), errUsage)
}

// printUser prints the change and the user, or the user as JSON.
func (p *people) printUser(done string, u authsvc.User, asJSON bool) error {
	if asJSON {
		return p.printLine(lineOf(u))
	}
	_, err := fmt.Fprintf(p.stdout, "%s %s (%s)\n", done, plainlog.Text(u.ID), plainlog.Text(u.Email))
	return err
}
