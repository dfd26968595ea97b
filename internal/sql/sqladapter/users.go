package sqladapter

import (
	"context"
	"errors"
	"math"
	"strconv"

	"authsvc/adapter"
	"authsvc/internal/seal"
)

// scanUser returns the targets for userColumns.
func (a *Adapter) scanUser(u *adapter.User) []any {
	return a.addExtra([]any{textTo{&u.ID}, textTo{&u.Name}, textTo{&u.Email},
		instant{&u.EmailVerified, a.dialect.DecodeTime}, textTo{&u.Image}}, u)
}

// scanUserEpochs returns the targets for userColumns and epochColumns.
func (a *Adapter) scanUserEpochs(u *adapter.User) []any {
	return append(a.scanUser(u), scanEpochs(u)...)
}

// scanEpochs returns the targets for epochColumns.
func scanEpochs(u *adapter.User) []any {
	return []any{number{&u.Epoch}, number{&u.SessionEpoch}, millis{&u.Blocked}, millis{&u.DeleteAfter}, textTo{&u.Locale}}
}

func (a *Adapter) oneUser(ctx context.Context, op string, s *Statement, args ...any) (adapter.User, error) {
	var u adapter.User
	err := a.read(ctx, op, func(ctx context.Context, r runner) error {
		return r.row(ctx, s, args...).Scan(a.scanUserEpochs(&u)...)
	})
	if err != nil {
		return adapter.User{}, err
	}
	return u, nil
}

// GetEpoch implements [adapter.Adapter].
func (a *Adapter) GetEpoch(ctx context.Context, userID string) (epoch int64, err error) {
	err = a.read(ctx, "get epoch", func(ctx context.Context, r runner) error {
		return r.row(ctx, a.getEpoch, userID).Scan(number{&epoch})
	})
	return epoch, err
}

// epochIn returns the epoch of a user that the step has locked.
func (a *Adapter) epochIn(ctx context.Context, r runner, userID string) (epoch int64, err error) {
	err = r.row(ctx, a.epochOf, userID).Scan(number{&epoch})
	return epoch, err
}

// lockUserAt locks a user until the end of the step if it still has this epoch. Every
// step that raises the epoch also locks the user.
func (a *Adapter) lockUserAt(ctx context.Context, r runner, userID string, epoch int64) error {
	if err := a.lockUserRow(ctx, r, userID); err != nil {
		return err
	}
	is, err := a.epochIn(ctx, r, userID)
	if err == nil && is != epoch {
		err = adapter.ErrStale
	}
	return err
}

// holdUserRow locks a user, if there is one, until the end of the step. A later statement
// that checks epochIs writes only while the epoch is the expected one, without a round
// trip to look at it. If it writes nothing, lockUserAt finds out why.
func (a *Adapter) holdUserRow(ctx context.Context, r runner, id string) error {
	if a.dialect.ForUpdate == "" {
		return nil
	}
	if _, ok := r.tx.(Pipeline); !ok {
		var found int64
		return r.row(ctx, a.holdUser, id).Scan(number{&found})
	}
	return r.later(ctx, a.holdUser, nil, id)
}

// insertUserRow sets u.ID to the stored id.
func (a *Adapter) insertUserRow(ctx context.Context, r runner, u *adapter.User) error {
	return r.insert(ctx, a.insertUser, &u.ID, nil, orNull(u.Name), orNull(u.Email), a.timeArg("User.emailVerified", u.EmailVerified), orNull(u.Image))
}

// recurs reports whether an earlier user may have had the id of a new one. UUIDs do not
// recur; numbers of the database and names do.
func (a *Adapter) recurs(proposed string) bool {
	return a.traits.GeneratedIDs["User"] || !a.traits.UUIDs["User"] && !seal.IsUUID(proposed)
}

// insertNewUser stores a user, and what the function more stores about the user. If the
// id may recur, it first deletes all that an earlier user with the id left, such as a
// block, credentials or sessions, which an application leaves if it deletes users without
// enforcing foreign keys. Last, it writes rev, unless it is nil, as the revocation of all
// sessions of the earlier user.
func (a *Adapter) insertNewUser(ctx context.Context, r runner, u *adapter.User, rev *adapter.Revocation, more func() error) error {
	recurs := a.recurs(u.ID)
	if err := a.insertUserRow(ctx, r, u); err != nil {
		return err
	}
	if !recurs {
		return more()
	}
	for _, s := range a.dropEarlier {
		if err := r.later(ctx, s, nil, u.ID); err != nil {
			return err
		}
	}
	if err := more(); err != nil || rev == nil {
		return err
	}
	rev.CoverUser(u.ID)
	err := a.writeRevocations(ctx, r, rev)
	u.Epoch, u.SessionEpoch = rev.Seq, rev.Seq
	return err
}

// CreateUser implements [adapter.Adapter].
func (a *Adapter) CreateUser(ctx context.Context, u adapter.User, rev *adapter.Revocation) (adapter.User, error) {
	created, run := u, a.write
	if a.recurs(u.ID) {
		run = a.transact
	}
	err := run(ctx, "create user", func(ctx context.Context, r runner) error {
		created = u
		return a.insertNewUser(ctx, r, &created, rev, func() error { return nil })
	})
	if err != nil {
		return adapter.User{}, a.explain(ctx, err, uniqueValues{user: &u})
	}
	created.EmailVerified = a.truncate("User.emailVerified", created.EmailVerified)
	return created, nil
}

// GetUser implements [adapter.Adapter].
func (a *Adapter) GetUser(ctx context.Context, id string) (adapter.User, error) {
	return a.oneUser(ctx, "get user", a.getUser, id)
}

// GetUserByEmail implements [adapter.Adapter].
func (a *Adapter) GetUserByEmail(ctx context.Context, email string) (adapter.User, error) {
	return a.oneUser(ctx, "get user by email", a.getUserByEmail, email)
}

// GetUserByAccount implements [adapter.Adapter].
func (a *Adapter) GetUserByAccount(ctx context.Context, provider, providerAccountID string) (adapter.User, error) {
	return a.oneUser(ctx, "get user by account", a.getUserByAccount, provider, providerAccountID)
}

// UpdateUser implements [adapter.Adapter].
func (a *Adapter) UpdateUser(ctx context.Context, id string, change adapter.UserUpdate) (adapter.User, error) {
	var u adapter.User
	err := a.transact(ctx, "update user", func(ctx context.Context, r runner) error {
		if err := r.row(ctx, a.lockUser, id).Scan(a.scanUser(&u)...); err != nil {
			return err
		}
		if err := a.unchanged(ctx, r, &u, change.Was); err != nil {
			return err
		}
		set(&u.Name, change.Name)
		set(&u.Email, change.Email)
		set(&u.EmailVerified, change.EmailVerified)
		set(&u.Image, change.Image)
		u.EmailVerified = a.truncate("User.emailVerified", u.EmailVerified)
		return a.updateUserRow(ctx, r, u)
	})
	if err != nil {
		return adapter.User{}, a.explain(ctx, err, uniqueValues{user: &u})
	}
	return u, nil
}

// unchanged returns ErrStale if the locked user u no longer matches was. A nil was
// matches any user.
func (a *Adapter) unchanged(ctx context.Context, r runner, u, was *adapter.User) error {
	if was == nil {
		return nil
	}
	epoch, err := a.epochIn(ctx, r, u.ID)
	if err == nil && (epoch != was.Epoch || u.Email != was.Email || !u.EmailVerified.Equal(was.EmailVerified)) {
		err = adapter.ErrStale
	}
	return err
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

func (a *Adapter) updateUserRow(ctx context.Context, r runner, u adapter.User) error {
	return r.execFound(ctx, a.updateUser, orNull(u.Name), orNull(u.Email), a.timeArg("User.emailVerified", u.EmailVerified), orNull(u.Image), u.ID)
}

// ListUsers implements [adapter.Adapter].
func (a *Adapter) ListUsers(ctx context.Context, after string, limit int) (list []adapter.User, err error) {
	if after == "" {
		return a.manyUsers(ctx, "list users", a.listUsers, limit)
	}
	return a.manyUsers(ctx, "list users", a.listUsersAfter, after, limit)
}

func (a *Adapter) manyUsers(ctx context.Context, op string, s *Statement, args ...any) (list []adapter.User, err error) {
	err = a.read(ctx, op, func(ctx context.Context, r runner) error {
		list = nil
		return r.rows(ctx, s, args, func(rows Rows) error {
			var u adapter.User
			if err := rows.Scan(a.scanUserEpochs(&u)...); err != nil {
				return err
			}
			list = append(list, u)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// DeleteUser implements [adapter.Adapter]. If rows of the application refer to the user,
// the error names their table.
func (a *Adapter) DeleteUser(ctx context.Context, id string, rev *adapter.Revocation) error {
	err := a.deleteUserRow(ctx, id, rev)
	if table, refers := a.dialect.Referring(ctx, id, err); refers {
		return referredError{err, table}
	}
	return err
}

// A referredError says that the user was not deleted because rows of a table refer to
// the user. The name of the table is empty if the database does not tell.
type referredError struct {
	error
	table string
}

func (e referredError) Error() string {
	table := "another table"
	if e.table != "" {
		table = "the table " + strconv.Quote(e.table)
	}
	return "rows of " + table + " refer to the user: delete or change them in the DeleteUser callback, or declare their foreign key with ON DELETE CASCADE or SET NULL: " + e.error.Error()
}

func (e referredError) Unwrap() error { return e.error }

func (a *Adapter) deleteUserRow(ctx context.Context, id string, rev *adapter.Revocation) error {
	return a.transact(ctx, "delete user", func(ctx context.Context, r runner) error {
		if err := a.lockUserRow(ctx, r, id); err != nil {
			return err
		}
		if a.traits.NoCascade {
			for _, s := range []*Statement{a.deleteAccountsOf, a.deleteSessionsOf} {
				if err := r.later(ctx, s, nil, id); err != nil {
					return err
				}
			}
		}
		if err := r.execFound(ctx, a.deleteUser, id); err != nil {
			return err
		}
		return a.writeRevocations(ctx, r, rev)
	})
}

// lockUserRow checks that a user exists and keeps it until the end of the step.
func (a *Adapter) lockUserRow(ctx context.Context, r runner, id string) error {
	var u adapter.User
	return r.row(ctx, a.lockUser, id).Scan(a.scanUser(&u)...)
}

func scanAccount(acc *adapter.Account) []any {
	return []any{textTo{&acc.ID}, textTo{&acc.UserID}, textTo{&acc.Type}, textTo{&acc.Provider}, textTo{&acc.ProviderAccountID},
		textTo{&acc.RefreshToken}, textTo{&acc.AccessToken}, number{&acc.ExpiresAt}, textTo{&acc.TokenType},
		textTo{&acc.Scope}, textTo{&acc.IDToken}, textTo{&acc.SessionState}}
}

// tokenFields returns the parameters that a refresh replaces.
func (a *Adapter) tokenFields(acc adapter.Account) []any {
	var expiresAt any
	if acc.ExpiresAt != 0 {
		expiresAt = a.expiry(acc.ExpiresAt)
	}
	return []any{orNull(acc.RefreshToken), orNull(acc.AccessToken), expiresAt, orNull(acc.TokenType),
		orNull(acc.Scope), orNull(acc.IDToken), orNull(acc.SessionState)}
}

// expiry returns a time of expiry that fits into the column. An earlier time is safe.
func (a *Adapter) expiry(at int64) int64 {
	if a.traits.NarrowExpiry {
		return min(at, math.MaxInt32)
	}
	return at
}

// insertAccountRow sets acc to the stored account.
func (a *Adapter) insertAccountRow(ctx context.Context, r runner, acc *adapter.Account) error {
	acc.ExpiresAt = a.expiry(acc.ExpiresAt)
	args := append([]any{acc.UserID, acc.Type, acc.Provider, acc.ProviderAccountID}, a.tokenFields(*acc)...)
	return r.insert(ctx, a.insertAccount, &acc.ID, a.noSuchUser, args...)
}

// LinkAccount implements [adapter.Adapter].
func (a *Adapter) LinkAccount(ctx context.Context, acc adapter.Account, epoch int64) (adapter.Account, error) {
	err := a.transact(ctx, "link account", func(ctx context.Context, r runner) error {
		if err := a.lockUserAt(ctx, r, acc.UserID, epoch); err != nil {
			return err
		}
		return a.insertAccountRow(ctx, r, &acc)
	})
	if err != nil {
		return adapter.Account{}, a.explain(ctx, err, uniqueValues{account: &acc})
	}
	return acc, nil
}

// RefreshAccount implements [adapter.Adapter].
func (a *Adapter) RefreshAccount(ctx context.Context, acc adapter.Account, epoch int64) error {
	refreshed := 0
	fields := append(a.tokenFields(acc), acc.Provider, acc.ProviderAccountID, acc.UserID, acc.UserID, epoch)
	step := func(ctx context.Context, r runner) error {
		refreshed = 0
		if err := a.holdUserRow(ctx, r, acc.UserID); err != nil {
			return err
		}
		return r.laterCounted(ctx, a.refreshAccount, &refreshed, nil, fields...)
	}
	if err := a.transact(ctx, "refresh account", step); err != nil || refreshed > 0 {
		return err
	}
	return a.transact(ctx, "refresh account", func(ctx context.Context, r runner) error {
		if err := a.lockUserAt(ctx, r, acc.UserID, epoch); err != nil {
			return err
		}
		return r.execFound(ctx, a.refreshAccount, fields...)
	})
}

// ReplaceTokens implements [adapter.Adapter].
func (a *Adapter) ReplaceTokens(ctx context.Context, acc, was adapter.Account) error {
	return a.transact(ctx, "replace tokens", func(ctx context.Context, r runner) error {
		var old adapter.Account
		if err := r.row(ctx, a.lockAccount, acc.Provider, acc.ProviderAccountID).Scan(scanAccount(&old)...); err != nil {
			return err
		}
		if !old.SameTokens(was) {
			return adapter.ErrStale
		}
		return r.execFound(ctx, a.replaceTokens, append(a.tokenFields(acc), acc.Provider, acc.ProviderAccountID)...)
	})
}

// UnlinkAccount implements [adapter.Adapter].
func (a *Adapter) UnlinkAccount(ctx context.Context, provider, providerAccountID string, epoch int64, rev *adapter.Revocation) error {
	return a.transact(ctx, "unlink account", func(ctx context.Context, r runner) error {
		if err := a.lockUserAt(ctx, r, rev.UserID, epoch); err != nil {
			return err
		}
		if err := r.execFound(ctx, a.deleteAccount, provider, providerAccountID, rev.UserID); err != nil {
			return err
		}
		return a.writeRevocations(ctx, r, rev)
	})
}

// ListAccounts implements [adapter.Adapter].
func (a *Adapter) ListAccounts(ctx context.Context, userID string) (list []adapter.Account, err error) {
	err = a.read(ctx, "list accounts", func(ctx context.Context, r runner) error {
		list, err = accountsOf(ctx, r, a.listAccounts, userID)
		return err
	})
	if errors.Is(err, adapter.ErrNotFound) { // no user can have such an id
		return nil, nil
	}
	return list, err
}

func accountsOf(ctx context.Context, r runner, s *Statement, userID string) (list []adapter.Account, err error) {
	err = r.rows(ctx, s, []any{userID}, func(rows Rows) error {
		var acc adapter.Account
		if err := rows.Scan(scanAccount(&acc)...); err != nil {
			return err
		}
		list = append(list, acc)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
