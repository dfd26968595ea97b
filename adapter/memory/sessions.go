package memory

import (
	"context"
	"time"

	"authsvc"
)

func (s *Store) putSession(r authsvc.SessionRecord) authsvc.SessionRecord {
	r.Expires, r.AuthTime = ms(r.Expires), ms(r.AuthTime)
	s.sessions[r.SessionToken] = r
	return r
}

// CreateSession implements authsvc.Adapter.
func (s *Store) CreateSession(ctx context.Context, r authsvc.SessionRecord) (authsvc.SessionRecord, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return authsvc.SessionRecord{}, err
	}
	if _, err := s.user(r.UserID); err != nil {
		return authsvc.SessionRecord{}, err
	}
	if _, ok := s.sessions[r.SessionToken]; ok {
		return authsvc.SessionRecord{}, authsvc.ErrConflict
	}
	return s.putSession(r), nil
}

// GetSession implements authsvc.Adapter.
func (s *Store) GetSession(ctx context.Context, token, _ string) (authsvc.SessionRecord, authsvc.User, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return authsvc.SessionRecord{}, authsvc.User{}, err
	}
	r, ok := s.sessions[token]
	if !ok {
		return authsvc.SessionRecord{}, authsvc.User{}, authsvc.ErrNotFound
	}
	u, err := s.user(r.UserID)
	return r, u, err
}

// UpdateSession implements authsvc.Adapter.
func (s *Store) UpdateSession(ctx context.Context, r authsvc.SessionRecord) error {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	old, ok := s.sessions[r.SessionToken]
	if !ok {
		return authsvc.ErrNotFound
	}
	old.Expires, old.AuthTime, old.Provider, old.Digest = r.Expires, r.AuthTime, r.Provider, r.Digest
	s.putSession(old)
	return nil
}

// DeleteSession implements authsvc.Adapter.
func (s *Store) DeleteSession(ctx context.Context, token string) (authsvc.SessionRecord, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return authsvc.SessionRecord{}, err
	}
	r, ok := s.sessions[token]
	if !ok {
		return authsvc.SessionRecord{}, authsvc.ErrNotFound
	}
	delete(s.sessions, token)
	return r, nil
}

// EndSessions implements authsvc.Adapter.
func (s *Store) EndSessions(ctx context.Context, userID string, r *authsvc.Revocation) (int, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return 0, err
	}
	if r != nil {
		s.addRevocation(*r)
	}
	return s.dropSessions(userID), nil
}

// ProveEmail implements authsvc.Adapter.
func (s *Store) ProveEmail(ctx context.Context, p authsvc.Proof) (authsvc.User, []authsvc.Account, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return authsvc.User{}, nil, err
	}
	u, err := s.user(p.UserID)
	if err != nil {
		return u, nil, err
	}
	first := u.EmailVerified.IsZero() && !p.Keep
	u.EmailVerified = ms(p.At)
	s.users[u.ID] = u
	if !first {
		return u, nil, nil
	}
	for token, t := range s.tokens {
		if t.Identifier == p.Email {
			delete(s.tokens, token)
			delete(s.mails, token)
		}
	}
	if p.Revoke != nil {
		s.addRevocation(*p.Revoke)
	}
	s.dropSessions(u.ID)
	return u, s.dropAccounts(u.ID), nil
}

func (s *Store) addRevocation(r authsvc.Revocation) {
	r.NotBefore, r.Written, r.Expires = ms(r.NotBefore), ms(r.Written), ms(r.Expires)
	if old, ok := s.revocations[r.Key]; ok {
		if old.NotBefore.After(r.NotBefore) {
			r.NotBefore = old.NotBefore
		}
		if old.Expires.After(r.Expires) {
			r.Expires = old.Expires
		}
	}
	s.revocations[r.Key] = r
}

// Revoke implements authsvc.Adapter.
func (s *Store) Revoke(ctx context.Context, r authsvc.Revocation) error {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	s.addRevocation(r)
	return nil
}

// Revocations implements authsvc.Adapter.
func (s *Store) Revocations(ctx context.Context, since time.Time) ([]authsvc.Revocation, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return nil, err
	}
	var list []authsvc.Revocation
	for _, r := range s.revocations {
		if !r.Written.Before(ms(since)) {
			list = append(list, r)
		}
	}
	return list, nil
}
