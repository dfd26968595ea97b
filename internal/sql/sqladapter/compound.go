package sqladapter

import (
	"context"
	"errors"

	"authsvc/adapter"
)

// SignUp implements [adapter.Adapter].
func (a *Adapter) SignUp(ctx context.Context, u adapter.User, acc *adapter.Account, s *adapter.SessionRecord, locale string, rev *adapter.Revocation) (adapter.User, error) {
	var done signUp
	err := a.transact(ctx, "sign up", func(ctx context.Context, r runner) (err error) {
		done = signUp{user: u}
		if acc != nil {
			done.account = *acc
		}
		if s != nil {
			done.session = *s
		}
		return a.insertNewUser(ctx, r, &done.user, rev, func() error { return a.insertSignUp(ctx, r, &done, acc != nil, s != nil, locale) })
	})
	if err != nil {
		return adapter.User{}, a.explain(ctx, err, uniqueValues{user: &u, account: acc, session: s})
	}
	if acc != nil {
		*acc = done.account
	}
	if s != nil {
		*s = a.storedSession(done.session)
	}
	done.user.EmailVerified, done.user.Locale = a.truncate("User.emailVerified", done.user.EmailVerified), locale
	return done.user, nil
}

// A signUp holds the records that one step stores.
type signUp struct {
	user    adapter.User
	account adapter.Account
	session adapter.SessionRecord
}

// insertSignUp stores the records of a user who is stored. It sets the ids to the stored
// ones.
func (a *Adapter) insertSignUp(ctx context.Context, r runner, n *signUp, account, session bool, locale string) error {
	n.account.UserID, n.session.UserID = n.user.ID, n.user.ID
	if locale != "" {
		if err := r.later(ctx, a.insertLocale, nil, n.user.ID, locale); err != nil {
			return err
		}
	}
	if account {
		if err := a.insertAccountRow(ctx, r, &n.account); err != nil {
			return err
		}
	}
	if session {
		return a.insertSessionRows(ctx, r, &n.session)
	}
	return nil
}

// ProveEmail implements [adapter.Adapter].
func (a *Adapter) ProveEmail(ctx context.Context, p adapter.Proof) (adapter.User, []adapter.Account, error) {
	var u adapter.User
	var removed []adapter.Account
	err := a.transact(ctx, "prove email", func(ctx context.Context, r runner) (err error) {
		removed = nil
		if err := r.row(ctx, a.lockUser, p.UserID).Scan(a.scanUser(&u)...); err != nil {
			return err
		}
		epoch, err := a.epochIn(ctx, r, p.UserID)
		switch {
		case err != nil:
			return err
		case epoch != p.Epoch, u.Email != p.Email:
			return adapter.ErrStale
		}
		first := u.EmailVerified.IsZero() && !p.Keep
		if first {
			if removed, err = a.removeUnproved(ctx, r, p); err != nil {
				return err
			}
		}
		u.EmailVerified = a.truncate("User.emailVerified", p.At)
		if err = a.updateUserRow(ctx, r, u); err == nil && first {
			err = a.writeRevocations(ctx, r, p.Revoke)
		}
		if err == nil {
			err = r.row(ctx, a.epochsOf, p.UserID).Scan(scanEpochs(&u)...)
		}
		return err
	})
	if err != nil {
		return adapter.User{}, nil, err
	}
	return u, removed, nil
}

// removeUnproved removes everything that existed before the address was proved.
func (a *Adapter) removeUnproved(ctx context.Context, r runner, p adapter.Proof) ([]adapter.Account, error) {
	removed, err := accountsOf(ctx, r, a.accountsOf, p.UserID)
	if err != nil {
		return nil, err
	}
	if err := r.later(ctx, a.deleteAccountsOf, nil, p.UserID); err != nil {
		return nil, err
	}
	if _, err := a.removeSessionsOf(ctx, r, p.UserID); err != nil {
		return nil, err
	}
	if err := r.later(ctx, a.deleteCredentialsBut, nil, p.UserID, p.Pending); err != nil {
		return nil, err
	}
	if err := r.later(ctx, a.dropSecondStep, nil, p.UserID); err != nil {
		return nil, err
	}
	if err := a.removeTokens(ctx, r, p.Email); err != nil {
		return nil, err
	}
	return removed, nil
}

// EndSessions implements [adapter.Adapter].
func (a *Adapter) EndSessions(ctx context.Context, userID string, rev *adapter.Revocation) (n int, err error) {
	err = a.transact(ctx, "end sessions", func(ctx context.Context, r runner) error {
		if err := a.lockUserRow(ctx, r, userID); err != nil {
			return err
		}
		if n, err = a.removeSessionsOf(ctx, r, userID); err != nil {
			return err
		}
		if err := r.later(ctx, a.deleteCredentialsOf, nil, userID, string(adapter.CredentialPending)); err != nil {
			return err
		}
		return a.writeRevocations(ctx, r, rev)
	})
	if errors.Is(err, adapter.ErrNotFound) { // the user is not stored
		n, err = 0, a.transact(ctx, "end sessions", func(ctx context.Context, r runner) error { return a.writeRevocations(ctx, r, rev) })
	}
	return n, err
}
