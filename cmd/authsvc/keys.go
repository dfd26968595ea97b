package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"authsvc/cmd/authsvc/internal/config"
	"authsvc/engine"
)

type keysCommand struct {
	List   keysList   `cmd:"" default:"withargs" help:"Show the keys of GET jwks (default)."`
	Rotate keysRotate `cmd:"" help:"Publish the next key of every algorithm, which signs a day later."`
	Retire keysRetire `cmd:"" help:"Remove a key from the set; the tokens that it signed are refused."`
}

type (
	keysList struct {
		JSON bool `name:"json" help:"One JSON object a line."`
	}
	keysRotate struct {
		Now    bool `help:"After a leak: let new keys start to sign in a minute, when every replica has published them."`
		DryRun bool `help:"Only print what would be done."`
		Yes    bool `help:"With --now: do it without asking."`
		JSON   bool `name:"json" help:"Print the keys as JSON, one object a line."`
	}
	keysRetire struct {
		KID    string `arg:"" name:"kid" help:"The kid of the key, as keys list prints it."`
		DryRun bool   `help:"Only print what would be done."`
		Yes    bool   `help:"Do it without asking."`
		JSON   bool   `name:"json" help:"Print the keys as JSON, one object a line."`
	}
)

// withKeys calls do with the engine and the open store. The store may be none.
func (p *program) withKeys(do func(*engine.Operator) error) error {
	return p.withStore(func(s *config.Settings, st *store) error {
		service, err := prepareEngine(s, st.Adapter)
		if err == nil {
			err = s.Explain(service.CheckStore(p.ctx))
		}
		if err != nil {
			return err
		}
		return inCommands(do(service))
	})
}

// inCommands rewrites errors about signing keys in the terms of the configuration.
func inCommands(err error) error {
	switch {
	case errors.Is(err, engine.ErrNoTokens):
		return errors.New("tokens.audiences is not set, so there are no signing keys")
	case errors.Is(err, engine.ErrDerivedKeys):
		return errors.New("without storage the signing keys are derived from secret: put a new secret in front of it")
	case errors.Is(err, engine.ErrSealedKeys):
		return errors.New("secret does not open the signing keys in the store: add the secret that sealed them as a further entry, or replace them with `authsvc keys rotate --now`")
	}
	return err
}

// Run prints the keys.
func (c keysList) Run(p *program) error {
	return p.withKeys(func(service *engine.Operator) error { return p.printKeys(service, c.JSON) })
}

// Run publishes the next keys.
func (c keysRotate) Run(p *program) error {
	return p.withKeys(func(service *engine.Operator) error {
		_, err := service.SigningKeys(p.ctx)
		sealed := errors.Is(err, engine.ErrSealedKeys)
		if err != nil && !(sealed && c.Now) {
			return err
		}
		what := "publish the next keys, which start to sign in a day"
		switch {
		case sealed:
			what = "replace the signing keys, which cannot be opened; all existing tokens are then refused"
		case c.Now:
			what = "make new signing keys, which start to sign in a minute; the current keys stay published until `authsvc keys retire`"
		}
		if c.DryRun {
			_, err := fmt.Fprintln(p.stdout, "would", what)
			return err
		}
		if c.Now {
			if err := p.confirm("Shall authsvc "+what+"?", c.Yes); err != nil {
				return err
			}
		}
		made, err := service.RotateKeys(p.ctx, c.Now)
		if err != nil {
			return err
		}
		if len(made) == 0 && !c.JSON {
			fmt.Fprintln(p.stdout, "the next keys are already published")
		}
		return p.printKeys(service, c.JSON)
	})
}

// Run removes a key from the set.
func (c keysRetire) Run(p *program) error {
	return p.withKeys(func(service *engine.Operator) error {
		keys, err := service.SigningKeys(p.ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(keys, func(k engine.SigningKey) bool { return k.ID == c.KID })
		if i < 0 {
			return fmt.Errorf("no signing key has the kid %q; `authsvc keys list` shows all", truncate(c.KID))
		}
		what := "remove the key " + c.KID + " from the set; the tokens that it signed are then refused"
		if keys[i].State == engine.KeySigning {
			what += ", and its successor starts to sign at once"
		}
		if c.DryRun {
			_, err := fmt.Fprintln(p.stdout, "would", what)
			return err
		}
		if err := p.confirm("Shall authsvc "+what+"?", c.Yes); err != nil {
			return err
		}
		if err := service.RetireKey(p.ctx, c.KID); err != nil {
			return err
		}
		return p.printKeys(service, c.JSON)
	})
}

// printKeys prints the keys as a table, or as JSON.
func (p *program) printKeys(service *engine.Operator, asJSON bool) error {
	keys, err := service.SigningKeys(p.ctx)
	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(p.stdout)
		for _, k := range keys {
			if err := enc.Encode(k); err != nil {
				return err
			}
		}
		return nil
	}
	if len(keys) == 0 {
		fmt.Fprintln(p.stdout, "no keys yet: `authsvc serve` makes them")
		return nil
	}
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STATE\tALG\tKID\tSIGNS FROM\tUNTIL\tGONE")
	for _, k := range keys {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", k.State, k.Alg, k.ID, keyTime(k.From), keyTime(k.Until), keyTime(k.Gone))
	}
	return table.Flush()
}

// keyTime formats a time. It returns "-" for the zero time.
func keyTime(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}
