package redis

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"authsvc/adapter"
)

var (
	sessionCreate = nonIdempotent("session_create")
	sessionGet    = read("session_get")
	sessionUpdate = idempotent("session_update")
	sessionDelete = nonIdempotent("session_delete")
	sessionList   = idempotent("session_list")
	sessionTouch  = idempotent("session_touch")
	sessionDropOf = nonIdempotent("session_delete_of")
	// If sessionsBefore is repeated, it only counts the remaining sessions.
	sessionsBefore = idempotent("sessions_before")
)

var errNoDigest = errors.New("redis: session record without digest")

// CreateSession implements [adapter.Adapter].
func (s *Store) CreateSession(ctx context.Context, rec adapter.SessionRecord) (adapter.SessionRecord, error) {
	return s.createSession(ctx, rec, false)
}

// createSession stores a session. If elsewhere is set, users are in another store, and
// the caller must check that the user exists.
func (s *Store) createSession(ctx context.Context, rec adapter.SessionRecord, elsewhere bool) (adapter.SessionRecord, error) {
	if rec.Digest == "" {
		return adapter.SessionRecord{}, errNoDigest
	}
	keys := []string{s.sessionKey(rec), s.key("user", rec.UserID)}
	if err := s.do(ctx, sessionCreate, keys, append(sessionFields(rec), elsewhere)...); err != nil {
		return adapter.SessionRecord{}, err
	}
	return storedSession(rec), nil
}

// endSessionsBefore removes the sessions of a user that began before an epoch of the
// store of users, or all if epoch is 0. It also removes sessions with a later epoch
// than that store has issued; they remain after it was restored from a backup.
func (s *Store) endSessionsBefore(ctx context.Context, userID string, epoch int64) (int, error) {
	but := ""
	if epoch > 0 {
		but = strconv.FormatInt(epoch, 10)
	}
	n, err := s.count(ctx, sessionsBefore, []string{s.key("sessions", userID)}, userID, but)
	return int(n), err
}

// sessionKey returns the key of a session. Sessions without a token are stored under
// their digest.
func (s *Store) sessionKey(rec adapter.SessionRecord) string {
	if rec.SessionToken == "" {
		return s.key("jwt", rec.Digest)
	}
	return s.key("session", rec.SessionToken)
}

func storedSession(rec adapter.SessionRecord) adapter.SessionRecord {
	rec.Expires, rec.Began = stored(rec.Expires), stored(rec.Began)
	rec.AuthTime, rec.SecondAt, rec.Seen = stored(rec.AuthTime), stored(rec.SecondAt), stored(rec.Seen)
	if rec.SessionToken == "" {
		rec.ID = ""
	}
	return rec
}

// GetSession implements [adapter.Adapter].
func (s *Store) GetSession(ctx context.Context, token, _ string) (adapter.SessionRecord, adapter.User, error) {
	rec, u, err := s.getSession(ctx, token)
	if err == nil && u.ID == "" {
		err = adapter.ErrNotFound
	}
	if err != nil {
		return adapter.SessionRecord{}, adapter.User{}, err
	}
	return rec, u, nil
}

// getSession returns a session, and its user unless users are in another store.
func (s *Store) getSession(ctx context.Context, token string) (adapter.SessionRecord, adapter.User, error) {
	list, err := s.list(ctx, sessionGet, []string{s.key("session", token)})
	if err != nil {
		return adapter.SessionRecord{}, adapter.User{}, err
	}
	rec := rowOf(list[0]).session()
	rec.SessionOrigin, rec.Seen = adapter.SessionOrigin{AMR: rec.AMR, SecondAt: rec.SecondAt, Actor: rec.Actor}, time.Time{}
	return rec, rowOf(list[1]).user(), nil
}

// UpdateSession implements [adapter.Adapter].
func (s *Store) UpdateSession(ctx context.Context, rec adapter.SessionRecord) error {
	if rec.Digest == "" {
		return errNoDigest
	}
	return s.do(ctx, sessionUpdate, []string{s.sessionKey(rec)},
		rec.SessionToken, millis(rec.Expires), optional(rec.Began), rec.Provider, optional(rec.AuthTime))
}

// DeleteSession implements [adapter.Adapter].
func (s *Store) DeleteSession(ctx context.Context, token string) (adapter.SessionRecord, error) {
	list, err := s.list(ctx, sessionDelete, []string{s.key("session", token)}, token)
	if err != nil {
		return adapter.SessionRecord{}, err
	}
	return row{list}.session(), nil
}

// DeleteSessionOf implements [adapter.Adapter].
func (s *Store) DeleteSessionOf(ctx context.Context, userID, digest string) (adapter.SessionRecord, error) {
	list, err := s.list(ctx, sessionDropOf, []string{s.key("session-digest", digest)}, userID, digest)
	if err != nil {
		return adapter.SessionRecord{}, err
	}
	return row{list}.session(), nil
}

// TouchSessions implements [adapter.Adapter]. It takes several steps if there are many
// sessions.
func (s *Store) TouchSessions(ctx context.Context, seen []adapter.SessionSeen) error {
	if err := contextError(ctx); err != nil {
		return err
	}
	for some := range slices.Chunk(seen, batch) {
		var args []any
		for _, one := range some {
			args = append(args, one.Digest, millis(one.At))
		}
		if err := s.do(ctx, sessionTouch, []string{s.tag + "schema"}, args...); err != nil {
			return err
		}
	}
	return nil
}

// ListSessions implements [adapter.Adapter].
func (s *Store) ListSessions(ctx context.Context, userID string) ([]adapter.SessionRecord, error) {
	list, err := s.list(ctx, sessionList, []string{s.key("sessions", userID)}, userID)
	return rows(list, row.session), err
}
