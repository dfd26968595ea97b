package main

import (
	"errors"
	"fmt"

	"authsvc/adapter"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/engine"
)

type migrateNormalize struct {
	neverAsks
	DryRun bool `help:"Only print what would be done."`
}

// Run rewrites the addresses of users that are not in the form in which they are looked
// up, and names the users whose address it cannot rewrite. It prints IDs but no
// addresses, because its output may end up in a log.
func (c migrateNormalize) Run(p *program) error {
	return p.withStore(func(s *config.Settings, st *store) error {
		if st.Adapter == nil {
			return fmt.Errorf("storage %s keeps no users", describeStorage(s))
		}
		defer p.stillRunning()()
		written, left := 0, 0
		err := engine.OddAddresses(p.ctx, st.Adapter, func(odd engine.OddAddress) error {
			why, err := c.rewrite(p, st, odd)
			switch {
			case err != nil:
				return err
			case why != "":
				left++
				fmt.Fprintf(p.stdout, "left   user %s: %s\n", odd.UserID, why)
			default:
				written++
			}
			return nil
		})
		verb := map[bool]string{true: "would rewrite", false: "rewrote"}[c.DryRun]
		fmt.Fprintf(p.stdout, "%s %s, left %d\n", verb, plural(written, "address", "addresses"), left)
		if err == nil && left > 0 {
			return errFindings
		}
		return err
	})
}

// rewrite rewrites one address, or returns why it leaves the address as it is.
func (c migrateNormalize) rewrite(p *program, st *store, odd engine.OddAddress) (why string, err error) {
	switch {
	case odd.Normal == "":
		return "the address cannot be used, or its normal form would be another mailbox; correct it by hand", nil
	case odd.Other != "":
		return "user " + odd.Other + " has the same address; merge or delete one of the two", nil
	case c.DryRun:
		return "", nil
	}
	_, err = st.UpdateUser(p.ctx, odd.UserID, adapter.UserUpdate{Email: &odd.Normal})
	if errors.Is(err, adapter.ErrConflict) {
		return "another user has the same address; merge or delete one of the two", nil
	}
	return "", err
}
