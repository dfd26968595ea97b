package mongodb

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc/adapter"
)

var errNoDigest = errors.New("session record without digest")

func (s *Store) token(token string) bson.D { return by(s.names.of("Session.sessionToken"), token) }

// readSession joins a session with authsvc's own document of it, which may be missing.
func (s *Store) readSession(d, own document) adapter.SessionRecord {
	return adapter.SessionRecord{ID: d.id("_id"), SessionToken: d.text(s.names.of("Session.sessionToken")), Digest: own.text("_id"),
		UserID: d.id(s.names.of("Session.userId")), Expires: d.instant(s.names.of("Session.expires")),
		Began: own.instant("auth_time"), AuthTime: own.instant("proved_at"), Provider: own.text("provider"), Claims: own.bytes("claims"),
		SessionOrigin: own.origin(), Seen: own.instant("seen")}
}

// originFields are the fields that authsvc's own session documents gained with session
// lists, and later.
var originFields = []string{"proved_at", "amr", "second_at", "seen", "agent", "network", "client", "actor"}

func (d document) origin() adapter.SessionOrigin {
	return adapter.SessionOrigin{AMR: d.text("amr"), SecondAt: d.instant("second_at"), Agent: d.text("agent"),
		Network: d.text("network"), Client: d.text("client"), Actor: d.text("actor")}
}

// addOrigin adds the fields that never change after a sign-in, and the first Seen.
func addOrigin(d bson.D, rec adapter.SessionRecord) bson.D {
	var w writer
	w.text("amr", rec.AMR)
	w.instant("second_at", rec.SecondAt)
	w.instant("seen", rec.Seen)
	w.text("agent", rec.Agent)
	w.text("network", rec.Network)
	w.text("client", rec.Client)
	w.text("actor", rec.Actor)
	if len(rec.Claims) > 0 {
		w.value("claims", string(rec.Claims))
	}
	return append(d, w.set...)
}

// ownFields returns authsvc's own fields of a session, except its epoch and claims,
// which never change. The field session holds the session's _id: it distinguishes
// sessions that had the same token one after the other.
func ownFields(rec adapter.SessionRecord, session any) *writer {
	var w writer
	w.value("session", session)
	w.value("expires", date(rec.Expires))
	w.instant("auth_time", rec.Began)
	w.instant("proved_at", rec.AuthTime)
	w.text("provider", rec.Provider)
	return &w
}

// insertSession writes the session last: authsvc's own document has no effect without
// it.
func (s *Store) insertSession(ctx context.Context, rec adapter.SessionRecord, id bson.ObjectID, userID any) error {
	if rec.Digest == "" {
		return errNoDigest
	}
	if rec.SessionToken == "" {
		return s.insertCookieSession(ctx, rec)
	}
	if err := s.insertOwnSession(ctx, rec, id); err != nil {
		return err
	}
	return s.insert(ctx, s.sessions(), bson.D{
		{Key: "_id", Value: id},
		{Key: s.names.of("Session.sessionToken"), Value: rec.SessionToken},
		{Key: s.names.of("Session.userId"), Value: userID},
		{Key: s.names.of("Session.expires"), Value: date(rec.Expires)},
	})
}

func (s *Store) insertOwnSession(ctx context.Context, rec adapter.SessionRecord, id bson.ObjectID) error {
	d := addOrigin(append(by("_id", rec.Digest, bson.E{Key: "epoch", Value: rec.Epoch}), ownFields(rec, id).set...), rec)
	err := s.insertNew(ctx, s.ownSessions(), d)
	if !isDuplicate(err) {
		return err
	}
	old, err := s.first(ctx, s.ownSessions(), by("_id", rec.Digest))
	if err != nil {
		return err
	}
	if _, err := s.first(ctx, s.sessions(), by("_id", old.Lookup("session"))); !errors.Is(err, adapter.ErrNotFound) {
		if err == nil {
			err = adapter.ErrConflict
		}
		return err
	}
	// The document remains from another program's sign-out or an interrupted step.
	if _, err := s.delete(ctx, s.ownSessions(), by("_id", rec.Digest, bson.E{Key: "session", Value: old.Lookup("session")})); err != nil {
		return err
	}
	return s.insertNew(ctx, s.ownSessions(), d)
}

// dropSession undoes insertSession.
func (s *Store) dropSession(ctx context.Context, rec adapter.SessionRecord, id bson.ObjectID) {
	if rec.SessionToken == "" {
		s.deleteAll(ctx, s.ownSessions(), by("_id", rec.Digest, bson.E{Key: "user", Value: rec.UserID})) //nolint:errcheck // it is only listed
		return
	}
	s.deleteAll(ctx, s.sessions(), by("_id", id))        //nolint:errcheck // without its user it has no effect
	s.deleteAll(ctx, s.ownSessions(), by("session", id)) //nolint:errcheck // nor has this without its session
}

// sessionValid reports whether a session began at its user's session epoch or later.
//
// A session of NextAuth.js has no epoch and is valid as long as it is stored; ending
// all sessions deletes it. People can therefore still sign in to a NextAuth.js
// application afterwards. A session that it stores at that same moment remains, as it
// would without authsvc. Sessions of earlier versions of authsvc are treated the same.
func sessionValid(own document, sessions int64) bool {
	return !own.has("epoch") || own.number("epoch") >= sessions
}

// CreateSession implements [adapter.Adapter]. It stores the session before it compares
// the epoch. That is safe, since no client knows the token yet. A session that is
// written while its user is being deleted has no effect.
func (s *Store) CreateSession(ctx context.Context, rec adapter.SessionRecord) (adapter.SessionRecord, error) {
	id := bson.NewObjectID()
	err := s.do(ctx, "create session", func(ctx context.Context) error {
		user, err := s.user(ctx, rec.UserID)
		if err != nil {
			return err
		}
		err = s.insertSession(ctx, rec, id, user.key())
		taken := errors.Is(err, adapter.ErrConflict)
		if err == nil {
			err = s.unchanged(ctx, rec.UserID, rec.Epoch)
		}
		if err != nil && !taken {
			undo(ctx, func(ctx context.Context) { s.dropSession(ctx, rec, id) })
		}
		return err
	})
	if err != nil {
		return adapter.SessionRecord{}, err
	}
	return storedSession(rec, id), nil
}

func storedSession(rec adapter.SessionRecord, id bson.ObjectID) adapter.SessionRecord {
	rec.ID, rec.Expires, rec.Began = id.Hex(), stored(rec.Expires), stored(rec.Began)
	rec.AuthTime, rec.SecondAt, rec.Seen = stored(rec.AuthTime), stored(rec.SecondAt), stored(rec.Seen)
	if rec.SessionToken == "" {
		rec.ID = ""
	}
	return rec
}

// GetSession implements [adapter.Adapter].
func (s *Store) GetSession(ctx context.Context, token, digest string) (rec adapter.SessionRecord, u adapter.User, err error) {
	err = s.do(ctx, "get session", func(ctx context.Context) error {
		d, err := s.first(ctx, s.sessions(), s.token(token))
		if err != nil {
			return err
		}
		userID := d.id(s.names.of("Session.userId"))
		var user document
		var lost error
		var wg sync.WaitGroup
		wg.Go(func() { user, lost = s.user(ctx, userID) })
		own, err := s.ownSession(ctx, d, digest, userID)
		wg.Wait()
		if err = cmp.Or(lost, err); err != nil {
			return err
		}
		rec, u = s.readSession(d, own), s.readUser(user)
		rec.Digest, rec.SessionOrigin, rec.Seen = digest, adapter.SessionOrigin{AMR: rec.AMR, SecondAt: rec.SecondAt, Actor: rec.Actor}, time.Time{}
		return nil
	})
	return rec, u, err
}

// ownSession returns authsvc's own document of a session, which may be empty. It
// returns ErrNotFound if the session has ended.
func (s *Store) ownSession(ctx context.Context, session document, digest, userID string) (document, error) {
	own, err := s.first(ctx, s.ownSessions(), by("_id", digest))
	if err = ignore(adapter.ErrNotFound, err); err != nil || !own.is("session", session.key()) {
		return document{}, err
	}
	if !own.has("epoch") {
		return own, nil
	}
	ended, err := s.first(ctx, s.revocations(), by("_id", sessionsKey+userID))
	if err = ignore(adapter.ErrNotFound, err); err == nil && !sessionValid(own, ended.number("seq")) {
		err = adapter.ErrNotFound
	}
	return own, err
}

// UpdateSession implements [adapter.Adapter]. It changes the session in place and never
// creates one. It may create authsvc's own document for another program's session; that
// document has no effect if the session is deleted in between.
func (s *Store) UpdateSession(ctx context.Context, rec adapter.SessionRecord) error {
	return s.do(ctx, "update session", func(ctx context.Context) error {
		if rec.Digest == "" {
			return errNoDigest
		}
		if rec.SessionToken == "" {
			return s.updateCookieSession(ctx, rec)
		}
		var w writer
		w.value(s.names.of("Session.expires"), date(rec.Expires))
		d, err := s.changed(ctx, s.sessions(), s.token(rec.SessionToken), w.update())
		if err != nil {
			return err
		}
		return s.put(ctx, s.ownSessions(), rec.Digest, ownFields(rec, d.key()).update())
	})
}

// DeleteSession implements [adapter.Adapter]. It deletes the session, then authsvc's
// own document about it. If the second step fails, the document is swept when it
// expires.
func (s *Store) DeleteSession(ctx context.Context, token string) (rec adapter.SessionRecord, err error) {
	err = s.do(ctx, "delete session", func(ctx context.Context) error {
		d, err := s.first(ctx, s.sessions(), s.token(token))
		if err != nil {
			return err
		}
		rec, err = s.removeSession(ctx, d)
		return err
	})
	return rec, err
}

func (s *Store) removeSession(ctx context.Context, d document) (rec adapter.SessionRecord, err error) {
	own, err := s.first(ctx, s.ownSessions(), by("session", d.key()))
	if err != nil && !errors.Is(err, adapter.ErrNotFound) {
		return rec, err
	}
	mine, err := s.delete(ctx, s.sessions(), by("_id", d.key()))
	if err == nil && !mine {
		err = adapter.ErrNotFound
	}
	if err != nil {
		return rec, err
	}
	s.deleteAll(ctx, s.ownSessions(), by("session", d.key())) //nolint:errcheck
	return s.readSession(d, own), nil
}

// ListSessions implements [adapter.Adapter].
func (s *Store) ListSessions(ctx context.Context, userID string) (list []adapter.SessionRecord, err error) {
	err = s.do(ctx, "list sessions", func(ctx context.Context) error {
		found, err := s.sessionsOf(ctx, userID, options.Find())
		if err != nil {
			return err
		}
		cookies, err := s.cookieSessionsOf(ctx, userID)
		if err != nil || len(found)+len(cookies) == 0 {
			return err
		}
		if _, err := s.user(ctx, userID); err != nil {
			return ignore(adapter.ErrNotFound, err)
		}
		owns, err := s.ownSessionsOf(ctx, found)
		if err != nil {
			return err
		}
		e, err := s.epochs(ctx, userID)
		if err != nil {
			return err
		}
		for _, d := range found {
			if own := owns[d.id("_id")]; sessionValid(own, e.sessions) {
				list = append(list, s.readSession(d, own))
			}
		}
		for _, own := range cookies {
			if sessionValid(own, e.sessions) {
				list = append(list, readCookieSession(own))
			}
		}
		return nil
	})
	return list, err
}

// ownSessionsOf returns authsvc's own documents of sessions, by session id.
func (s *Store) ownSessionsOf(ctx context.Context, list []document) (map[string]document, error) {
	found, err := s.list(ctx, s.ownSessions(), among("session", keys(list)), options.Find())
	owns := map[string]document{}
	for _, own := range found {
		owns[own.id("session")] = own
	}
	return owns, err
}

func (s *Store) sessionsOf(ctx context.Context, userID string, o *options.FindOptionsBuilder) ([]document, error) {
	return s.list(ctx, s.sessions(), bson.D{refers(s.names.of("Session.userId"), userID)}, o)
}

// deleteEnded removes a user's sessions with an epoch below number, which were created
// while the others were being removed. Only NextAuth.js would still accept them.
func (s *Store) deleteEnded(ctx context.Context, userID string, number int64) error {
	if _, err := s.deleteAll(ctx, s.ownSessions(), by("user", userID, bson.E{Key: "epoch", Value: bson.D{{Key: "$lt", Value: number}}})); err != nil {
		return err
	}
	found, err := s.sessionsOf(ctx, userID, find("_id"))
	if err != nil || len(found) == 0 {
		return err
	}
	owns, err := s.ownSessionsOf(ctx, found)
	if err != nil {
		return err
	}
	ended := bson.A{}
	for _, d := range found {
		if !sessionValid(owns[d.id("_id")], number) {
			ended = append(ended, d.key())
		}
	}
	_, err = s.deleteSessions(ctx, ended)
	return err
}

func (s *Store) deleteSessionsOf(ctx context.Context, userID string) (int, error) {
	found, err := s.sessionsOf(ctx, userID, find("_id"))
	if err != nil {
		return 0, err
	}
	n, err := s.deleteSessions(ctx, keys(found))
	if err != nil {
		return n, err
	}
	cookies, err := s.deleteAll(ctx, s.ownSessions(), by("user", userID))
	return n + cookies, err
}

// deleteSessions removes sessions by _id, then authsvc's own documents of them.
func (s *Store) deleteSessions(ctx context.Context, ids bson.A) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	n, err := s.deleteAll(ctx, s.sessions(), among("_id", ids))
	if err == nil {
		_, err = s.deleteAll(ctx, s.ownSessions(), among("session", ids))
	}
	return n, err
}
