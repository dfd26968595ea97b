package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/cookie"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal"
	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/seal/tokenclaims"
	"authsvc/internal/text/jsonscan"
)

// jwtSessions keeps sessions in the cookie, as claims sealed in a JWE.
type jwtSessions struct {
	keeper *keeper
	seal   *seal.Sealer
	leeway time.Duration // of exp and nbf; NextAuth grants 15 s
	shared bool          // other programs also make tokens (compat)
}

func (j *jwtSessions) refersToUser() bool { return false }

// start makes the record that lists the session and lets it be ended from the list. The
// record lasts until the absolute end of the session, however often the token is
// reissued.
func (j *jwtSessions) start(b *sessionStart) *adapter.SessionRecord {
	if !j.keeper.revoked.enabled {
		return nil
	}
	return &adapter.SessionRecord{Digest: b.token, UserID: b.user.ID, Expires: b.began.Add(j.keeper.lifetime.absolute), Began: b.began, AuthTime: b.authTime,
		Provider: b.provider, Epoch: b.user.Epoch, SessionOrigin: b.origin}
}

func (j *jwtSessions) lists(r *adapter.SessionRecord) bool {
	return r.SessionToken == "" && !j.keeper.revoked.ended(r.Digest)
}

func (j *jwtSessions) endRecord(ctx context.Context, r *adapter.SessionRecord, now time.Time) error {
	if err := j.revoke(ctx, &tokenclaims.Claims{Subject: r.UserID, SID: r.Digest, Began: float64(r.Began.UnixMilli()) / 1000}, now); err != nil {
		return err
	}
	_, err := j.keeper.Adapter.DeleteSessionOf(ctx, r.UserID, r.Digest)
	return err
}

// errSessionTooLarge means that the claims do not fit into five cookies.
var errSessionTooLarge = errors.New("the session does not fit into five cookies; keep its claims small")

// errNoSession means that the session has ended since it was read.
var errNoSession = errors.New("the session has ended")

// errUnknownKey means that the token may be valid under a key that this replica lacks.
var errUnknownKey = errors.New("the token names an unknown key")

// issue makes the first token of a session.
func (j *jwtSessions) issue(ctx context.Context, b *sessionStart) (sessionCookie, error) {
	c := authsvc.Claims{"sub": b.user.ID}
	for name, v := range map[string]string{"name": b.user.Name, "email": b.user.Email, "picture": b.user.Image} {
		c[name] = nil
		if v != "" {
			c[name] = v
		}
	}
	if j.keeper.Callbacks.JWT != nil {
		trigger := "signIn"
		if b.isNew {
			trigger = "signUp"
		}
		var err error
		if c, err = j.ask(ctx, authsvc.JWTParams{Claims: c, Trigger: trigger, User: &b.user, Account: b.account,
			Profile: b.profile, IsNewUser: b.isNew}); err != nil {
			return sessionCookie{}, err
		}
	}
	if c == nil {
		c = authsvc.Claims{}
	}
	c["sub"], c["provider"], c["sid"], c["authsvc_epoch"] = b.user.ID, b.provider, b.token, b.user.Epoch
	for _, name := range []string{"authsvc_sid", "authsvc_auth_time", "authsvc_proved", "authsvc_email_verified", "authsvc_session"} {
		delete(c, name)
	}
	if emailProved(b.user) {
		c["authsvc_email_verified"] = b.user.Email
	}
	kept := map[string]any{}
	if b.claims != nil {
		kept["claims"] = json.RawMessage(b.claims)
	}
	if err := j.addColumns(ctx, kept, b.user.ID); err != nil {
		return sessionCookie{}, err
	}
	if len(kept) > 0 {
		c["authsvc_session"] = kept
	}
	c["auth_time"] = float64(b.began.UnixMilli()) / 1000
	if !b.authTime.IsZero() {
		c["authsvc_proved"] = float64(b.authTime.UnixMilli()) / 1000
	}
	toldOrigin(b.origin).Tell(c)
	return j.sealSmall(c, b.user.Image, b.began, j.keeper.fleet.Now())
}

// toldOrigin returns the part of an origin that tokens tell.
func toldOrigin(o adapter.SessionOrigin) sessionshape.Origin {
	return sessionshape.Origin{AMR: sessionshape.Methods(o.AMR), SecondAt: o.SecondAt, Actor: o.Actor}
}

// sealSmall seals the claims. If the session needs fewer cookies without the claim
// picture, and that claim is still image, sealSmall removes it from c: a provider must
// not make a session so large that a proxy refuses it. The user's record keeps the
// picture.
func (j *jwtSessions) sealSmall(c authsvc.Claims, image string, began, now time.Time) (sessionCookie, error) {
	v, err := j.sealClaims(c, began, now)
	if (err == nil && len(v.value) <= cookie.ChunkSize) || image == "" || c["picture"] != any(image) {
		return v, err
	}
	c["picture"] = nil
	small, refused := j.sealClaims(c, began, now)
	if refused == nil && (err != nil || cookie.Chunks(small.value) < cookie.Chunks(v.value)) {
		return small, nil
	}
	c["picture"] = image
	return v, err
}

// addColumns adds the current columns of the user's row to kept, if any are read.
func (j *jwtSessions) addColumns(ctx context.Context, kept map[string]any, userID string) error {
	if !j.keeper.shape.ReadsColumns() {
		return nil
	}
	u, err := j.keeper.Adapter.GetUser(ctx, userID)
	if errors.Is(err, adapter.ErrNotFound) {
		return nil // such as a user of the credentials provider who is not stored
	}
	if err != nil {
		return fleet.StoreFailed(err)
	}
	row, err := sessionshape.EncodeRow(u.Extra)
	if row != nil {
		kept["columns"] = row
	}
	return err
}

// ask runs the JWT callback.
func (j *jwtSessions) ask(ctx context.Context, p authsvc.JWTParams) (c authsvc.Claims, err error) {
	defer j.keeper.fleet.Recovered("jwt callback", func() { c, err = nil, errors.New("jwt callback panicked") })
	return j.keeper.Callbacks.JWT(ctx, p)
}

// sealClaims sets iat, exp and jti, and seals the claims. exp is never after the
// absolute end of the session.
func (j *jwtSessions) sealClaims(c authsvc.Claims, began, now time.Time) (sessionCookie, error) {
	expires := j.keeper.lifetime.end(began, now)
	c["iat"], c["exp"], c["jti"] = now.Unix(), expires.Unix(), seal.UUIDv4()
	raw, err := json.Marshal(c)
	if err != nil {
		return sessionCookie{}, fmt.Errorf("cannot encode the session claims as JSON: %w", err)
	}
	value, err := j.seal.Seal(raw)
	if err != nil {
		err = fmt.Errorf("%w: %w", errSessionTooLarge, err)
	}
	return sessionCookie{value: value, expires: time.Unix(expires.Unix(), 0)}, err
}

// open unseals a token and checks its times. ok is false if raw is not a live session.
func (j *jwtSessions) open(raw string, now time.Time) (c tokenclaims.Claims, plain []byte, stale, ok bool) {
	plain, stale, err := j.seal.Open(raw)
	if err != nil || c.Decode(plain, j.shared) != nil {
		return c, nil, false, false
	}
	if c.Subject == "" || !tokenclaims.PlausibleTime(c.Expires) || !tokenclaims.PlausibleTime(c.Issued) || !tokenclaims.PlausibleTime(c.Began) || !tokenclaims.PlausibleTime(c.Proved) || !tokenclaims.PlausibleTime(c.NotYet) || c.Expires == 0 {
		return c, nil, false, false
	}
	if c.Began == 0 {
		c.Began = c.Issued
	}
	t := float64(now.UnixMilli()) / 1000
	leeway := j.leeway.Seconds()
	ended := t >= c.Expires+leeway || c.NotYet > t+leeway || t >= c.Began+j.keeper.lifetime.absolute.Seconds() ||
		c.Issued > 0 && t >= c.Issued+j.keeper.lifetime.maxAge.Seconds()+leeway // max_age was longer when it was issued
	return c, plain, stale, !ended
}

// live returns the session of a token, nil if raw is not a valid token or the session
// has ended.
func (j *jwtSessions) live(raw string, now time.Time) (c tokenclaims.Claims, s *authsvc.Session, stale bool, err error) {
	c, plain, stale, ok := j.open(raw, now)
	if !ok {
		if j.seal.NamesOther(raw) {
			err = errUnknownKey
		}
		return c, nil, false, err
	}
	if gone, err := j.keeper.revoked.covers(&c); err != nil || gone {
		return c, nil, false, err
	}
	j.keeper.seen.note(c.SessionID(), now)
	s = &authsvc.Session{UserID: c.Subject, Name: c.Name, Email: c.Email, Image: c.Picture, Began: tokenclaims.FromSeconds(c.Began),
		Provider: c.Provider, Expires: time.Unix(int64(c.Expires), 0)}
	*s.Internal() = sessionshape.State{ID: c.SessionID(), Token: plain, Shape: j.keeper.shape}
	if c.Proved > 0 {
		s.AuthTime = tokenclaims.FromSeconds(c.Proved)
	}
	s.Internal().SetOrigin(c.Origin())
	s.EmailVerified = c.Proves(s.Email)
	if c.AdoptedSID == "" { // other programs keep no claims
		s.Internal().Kept, _ = jsonscan.Member(string(c.Kept), "claims")
	}
	s.Internal().Row, _ = jsonscan.Member(string(c.Kept), "columns")
	return c, s, stale, nil
}

func (j *jwtSessions) read(ctx context.Context, raw string, now time.Time, how readOptions) (*authsvc.Session, *sessionCookie, error) {
	c, s, stale, err := j.live(raw, now)
	if err != nil || s == nil {
		return nil, nil, err
	}
	due := stale || j.keeper.lifetime.due(time.Unix(int64(c.Issued), 0), now) ||
		j.keeper.shape.ReadsColumns() && (how.trigger == "update" || c.SID == "") // without sid: a token of another program, without columns
	if !how.full && !(how.touch && due) {
		return s, nil, nil
	}
	return j.refresh(ctx, s, &c, s.Internal().Token, now, how, due)
}

// refresh decodes all claims, calls the callbacks, and reissues the token if it is due
// or its content changed.
func (j *jwtSessions) refresh(ctx context.Context, s *authsvc.Session, c *tokenclaims.Claims, plain []byte, now time.Time, how readOptions, due bool) (*authsvc.Session, *sessionCookie, error) {
	claims, err := decodeClaims(plain)
	if err != nil {
		return nil, nil, nil //nolint:nilerr // not an object, so not a session
	}
	changed := false
	if j.keeper.Callbacks.JWT != nil && how.full {
		before := maps.Clone(claims)
		unchanged, _ := json.Marshal(claims) // the callback may change nested values in place
		if claims, err = j.ask(ctx, authsvc.JWTParams{Claims: claims, Trigger: how.trigger, Data: how.data}); err != nil {
			return nil, nil, err
		}
		if claims == nil {
			return nil, nil, nil // the callback ended the session
		}
		for _, name := range c.ProtectedNames() {
			if v, ok := before[name]; ok {
				claims[name] = v
			} else {
				delete(claims, name)
			}
		}
		if c.Kept != "" { // the callback may have changed its contents in place
			kept, _ := decodeClaims([]byte(c.Kept)) // as it was
			claims["authsvc_session"] = map[string]any(kept)
		}
		now, err := json.Marshal(claims)
		changed = err != nil || !bytes.Equal(unchanged, now)
		s.Name, s.Email, s.Image = textOf(claims["name"]), textOf(claims["email"]), textOf(claims["picture"])
		s.EmailVerified = c.Proves(s.Email)
	}
	s.Internal().Claims = claims
	if how.trigger == "update" {
		due = due || changed
	}
	var renewed *sessionCookie
	if how.touch && (due || changed) {
		if renewed, err = j.reissue(ctx, s, c, claims, now); err != nil {
			if !errors.Is(err, errColumns) || how.trigger == "update" {
				return nil, nil, err
			}
			j.keeper.Log.Error("cannot renew a session token; the session continues with the old one", "err", err)
		}
	}
	u := authsvc.User{ID: s.UserID, Name: s.Name, Email: s.Email, Image: s.Image}
	if j.keeper.Callbacks.Session != nil {
		u.Extra = s.Extra()
	}
	if err := j.keeper.askSession(ctx, s, u, how); err != nil {
		return nil, nil, err
	}
	return s, renewed, nil
}

// errColumns means that the token is valid, but the user's columns could not be read.
var errColumns = errors.New("cannot read the columns of the user")

// reissue makes a new token from the claims of a session.
func (j *jwtSessions) reissue(ctx context.Context, s *authsvc.Session, c *tokenclaims.Claims, claims authsvc.Claims, now time.Time) (*sessionCookie, error) {
	fresh := maps.Clone(claims)
	if c.SID == "" || c.AdoptedSID != "" {
		fresh["authsvc_sid"], fresh["authsvc_auth_time"] = c.SessionID(), c.Began
		delete(fresh, "authsvc_session") // it may be the application's; from now on it counts
	} else {
		fresh["auth_time"] = c.Began
	}
	if err := j.readColumns(ctx, s, fresh); err != nil {
		return nil, errors.Join(errColumns, err)
	}
	image := s.Image
	if j.keeper.Callbacks.JWT != nil {
		image = "" // the callback chose the picture
	}
	v, err := j.sealSmall(fresh, image, s.Began, now)
	if err != nil {
		return nil, err
	}
	if fresh["picture"] == nil {
		s.Image = ""
	}
	s.Expires = v.expires
	return &v, nil
}

// readColumns reads the columns again, into a token that is about to be issued and into
// its session.
func (j *jwtSessions) readColumns(ctx context.Context, s *authsvc.Session, fresh authsvc.Claims) error {
	if !j.keeper.shape.ReadsColumns() {
		return nil
	}
	kept := map[string]any{}
	if s.Internal().Kept != "" {
		kept["claims"] = json.RawMessage(s.Internal().Kept)
	}
	if err := j.addColumns(ctx, kept, s.UserID); err != nil {
		return err
	}
	row, _ := kept["columns"].(json.RawMessage)
	s.Internal().Row, fresh["authsvc_session"] = string(row), kept
	return nil
}

// retell reissues the token with the new name or address. Only our own tokens say that
// the address is proved.
func (j *jwtSessions) retell(ctx context.Context, raw string, change adapter.UserUpdate, now time.Time) (*sessionCookie, error) {
	c, plain, _, ok := j.open(raw, now)
	s, _, err := j.read(ctx, raw, now, readOptions{})
	if err != nil || !ok || s == nil {
		return nil, err
	}
	claims, err := decodeClaims(plain)
	if err != nil {
		return nil, err
	}
	if change.Name != nil {
		claims["name"] = *change.Name
	}
	if change.Email != nil {
		claims["email"] = *change.Email
		if c.Epoch != nil {
			claims["authsvc_email_verified"] = *change.Email
		}
	}
	return j.reissue(ctx, s, &c, claims, now)
}

// end revokes the session until no token of it can be valid, if there is a store.
// Without a store, the session ends in this browser only.
func (j *jwtSessions) end(ctx context.Context, raw string, now time.Time) (*authsvc.SignOutEvent, error) {
	c, plain, _, ok := j.open(raw, now)
	if !ok {
		return nil, nil
	}
	var claims authsvc.Claims
	if err := json.Unmarshal(plain, &claims); err != nil {
		return nil, nil //nolint:nilerr
	}
	if err := j.revoke(ctx, &c, now); err != nil {
		return nil, err
	}
	if c.SID != "" && j.keeper.revoked.enabled {
		if _, err := j.keeper.Adapter.DeleteSessionOf(ctx, c.Subject, c.SID); err != nil && !errors.Is(err, adapter.ErrNotFound) {
			j.keeper.Log.Error("cannot remove an ended session from the list", "err", err)
		}
	}
	return &authsvc.SignOutEvent{Claims: claims}, nil
}

// revoke makes the token invalid, and all tokens that were or will be reissued from it.
// A token without sid was made by NextAuth.js, which gives each reissued token a new
// jti: such tokens are revoked through the user.
func (j *jwtSessions) revoke(ctx context.Context, c *tokenclaims.Claims, now time.Time) error {
	last := tokenclaims.FromSeconds(c.Began).Add(j.keeper.lifetime.absolute)
	if !j.shared && !j.keeper.revoked.accept { // every program that could reissue it knows that it has ended
		last = earlier(now.Add(j.keeper.lifetime.maxAge), last)
	}
	var list []*adapter.Revocation
	if c.SessionID() != "" {
		list = append(list, &adapter.Revocation{Key: keySession + c.SessionID(), NotBefore: now, Expires: last.Add(time.Minute)})
	}
	if c.SID == "" {
		list = append(list, j.keeper.revocation(keyForeign+c.Subject, "", now))
	}
	return j.keeper.revokeAll(ctx, list...)
}

func (j *jwtSessions) id(raw string, now time.Time) string {
	c, _, _, ok := j.open(raw, now)
	if !ok {
		return ""
	}
	return c.SessionID()
}
