package memory

import (
	"context"

	"authsvc"
)

// SignUp implements [authsvc.Adapter].
func (a *Store) SignUp(ctx context.Context, u authsvc.User, acc *authsvc.Account, s *authsvc.SessionRecord, locale string) (authsvc.User, error) {
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
			a.setPerson(u.ID, authsvc.PersonUpdate{Locale: &locale})
		}
		if acc != nil {
			acc.UserID = u.ID
			a.putAccount(*acc)
		}
		if s != nil {
			s.UserID = u.ID
			*s = a.putSession(*s)
		}
		return nil
	})
	if err != nil {
		return authsvc.User{}, err
	}
	return u, nil
}

// ProveEmail implements [authsvc.Adapter].
func (a *Store) ProveEmail(ctx context.Context, p authsvc.Proof) (u authsvc.User, removed []authsvc.Account, err error) {
	err = a.do(ctx, func() error {
		if err := a.unchanged(p.UserID, p.Epoch); err != nil {
			return err
		}
		found := a.users[p.UserID]
		if found.Email != p.Email {
			return authsvc.ErrStale
		}
		if found.EmailVerified.IsZero() && !p.Keep {
			removed = a.accountsOf(p.UserID)
			a.removeAccounts(p.UserID)
			a.removeSessions(p.UserID)
			a.removeTokens(p.Email)
			a.removeCredentials(p.UserID, func(c authsvc.Credential) bool {
				return c.Kind != authsvc.CredentialPending || c.ID != p.Pending
			})
			off := false
			a.setPerson(p.UserID, authsvc.PersonUpdate{SecondStep: &off})
			a.revoke(p.Revoke)
		}
		found.EmailVerified = stored(p.At)
		a.putUser(found)
		u = a.withEpochs(found)
		return nil
	})
	return u, removed, err
}

// EndSessions implements [authsvc.Adapter].
func (a *Store) EndSessions(ctx context.Context, userID string, r *authsvc.Revocation) (n int, err error) {
	err = a.do(ctx, func() error {
		n = a.removeSessions(userID)
		a.removeCredentials(userID, func(c authsvc.Credential) bool { return c.Kind == authsvc.CredentialPending })
		a.revoke(r)
		return nil
	})
	return n, err
}
