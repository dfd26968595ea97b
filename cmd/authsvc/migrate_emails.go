package main

import (
	"errors"
	"fmt"
	"strings"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
)

type migrateEmails struct {
	DryRun bool `help:"Only say what would be done."`
}

// Run rewrites addresses of users that are not in the form in which they are
// looked up, and names those that it cannot decide about. It prints ids and no
// addresses: what it prints may end in a log.
func (c migrateEmails) Run(p *program) error {
	return p.withStore(false, func(s *config.Settings, st *store) error {
		if st.Adapter == nil {
			return fmt.Errorf("storage %s keeps no users", describeStorage(s))
		}
		written, left := 0, 0
		err := authsvc.OddAddresses(p.ctx, st.Adapter, func(odd authsvc.OddAddress) error {
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
		fmt.Fprintf(p.stdout, "%s %s, left %d\n", verb, countAddresses(written), left)
		if err == nil && left > 0 {
			return errFindings
		}
		return err
	})
}

// rewrite returns why an address is left as it is, "" if it is not.
func (c migrateEmails) rewrite(p *program, st *store, odd authsvc.OddAddress) (why string, err error) {
	switch {
	case odd.Normal == "":
		return "the address cannot be used, or its normal form would be another mailbox; correct it by hand", nil
	case odd.Other != "":
		return "user " + odd.Other + " has the same address; merge or delete one of the two", nil
	case c.DryRun:
		return "", nil
	}
	_, err = st.UpdateUser(p.ctx, odd.UserID, authsvc.UserUpdate{Email: &odd.Normal})
	if errors.Is(err, authsvc.ErrConflict) {
		return "another user has the same address; merge or delete one of the two", nil
	}
	return "", err
}

func countAddresses(n int) string {
	if n == 1 {
		return "1 address"
	}
	return fmt.Sprintf("%d addresses", n)
}

// maxShownUsers is how many ids of users check prints.
const maxShownUsers = 5

// checkAddresses looks for those whom their own address does not find. It takes as long
// as reading all of them does.
func (k *checker) checkAddresses(st *store) error {
	if st.Adapter == nil {
		return nil
	}
	var ids []string
	n := 0
	err := authsvc.OddAddresses(k.ctx, st.Adapter, func(odd authsvc.OddAddress) error {
		if n++; n <= maxShownUsers {
			ids = append(ids, odd.UserID)
		}
		return nil
	})
	if err != nil || n == 0 {
		return err
	}
	if n > maxShownUsers {
		ids = append(ids, "…")
	}
	return fmt.Errorf("%s not in the form in which addresses are looked up, of users %s; run `authsvc migrate emails --dry-run`",
		map[bool]string{true: "1 address is", false: countAddresses(n) + " are"}[n == 1], strings.Join(ids, ", "))
}
