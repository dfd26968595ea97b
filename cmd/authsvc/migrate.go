package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"authsvc"
	"authsvc/adapter"
	"authsvc/cmd/authsvc/internal/config"
	tables "authsvc/internal/sql/stores"
)

type migrateCommand struct {
	Status    migrateStatus    `cmd:"" default:"1" help:"Show which changes of the schema were made (default)."`
	Up        migrateUp        `cmd:"" help:"Bring the schema up to date."`
	Down      migrateDown      `cmd:"" help:"Roll back the last change, and delete the data in authsvc's own tables."`
	Compat    migrateCompat    `cmd:"" help:"Accept another compat mode; sessions of the old mode end."`
	Reseal    migrateReseal    `cmd:"" help:"Seal the records of later secrets under the first one, so that you can remove the others."`
	Normalize migrateNormalize `cmd:"" aliases:"emails" help:"Bring addresses of users into the normal form that lookups use."`
	Tokens    migrateTokens    `cmd:"" help:"Store the tokens of providers as storage.provider_tokens says now."`
	Issuer    migrateIssuer    `cmd:"" help:"Accept that the id of a provider now means another issuer."`
}

type (
	migrateStatus struct{}
	migrateUp     struct {
		neverAsks
		DryRun bool `help:"Only print what would be done."`
		SQL    bool `name:"sql" help:"With --dry-run: print the statements (SQL stores only)."`
		// NewTables is needed once: then the tables exist.
		NewTables bool `help:"In a compat mode: create the shared tables even if the database has tables that look like them. All users are new there."`
	}
	migrateDown struct {
		DryRun bool `help:"Only print what would be done."`
		Yes    bool `help:"Do it without asking."`
	}
	migrateCompat struct {
		Mode   string `arg:"" enum:"none,next-auth-v4,authjs-v5" help:"none, next-auth-v4 or authjs-v5."`
		DryRun bool   `help:"Only print what would be done."`
		Yes    bool   `help:"Do it without asking."`
	}
	migrateIssuer struct {
		neverAsks
		Provider string `arg:"" help:"The id of the provider in the configuration."`
		DryRun   bool   `help:"Only print what would be done."`
	}
)

// withStore opens the store without changing its schema, and calls do, which reads
// records. It refuses a store without a schema of ours.
func (p *program) withStore(do func(*config.Settings, *store) error) error {
	return p.withOpened(false, func(s *config.Settings, st *store) error {
		if st.schema != nil {
			status, err := st.schema.Status(p.ctx)
			if err == nil && status.Current == 0 {
				err = fmt.Errorf("nothing has run with storage %s yet: run `authsvc migrate up` first", describeStorage(s))
			}
			if err != nil {
				return err
			}
		}
		if err := p.useOpened(s, st); err != nil {
			return err
		}
		return do(s, st)
	})
}

// withOpened opens the store without changing its schema, and calls do. It creates a
// missing store only if create is set.
func (p *program) withOpened(create bool, do func(*config.Settings, *store) error) (err error) {
	p.noSignIn = true
	s, err := p.load(nil)
	if err != nil {
		return p.hintDev(err)
	}
	for _, w := range s.Replaced {
		fmt.Fprintln(p.stderr, "warning:", w)
	}
	if missing, err := storeIsMissing(s); err != nil {
		return err
	} else if missing && !create {
		return p.hintDev(fmt.Errorf("storage %s does not exist yet: `authsvc migrate up` creates it, as `authsvc serve` does; if it should exist, correct storage.url or the working directory", describeStorage(s)))
	}
	st, err := openStore(p.ctx, s, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	return do(s, st)
}

// withSchema is withOpened for stores with tables.
func (p *program) withSchema(create bool, do func(*config.Settings, schema) error) error {
	return p.withOpened(create, func(s *config.Settings, st *store) error {
		if st.schema == nil {
			return fmt.Errorf("storage %s has no schema", describeStorage(s))
		}
		return do(s, st.schema)
	})
}

// Run prints the status of the schema.
func (migrateStatus) Run(p *program) error {
	return p.withSchema(false, p.status)
}

func (p *program) status(s *config.Settings, sc schema) error {
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
	return p.printShared(s, sc, "")
}

// printShared prints the tables that an application may share, if the configuration
// expects an application. Each line begins with prefix.
func (p *program) printShared(s *config.Settings, sc schema, prefix string) error {
	lines, err := sharedLines(p.ctx, s, sc)
	for _, line := range lines {
		fmt.Fprintln(p.stdout, prefix+line.text)
	}
	return err
}

// A sharedLine describes a shared table.
type sharedLine struct {
	text   string
	exists bool
}

// sharedLines describes the tables that an application may share, with their rows. It
// returns nothing if the configuration expects no application: without a compat mode and
// names of tables.
func sharedLines(ctx context.Context, s *config.Settings, sc schema) (lines []sharedLine, err error) {
	n := s.Storage.Naming
	if sameCompat(s.Engine.Compat, authsvc.CompatNone) && n.Preset == "" && len(n.Tables) == 0 {
		return nil, nil
	}
	list, err := sc.Shared(ctx)
	for _, t := range list {
		text := t.Name + ": does not exist and will be created"
		if t.Exists {
			one := map[string]string{"User": "person", "Account": "account", "Session": "session", "VerificationToken": "link"}[t.Logical]
			many := one + "s"
			if t.Logical == "User" {
				many = "people"
			}
			text = t.Name + ": " + plural(int(t.Rows), one, many)
			if t.Rows == tables.Uncounted {
				text = t.Name + ": exists, but counting its " + many + " takes too long"
			}
		}
		lines = append(lines, sharedLine{text, t.Exists})
	}
	return lines, err
}

// Run brings the schema up to date.
func (c migrateUp) Run(p *program) error {
	p.adapt = append(p.adapt, func(s *config.Settings) error { s.Storage.NewTables = c.NewTables; return nil })
	switch {
	case c.SQL && !c.DryRun:
		return fmt.Errorf("--sql requires --dry-run: %w", errUsage)
	case c.SQL:
		return p.statements()
	case c.DryRun:
		return p.plan(tables.Up)
	}
	return p.withSchema(true, func(s *config.Settings, sc schema) error { return p.migrate(s, sc, tables.Up) })
}

// Run reverts the last migration.
func (c migrateDown) Run(p *program) error {
	if c.DryRun {
		return p.plan(tables.Down)
	}
	return p.withSchema(false, func(s *config.Settings, sc schema) error {
		status, err := sc.Status(p.ctx)
		if err != nil {
			return err
		}
		for _, m := range status.Migrations {
			if m.Version != status.Current {
				continue
			}
			question := fmt.Sprintf("Roll back change %d, %s, in %s, and delete the data in authsvc's own tables?", m.Version, m.Name, describeStorage(s))
			if err := p.confirm(question, c.Yes); err != nil {
				return err
			}
		}
		return p.migrate(s, sc, tables.Down)
	})
}

func (p *program) migrate(s *config.Settings, sc schema, d tables.Direction) error {
	stop := p.stillRunning()
	err := sc.Migrate(p.ctx, d)
	if stop(); err != nil {
		return explainTables(s, err)
	}
	return p.status(s, sc)
}

// confirm asks whether to continue, and returns an error unless the answer is yes.
// Without a terminal, --yes is required.
func (p *program) confirm(question string, yes bool) error {
	if yes {
		return nil
	}
	if !isTerminal(p.stdin) {
		return fmt.Errorf("this cannot be undone: try it with --dry-run, then give --yes: %w", errUsage)
	}
	fmt.Fprint(p.stderr, question+" [y/N] ")
	answer, err := bufio.NewReader(p.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("not confirmed; nothing was changed")
}

// isTerminal reports whether a person can answer. It is also true for /dev/null, which
// gives no answer.
func isTerminal(in io.Reader) bool {
	f, ok := in.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice != 0
}

// statements prints the SQL that migrate up would execute.
func (p *program) statements() error {
	return p.withPlanned("-- creates", func(s *config.Settings, sc schema) error {
		planner, ok := sc.(interface {
			Statements(ctx context.Context, show func(m tables.Migration, statement string)) error
		})
		if !ok {
			return fmt.Errorf("storage %s is not a SQL store; remove --sql: %w", describeStorage(s), errUsage)
		}
		if err := p.printShared(s, sc, "-- "); err != nil {
			return err
		}
		var latest int64
		err := planner.Statements(p.ctx, func(m tables.Migration, statement string) {
			if m.Version != latest {
				latest = m.Version
				fmt.Fprintf(p.stdout, "-- %d, %s\n", m.Version, m.Name)
			}
			fmt.Fprintln(p.stdout, statement)
		})
		if err == nil && latest == 0 {
			fmt.Fprintln(p.stdout, "-- nothing to do")
		}
		return explainTables(s, err)
	})
}

// withPlanned is withSchema for commands that change nothing. If the database file does
// not exist yet, it uses a temporary empty one.
func (p *program) withPlanned(creates string, do func(*config.Settings, schema) error) error {
	p.noSignIn = true
	s, err := p.load(nil)
	if err != nil {
		return p.hintDev(err)
	}
	missing, err := storeIsMissing(s)
	if err != nil || !missing {
		return errors.Join(err, p.withSchema(false, do))
	}
	dir, err := os.MkdirTemp("", "authsvc-plan-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintln(p.stdout, creates, describeStorage(s))
	s.Storage.URL = storageScheme(s) + ":" + filepath.Join(dir, "empty.db")
	st, err := openStore(p.ctx, s, false)
	if err != nil {
		return err
	}
	return errors.Join(do(s, st.schema), st.close())
}

// plan prints the migrations that migrate would run.
func (p *program) plan(d tables.Direction) error {
	with := func(do func(*config.Settings, schema) error) error { return p.withSchema(false, do) }
	if d == tables.Up {
		with = func(do func(*config.Settings, schema) error) error { return p.withPlanned("would create", do) }
	}
	return with(func(s *config.Settings, sc schema) error {
		status, err := sc.Status(p.ctx)
		if err == nil && d == tables.Up {
			err = errors.Join(p.printShared(s, sc, ""), explainTables(s, sc.Usable(p.ctx)))
		}
		if err != nil {
			return err
		}
		planned := 0
		for _, m := range status.Migrations {
			if d == tables.Up && !m.Applied || d == tables.Down && m.Version == status.Current {
				planned++
				fmt.Fprintf(p.stdout, "would %s %d, %s\n", map[tables.Direction]string{tables.Up: "apply", tables.Down: "roll back"}[d], m.Version, m.Name)
			}
		}
		if planned == 0 {
			fmt.Fprintln(p.stdout, "nothing to do")
		}
		return nil
	})
}

// Run records the mode in the store. Sessions and links of the old mode are stored in
// another form and are no longer recognised; the sweep removes them when they expire.
func (c migrateCompat) Run(p *program) error {
	return p.accept(c.DryRun, func(s *config.Settings, a adapter.Adapter) (string, error) {
		if !c.DryRun {
			question := fmt.Sprintf("Change %s to compat %s? All sessions and links of the other mode end.", describeStorage(s), c.Mode)
			if err := p.confirm(question, c.Yes); err != nil {
				return "", err
			}
		}
		s.Engine.Compat = authsvc.Compat(c.Mode)
		service, err := prepareEngine(s, a)
		if err != nil {
			return "", err
		}
		return "compat %s " + c.Mode, s.Explain(service.AcceptCompat(p.ctx, c.DryRun))
	})
}

// Run records the current issuer of a provider in the store.
func (c migrateIssuer) Run(p *program) error {
	return p.accept(c.DryRun, func(s *config.Settings, a adapter.Adapter) (string, error) {
		service, err := prepareEngine(s, a)
		if err != nil {
			return "", err
		}
		issuer, err := service.AcceptIssuer(p.ctx, c.Provider, c.DryRun)
		if errors.Is(err, adapter.ErrNotFound) {
			return "", fmt.Errorf("%s is not a configured provider with an issuer: %w", c.Provider, errUsage)
		}
		return "issuer:" + c.Provider + " %s " + issuer, s.Explain(err)
	})
}

// accept calls do, which replaces a record that the engine compares at the start, and
// prints the returned text. In a dry run, do must not replace the record.
func (p *program) accept(dryRun bool, do func(*config.Settings, adapter.Adapter) (text string, err error)) error {
	return p.withStore(func(s *config.Settings, st *store) error {
		if st.Adapter == nil {
			return fmt.Errorf("storage %s keeps no records", describeStorage(s))
		}
		text, err := do(s, st.Adapter)
		if err != nil {
			return err
		}
		if dryRun {
			fmt.Fprintln(p.stdout, "would set", fmt.Sprintf(text, "to"))
			return nil
		}
		fmt.Fprintln(p.stdout, fmt.Sprintf(text, "is now"))
		return nil
	})
}

// plural returns a number with the matching form of the noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
