package memory

import (
	"bytes"
	"context"
	"errors"

	"authsvc"
)

var errNoDigest = errors.New("session record without digest")

func sessionKeys(s authsvc.SessionRecord) []key {
	return []key{{"session.id", s.ID}, {"session.digest", s.Digest}}
}

// checkSession returns an error if a new session would break a uniqueness rule.
func (a *Store) checkSession(s authsvc.SessionRecord) error {
	if s.Digest == "" {
		return errNoDigest
	}
	if _, taken := a.sessions[s.SessionToken]; taken || !a.free(sessionKeys(s)) {
		return authsvc.ErrConflict
	}
	return nil
}

func (a *Store) putSession(s authsvc.SessionRecord) authsvc.SessionRecord {
	s.Expires, s.AuthTime, s.Claims = stored(s.Expires), stored(s.AuthTime), bytes.Clone(s.Claims)
	a.sessions[s.SessionToken] = s
	a.take(sessionKeys(s))
	return s
}

func (a *Store) dropSession(token string) {
	a.release(sessionKeys(a.sessions[token]))
	delete(a.sessions, token)
}

// CreateSession implements [authsvc.Adapter].
func (a *Store) CreateSession(ctx context.Context, s authsvc.SessionRecord) (got authsvc.SessionRecord, err error) {
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

// GetSession implements [authsvc.Adapter].
func (a *Store) GetSession(ctx context.Context, token, digest string) (s authsvc.SessionRecord, u authsvc.User, err error) {
	err = a.do(ctx, func() error {
		found, ok := a.sessions[token]
		if !ok {
			return authsvc.ErrNotFound
		}
		s, u = found, a.withExtra(a.users[found.UserID])
		return nil
	})
	return s, u, err
}

// UpdateSession implements [authsvc.Adapter].
func (a *Store) UpdateSession(ctx context.Context, s authsvc.SessionRecord) error {
	return a.do(ctx, func() error {
		if s.Digest == "" {
			return errNoDigest
		}
		old, ok := a.sessions[s.SessionToken]
		if !ok {
			return authsvc.ErrNotFound
		}
		old.Expires, old.AuthTime, old.Provider = s.Expires, s.AuthTime, s.Provider
		a.putSession(old)
		return nil
	})
}

// DeleteSession implements [authsvc.Adapter].
func (a *Store) DeleteSession(ctx context.Context, token string) (s authsvc.SessionRecord, err error) {
	err = a.do(ctx, func() error {
		found, ok := a.sessions[token]
		if !ok {
			return authsvc.ErrNotFound
		}
		s = found
		a.dropSession(token)
		return nil
	})
	return s, err
}

// ListSessions implements [authsvc.Adapter].
func (a *Store) ListSessions(ctx context.Context, userID string) (list []authsvc.SessionRecord, err error) {
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
	for token, s := range a.sessions {
		if s.UserID == userID {
			a.dropSession(token)
			n++
		}
	}
	return n
}
