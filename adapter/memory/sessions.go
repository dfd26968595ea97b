package memory

import (
	"bytes"
	"context"
	"errors"
	"time"

	"authsvc/adapter"
)

var errNoDigest = errors.New("session record without digest")

// sessionKey returns the map key of a session: its token, or its digest if it has no
// token.
func sessionKey(token, digest string) key {
	if token == "" {
		return key{"session.jwt", digest}
	}
	return key{"session.token", token}
}

func sessionKeys(s adapter.SessionRecord) []key {
	keys := []key{{"session.digest", s.Digest}}
	if s.SessionToken != "" {
		keys = append(keys, key{"session.id", s.ID})
	}
	return keys
}

// checkSession returns an error if a new session would violate a uniqueness rule.
func (a *Store) checkSession(s adapter.SessionRecord) error {
	if s.Digest == "" {
		return errNoDigest
	}
	if _, taken := a.sessions[sessionKey(s.SessionToken, s.Digest)]; taken || !a.free(sessionKeys(s)) {
		return adapter.ErrConflict
	}
	return nil
}

func (a *Store) putSession(s adapter.SessionRecord) adapter.SessionRecord {
	s.Expires, s.Began, s.Claims = stored(s.Expires), stored(s.Began), bytes.Clone(s.Claims)
	s.AuthTime, s.SecondAt, s.Seen = stored(s.AuthTime), stored(s.SecondAt), stored(s.Seen)
	if s.SessionToken == "" {
		s.ID = ""
	}
	a.sessions[sessionKey(s.SessionToken, s.Digest)] = s
	a.take(sessionKeys(s))
	return s
}

func (a *Store) dropSession(k key) {
	a.release(sessionKeys(a.sessions[k]))
	delete(a.sessions, k)
}

// CreateSession implements [adapter.Adapter].
func (a *Store) CreateSession(ctx context.Context, s adapter.SessionRecord) (got adapter.SessionRecord, err error) {
	err = a.do(ctx, func() error {
		if err := a.checkSession(s); err != nil {
			return err
		}
		if err := a.unchanged(s.UserID, s.Epoch); err != nil {
			return err
		}
		got = a.putSession(s)
		return nil
	})
	return got, err
}

// GetSession implements [adapter.Adapter].
func (a *Store) GetSession(ctx context.Context, token, digest string) (s adapter.SessionRecord, u adapter.User, err error) {
	err = a.do(ctx, func() error {
		found, ok := a.sessions[key{"session.token", token}]
		if !ok {
			return adapter.ErrNotFound
		}
		s, u = found, a.withExtra(a.users[found.UserID])
		s.SessionOrigin, s.Seen = adapter.SessionOrigin{AMR: s.AMR, SecondAt: s.SecondAt, Actor: s.Actor}, time.Time{}
		return nil
	})
	return s, u, err
}

// UpdateSession implements [adapter.Adapter].
func (a *Store) UpdateSession(ctx context.Context, s adapter.SessionRecord) error {
	return a.do(ctx, func() error {
		if s.Digest == "" {
			return errNoDigest
		}
		old, ok := a.sessions[sessionKey(s.SessionToken, s.Digest)]
		if !ok {
			return adapter.ErrNotFound
		}
		old.Expires, old.Began, old.AuthTime, old.Provider = s.Expires, s.Began, s.AuthTime, s.Provider
		a.putSession(old)
		return nil
	})
}

// DeleteSession implements [adapter.Adapter].
func (a *Store) DeleteSession(ctx context.Context, token string) (s adapter.SessionRecord, err error) {
	err = a.do(ctx, func() error {
		k := key{"session.token", token}
		found, ok := a.sessions[k]
		if !ok {
			return adapter.ErrNotFound
		}
		s = found
		a.dropSession(k)
		return nil
	})
	return s, err
}

// DeleteSessionOf implements [adapter.Adapter].
func (a *Store) DeleteSessionOf(ctx context.Context, userID, digest string) (s adapter.SessionRecord, err error) {
	err = a.do(ctx, func() error {
		for k, found := range a.sessions {
			if found.UserID == userID && found.Digest == digest {
				s = found
				a.dropSession(k)
				return nil
			}
		}
		return adapter.ErrNotFound
	})
	return s, err
}

// TouchSessions implements [adapter.Adapter].
func (a *Store) TouchSessions(ctx context.Context, seen []adapter.SessionSeen) error {
	return a.do(ctx, func() error {
		times := map[string]time.Time{}
		for _, one := range seen {
			times[one.Digest] = later(times[one.Digest], stored(one.At))
		}
		for k, s := range a.sessions {
			s.Seen = later(s.Seen, times[s.Digest])
			a.sessions[k] = s
		}
		return nil
	})
}

// ListSessions implements [adapter.Adapter].
func (a *Store) ListSessions(ctx context.Context, userID string) (list []adapter.SessionRecord, err error) {
	err = a.do(ctx, func() error {
		for _, s := range a.sessions {
			if s.UserID == userID {
				list = append(list, s)
			}
		}
		return nil
	})
	return list, err
}

func (a *Store) removeSessions(userID string) (n int) {
	for k, s := range a.sessions {
		if s.UserID == userID {
			a.dropSession(k)
			n++
		}
	}
	return n
}
