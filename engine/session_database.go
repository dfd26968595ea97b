package engine

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal"
	"authsvc/internal/seal/sessionshape"
)

// databaseSessions keeps sessions in the adapter. The cookie holds a random token. The
// store holds only a digest of it, unless another program shares the store.
type databaseSessions struct {
	keeper *keeper
	plain  bool // compat: the token is stored as it is
	// slides holds the sessions that this replica has just extended or is about to
	// extend, so that concurrent requests, which have all read the earlier record, do
	// not each extend the session.
	slides *fleet.ReplayCache
}

// slideWindow is how long a session is not extended again.
const slideWindow = 10 * time.Second

// digestPrefix marks stored digests. A cookie value with this prefix is refused in
// every mode, so that a leaked store holds no usable cookie.
const digestPrefix = "sha256:"

func (d *databaseSessions) refersToUser() bool { return true }

// key returns the token and the hash under which the store has the session of a cookie
// value. ok is false if raw cannot be a cookie value.
func (d *databaseSessions) key(raw string) (token, hash string, ok bool) {
	if len(raw) < 16 || len(raw) > 512 || strings.HasPrefix(raw, digestPrefix) {
		return "", "", false
	}
	if d.plain && strings.Contains(raw, "%") { // NextAuth.js percent-encodes cookie values
		if token, err := url.PathUnescape(raw); err == nil {
			raw = token
		}
	}
	if d.plain {
		return raw, seal.Digest(raw), true
	}
	token = seal.DigestAfter(digestPrefix, raw)
	return token, token[len(digestPrefix):], true
}

func (d *databaseSessions) start(b *sessionStart) *adapter.SessionRecord {
	token, hash, _ := d.key(b.token)
	return &adapter.SessionRecord{ID: seal.UUIDv7(), SessionToken: token, Digest: hash, UserID: b.user.ID,
		Expires: d.keeper.lifetime.end(b.began, b.began), Began: b.began, AuthTime: b.authTime, Provider: b.provider, Epoch: b.user.Epoch, Claims: b.claims, SessionOrigin: b.origin}
}

func (d *databaseSessions) issue(_ context.Context, b *sessionStart) (sessionCookie, error) {
	return sessionCookie{value: b.token, expires: d.cookieEnd(b.began, d.keeper.lifetime.end(b.began, b.began))}, nil
}

func (d *databaseSessions) read(ctx context.Context, raw string, now time.Time, how readOptions) (*authsvc.Session, *sessionCookie, error) {
	token, hash, ok := d.key(raw)
	if !ok {
		return nil, nil, nil
	}
	return d.find(ctx, token, hash, raw, now, how)
}

// find is like read, but takes the token and the hash under which the store has the
// session. raw is the value of the new cookie if the session is extended.
func (d *databaseSessions) find(ctx context.Context, token, hash, raw string, now time.Time, how readOptions) (*authsvc.Session, *sessionCookie, error) {
	r, u, err := d.keeper.Adapter.GetSession(ctx, token, hash)
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	r.SessionToken, r.Digest = token, hash
	adopt := r.Began.IsZero()
	if adopt {
		r.Began = now
	}
	if !now.Before(r.Expires) || !now.Before(r.Began.Add(d.keeper.lifetime.absolute)) {
		d.removeExpired(ctx, token, how)
		return nil, nil, nil
	}
	stored := r.Expires
	renewed, err := d.slide(ctx, &r, raw, now, how, adopt)
	if errors.Is(err, adapter.ErrNotFound) {
		return nil, nil, nil // ended meanwhile
	}
	if err != nil { // the session was read, so it is still answered
		d.logWriteFailure("cannot extend a session", err)
		r.Expires = stored
	}
	d.keeper.seen.note(hash, now)
	s := &authsvc.Session{UserID: u.ID, Name: u.Name, Email: u.Email, EmailVerified: emailProved(u), Image: u.Image, Expires: r.Expires,
		Began: r.Began, AuthTime: r.AuthTime, Provider: r.Provider}
	*s.Internal() = sessionshape.State{ID: hash, Shape: d.keeper.shape, Kept: string(r.Claims), Extra: u.Extra}
	s.Internal().SetOrigin(toldOrigin(r.SessionOrigin))
	if err := d.keeper.askSession(ctx, s, u, how); err != nil {
		return nil, nil, err
	}
	return s, renewed, nil
}

// removeExpired deletes a session that is no longer usable, unless how allows only
// reading.
func (d *databaseSessions) removeExpired(ctx context.Context, token string, how readOptions) {
	if !how.touch {
		return
	}
	if _, err := d.keeper.Adapter.DeleteSession(ctx, token); err != nil && !errors.Is(err, adapter.ErrNotFound) {
		d.logWriteFailure("cannot remove an expired session", err)
	}
}

// logWriteFailure logs, at most once a minute, that the store can be read but not
// written.
func (d *databaseSessions) logWriteFailure(what string, err error) {
	now := time.Now()
	if d.slides.Use("no writes", now, now.Add(time.Minute)) == nil {
		d.keeper.Log.Error(what+"; the store can be read but refuses writes", "err", err)
	}
}

// slide extends a session in use, at most once per update age. It also sets Began in a
// record that another program wrote.
func (d *databaseSessions) slide(ctx context.Context, r *adapter.SessionRecord, raw string, now time.Time, how readOptions, adopt bool) (*sessionCookie, error) {
	if !how.touch {
		return nil, nil
	}
	end := d.keeper.lifetime.end(r.Began, now)
	due := d.keeper.lifetime.due(r.Expires.Add(-d.keeper.lifetime.maxAge), now) && end.After(r.Expires) ||
		r.Expires.After(end.Add(time.Second)) // max_age was longer when it was extended
	if !due && !adopt {
		return nil, nil
	}
	if errors.Is(d.slides.Use(r.Digest, now, now.Add(min(slideWindow, d.keeper.lifetime.updateAge))), adapter.ErrConflict) {
		return nil, nil // another request extends it
	}
	if due {
		r.Expires = end
	}
	if err := d.keeper.Adapter.UpdateSession(ctx, *r); err != nil {
		d.slides.Forget(r.Digest)
		return nil, err
	}
	if !due {
		return nil, nil
	}
	return &sessionCookie{value: raw, expires: d.cookieEnd(r.Began, r.Expires)}, nil
}

// cookieEnd returns when the cookie of a session expires: at the absolute end of the
// session, however much it is used. Only the store decides when an unused session ends,
// so that sessions slide even behind a proxy that keeps new cookies from the browser.
// With dialect.cookieSlides, the cookie expires at end.
func (d *databaseSessions) cookieEnd(began, end time.Time) time.Time {
	if d.keeper.site.dialect.cookieSlides {
		return end
	}
	return began.Add(d.keeper.lifetime.absolute).Truncate(time.Millisecond)
}

func (d *databaseSessions) end(ctx context.Context, raw string, _ time.Time) (*authsvc.SignOutEvent, error) {
	token, _, ok := d.key(raw)
	if !ok {
		return nil, nil
	}
	r, err := d.keeper.Adapter.DeleteSession(ctx, token)
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &authsvc.SignOutEvent{Session: &r}, nil
}

// endBy first writes a revocation, which stops sign-ins in progress: their sessions
// could be stored after the list is read.
func (d *databaseSessions) endBy(ctx context.Context, userID, provider string, now time.Time) ([]adapter.SessionRecord, error) {
	if err := d.keeper.revokeAll(ctx, d.keeper.revocation(revokedBy(provider, userID), userID, now)); err != nil {
		return nil, err
	}
	list, err := d.keeper.Adapter.ListSessions(ctx, userID)
	if err != nil {
		return nil, err
	}
	var ended []adapter.SessionRecord
	var errs []error
	for _, r := range list {
		if r.Provider != provider && r.Provider != "" || !d.lists(&r) {
			continue
		}
		gone, err := d.keeper.Adapter.DeleteSession(ctx, r.SessionToken)
		switch {
		case err == nil:
			ended = append(ended, gone)
		case !errors.Is(err, adapter.ErrNotFound):
			errs = append(errs, err)
		}
	}
	return ended, errors.Join(errs...)
}

func (d *databaseSessions) lists(r *adapter.SessionRecord) bool { return r.SessionToken != "" }

func (d *databaseSessions) endRecord(ctx context.Context, r *adapter.SessionRecord, _ time.Time) error {
	_, err := d.keeper.Adapter.DeleteSession(ctx, r.SessionToken)
	return err
}

// retell does nothing: the user is read with the session.
func (d *databaseSessions) retell(context.Context, string, adapter.UserUpdate, time.Time) (*sessionCookie, error) {
	return nil, nil
}

func (d *databaseSessions) id(raw string, _ time.Time) string {
	if _, hash, ok := d.key(raw); ok {
		return hash
	}
	return ""
}
