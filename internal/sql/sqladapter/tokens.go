package sqladapter

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"authsvc/adapter"
)

// maxPayload bounds a queued mail, in bytes.
const maxPayload = 64 << 10

var errPayload = errors.New("mail payload exceeds 64 KiB")

// PutToken implements [adapter.Adapter].
func (a *Adapter) PutToken(ctx context.Context, t adapter.VerificationToken, m adapter.Mail, maxQueued int) error {
	stored := 0
	err := a.transact(ctx, "put token", func(ctx context.Context, r runner) (err error) {
		if stored = 0; len(m.Payload) > maxPayload {
			return errPayload
		}
		if err := a.lockQueue(ctx, r); err != nil {
			return err
		}
		link := []any{t.Identifier, t.Token, a.timeArg("VerificationToken.expires", t.Expires), maxQueued}
		if a.dialect.WritingCTE {
			return r.laterCounted(ctx, a.insertLink, &stored, nil, append(link, mailRow(m)...)...)
		}
		if stored, err = r.exec(ctx, a.insertToken, link...); err != nil || stored == 0 {
			return err
		}
		return r.later(ctx, a.insertMail, nil, mailRow(m)...)
	})
	if err == nil && stored == 0 {
		err = a.contractError("put token", adapter.ErrQueueFull)
	}
	return a.explain(ctx, err, uniqueValues{token: &t})
}

// PutMail implements [adapter.Adapter].
func (a *Adapter) PutMail(ctx context.Context, m adapter.Mail, maxQueued int) error {
	return a.transact(ctx, "put mail", func(ctx context.Context, r runner) error {
		if err := a.makePlace(ctx, r, m, maxQueued); err != nil {
			return err
		}
		return r.later(ctx, a.insertMail, nil, mailRow(m)...)
	})
}

// makePlace refuses a mail that is too large or exceeds the length of the queue.
func (a *Adapter) makePlace(ctx context.Context, r runner, m adapter.Mail, maxQueued int) error {
	if len(m.Payload) > maxPayload {
		return errPayload
	}
	if err := a.lockQueue(ctx, r); err != nil {
		return err
	}
	var queued int
	if err := r.row(ctx, a.countMail).Scan(&queued); err != nil {
		return err
	}
	if queued >= maxQueued {
		return adapter.ErrQueueFull
	}
	return nil
}

func mailRow(m adapter.Mail) []any {
	payload := m.Payload
	if payload == nil {
		payload = []byte{} // the column is NOT NULL
	}
	return []any{m.ID, payload, ms(m.Due), ms(m.Expires), m.Attempts}
}

// queueRow is the row of authsvc_meta that callers lock in turn before they add to the
// mail queue, so that the count that limits the queue is correct.
const queueRow = "mail queue"

func (a *Adapter) lockQueue(ctx context.Context, r runner) error {
	if a.dialect.ForUpdate == "" {
		return nil
	}
	return r.later(ctx, a.holdQueue, nil, queueRow, "")
}

// GetToken implements [adapter.Adapter].
func (a *Adapter) GetToken(ctx context.Context, identifier, token string) (adapter.VerificationToken, error) {
	t := adapter.VerificationToken{Identifier: identifier, Token: token}
	err := a.read(ctx, "get token", func(ctx context.Context, r runner) error {
		return r.row(ctx, a.getToken, identifier, token).Scan(instant{&t.Expires, a.dialect.DecodeTime})
	})
	if err != nil {
		return adapter.VerificationToken{}, err
	}
	return t, nil
}

// TakeToken implements [adapter.Adapter]. It locks all tokens of the identifier in one
// order before it deletes any. So callers with different tokens wait for each other and
// do not deadlock, and one of them gets its token.
func (a *Adapter) TakeToken(ctx context.Context, identifier, token string, now time.Time) (adapter.VerificationToken, adapter.User, error) {
	t := adapter.VerificationToken{Identifier: identifier, Token: token}
	var u adapter.User
	var err error
	if a.dialect.WritingCTE {
		err = a.write(ctx, "take token", func(ctx context.Context, r runner) error {
			to := append([]any{instant{&t.Expires, a.dialect.DecodeTime}}, a.scanUserEpochs(&u)...)
			return r.row(ctx, a.takeToken, identifier, token, a.dialect.EncodeTime(toMillis(now))).Scan(to...)
		})
	} else {
		err = a.transact(ctx, "take token", func(ctx context.Context, r runner) (err error) {
			if t.Expires, err = a.lockToken(ctx, r, identifier, token); err != nil {
				return err
			}
			u = adapter.User{}
			if err := r.row(ctx, a.userByEmail, identifier).Scan(a.scanUserEpochs(&u)...); err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if !now.Before(t.Expires) {
				return r.execFound(ctx, a.deleteToken, identifier, token)
			}
			return a.removeTokens(ctx, r, identifier)
		})
	}
	if err != nil {
		return adapter.VerificationToken{}, adapter.User{}, err
	}
	if u.ID == "" {
		u = adapter.User{} // without the names of its further columns
	}
	return t, u, nil
}

// lockToken locks all tokens of an identifier and returns when one of them expires.
func (a *Adapter) lockToken(ctx context.Context, r runner, identifier, token string) (expires time.Time, err error) {
	found := false
	err = r.rows(ctx, a.lockTokens, []any{identifier, token}, func(rows Rows) error {
		var at time.Time
		var asked int64
		err := rows.Scan(instant{&at, a.dialect.DecodeTime}, number{&asked})
		if asked != 0 {
			expires, found = at, true
		}
		return err
	})
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return expires, err
}

// VoidTokens implements [adapter.Adapter].
func (a *Adapter) VoidTokens(ctx context.Context, identifier string) error {
	return a.transact(ctx, "void tokens", func(ctx context.Context, r runner) error { return a.removeTokens(ctx, r, identifier) })
}

// removeTokens removes the tokens of an identifier and the mails that carry them.
func (a *Adapter) removeTokens(ctx context.Context, r runner, identifier string) error {
	for _, s := range a.deleteLinks {
		if err := r.later(ctx, s, nil, identifier); err != nil {
			return err
		}
	}
	return nil
}

func scanMail(m *adapter.Mail) []any {
	return []any{textTo{&m.ID}, &m.Payload, millis{&m.Due}, millis{&m.Expires}, &m.Attempts}
}

// ClaimMail implements [adapter.Adapter].
func (a *Adapter) ClaimMail(ctx context.Context, now, retry time.Time) (adapter.Mail, error) {
	var m adapter.Mail
	var err error
	if a.dialect.Returning {
		err = a.write(ctx, "claim mail", func(ctx context.Context, r runner) error {
			return r.row(ctx, a.claimMail, ms(retry), ms(now)).Scan(scanMail(&m)...)
		})
	} else {
		err = a.transact(ctx, "claim mail", func(ctx context.Context, r runner) error {
			if err := r.row(ctx, a.nextMail, ms(now)).Scan(scanMail(&m)...); err != nil {
				return err
			}
			m.Due, m.Attempts = toMillis(retry), m.Attempts+1
			return r.execFound(ctx, a.markMail, ms(retry), m.ID)
		})
	}
	if err != nil {
		return adapter.Mail{}, err
	}
	return m, nil
}

// DelayMail implements [adapter.Adapter].
func (a *Adapter) DelayMail(ctx context.Context, id string, due time.Time) error {
	return a.write(ctx, "delay mail", func(ctx context.Context, r runner) error { return r.execFound(ctx, a.delayMail, ms(due), id) })
}

// DeleteMail implements [adapter.Adapter].
func (a *Adapter) DeleteMail(ctx context.Context, id string) error {
	return a.write(ctx, "delete mail", func(ctx context.Context, r runner) error {
		_, err := r.exec(ctx, a.deleteMail, id)
		return err
	})
}
