package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"authsvc/adapter"
)

// checkUser returns an error if a new user would violate a uniqueness rule.
func (a *Store) checkUser(u adapter.User) error {
	if _, taken := a.users[u.ID]; taken {
		return adapter.ErrConflict
	}
	if _, taken := a.emails[u.Email]; taken {
		return adapter.ErrConflict
	}
	return nil
}

func (a *Store) putUser(u adapter.User) {
	a.users[u.ID] = u
	if u.Email == "" {
		return
	}
	if i, there := slices.BinarySearch(a.addresses, u.Email); !there {
		a.addresses = slices.Insert(a.addresses, i, u.Email)
	}
	a.emails[u.Email] = u.ID
}

// dropAddress removes an address from the indexes.
func (a *Store) dropAddress(email string) {
	delete(a.emails, email)
	if i, there := slices.BinarySearch(a.addresses, email); there {
		a.addresses = slices.Delete(a.addresses, i, i+1)
	}
}

// CreateUser implements [adapter.Adapter].
func (a *Store) CreateUser(ctx context.Context, u adapter.User, r *adapter.Revocation) (adapter.User, error) {
	return a.SignUp(ctx, u, nil, nil, "", r)
}

// user returns the user with the id that find returns.
func (a *Store) user(ctx context.Context, find func() (id string, ok bool)) (u adapter.User, err error) {
	err = a.do(ctx, func() error {
		id, ok := find()
		if !ok {
			return adapter.ErrNotFound
		}
		if u, ok = a.users[id]; !ok {
			return adapter.ErrNotFound
		}
		u = a.withEpochs(u)
		return nil
	})
	return u, err
}

// GetEpoch implements [adapter.Adapter].
func (a *Store) GetEpoch(ctx context.Context, userID string) (epoch int64, err error) {
	err = a.do(ctx, func() error {
		epoch = a.epoch(userID)
		return nil
	})
	return epoch, err
}

func (a *Store) epoch(userID string) (epoch int64) {
	for _, r := range a.revocations {
		if r.UserID == userID {
			epoch = max(epoch, r.Seq)
		}
	}
	return epoch
}

// withEpochs sets the fields of u that other records hold: epochs, block, deletion
// date, locale, extra columns.
func (a *Store) withEpochs(u adapter.User) adapter.User {
	u.Epoch, u.SessionEpoch = a.epoch(u.ID), a.revocations["user:"+u.ID].Seq
	p := a.people[u.ID]
	u.Blocked, u.DeleteAfter, u.Locale = p.Blocked, p.DeleteAfter, p.Locale
	return a.withExtra(u)
}

// withExtra sets u.Extra from the store's extra columns.
func (a *Store) withExtra(u adapter.User) adapter.User {
	u.Extra = nil
	for _, name := range a.columns {
		if u.Extra == nil {
			u.Extra = map[string]any{}
		}
		u.Extra[name] = a.extra[u.ID][name]
	}
	return u
}

// UserColumns implements [adapter.UserColumns].
func (a *Store) UserColumns() []string { return slices.Clone(a.columns) }

// SetExtra replaces the extra columns of a user. In other stores the application writes
// these columns itself.
func (a *Store) SetExtra(ctx context.Context, userID string, extra map[string]any) error {
	return a.do(ctx, func() error {
		if _, ok := a.users[userID]; !ok {
			return adapter.ErrNotFound
		}
		a.extra[userID] = maps.Clone(extra)
		return nil
	})
}

// unchanged returns ErrStale if the user's epoch is no longer epoch.
func (a *Store) unchanged(userID string, epoch int64) error {
	if _, ok := a.users[userID]; !ok {
		return adapter.ErrNotFound
	}
	if a.epoch(userID) != epoch {
		return adapter.ErrStale
	}
	return nil
}

// GetUser implements [adapter.Adapter].
func (a *Store) GetUser(ctx context.Context, id string) (adapter.User, error) {
	return a.user(ctx, func() (string, bool) { return id, true })
}

// GetUserByEmail implements [adapter.Adapter].
func (a *Store) GetUserByEmail(ctx context.Context, email string) (adapter.User, error) {
	return a.user(ctx, func() (string, bool) {
		id, ok := a.emails[email]
		return id, ok
	})
}

// GetUserByAccount implements [adapter.Adapter].
func (a *Store) GetUserByAccount(ctx context.Context, provider, providerAccountID string) (adapter.User, error) {
	return a.user(ctx, func() (string, bool) {
		acc, ok := a.accounts[identity{provider, providerAccountID}]
		return acc.UserID, ok
	})
}

// UpdateUser implements [adapter.Adapter].
func (a *Store) UpdateUser(ctx context.Context, id string, change adapter.UserUpdate) (u adapter.User, err error) {
	err = a.do(ctx, func() error {
		old, ok := a.users[id]
		if !ok {
			return adapter.ErrNotFound
		}
		if was := change.Was; was != nil && (a.withEpochs(old).Epoch != was.Epoch || old.Email != was.Email || !old.EmailVerified.Equal(was.EmailVerified)) {
			return adapter.ErrStale
		}
		changed := old
		set(&changed.Name, change.Name)
		set(&changed.Email, change.Email)
		set(&changed.EmailVerified, change.EmailVerified)
		set(&changed.Image, change.Image)
		changed.EmailVerified = stored(changed.EmailVerified)
		if owner, taken := a.emails[changed.Email]; taken && owner != id {
			return adapter.ErrConflict
		}
		a.dropAddress(old.Email)
		a.putUser(changed)
		u = a.withEpochs(changed)
		return nil
	})
	return u, err
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// DeleteUser implements [adapter.Adapter].
func (a *Store) DeleteUser(ctx context.Context, id string, r *adapter.Revocation) error {
	return a.do(ctx, func() error {
		u, ok := a.users[id]
		if !ok {
			return adapter.ErrNotFound
		}
		a.removeAccounts(id)
		a.removeSessions(id)
		a.removeCredentials(id, func(adapter.Credential) bool { return true })
		delete(a.people, id)
		a.dropAddress(u.Email)
		delete(a.users, id)
		delete(a.extra, id)
		a.revoke(r)
		return nil
	})
}

// ListUsers implements [adapter.Adapter].
func (a *Store) ListUsers(ctx context.Context, after string, limit int) (list []adapter.User, err error) {
	return a.SearchUsers(ctx, adapter.UserQuery{After: after, Limit: limit})
}

func accountKeys(acc adapter.Account) []key { return []key{{"account.id", acc.ID}} }

// checkAccount returns an error if a new account would violate a uniqueness rule.
func (a *Store) checkAccount(acc adapter.Account) error {
	if _, linked := a.accounts[identity{acc.Provider, acc.ProviderAccountID}]; linked || !a.free(accountKeys(acc)) {
		return adapter.ErrConflict
	}
	return nil
}

func (a *Store) putAccount(acc adapter.Account) {
	a.accounts[identity{acc.Provider, acc.ProviderAccountID}] = acc
	a.take(accountKeys(acc))
}

func (a *Store) dropAccount(by identity) {
	a.release(accountKeys(a.accounts[by]))
	delete(a.accounts, by)
}

// LinkAccount implements [adapter.Adapter].
func (a *Store) LinkAccount(ctx context.Context, acc adapter.Account, epoch int64) (adapter.Account, error) {
	err := a.do(ctx, func() error {
		if err := a.unchanged(acc.UserID, epoch); err != nil {
			return err
		}
		if err := a.checkAccount(acc); err != nil {
			return err
		}
		a.putAccount(acc)
		return nil
	})
	if err != nil {
		return adapter.Account{}, err
	}
	return acc, nil
}

// RefreshAccount implements [adapter.Adapter].
func (a *Store) RefreshAccount(ctx context.Context, acc adapter.Account, epoch int64) error {
	return a.do(ctx, func() error {
		old, ok := a.accounts[identity{acc.Provider, acc.ProviderAccountID}]
		if !ok || old.UserID != acc.UserID {
			return adapter.ErrNotFound
		}
		if err := a.unchanged(acc.UserID, epoch); err != nil {
			return err
		}
		acc.RefreshToken = cmp.Or(acc.RefreshToken, old.RefreshToken)
		a.putTokens(old, acc)
		return nil
	})
}

// ReplaceTokens implements [adapter.Adapter].
func (a *Store) ReplaceTokens(ctx context.Context, acc, was adapter.Account) error {
	return a.do(ctx, func() error {
		old, ok := a.accounts[identity{acc.Provider, acc.ProviderAccountID}]
		switch {
		case !ok:
			return adapter.ErrNotFound
		case !old.SameTokens(was):
			return adapter.ErrStale
		}
		a.putTokens(old, acc)
		return nil
	})
}

// putTokens replaces the token fields of a stored account.
func (a *Store) putTokens(old, acc adapter.Account) {
	acc.ID, acc.UserID, acc.Type = old.ID, old.UserID, old.Type
	a.putAccount(acc)
}

// UnlinkAccount implements [adapter.Adapter].
func (a *Store) UnlinkAccount(ctx context.Context, provider, providerAccountID string, epoch int64, r *adapter.Revocation) error {
	return a.do(ctx, func() error {
		if err := a.unchanged(r.UserID, epoch); err != nil {
			return err
		}
		by := identity{provider, providerAccountID}
		if acc, ok := a.accounts[by]; !ok || acc.UserID != r.UserID {
			return adapter.ErrNotFound
		}
		a.dropAccount(by)
		a.revoke(r)
		return nil
	})
}

// ListAccounts implements [adapter.Adapter].
func (a *Store) ListAccounts(ctx context.Context, userID string) (list []adapter.Account, err error) {
	err = a.do(ctx, func() error {
		list = a.accountsOf(userID)
		return nil
	})
	return list, err
}

func (a *Store) accountsOf(userID string) (list []adapter.Account) {
	for _, acc := range a.accounts {
		if acc.UserID == userID {
			list = append(list, acc)
		}
	}
	slices.SortFunc(list, func(x, y adapter.Account) int {
		return cmp.Or(cmp.Compare(x.Provider, y.Provider), cmp.Compare(x.ID, y.ID))
	})
	return list
}

func (a *Store) removeAccounts(userID string) {
	for by, acc := range a.accounts {
		if acc.UserID == userID {
			a.dropAccount(by)
		}
	}
}
