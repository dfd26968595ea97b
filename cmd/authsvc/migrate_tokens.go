package main

import (
	"fmt"

	"authsvc/cmd/authsvc/internal/config"
	"authsvc/engine"
)

type migrateTokens struct {
	neverAsks
	DryRun bool `help:"Only print what would be done."`
}

// Run has the engine rewrite the stored tokens of providers. It names the accounts of
// which some tokens are left as they are.
func (c migrateTokens) Run(p *program) error {
	return p.withStore(func(s *config.Settings, st *store) error {
		if st.Adapter == nil {
			return fmt.Errorf("storage %s keeps no accounts", describeStorage(s))
		}
		service, err := prepareEngine(s, st.Adapter)
		if err == nil {
			err = s.Explain(service.CheckStore(p.ctx))
		}
		if err != nil {
			return err
		}
		return c.rewrite(p, service)
	})
}

func (c migrateTokens) rewrite(p *program, service *engine.Operator) error {
	defer p.stillRunning()()
	written, left := 0, 0
	err := service.RewriteTokens(p.ctx, c.DryRun, func(did engine.TokenRewrite) error {
		if did.Written {
			written++
		}
		if did.Left != nil {
			left++
			fmt.Fprintf(p.stdout, "left   user %s: %v\n", did.UserID, did.Left)
		}
		return nil
	})
	verb := map[bool]string{true: "would rewrite", false: "rewrote"}[c.DryRun]
	fmt.Fprintf(p.stdout, "%s tokens of %s, left some of %d\n", verb, plural(written, "account", "accounts"), left)
	if err == nil && left > 0 {
		return errFindings
	}
	return err
}
