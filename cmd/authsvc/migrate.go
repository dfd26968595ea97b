package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"authsvc"
	"authsvc/adapter/sqlite"
	"authsvc/cmd/authsvc/internal/config"
)

type migrateCommand struct {
	Status migrateStatus `cmd:"" default:"1" help:"Show which changes of the schema were made (default)."`
	Up     migrateUp     `cmd:"" help:"Bring the schema up to date."`
	Down   migrateDown   `cmd:"" help:"Take the last change back, with the data in authsvc's own tables."`
	Compat migrateCompat `cmd:"" help:"Accept another compat mode; sessions of the old one end."`
	Issuer migrateIssuer `cmd:"" help:"Accept that the id of a provider now means another issuer."`
}

type (
	migrateStatus struct{}
	migrateUp     struct {
		DryRun bool `help:"Only say what would be done."`
	}
	migrateDown struct {
		DryRun bool `help:"Only say what would be done."`
	}
	migrateCompat struct {
		Mode   string `arg:"" enum:"none,next-auth-v4,authjs-v5" help:"none, next-auth-v4 or authjs-v5."`
		DryRun bool   `help:"Only say what would be done."`
	}
	migrateIssuer struct {
		Provider string `arg:"" help:"The id of the provider in the configuration."`
		DryRun   bool   `help:"Only say what would be done."`
	}
)

// withStore opens the store without changing its schema. Only create may make
// one that is not there.
func (p *program) withStore(create bool, do func(*config.Settings, *store) error) (err error) {
	s, err := p.load(nil)
	if err != nil {
		return err
	}
	if missing, err := storeMissing(s); err != nil {
		return err
	} else if missing && !create {
		return fmt.Errorf("storage %s does not exist yet", describeStorage(s))
	}
	st, err := openStore(p.ctx, s, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	return do(s, st)
}

// withSchema is withStore for stores with tables.
func (p *program) withSchema(create bool, do func(*config.Settings, schema) error) error {
	return p.withStore(create, func(s *config.Settings, st *store) error {
		if st.schema == nil {
			return fmt.Errorf("storage %s has no schema", describeStorage(s))
		}
		return do(s, st.schema)
	})
}

// Run shows the status.
func (migrateStatus) Run(p *program) error {
	return p.withSchema(false, func(_ *config.Settings, sc schema) error { return p.status(sc) })
}

func (p *program) status(sc schema) error {
	status, err := sc.Status(p.ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.stdout, schemaText(status))
	for _, m := range status.Migrations {
		state := "pending"
		if m.Applied {
			state = "applied"
		}
		fmt.Fprintf(p.stdout, "%4d  %s  %s\n", m.Version, state, m.Name)
	}
	return nil
}

// Run brings the schema up to date.
func (c migrateUp) Run(p *program) error { return p.migrate(sqlite.Up, c.DryRun) }

// Run takes the last change back.
func (c migrateDown) Run(p *program) error { return p.migrate(sqlite.Down, c.DryRun) }

func (p *program) migrate(d sqlite.Direction, dryRun bool) error {
	if dryRun {
		return p.plan(d)
	}
	return p.withSchema(d == sqlite.Up, func(_ *config.Settings, sc schema) error {
		if err := sc.Migrate(p.ctx, d); err != nil {
			return err
		}
		return p.status(sc)
	})
}

// plan says what migrate would do.
func (p *program) plan(d sqlite.Direction) error {
	return p.withSchema(false, func(_ *config.Settings, sc schema) error {
		status, err := sc.Status(p.ctx)
		if err != nil {
			return err
		}
		planned := 0
		for _, m := range status.Migrations {
			if d == sqlite.Up && !m.Applied || d == sqlite.Down && m.Version == status.Current {
				planned++
				fmt.Fprintf(p.stdout, "would %s %d, %s\n", map[sqlite.Direction]string{sqlite.Up: "apply", sqlite.Down: "take back"}[d], m.Version, m.Name)
			}
		}
		if planned == 0 {
			fmt.Fprintln(p.stdout, "nothing to do")
		}
		return nil
	})
}

// Run writes the mode down in the store. Sessions and links of the old mode
// are stored in another form and are not recognised after that; the sweep
// removes them when they expire.
func (c migrateCompat) Run(p *program) error {
	return p.accept("compat", c.DryRun, func(s *config.Settings) { s.Engine.Compat = authsvc.Compat(c.Mode) })
}

// Run writes the present issuer of a provider down in the store.
func (c migrateIssuer) Run(p *program) error {
	return p.accept("issuer:"+c.Provider, c.DryRun, func(*config.Settings) {})
}

// accept has the engine meet the store with one of the records that it
// compares replaced by its own.
func (p *program) accept(key string, dryRun bool, change func(*config.Settings)) error {
	return p.withStore(false, func(s *config.Settings, st *store) error {
		if st.Adapter == nil {
			return fmt.Errorf("storage %s remembers nothing", describeStorage(s))
		}
		change(s)
		a := &accepting{Adapter: st.Adapter, key: key, dryRun: dryRun}
		s.Engine.Adapter, s.Engine.Logger = a, slog.New(slog.DiscardHandler)
		service, err := authsvc.New(s.Engine)
		if err != nil {
			return s.Explain(err)
		}
		if err := p.close(service); err != nil {
			return err
		}
		switch {
		case a.accepted == "":
			return fmt.Errorf("%s is no provider of the configuration with an issuer", key[len("issuer:"):])
		case dryRun:
			fmt.Fprintln(p.stdout, "would set", key, "to", a.accepted)
		default:
			fmt.Fprintln(p.stdout, key, "is now", a.accepted)
		}
		return nil
	})
}

// accepting replaces the one record that it is for, writes no other one, and
// keeps the engine from working on the store in the meantime.
type accepting struct {
	authsvc.Adapter
	key      string
	dryRun   bool
	accepted string
}

// PutMeta implements [authsvc.Adapter].
func (a *accepting) PutMeta(ctx context.Context, key, value string) (string, error) {
	if key != a.key {
		return value, nil
	}
	a.accepted = value
	if a.dryRun {
		return value, nil
	}
	return value, a.SetMeta(ctx, key, value)
}

// ClaimMail implements [authsvc.Adapter]: no mail leaves.
func (a *accepting) ClaimMail(context.Context, time.Time, time.Time) (authsvc.Mail, error) {
	return authsvc.Mail{}, authsvc.ErrNotFound
}

// Sweep implements [authsvc.Adapter].
func (a *accepting) Sweep(context.Context, time.Time, int) (int, error) { return 0, nil }
