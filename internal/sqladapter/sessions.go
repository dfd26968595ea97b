package sqladapter

import (
	"context"
	"errors"

	"authsvc"
)

var errNoDigest = errors.New("session record without digest")

// scanSession lists where sessionColumns go.
func (a *Adapter) scanSession(s *authsvc.SessionRecord) []any {
	return []any{text{&s.ID}, text{&s.SessionToken}, text{&s.UserID}, orEnded{instant{&s.Expires, a.dialect.DecodeTime}, s},
		text{&s.Digest}, orEnded{millis{&s.AuthTime}, s}, text{&s.Provider}, blob{&s.Claims}}
}

// insertSessionRows sets s.ID to the id that counts.
func (a *Adapter) insertSessionRows(ctx context.Context, r runner, s *authsvc.SessionRecord) error {
	if s.Digest == "" {
		return errNoDigest
	}
	err := r.insert(ctx, a.insertSession, &s.ID, s.SessionToken, s.UserID, a.timeArg("Session.expires", s.Expires))
	if err != nil {
		return a.noSuchUser(err)
	}
	return a.insertOwnSessionRow(ctx, r, *s)
}

func (a *Adapter) insertOwnSessionRow(ctx context.Context, r runner, s authsvc.SessionRecord) error {
	_, err := r.exec(ctx, a.insertOwnSession, s.Digest, s.SessionToken, s.UserID, ms(s.Expires), msOrNull(s.AuthTime), orNull(s.Provider), orNull(string(s.Claims)))
	return a.noSuchUser(err)
}

func (a *Adapter) storedSession(s authsvc.SessionRecord) authsvc.SessionRecord {
	s.Expires, s.AuthTime = a.truncate("Session.expires", s.Expires), toMillis(s.AuthTime)
	return s
}

// CreateSession implements [authsvc.Adapter].
func (a *Adapter) CreateSession(ctx context.Context, s authsvc.SessionRecord) (authsvc.SessionRecord, error) {
	err := a.transact(ctx, "create session", func(ctx context.Context, r runner) error {
		if err := a.lockUserAt(ctx, r, s.UserID, s.Epoch); err != nil {
			return err
		}
		return a.insertSessionRows(ctx, r, &s)
	})
	if err != nil {
		return authsvc.SessionRecord{}, a.explain(ctx, err, uniqueValues{session: &s})
	}
	return a.storedSession(s), nil
}

// GetSession implements [authsvc.Adapter]. It is one statement.
func (a *Adapter) GetSession(ctx context.Context, token, digest string) (authsvc.SessionRecord, authsvc.User, error) {
	var s authsvc.SessionRecord
	var u authsvc.User
	err := a.read(ctx, "get session", func(ctx context.Context, r runner) error {
		return r.row(ctx, a.getSession, digest, token).Scan(a.addExtra([]any{
			text{&s.ID}, orEnded{instant{&s.Expires, a.dialect.DecodeTime}, &s}, orEnded{millis{&s.AuthTime}, &s}, text{&s.Provider}, blob{&s.Claims},
			text{&u.ID}, text{&u.Name}, text{&u.Email}, instant{&u.EmailVerified, a.dialect.DecodeTime}, text{&u.Image}}, &u)...)
	})
	if err != nil {
		return authsvc.SessionRecord{}, authsvc.User{}, err
	}
	s.SessionToken, s.Digest, s.UserID = token, digest, u.ID
	return s, u, nil
}

// UpdateSession implements [authsvc.Adapter]. A session that another program
// made gets its row in authsvc_session now.
func (a *Adapter) UpdateSession(ctx context.Context, s authsvc.SessionRecord) error {
	return a.transact(ctx, "update session", func(ctx context.Context, r runner) error {
		if s.Digest == "" {
			return errNoDigest
		}
		// The update holds the session until the end of the step, so it
		// cannot be deleted and nobody else can adopt it in between.
		if err := r.execFound(ctx, a.updateSession, a.timeArg("Session.expires", s.Expires), s.SessionToken); err != nil {
			return err
		}
		n, err := r.exec(ctx, a.updateOwnSession, ms(s.Expires), msOrNull(s.AuthTime), orNull(s.Provider), s.SessionToken)
		if err != nil || n > 0 {
			return err
		}
		own := s
		if err := r.row(ctx, a.sessionOwner, s.SessionToken).Scan(text{&own.UserID}); err != nil {
			return err
		}
		return a.insertOwnSessionRow(ctx, r, own)
	})
}

// DeleteSession implements [authsvc.Adapter].
func (a *Adapter) DeleteSession(ctx context.Context, token string) (authsvc.SessionRecord, error) {
	var s authsvc.SessionRecord
	err := a.transact(ctx, "delete session", func(ctx context.Context, r runner) error {
		if err := r.row(ctx, a.lookSession, token).Scan(a.scanSession(&s)...); err != nil {
			return err
		}
		return r.execFound(ctx, a.deleteSession, token)
	})
	if err != nil {
		return authsvc.SessionRecord{}, err
	}
	return s, nil
}

// ListSessions implements [authsvc.Adapter].
func (a *Adapter) ListSessions(ctx context.Context, userID string) (list []authsvc.SessionRecord, err error) {
	err = a.read(ctx, "list sessions", func(ctx context.Context, r runner) error {
		return r.rows(ctx, a.listSessions, []any{userID}, func(rows Rows) error {
			var s authsvc.SessionRecord
			if err := rows.Scan(a.scanSession(&s)...); err != nil {
				return err
			}
			list = append(list, s)
			return nil
		})
	})
	if errors.Is(err, authsvc.ErrNotFound) { // nobody can have such an id
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}
