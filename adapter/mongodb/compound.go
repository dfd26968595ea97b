package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc"
)

// A signUp makes a user. The account and the session are written first, for a
// user that does not exist yet: until it does they mean nothing. Writing the
// user makes all of it true at once.
type signUp struct {
	*Store
	user, account, session bson.ObjectID
}

// SignUp implements [authsvc.Adapter].
func (s *Store) SignUp(ctx context.Context, u authsvc.User, acc *authsvc.Account, rec *authsvc.SessionRecord) (authsvc.User, error) {
	up := signUp{s, bson.NewObjectID(), bson.NewObjectID(), bson.NewObjectID()}
	if err := s.do(ctx, "sign up", func(ctx context.Context) error { return up.run(ctx, u, acc, rec) }); err != nil {
		return authsvc.User{}, err
	}
	u.ID, u.EmailVerified = up.user.Hex(), stored(u.EmailVerified)
	if acc != nil {
		acc.ID, acc.UserID = up.account.Hex(), u.ID
	}
	if rec != nil {
		rec.UserID = u.ID
		*rec = storedSession(*rec, up.session)
	}
	return u, nil
}

func (up signUp) run(ctx context.Context, u authsvc.User, acc *authsvc.Account, rec *authsvc.SessionRecord) (err error) {
	if acc != nil {
		err = up.insertAccount(ctx, *acc, up.account, up.user, up.now())
		if duplicate(err) || errors.Is(err, authsvc.ErrConflict) {
			return err // nothing was written
		}
	}
	if err == nil && rec != nil {
		err = up.insertSession(ctx, *rec, up.session, up.user)
	}
	if err == nil {
		err = up.insertUser(ctx, u, up.user)
	}
	if err == nil && acc != nil {
		err = up.settleAccount(ctx)
	}
	if err != nil {
		undo(ctx, func(ctx context.Context) { up.undo(ctx, acc != nil, rec != nil) })
	}
	return err
}

// settleAccount takes the mark off the account. ErrConflict: this took so long
// that somebody else has been given the identity.
func (up signUp) settleAccount(ctx context.Context) error {
	err := up.change(ctx, up.accounts(), by("_id", up.account, bson.E{Key: up.names.of("Account.userId"), Value: up.user}),
		bson.D{{Key: "$unset", Value: bson.D{{Key: pendingField, Value: ""}}}})
	if errors.Is(err, authsvc.ErrNotFound) {
		return authsvc.ErrConflict
	}
	return err
}

// undo begins with the user. What stays after an error means nothing, or all
// of it stays.
func (up signUp) undo(ctx context.Context, account, session bool) {
	if _, err := up.deleteAll(ctx, up.users(), by("_id", up.user)); err != nil {
		return
	}
	if account {
		up.deleteAll(ctx, up.accounts(), by("_id", up.account)) //nolint:errcheck
	}
	if session {
		up.dropSession(ctx, up.session)
	}
}

// ProveEmail implements [authsvc.Adapter]. EmailVerified is written last, so
// that what was interrupted is done again. What is to be removed is listed
// before the user is looked at: of several proofs at once none removes what
// was made after the first of them.
func (s *Store) ProveEmail(ctx context.Context, p authsvc.Proof) (u authsvc.User, removed []authsvc.Account, err error) {
	err = s.do(ctx, "prove email", func(ctx context.Context) error {
		user, err := s.user(ctx, p.UserID)
		if err != nil {
			return err
		}
		if s.unproved(user) && !p.Keep {
			if removed, err = s.removeUnproved(ctx, user, p); err != nil {
				return err
			}
		}
		var w writer
		w.instant(s.names.of("User.emailVerified"), p.At)
		user, err = s.changed(ctx, s.users(), by("_id", user.key()), w.update())
		u = s.readUser(user)
		return err
	})
	if err != nil {
		return authsvc.User{}, nil, err
	}
	return u, removed, nil
}

func (s *Store) unproved(user document) bool {
	return user.instant(s.names.of("User.emailVerified")).IsZero()
}

// removeUnproved removes what was there before the address was proved.
func (s *Store) removeUnproved(ctx context.Context, user document, p authsvc.Proof) ([]authsvc.Account, error) {
	accounts, err := s.accountsOf(ctx, p.UserID)
	if err != nil {
		return nil, err
	}
	sessions, err := s.sessionsOf(ctx, p.UserID, find("_id"))
	if err != nil {
		return nil, err
	}
	links, err := s.list(ctx, s.links(), by(s.names.of("VerificationToken.identifier"), p.Email), options.Find())
	if err != nil {
		return nil, err
	}
	if user, err = s.first(ctx, s.users(), by("_id", user.key())); err != nil || !s.unproved(user) {
		return nil, err
	}
	removed, err := s.removeAccounts(ctx, accounts)
	if err != nil {
		return nil, err
	}
	if _, err := s.deleteSessions(ctx, keys(sessions)); err != nil {
		return nil, err
	}
	if err := s.removeLinks(ctx, links); err != nil {
		return nil, err
	}
	return removed, s.revoke(ctx, p.Revoke)
}

// removeAccounts removes accounts one by one: each is reported by one caller.
func (s *Store) removeAccounts(ctx context.Context, list []document) (removed []authsvc.Account, err error) {
	for _, account := range list {
		mine, err := s.delete(ctx, s.accounts(), by("_id", account.key()))
		if err != nil {
			return nil, err
		}
		if mine {
			removed = append(removed, s.readAccount(account))
		}
	}
	return removed, nil
}

// removeLinks removes tokens after their mails, which are found by them.
func (s *Store) removeLinks(ctx context.Context, links []document) error {
	if len(links) == 0 {
		return nil
	}
	mails := bson.A{}
	for _, link := range links {
		mails = append(mails, link.text(s.names.of("VerificationToken.token")))
	}
	_, err := s.deleteAll(ctx, s.mails(), among("_id", mails))
	if err == nil {
		_, err = s.deleteAll(ctx, s.links(), among("_id", keys(links)))
	}
	return err
}

// EndSessions implements [authsvc.Adapter]. The revocation is first: it covers
// more, and whoever tries again writes the same.
func (s *Store) EndSessions(ctx context.Context, userID string, r *authsvc.Revocation) (n int, err error) {
	err = s.do(ctx, "end sessions", func(ctx context.Context) error {
		if err := s.revoke(ctx, r); err != nil {
			return err
		}
		n, err = s.deleteSessionsOf(ctx, userID)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
