package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"authsvc"
	"authsvc/adapter"
)

// A TokenRewrite reports what RewriteTokens did with an account.
type TokenRewrite struct {
	UserID            string
	Provider          string
	ProviderAccountID string
	Written           bool  // or, with dryRun, would have been
	Left              error // why tokens were left as they are; nil: none were
}

// rewritePage is how many users are read at a time. rewriteTries limits how often an
// account is read that changes before it is written.
const (
	rewritePage  = 1000
	rewriteTries = 5
)

// RewriteTokens implements [Operator.RewriteTokens].
func (vt *vault) RewriteTokens(ctx context.Context, dryRun bool, visit func(TokenRewrite) error) error {
	for after := ""; ; {
		page, err := vt.Adapter.ListUsers(ctx, after, rewritePage)
		if err != nil {
			return err
		}
		for _, u := range page {
			after = u.ID
			if err := vt.rewriteUser(ctx, u.ID, dryRun, visit); err != nil {
				return err
			}
		}
		if len(page) < rewritePage {
			return nil
		}
	}
}

func (vt *vault) rewriteUser(ctx context.Context, userID string, dryRun bool, visit func(TokenRewrite) error) error {
	list, err := vt.Adapter.ListAccounts(ctx, userID)
	if err != nil {
		return err
	}
	for _, a := range list {
		did, err := vt.rewriteAccount(ctx, a, dryRun)
		if err == nil && (did.Written || did.Left != nil) {
			err = visit(did)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (vt *vault) rewriteAccount(ctx context.Context, stored authsvc.Account, dryRun bool) (TokenRewrite, error) {
	did := TokenRewrite{UserID: stored.UserID, Provider: stored.Provider, ProviderAccountID: stored.ProviderAccountID}
	for range rewriteTries {
		a, lost := vt.tokens.conform(stored)
		var err error
		if did.Written = a != stored; did.Written && !dryRun {
			err = vt.Adapter.ReplaceTokens(ctx, a, stored)
		}
		switch {
		case err == nil && len(lost) > 0:
			did.Left = fmt.Errorf("cannot open %s of %s: the secret that sealed it is no longer configured, or the row was changed",
				strings.Join(lost, ", "), stored.Provider)
			return did, nil
		case err == nil:
			return did, nil
		case !errors.Is(err, adapter.ErrStale) && !errors.Is(err, adapter.ErrNotFound):
			return did, err
		}
		// A sign-in or a refresh wrote first, or the account is gone.
		did.Written = false
		var found bool
		if stored, found, err = vt.storedAccount(ctx, stored); err != nil || !found {
			return did, err
		}
	}
	did.Left = fmt.Errorf("the tokens of %s keep changing: %w", stored.Provider, adapter.ErrStale)
	return did, nil
}

// storedAccount reads an account again. found is false if its user no longer has it.
func (vt *vault) storedAccount(ctx context.Context, was authsvc.Account) (a authsvc.Account, found bool, err error) {
	list, err := vt.Adapter.ListAccounts(ctx, was.UserID)
	if err != nil {
		return authsvc.Account{}, false, err
	}
	i := slices.IndexFunc(list, func(a authsvc.Account) bool {
		return a.Provider == was.Provider && a.ProviderAccountID == was.ProviderAccountID
	})
	if i < 0 {
		return authsvc.Account{}, false, nil
	}
	return list[i], true, nil
}

// conform returns a stored account as it would be stored now. Tokens that cannot be
// opened stay, unless tokens are dropped, and lost names them.
func (v *tokenStorage) conform(stored authsvc.Account) (a authsvc.Account, lost []string) {
	if v.discard {
		return v.forStorage(stored), nil
	}
	open, a, lost := v.read(stored)
	texts := tokensOf(&open)
	for name, token := range tokensOf(&a) {
		switch text := *texts[name]; {
		case text == "": // absent or lost
		case !v.seal:
			*token = text
		case !strings.HasPrefix(*token, sealedToken):
			*token = v.sealToken(text, &a, name)
		}
	}
	return a, lost
}
