package redis

import (
	"cmp"
	"context"
	"slices"

	"authsvc"
)

var (
	accountLink    = nonIdempotent("account_link")
	accountRefresh = nonIdempotent("account_refresh") // as for user_update
	accountUnlink  = nonIdempotent("account_unlink")
	accountList    = idempotent("account_list")
)

func (s *Store) accountKey(provider, providerAccountID string) string {
	return s.key("account", pair(provider, providerAccountID))
}

// LinkAccount implements [authsvc.Adapter].
func (s *Store) LinkAccount(ctx context.Context, a authsvc.Account, epoch int64) (authsvc.Account, error) {
	keys := []string{s.accountKey(a.Provider, a.ProviderAccountID), s.key("user", a.UserID)}
	if err := s.do(ctx, accountLink, keys, append(accountFields(a), epoch)...); err != nil {
		return authsvc.Account{}, err
	}
	return a, nil
}

// RefreshAccount implements [authsvc.Adapter].
func (s *Store) RefreshAccount(ctx context.Context, a authsvc.Account, epoch int64) error {
	return s.refresh(ctx, a, "epoch", epoch)
}

// ReplaceTokens implements [authsvc.Adapter].
func (s *Store) ReplaceTokens(ctx context.Context, a, was authsvc.Account) error {
	return s.refresh(ctx, a, "tokens", was.RefreshToken, was.AccessToken, was.IDToken)
}

// refresh replaces the tokens of an account if the condition in expected holds.
func (s *Store) refresh(ctx context.Context, a authsvc.Account, by string, expected ...any) error {
	args := append(append(accountFields(a), by), expected...)
	return s.do(ctx, accountRefresh, []string{s.accountKey(a.Provider, a.ProviderAccountID)}, args...)
}

// UnlinkAccount implements [authsvc.Adapter].
func (s *Store) UnlinkAccount(ctx context.Context, provider, providerAccountID string, epoch int64, r *authsvc.Revocation) error {
	list, err := s.list(ctx, accountUnlink, []string{s.accountKey(provider, providerAccountID)}, append(revocationFields(r), epoch)...)
	r.Seq = row{list}.number(0)
	return err
}

// ListAccounts implements [authsvc.Adapter].
func (s *Store) ListAccounts(ctx context.Context, userID string) ([]authsvc.Account, error) {
	list, err := s.list(ctx, accountList, []string{s.key("accounts", userID)}, userID)
	return accounts(list), err
}

// accounts reads a list of accounts and sorts it.
func accounts(list []any) []authsvc.Account {
	records := rows(list, row.account)
	slices.SortFunc(records, func(x, y authsvc.Account) int {
		return cmp.Or(cmp.Compare(x.Provider, y.Provider), cmp.Compare(x.ID, y.ID))
	})
	return records
}
