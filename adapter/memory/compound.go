package memory

import (
	"context"

	"authsvc/adapter"
	"authsvc/internal/seal"
)

// SignUp implements [adapter.Adapter]. An earlier user left nothing but revocations,
// because only DeleteUser removes users.
func (a *Store) SignUp(ctx context.Context, u adapter.User, acc *adapter.Account, s *adapter.SessionRecord, locale string, r *adapter.Revocation) (adapter.User, error) {
	u.EmailVerified = stored(u.EmailVerified)
	err := a.do(ctx, func() error {
		if err := a.checkUser(u); err != nil {
			return err
		}
		if acc != nil {
			if err := a.checkAccount(*acc); err != nil {
				return err
			}
		}
		if s != nil {
			if err := a.checkSession(*s); err != nil {
				return err
			}
		}
		a.putUser(u)
		if locale != "" {
			a.setPerson(u.ID, adapter.PersonUpdate{Locale: &locale})
			u.Locale = locale
		}
		if acc != nil {
			acc.UserID = u.ID
			a.putAccount(*acc)
		}
		if s != nil {
			s.UserID = u.ID
			*s = a.putSession(*s)
		}
		if r != nil && !seal.IsUUID(u.ID) {
			r.CoverUser(u.ID)
			a.revoke(r)
			u.Epoch, u.SessionEpoch = r.Seq, r.Seq
		}
		return nil
	})
	if err != nil {
		return adapter.User{}, err
	}
	return u, nil
}

// ProveEmail implements [adapter.Adapter].
func (a *Store) ProveEmail(ctx context.Context, p adapter.Proof) (u adapter.User, removed []adapter.Account, err error) {
	err = a.do(ctx, func() error {
		if err := a.unchanged(p.UserID, p.Epoch); err != nil {
			return err
		}
		found := a.users[p.UserID]
		if found.Email != p.Email {
			return adapter.ErrStale
		}
		if found.EmailVerified.IsZero() && !p.Keep {
			removed = a.accountsOf(p.UserID)
			a.removeAccounts(p.UserID)
			a.removeSessions(p.UserID)
			a.removeTokens(p.Email)
			a.removeCredentials(p.UserID, func(c adapter.Credential) bool {
				return c.Kind != adapter.CredentialPending || c.ID != p.Pending
			})
			off := false
			a.setPerson(p.UserID, adapter.PersonUpdate{SecondStep: &off})
			a.revoke(p.Revoke)
		}
		found.EmailVerified = stored(p.At)
		a.putUser(found)
		u = a.withEpochs(found)
		return nil
	})
	return u, removed, err
}

// EndSessions implements [adapter.Adapter].
func (a *Store) EndSessions(ctx context.Context, userID string, r *adapter.Revocation) (n int, err error) {
	err = a.do(ctx, func() error {
		n = a.removeSessions(userID)
		a.removeCredentials(userID, func(c adapter.Credential) bool { return c.Kind == adapter.CredentialPending })
		a.revoke(r)
		return nil
	})
	return n, err
}
