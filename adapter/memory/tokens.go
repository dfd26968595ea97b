package memory

import (
	"context"
	"time"

	"authsvc"
)

// PutToken implements authsvc.Adapter.
func (s *Store) PutToken(ctx context.Context, t authsvc.VerificationToken, m authsvc.Mail, maxQueued int) error {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	if _, ok := s.tokens[t.Token]; ok {
		return authsvc.ErrConflict
	}
	if len(s.mails) >= maxQueued {
		return authsvc.ErrQueueFull
	}
	t.Expires = ms(t.Expires)
	s.tokens[t.Token] = t
	m.Due, m.Expires, m.Attempts = ms(m.Due), ms(m.Expires), 0
	m.Payload = append([]byte(nil), m.Payload...)
	s.mails[m.ID] = m
	return nil
}

// TakeToken implements authsvc.Adapter.
func (s *Store) TakeToken(ctx context.Context, identifier, token string) (authsvc.VerificationToken, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return authsvc.VerificationToken{}, err
	}
	t, ok := s.tokens[token]
	if !ok || t.Identifier != identifier {
		return authsvc.VerificationToken{}, authsvc.ErrNotFound
	}
	delete(s.tokens, token)
	return t, nil
}

// ClaimMail implements authsvc.Adapter.
func (s *Store) ClaimMail(ctx context.Context, now, retry time.Time) (authsvc.Mail, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return authsvc.Mail{}, err
	}
	var best authsvc.Mail
	for _, m := range s.mails {
		if !m.Due.After(ms(now)) && (best.ID == "" || m.Due.Before(best.Due)) {
			best = m
		}
	}
	if best.ID == "" {
		return best, authsvc.ErrNotFound
	}
	best.Attempts++
	best.Due = ms(retry)
	s.mails[best.ID] = best
	return best, nil
}

// DelayMail implements authsvc.Adapter.
func (s *Store) DelayMail(ctx context.Context, id string, due time.Time) error {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	m, ok := s.mails[id]
	if !ok {
		return authsvc.ErrNotFound
	}
	m.Due = ms(due)
	s.mails[id] = m
	return nil
}

// DeleteMail implements authsvc.Adapter.
func (s *Store) DeleteMail(ctx context.Context, id string) error {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	delete(s.mails, id)
	return nil
}

// UseOnce implements authsvc.Adapter.
func (s *Store) UseOnce(ctx context.Context, key string, expires time.Time) error {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	if _, ok := s.once[key]; ok {
		return authsvc.ErrConflict
	}
	s.once[key] = ms(expires)
	return nil
}

// Sweep implements authsvc.Adapter.
func (s *Store) Sweep(ctx context.Context, now time.Time, limit int) (int, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return 0, err
	}
	n := 0
	n += sweep(s.sessions, limit-n, func(r authsvc.SessionRecord) bool { return r.Expires.Before(now) })
	n += sweep(s.tokens, limit-n, func(t authsvc.VerificationToken) bool { return t.Expires.Before(now) })
	n += sweep(s.mails, limit-n, func(m authsvc.Mail) bool { return m.Expires.Before(now) })
	n += sweep(s.once, limit-n, func(e time.Time) bool { return e.Before(now) })
	n += sweep(s.revocations, limit-n, func(r authsvc.Revocation) bool { return r.Expires.Before(now) })
	return n, nil
}

func sweep[K comparable, V any](m map[K]V, limit int, over func(V) bool) (n int) {
	for k, v := range m {
		if n >= limit {
			return n
		}
		if over(v) {
			delete(m, k)
			n++
		}
	}
	return n
}
