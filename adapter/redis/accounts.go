package redis

import (
	"cmp"
	"context"
	"slices"

	"authsvc/adapter"
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

// LinkAccount implements [adapter.Adapter].
func (s *Store) LinkAccount(ctx context.Context, a adapter.Account, epoch int64) (adapter.Account, error) {
	keys := []string{s.accountKey(a.Provider, a.ProviderAccountID), s.key("user", a.UserID)}
	if err := s.do(ctx, accountLink, keys, append(accountFields(a), epoch)...); err != nil {
		return adapter.Account{}, err
	}
	return a, nil
}

// RefreshAccount implements [adapter.Adapter].
func (s *Store) RefreshAccount(ctx context.Context, a adapter.Account, epoch int64) error {
	return s.refresh(ctx, a, "epoch", epoch)
}

// ReplaceTokens implements [adapter.Adapter].
func (s *Store) ReplaceTokens(ctx context.Context, a, was adapter.Account) error {
	return s.refresh(ctx, a, "tokens", was.RefreshToken, was.AccessToken, was.IDToken)
}

// refresh replaces the tokens of an account if the condition in expected holds.
func (s *Store) refresh(ctx context.Context, a adapter.Account, by string, expected ...any) error {
	args := append(append(accountFields(a), by), expected...)
	return s.do(ctx, accountRefresh, []string{s.accountKey(a.Provider, a.ProviderAccountID)}, args...)
}

// UnlinkAccount implements [adapter.Adapter].
func (s *Store) UnlinkAccount(ctx context.Context, provider, providerAccountID string, epoch int64, r *adapter.Revocation) error {
	list, err := s.list(ctx, accountUnlink, []string{s.accountKey(provider, providerAccountID)}, append(revocationFields(r), epoch)...)
	r.Seq = row{list}.number(0)
	return err
}

// ListAccounts implements [adapter.Adapter].
func (s *Store) ListAccounts(ctx context.Context, userID string) ([]adapter.Account, error) {
	list, err := s.list(ctx, accountList, []string{s.key("accounts", userID)}, userID)
	return accounts(list), err
}

// accounts reads a list of accounts and sorts it.
func accounts(list []any) []adapter.Account {
	records := rows(list, row.account)
	slices.SortFunc(records, func(x, y adapter.Account) int {
		return cmp.Or(cmp.Compare(x.Provider, y.Provider), cmp.Compare(x.ID, y.ID))
	})
	return records
}
