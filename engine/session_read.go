package engine

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/audit"
	"authsvc/internal/seal"
	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/text"
)

// sessions stores sessions, in the cookie itself or in the adapter. New chooses the
// strategy; no other code asks which it is.
type sessions interface {
	// start makes the first record of a session at sign-in, nil if nothing is stored.
	// login passes it to the compound steps.
	start(b *sessionStart) *adapter.SessionRecord
	// issue makes the cookie of a session. The record, if any, is already stored.
	issue(ctx context.Context, b *sessionStart) (sessionCookie, error)
	// read returns the session of a cookie value, nil if there is none. With touch it
	// extends the session; renewed is then the new cookie.
	read(ctx context.Context, raw string, now time.Time, how readOptions) (s *authsvc.Session, renewed *sessionCookie, err error)
	// end ends one session. The event is nil if there was none.
	end(ctx context.Context, raw string, now time.Time) (*authsvc.SignOutEvent, error)
	// endBy ends a user's sessions that began through provider or through an unknown
	// one. It returns the stored sessions that ended.
	endBy(ctx context.Context, userID, provider string, now time.Time) ([]adapter.SessionRecord, error)
	// retell puts a user's new name or new, proved address into a session that carries
	// it. renewed is then the new cookie.
	retell(ctx context.Context, raw string, change adapter.UserUpdate, now time.Time) (renewed *sessionCookie, err error)
	// lists reports whether a stored record is of a session of this strategy.
	lists(r *adapter.SessionRecord) bool
	// endRecord ends the session of a listed record. It returns ErrNotFound if the
	// session has already ended.
	endRecord(ctx context.Context, r *adapter.SessionRecord, now time.Time) error
	// carry returns the data of a session for another host, with the claims that claim
	// selects.
	carry(s *authsvc.Session, raw string, now time.Time, claim func(name string) bool) ([]byte, error)
	// enteredBy returns the place of such a host, which reads cookies under key.
	enteredBy(key *seal.Sealer) enteredPlace
	// refersToUser reports whether a session record needs a stored user.
	refersToUser() bool
	// id names the session for the CSRF token, without a store call.
	id(raw string, now time.Time) string
}

// A sessionStart holds the data of a new session.
type sessionStart struct {
	user     authsvc.User
	account  *authsvc.Account
	profile  authsvc.Profile
	isNew    bool
	provider string
	began    time.Time
	authTime time.Time // when the person proved who they are; zero: unknown
	token    string    // database: the cookie's value; jwt: the claim sid
	origin   adapter.SessionOrigin
	claims   []byte // kept with the session, as JSON
}

// readOptions says what a read may do.
type readOptions struct {
	touch   bool
	full    bool // call the callbacks, if there are any
	trigger string
	data    any
}

// current returns the session of a request, nil if there is none. It renews nothing.
func (kp *keeper) current(rq *request) (*authsvc.Session, error) {
	s, _, err := kp.readSession(rq, readOptions{})
	return s, err
}

// nameOf returns the name by which pages address the person of a session.
func nameOf(s *authsvc.Session) string { return cmp.Or(s.Email, s.Name, s.UserID) }

// readSession reads the session of the request's cookie, nil if there is none. A cookie
// under an unknown key is kept: another replica may already have the new secret.
func (kp *keeper) readSession(rq *request, how readOptions) (*authsvc.Session, *sessionCookie, error) {
	raw := rq.sessionCookieValue()
	if raw == "" {
		return nil, nil, nil
	}
	how.full = how.full && kp.customSession
	s, renewed, err := rq.at().(readPlace).read(rq.ctx, raw, rq.now, how)
	if errors.Is(err, errUnknownKey) {
		rq.unknownKey, err = true, nil
		name := rq.names.Session
		if _, entered := rq.at().(enteredPlace); entered {
			name = kp.enteredCookie
		}
		warnShared(rq, name)
	}
	return s, renewed, err
}

// getSession answers GET session with the session object, or an empty one.
func (kp *keeper) getSession(rq *request) outcome {
	return kp.answerSession(rq, readOptions{touch: true, full: true})
}

// updateSession answers POST session. It passes the client's data to the callbacks,
// which may change the session. The request must have the CSRF token.
func (kp *keeper) updateSession(rq *request) outcome {
	if !rq.csrfOK() {
		rq.audit("csrf.refused", "", "token missing or does not match the cookie")
		return object{raw: kp.site.dialect.emptySession, status: http.StatusBadRequest}
	}
	return kp.answerSession(rq, readOptions{touch: true, full: true, trigger: "update", data: updateData(rq)})
}

func updateData(rq *request) any {
	if rq.body.data != nil {
		return rq.body.data
	}
	if v, ok := rq.body.fields["data"]; ok {
		return v
	}
	return nil
}

func (kp *keeper) answerSession(rq *request, how readOptions) outcome {
	if rq.sessionCookieValue() == "" {
		if rq.sessionPresent {
			rq.at().drop(rq)
			rq.audit("session.ambiguous", "", "session cookies that do not fit together")
		}
		return rq.json(kp.site.dialect.emptySession)
	}
	s, err := kp.slideSession(rq, how)
	if errors.Is(err, errSessionTooLarge) {
		return object{raw: []byte("{}"), status: http.StatusRequestEntityTooLarge}
	}
	if err != nil {
		kp.Log.Error("cannot read the session", "request", rq.requestID(), "err", err)
		return object{raw: []byte("{}"), status: http.StatusServiceUnavailable}
	}
	if s == nil {
		if !rq.unknownKey {
			rq.at().drop(rq)
		}
		return rq.json(kp.site.dialect.emptySession)
	}
	if kp.Events.Session != nil {
		kp.fleet.Emit("session", func() { kp.Events.Session(rq.ctx, s) })
	}
	if s.Object == nil {
		return rq.json(appendSession(rq.buf[:0], s))
	}
	return object{v: s}
}

// slideSession reads the session and sends the renewed cookie. If the renewed session
// is too large, slideSession returns the earlier one, or errSessionTooLarge if the
// client asked for the change.
func (kp *keeper) slideSession(rq *request, how readOptions) (*authsvc.Session, error) {
	s, renewed, err := kp.readSession(rq, how)
	if err == nil && renewed != nil && !rq.at().keep(rq, *renewed) {
		err = errSessionTooLarge
	}
	if !errors.Is(err, errSessionTooLarge) {
		return s, err
	}
	kp.Log.Error("changes of a session were refused", "request", rq.requestID(), "err", err)
	if how.trigger == "update" {
		return nil, err
	}
	s, _, err = kp.readSession(rq, readOptions{full: how.full})
	return s, err
}

// askSession calls the Session callback, if there is one and how asks for it.
func (kp *keeper) askSession(ctx context.Context, v *authsvc.Session, u authsvc.User, how readOptions) (err error) {
	if kp.Callbacks.Session == nil || !how.full {
		return nil
	}
	defer kp.fleet.Recovered("session callback", func() { err = errors.New("session callback panicked") })
	obj, err := kp.Callbacks.Session(ctx, authsvc.SessionParams{Session: defaultObject(v), User: u, Claims: v.Token(), AMR: v.AMR(), ACR: v.ACR(), SecondAt: v.SecondAt(), Actor: v.Actor(), Trigger: how.trigger, Data: how.data})
	if err != nil {
		return err
	}
	if obj == nil {
		obj = map[string]any{}
	}
	v.Object = obj
	return nil
}

// lifetime limits the life of a session: maxAge since its last extension, absolute
// since it began.
type lifetime struct {
	maxAge, updateAge, absolute time.Duration
}

// end returns when a session that is extended now ends, in whole milliseconds.
func (l *lifetime) end(began, now time.Time) time.Time {
	end, last := now.Add(l.maxAge), began.Add(l.absolute)
	if last.Before(end) {
		end = last
	}
	return end.Truncate(time.Millisecond)
}

// due reports whether a session must be extended again. extended is when it last was.
func (l *lifetime) due(extended, now time.Time) bool {
	return now.Sub(extended) >= l.updateAge
}

// sessionRoutes returns the routes of the session object.
func sessionRoutes(s *keeper) map[string]*route {
	return map[string]*route{"session": {get: s.getSession, post: s.updateSession, cors: always, internal: http.MethodGet}}
}

// sessionEvents are the audit events of sessions.
var sessionEvents = []audit.Kind{
	{Name: "session.ambiguous", Outcome: authsvc.AuditRefused, Meaning: "The session was requested with session cookies that contradict each other or are incomplete, so none counted: an attacker may have planted one. The answer removed all of them."},
	{Name: "session.end_failed", Outcome: authsvc.AuditFailed, Meaning: "EndSession failed, or there is no such session."},
	{Name: "sessions.ended", Outcome: authsvc.AuditSuccess, Meaning: "EndSessions ended all sessions of a user, or EndOtherSessions all but one: the reason says which."},
	{Name: "sessions.end_failed", Outcome: authsvc.AuditFailed, Meaning: "EndSessions or EndOtherSessions failed. Some sessions may have ended."},
}

// appendSession appends the default session object. A test checks that it equals
// MarshalJSON.
func appendSession(b []byte, s *authsvc.Session) []byte {
	state := s.Internal()
	shown := sessionshape.Shown{Values: state.Values(s.UserID, s.Provider, s.EmailVerified), Name: s.Name, Email: s.Email, Image: s.Image, Expires: s.Expires}
	return shown.Append(b, state.Shape)
}

// defaultObject returns the default session object for the Session callback.
func defaultObject(s *authsvc.Session) map[string]any {
	user := map[string]any{"name": nil, "email": nil, "image": nil}
	for name, v := range map[string]string{"name": s.Name, "email": s.Email, "image": s.Image} {
		if v != "" {
			user[name] = v
		}
	}
	if state := s.Internal(); state.Shape != nil {
		values := state.Values(s.UserID, s.Provider, s.EmailVerified)
		state.Shape.Add(user, &values)
	}
	return map[string]any{"user": user, "expires": s.Expires.UTC().Format(text.TimeFormat)}
}

// decodeClaims is [sessionshape.DecodeToken].
func decodeClaims(plain []byte) (authsvc.Claims, error) { return sessionshape.DecodeToken(plain) }

// provedWithin reports whether the user is known to have proved who they are within
// that time, by a first or a second factor. Another person who acts as the user has not
// proved to be the user.
func provedWithin(s *authsvc.Session, now time.Time, within time.Duration) bool {
	at := s.AuthTime
	if second := s.SecondAt(); second.After(at) {
		at = second
	}
	return s.Actor() == "" && !at.IsZero() && now.Sub(at) <= within
}
