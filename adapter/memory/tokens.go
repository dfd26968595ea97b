package memory

import (
	"bytes"
	"context"
	"errors"
	"time"

	"authsvc/adapter"
)

// maxPayload is the size limit of a queued mail, in bytes.
const maxPayload = 64 << 10

var errPayload = errors.New("mail payload exceeds 64 KiB")

// PutToken implements [adapter.Adapter].
func (a *Store) PutToken(ctx context.Context, t adapter.VerificationToken, m adapter.Mail, maxQueued int) error {
	return a.do(ctx, func() error {
		if err := a.checkMail(m, maxQueued); err != nil {
			return err
		}
		if _, taken := a.tokens[t.Token]; taken {
			return adapter.ErrConflict
		}
		t.Expires = stored(t.Expires)
		a.tokens[t.Token] = t
		a.putMail(m)
		return nil
	})
}

// PutMail implements [adapter.Adapter].
func (a *Store) PutMail(ctx context.Context, m adapter.Mail, maxQueued int) error {
	return a.do(ctx, func() error {
		if err := a.checkMail(m, maxQueued); err != nil {
			return err
		}
		a.putMail(m)
		return nil
	})
}

func (a *Store) checkMail(m adapter.Mail, maxQueued int) error {
	if len(m.Payload) > maxPayload {
		return errPayload
	}
	if len(a.mails) >= maxQueued {
		return adapter.ErrQueueFull
	}
	if _, taken := a.mails[m.ID]; taken {
		return adapter.ErrConflict
	}
	return nil
}

func (a *Store) putMail(m adapter.Mail) {
	m.Due, m.Expires, m.Payload = stored(m.Due), stored(m.Expires), bytes.Clone(m.Payload)
	a.mails[m.ID] = m
}

// GetToken implements [adapter.Adapter].
func (a *Store) GetToken(ctx context.Context, identifier, token string) (t adapter.VerificationToken, err error) {
	err = a.do(ctx, func() error {
		t, err = a.token(identifier, token)
		return err
	})
	return t, err
}

func (a *Store) token(identifier, token string) (adapter.VerificationToken, error) {
	t, ok := a.tokens[token]
	if !ok || t.Identifier != identifier {
		return adapter.VerificationToken{}, adapter.ErrNotFound
	}
	return t, nil
}

// TakeToken implements [adapter.Adapter].
func (a *Store) TakeToken(ctx context.Context, identifier, token string, now time.Time) (t adapter.VerificationToken, u adapter.User, err error) {
	err = a.do(ctx, func() error {
		if t, err = a.token(identifier, token); err != nil {
			return err
		}
		if now.Before(t.Expires) {
			a.removeTokens(identifier)
		} else {
			delete(a.tokens, token)
		}
		if id, ok := a.emails[identifier]; ok {
			u = a.withEpochs(a.users[id])
		}
		return nil
	})
	return t, u, err
}

// VoidTokens implements [adapter.Adapter].
func (a *Store) VoidTokens(ctx context.Context, identifier string) error {
	return a.do(ctx, func() error {
		a.removeTokens(identifier)
		return nil
	})
}

// removeTokens deletes the verification tokens of an address, and their mails.
func (a *Store) removeTokens(email string) {
	for token, t := range a.tokens {
		if t.Identifier == email {
			delete(a.mails, token)
			delete(a.tokens, token)
		}
	}
}

// ClaimMail implements [adapter.Adapter].
func (a *Store) ClaimMail(ctx context.Context, now, retry time.Time) (m adapter.Mail, err error) {
	err = a.do(ctx, func() error {
		id, found := "", false
		for other, mail := range a.mails {
			if mail.Due.After(now) {
				continue
			}
			if !found || mail.Due.Before(a.mails[id].Due) || mail.Due.Equal(a.mails[id].Due) && other < id {
				id, found = other, true
			}
		}
		if !found {
			return adapter.ErrNotFound
		}
		m = a.mails[id]
		m.Due = stored(retry)
		m.Attempts++
		a.mails[id] = m
		m.Payload = bytes.Clone(m.Payload)
		return nil
	})
	return m, err
}

// DelayMail implements [adapter.Adapter].
func (a *Store) DelayMail(ctx context.Context, id string, due time.Time) error {
	return a.do(ctx, func() error {
		m, ok := a.mails[id]
		if !ok {
			return adapter.ErrNotFound
		}
		m.Due = stored(due)
		a.mails[id] = m
		return nil
	})
}

// DeleteMail implements [adapter.Adapter].
func (a *Store) DeleteMail(ctx context.Context, id string) error {
	return a.do(ctx, func() error {
		delete(a.mails, id)
		return nil
	})
}
