package sqladapter

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"authsvc/adapter"
)

var errNoDigest = errors.New("session record without digest")

// scanSession returns the targets for sessionColumns.
func (a *Adapter) scanSession(s *adapter.SessionRecord) []any {
	return []any{textTo{&s.ID}, textTo{&s.SessionToken}, textTo{&s.UserID}, orEnded{instant{&s.Expires, a.dialect.DecodeTime}, s},
		textTo{&s.Digest}, orEnded{millis{&s.Began}, s}, millis{&s.AuthTime}, textTo{&s.Provider}, blob{&s.Claims},
		textTo{&s.AMR}, millis{&s.SecondAt}, millis{&s.Seen}, textTo{&s.Agent}, textTo{&s.Network}, textTo{&s.Client}, textTo{&s.Actor}}
}

// scanCookieSession returns the targets for cookieSessionColumns.
func scanCookieSession(s *adapter.SessionRecord) []any {
	return []any{textTo{&s.UserID}, orEnded{millis{&s.Expires}, s}, textTo{&s.Digest}, orEnded{millis{&s.Began}, s}, millis{&s.AuthTime}, textTo{&s.Provider}, blob{&s.Claims},
		textTo{&s.AMR}, millis{&s.SecondAt}, millis{&s.Seen}, textTo{&s.Agent}, textTo{&s.Network}, textTo{&s.Client}, textTo{&s.Actor}}
}

// insertSessionRows sets s.ID to the stored id.
func (a *Adapter) insertSessionRows(ctx context.Context, r runner, s *adapter.SessionRecord) error {
	var stored int
	return a.insertSessionWhen(ctx, r, a.insertSession, s, &stored)
}

// insertSessionWhen is insertSessionRows for statements with a condition and its
// arguments. It sets stored to 0 if the condition is not met.
func (a *Adapter) insertSessionWhen(ctx context.Context, r runner, by sessionInserts, s *adapter.SessionRecord, stored *int, when ...any) error {
	if s.Digest == "" {
		return errNoDigest
	}
	if s.SessionToken == "" {
		s.ID = ""
		return r.laterCounted(ctx, by.cookie, stored, a.noSuchUser, append(append([]any{s.Digest, s.UserID}, ownFields(*s)...), when...)...)
	}
	err := r.insertWhen(ctx, by.session, &s.ID, stored, when, a.noSuchUser, s.SessionToken, s.UserID, a.timeArg("Session.expires", s.Expires))
	if err != nil {
		return err
	}
	return a.insertOwnSessionRow(ctx, r, by, *s, when...)
}

func (a *Adapter) insertOwnSessionRow(ctx context.Context, r runner, by sessionInserts, s adapter.SessionRecord, when ...any) error {
	return r.later(ctx, by.own, a.noSuchUser, append(append([]any{s.Digest, s.SessionToken, s.UserID}, ownFields(s)...), when...)...)
}

// ownFields returns the parameters for the fields of a session that only authsvc keeps.
func ownFields(s adapter.SessionRecord) []any {
	return []any{ms(s.Expires), msOrNull(s.Began), msOrNull(s.AuthTime), orNull(s.Provider), orNull(string(s.Claims)),
		orNull(s.AMR), msOrNull(s.SecondAt), msOrNull(s.Seen), orNull(s.Agent), orNull(s.Network), orNull(s.Client), orNull(s.Actor)}
}

func (a *Adapter) storedSession(s adapter.SessionRecord) adapter.SessionRecord {
	s.Began, s.AuthTime, s.SecondAt, s.Seen = toMillis(s.Began), toMillis(s.AuthTime), toMillis(s.SecondAt), toMillis(s.Seen)
	if s.SessionToken == "" {
		s.Expires = toMillis(s.Expires)
	} else {
		s.Expires = a.truncate("Session.expires", s.Expires)
	}
	return s
}

// CreateSession implements [adapter.Adapter].
func (a *Adapter) CreateSession(ctx context.Context, s adapter.SessionRecord) (adapter.SessionRecord, error) {
	stored := 0
	proposed := s
	err := a.transact(ctx, "create session", func(ctx context.Context, r runner) error {
		s, stored = proposed, 0
		if err := a.holdUserRow(ctx, r, s.UserID); err != nil {
			return err
		}
		return a.insertSessionWhen(ctx, r, a.insertSessionAt, &s, &stored, s.UserID, s.UserID, s.Epoch)
	})
	if err == nil && stored == 0 {
		err = a.transact(ctx, "create session", func(ctx context.Context, r runner) error {
			s = proposed
			if err := a.lockUserAt(ctx, r, s.UserID, s.Epoch); err != nil {
				return err
			}
			return a.insertSessionRows(ctx, r, &s)
		})
	}
	if err != nil {
		return adapter.SessionRecord{}, a.explain(ctx, err, uniqueValues{session: &s})
	}
	return a.storedSession(s), nil
}

// GetSession implements [adapter.Adapter]. It runs one statement.
func (a *Adapter) GetSession(ctx context.Context, token, digest string) (adapter.SessionRecord, adapter.User, error) {
	var s adapter.SessionRecord
	var u adapter.User
	err := a.read(ctx, "get session", func(ctx context.Context, r runner) error {
		return r.row(ctx, a.getSession, digest, token).Scan(a.addExtra([]any{
			textTo{&s.ID}, orEnded{instant{&s.Expires, a.dialect.DecodeTime}, &s}, orEnded{millis{&s.Began}, &s}, millis{&s.AuthTime}, textTo{&s.Provider}, blob{&s.Claims}, textTo{&s.AMR}, millis{&s.SecondAt}, textTo{&s.Actor},
			textTo{&u.ID}, textTo{&u.Name}, textTo{&u.Email}, instant{&u.EmailVerified, a.dialect.DecodeTime}, textTo{&u.Image}}, &u)...)
	})
	if err != nil {
		return adapter.SessionRecord{}, adapter.User{}, err
	}
	s.SessionToken, s.Digest, s.UserID = token, digest, u.ID
	return s, u, nil
}

// UpdateSession implements [adapter.Adapter]. It adds the row in authsvc_session for a
// session that another program created.
func (a *Adapter) UpdateSession(ctx context.Context, s adapter.SessionRecord) error {
	return a.transact(ctx, "update session", func(ctx context.Context, r runner) error {
		if s.Digest == "" {
			return errNoDigest
		}
		if s.SessionToken == "" {
			return r.execFound(ctx, a.updateCookieSession, ms(s.Expires), msOrNull(s.Began), msOrNull(s.AuthTime), orNull(s.Provider), s.Digest)
		}
		// The update locks the session until the end of the step, so that no other
		// caller can delete or adopt it in between.
		if err := r.execFound(ctx, a.updateSession, a.timeArg("Session.expires", s.Expires), s.SessionToken); err != nil {
			return err
		}
		n, err := r.exec(ctx, a.updateOwnSession, ms(s.Expires), msOrNull(s.Began), msOrNull(s.AuthTime), orNull(s.Provider), s.SessionToken)
		if err != nil || n > 0 {
			return err
		}
		own := s
		if err := r.row(ctx, a.sessionOwner, s.SessionToken).Scan(textTo{&own.UserID}); err != nil {
			return err
		}
		return a.insertOwnSessionRow(ctx, r, a.insertSession, own)
	})
}

// DeleteSession implements [adapter.Adapter].
func (a *Adapter) DeleteSession(ctx context.Context, token string) (adapter.SessionRecord, error) {
	var s adapter.SessionRecord
	err := a.transact(ctx, "delete session", func(ctx context.Context, r runner) error { return a.removeSession(ctx, r, token, &s) })
	if err != nil {
		return adapter.SessionRecord{}, err
	}
	return s, nil
}

// removeSession deletes a session by its token and sets s to the deleted session.
func (a *Adapter) removeSession(ctx context.Context, r runner, token string, s *adapter.SessionRecord) error {
	if err := r.row(ctx, a.lookSession, token).Scan(a.scanSession(s)...); err != nil {
		return err
	}
	return r.execFound(ctx, a.deleteSession, token)
}

// DeleteSessionOf implements [adapter.Adapter].
func (a *Adapter) DeleteSessionOf(ctx context.Context, userID, digest string) (adapter.SessionRecord, error) {
	var s adapter.SessionRecord
	err := a.transact(ctx, "delete session of", func(ctx context.Context, r runner) error {
		var token, owner string
		err := r.row(ctx, a.lookCookieSession, digest).Scan(scanCookieSession(&s)...)
		if errors.Is(err, sql.ErrNoRows) {
			if err := r.row(ctx, a.ownToken, digest).Scan(textTo{&token}, textTo{&owner}); err != nil {
				return err
			}
			if owner != userID {
				return adapter.ErrNotFound
			}
			return a.removeSession(ctx, r, token, &s)
		}
		if err == nil && s.UserID != userID {
			err = adapter.ErrNotFound
		}
		if err != nil {
			return err
		}
		return r.execFound(ctx, a.deleteCookieSession, digest)
	})
	if err != nil {
		return adapter.SessionRecord{}, err
	}
	return s, nil
}

// touchBatch is the number of sessions that TouchSessions marks in one transaction.
const touchBatch = 100

// TouchSessions implements [adapter.Adapter]. It locks rows in a fixed order, so that
// replicas do not deadlock.
func (a *Adapter) TouchSessions(ctx context.Context, seen []adapter.SessionSeen) error {
	if err := ctx.Err(); err != nil {
		return a.contractError("touch sessions", err)
	}
	seen = slices.SortedFunc(slices.Values(seen), func(x, y adapter.SessionSeen) int { return strings.Compare(x.Digest, y.Digest) })
	for batch := range slices.Chunk(seen, touchBatch) {
		err := a.transact(ctx, "touch sessions", func(ctx context.Context, r runner) error {
			for _, one := range batch {
				for _, s := range []*Statement{a.touchSession, a.touchCookieSession} {
					if n, err := r.exec(ctx, s, ms(one.At), one.Digest, ms(one.At)); err != nil || n > 0 {
						if err != nil {
							return err
						}
						break
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeSessionsOf removes all sessions of a user and returns their number.
func (a *Adapter) removeSessionsOf(ctx context.Context, r runner, userID string) (n int, err error) {
	for _, s := range []*Statement{a.deleteSessionsOf, a.deleteCookieSessionsOf} {
		removed, err := r.exec(ctx, s, userID)
		if err != nil {
			return n, err
		}
		n += removed
	}
	return n, nil
}

// ListSessions implements [adapter.Adapter].
func (a *Adapter) ListSessions(ctx context.Context, userID string) (list []adapter.SessionRecord, err error) {
	err = a.read(ctx, "list sessions", func(ctx context.Context, r runner) error {
		list = nil
		for _, kind := range []struct {
			list *Statement
			scan func(*adapter.SessionRecord) []any
		}{{a.listSessions, a.scanSession}, {a.listCookieSessions, scanCookieSession}} {
			err := r.rows(ctx, kind.list, []any{userID}, func(rows Rows) error {
				var s adapter.SessionRecord
				if err := rows.Scan(kind.scan(&s)...); err != nil {
					return err
				}
				list = append(list, s)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, adapter.ErrNotFound) { // no user can have such an id
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}
