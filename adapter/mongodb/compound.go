package mongodb

import (
	"cmp"
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc/adapter"
)

// A signUp creates a user. It first writes the account and the session under the id of a
// user who does not exist yet, so they have no effect. Writing the user then makes all of
// them valid at once.
type signUp struct {
	*Store
	user, account, session bson.ObjectID
}

// SignUp implements [adapter.Adapter]. Like CreateUser, it does not need the revocation.
func (s *Store) SignUp(ctx context.Context, u adapter.User, acc *adapter.Account, rec *adapter.SessionRecord, locale string, _ *adapter.Revocation) (adapter.User, error) {
	up := signUp{s, bson.NewObjectID(), bson.NewObjectID(), bson.NewObjectID()}
	if err := s.do(ctx, "sign up", func(ctx context.Context) error { return up.run(ctx, u, acc, rec, locale) }); err != nil {
		return adapter.User{}, err
	}
	u.ID, u.EmailVerified, u.Locale = up.user.Hex(), stored(u.EmailVerified), locale
	if acc != nil {
		acc.ID, acc.UserID = up.account.Hex(), u.ID
	}
	if rec != nil {
		rec.UserID = u.ID
		*rec = storedSession(*rec, up.session)
	}
	return u, nil
}

func (up signUp) run(ctx context.Context, u adapter.User, acc *adapter.Account, rec *adapter.SessionRecord, locale string) (err error) {
	if acc != nil {
		err = up.insertAccount(ctx, *acc, up.account, up.user, bson.E{Key: pendingField, Value: date(up.now())})
		if isDuplicate(err) || errors.Is(err, adapter.ErrConflict) {
			return err // nothing was written
		}
	}
	if err == nil && rec != nil {
		first := *rec
		first.UserID, first.Epoch = up.user.Hex(), 0
		err = up.insertSession(ctx, first, up.session, up.user)
	}
	if err == nil && acc == nil {
		up.putLocale(ctx, locale)
	}
	if err == nil {
		err = up.insertNewUser(ctx, u, acc != nil)
	}
	if err == nil && acc != nil {
		up.putLocale(ctx, locale)
	}
	if err == nil && acc != nil {
		err = up.change(ctx, up.users(), by("_id", up.user), bson.D{{Key: "$unset", Value: by(signUpField, "")}})
		if err == nil {
			err = up.activateAccount(ctx, up.account, up.user, pendingField)
		}
		if errors.Is(err, adapter.ErrNotFound) {
			err = adapter.ErrConflict
		}
	}
	if err != nil {
		undo(ctx, func(ctx context.Context) { up.undo(ctx, u, acc != nil, rec) })
	}
	return err
}

// putLocale stores the locale, if there is one, before the last command on the user. If
// the user is deleted meanwhile, the deletion or the undo removes the person. Others may
// have changed the person by then, so it sets only the locale. A failure does not fail the
// sign-up: it loses only the locale, which the next sign-in stores again.
func (up signUp) putLocale(ctx context.Context, locale string) {
	if locale == "" {
		return
	}
	var w writer
	w.text("locale", locale)
	up.put(ctx, up.people(), up.user.Hex(), w.update()) //nolint:errcheck // see above
}

// dropOrphan removes the person of a user who does not exist.
func (s *Store) dropOrphan(ctx context.Context, userID string) {
	if _, err := s.user(ctx, userID); errors.Is(err, adapter.ErrNotFound) {
		s.deleteAll(ctx, s.people(), by("_id", userID)) //nolint:errcheck // has no effect
	}
}

// insertNewUser writes the user. If a half-made user has the address, it removes that
// user first.
func (up signUp) insertNewUser(ctx context.Context, u adapter.User, account bool) error {
	var marks bson.D
	if account {
		marks = by(signUpField, up.account)
	}
	err := up.insertUser(ctx, u, up.user, marks...)
	if !isDuplicate(err) || u.Email == "" {
		return err
	}
	d, found := up.first(ctx, up.users(), bson.D{up.address(u.Email)})
	if found == nil {
		found = up.removeIncomplete(ctx, d)
	}
	if !errors.Is(found, adapter.ErrNotFound) {
		return cmp.Or(found, err)
	}
	return up.insertUser(ctx, u, up.user, marks...)
}

// removeIncomplete removes a user left by an abandoned sign-up, and returns ErrNotFound.
// Such a user was inserted after its account had been removed; it would keep the
// address from its owner.
func (s *Store) removeIncomplete(ctx context.Context, user document) error {
	if !user.has(signUpField) {
		return nil
	}
	_, err := s.first(ctx, s.accounts(), bson.D{refers(s.names.of("Account.userId"), user.id("_id"))})
	if !errors.Is(err, adapter.ErrNotFound) {
		return err
	}
	verified := s.names.of("User.emailVerified")
	filter := by("_id", user.key(), bson.E{Key: signUpField, Value: user.Lookup(signUpField)}, bson.E{Key: verified, Value: reference(user, verified)})
	n, err := s.deleteAll(ctx, s.users(), filter)
	if err == nil && n > 0 { // otherwise the user has been completed meanwhile
		s.dropOrphan(ctx, user.id("_id"))
		err = adapter.ErrNotFound
	}
	return err
}

// settle marks a user as complete, so that it does not count as half-made once its last
// account is removed.
func (s *Store) settle(ctx context.Context, userID string) error {
	return s.changeAll(ctx, s.users(), bson.D{refers("_id", userID), {Key: signUpField, Value: bson.D{{Key: "$exists", Value: true}}}}, bson.D{{Key: "$unset", Value: by(signUpField, "")}})
}

// undo deletes the user first. After an error, either everything remains or only
// records without effect. If the address has been proved meanwhile, the user stays: the
// account then belongs to the person who proved it.
func (up signUp) undo(ctx context.Context, u adapter.User, account bool, rec *adapter.SessionRecord) {
	verified := bson.E{Key: up.names.of("User.emailVerified"), Value: nil}
	if !u.EmailVerified.IsZero() {
		verified.Value = date(u.EmailVerified)
	}
	if _, err := up.deleteAll(ctx, up.users(), by("_id", up.user, verified)); err != nil {
		return
	}
	if account {
		up.deleteAll(ctx, up.accounts(), by("_id", up.account)) //nolint:errcheck
	}
	if rec != nil {
		first := *rec
		first.UserID = up.user.Hex()
		up.dropSession(ctx, first, up.session)
	}
	up.dropOrphan(ctx, up.user.Hex())
}

// ProveEmail implements [adapter.Adapter]. It writes EmailVerified last, so that an
// interrupted proof is repeated as a whole.
func (s *Store) ProveEmail(ctx context.Context, p adapter.Proof) (u adapter.User, removed []adapter.Account, err error) {
	err = s.do(ctx, "prove email", func(ctx context.Context) error {
		first, done, err := s.firstProof(ctx, p)
		defer done()
		if err != nil {
			return err
		}
		epoch := p.Epoch
		if first {
			if err := s.settle(ctx, p.UserID); err != nil {
				return err
			}
			if removed, epoch, err = s.removeUnproved(ctx, p); err != nil {
				return err
			}
		}
		u, err = s.findUser(ctx, p.UserID, func(epochs) (document, error) { return s.setVerified(ctx, p) })
		u.Epoch = epoch // a revocation in between makes this proof stale
		return err
	})
	if err != nil {
		return adapter.User{}, nil, err
	}
	return u, removed, nil
}

func (s *Store) isUnverified(user document) bool {
	return user.instant(s.names.of("User.emailVerified")).IsZero()
}

// setVerified stores the time of verification. It returns ErrStale if the user's
// address has changed.
func (s *Store) setVerified(ctx context.Context, p adapter.Proof) (document, error) {
	var w writer
	w.instant(s.names.of("User.emailVerified"), p.At)
	d, err := s.changed(ctx, s.users(), bson.D{refers("_id", p.UserID), s.address(p.Email)}, w.update())
	if !errors.Is(err, mongo.ErrNoDocuments) {
		return d, err
	}
	if _, err := s.user(ctx, p.UserID); err != nil {
		return document{}, err
	}
	return document{}, adapter.ErrStale
}

// address returns the condition that a user has the address, or has none if email is
// empty.
func (s *Store) address(email string) bson.E {
	if email == "" {
		return bson.E{Key: s.names.of("User.email"), Value: nil}
	}
	return bson.E{Key: s.names.of("User.email"), Value: email}
}

// firstProof reports whether p is the first proof of the address. If so, it holds a
// lease until done is called, and other proofs wait: they must not revoke access of the
// person who proved the address first.
func (s *Store) firstProof(ctx context.Context, p adapter.Proof) (first bool, done func(), err error) {
	turn, holder := "authsvc.proof:"+p.UserID, bson.NewObjectID().Hex()
	done = func() {}
	for try := 5; ; try++ { // starts with a longer delay, since a proof takes some time
		user, err := s.user(ctx, p.UserID)
		switch {
		case err != nil:
			return false, done, err
		case user.text(s.names.of("User.email")) != p.Email:
			return false, done, adapter.ErrStale
		}
		if err := s.unchanged(ctx, p.UserID, p.Epoch); err != nil {
			return false, done, err
		}
		switch {
		case p.Keep || !s.isUnverified(user):
			return false, done, nil
		case first: // unchanged since before the lease
			return true, done, nil
		}
		err = s.lease(ctx, turn, holder, s.now(), s.now().Add(s.abandoned()))
		switch {
		case err == nil:
			first, done = true, func() { undo(ctx, func(ctx context.Context) { s.release(ctx, turn, holder) }) } //nolint:errcheck // it lapses
		case !isDuplicate(err):
			return false, done, err
		default:
			if err := wait(ctx, try); err != nil {
				return false, done, err
			}
		}
	}
}

// removeUnproved removes the accounts, sessions and links from before the proof of the
// address. It lists accounts and sessions twice. Those written in between are already
// invalid by their number, but numbers are not kept forever, and NextAuth.js ignores
// them.
func (s *Store) removeUnproved(ctx context.Context, p adapter.Proof) (removed []adapter.Account, epoch int64, err error) {
	accounts := func(ctx context.Context) error {
		found, err := s.accountsOf(ctx, p.UserID)
		if err != nil {
			return err
		}
		gone, err := s.removeAccounts(ctx, found, p.Revoke.Seq)
		removed = append(removed, gone...)
		return err
	}
	epoch, err = s.revokeAndRemove(ctx, p.Revoke, proofRevocation(p.Epoch), func(ctx context.Context) error {
		if err := accounts(ctx); err != nil {
			return err
		}
		if _, err := s.deleteSessionsOf(ctx, p.UserID); err != nil {
			return err
		}
		links, err := s.list(ctx, s.links(), by(s.names.of("VerificationToken.identifier"), p.Email), options.Find())
		if err != nil {
			return err
		}
		if err := s.removeLinks(ctx, links); err != nil {
			return err
		}
		return s.removeEarlierCredentials(ctx, p)
	})
	if err == nil {
		err = s.keepPending(ctx, p)
	}
	if err == nil {
		err = accounts(ctx)
	}
	if err == nil {
		err = s.deleteEnded(ctx, p.UserID, p.Revoke.Seq)
	}
	return removed, epoch, err
}

// removeAccounts removes accounts with a number below number, one by one: of several
// concurrent callers, only one reports each account. It also removes accounts that were
// still being linked, but does not return them.
func (s *Store) removeAccounts(ctx context.Context, list []document, number int64) (removed []adapter.Account, err error) {
	for _, account := range list {
		if account.number(epochField) >= number {
			continue
		}
		mine, err := s.delete(ctx, s.accounts(), by("_id", account.key()))
		if err != nil {
			return nil, err
		}
		if mine && !account.has(linkingField) {
			removed = append(removed, s.readAccount(account))
		}
	}
	return removed, nil
}

// removeLinks removes tokens and their mails. It removes the mails first, because it
// finds them by their token.
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

// EndSessions implements [adapter.Adapter].
func (s *Store) EndSessions(ctx context.Context, userID string, r *adapter.Revocation) (n int, err error) {
	err = s.do(ctx, "end sessions", func(ctx context.Context) error {
		_, err := s.revokeAndRemove(ctx, r, sessionRevocation, func(ctx context.Context) (err error) {
			if n, err = s.deleteSessionsOf(ctx, userID); err != nil {
				return err
			}
			_, err = s.deleteAll(ctx, s.credentials(), credentialsOf(userID, adapter.CredentialPending))
			return err
		})
		if err == nil {
			err = s.deleteEnded(ctx, userID, r.Seq)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
