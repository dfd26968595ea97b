package redis

import (
	"cmp"
	"context"
	"slices"

	"authsvc"
)

var (
	accountLink    = once("account_link")
	accountRefresh = once("account_refresh") // as user_update
	accountUnlink  = once("account_unlink")
	accountList    = again("account_list")
)

func (s *Store) accountKey(provider, providerAccountID string) string {
	return s.key("account", pair(provider, providerAccountID))
}

// LinkAccount implements [authsvc.Adapter].
func (s *Store) LinkAccount(ctx context.Context, a authsvc.Account) (authsvc.Account, error) {
	keys := []string{s.accountKey(a.Provider, a.ProviderAccountID), s.key("user", a.UserID)}
	if err := s.do(ctx, accountLink, keys, accountFields(a)...); err != nil {
		return authsvc.Account{}, err
	}
	return a, nil
}

// RefreshAccount implements [authsvc.Adapter].
func (s *Store) RefreshAccount(ctx context.Context, a authsvc.Account) error {
	return s.do(ctx, accountRefresh, []string{s.accountKey(a.Provider, a.ProviderAccountID)}, accountFields(a)...)
}

// UnlinkAccount implements [authsvc.Adapter].
func (s *Store) UnlinkAccount(ctx context.Context, provider, providerAccountID string) error {
	return s.do(ctx, accountUnlink, []string{s.accountKey(provider, providerAccountID)})
}

// ListAccounts implements [authsvc.Adapter].
func (s *Store) ListAccounts(ctx context.Context, userID string) ([]authsvc.Account, error) {
	list, err := s.list(ctx, accountList, []string{s.key("accounts", userID)}, userID)
	return accounts(list), err
}

// accounts reads a list and puts it in order.
func accounts(list []any) []authsvc.Account {
	records := rows(list, row.account)
	slices.SortFunc(records, func(x, y authsvc.Account) int {
		return cmp.Or(cmp.Compare(x.Provider, y.Provider), cmp.Compare(x.ID, y.ID))
	})
	return records
}
