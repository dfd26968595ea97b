package authsvc

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"authsvc/internal/seal"
	"authsvc/internal/sessionshape"
)

// A Session says who is signed in. Its JSON form is the client-safe object of
// GET session.
type Session struct {
	UserID string
	Name   string
	Email  string
	// EmailVerified: the address was proved, by a link or by a provider whose
	// word counts. Without it the address is what somebody says about themselves;
	// do not decide by it. With strategy jwt it is what was so at the sign-in;
	// sessions that NextAuth.js began do not have it.
	EmailVerified bool
	Image         string
	Expires       time.Time // when it ends if nothing renews it
	Began         time.Time // the sign-in
	// AuthTime is when the person last proved who they are, as far as is known: by a
	// link, a code or credentials at the sign-in, or at an OpenID provider when the ID
	// token says so (auth_time). Zero: unknown, as when an OAuth 2 provider let the
	// person through, perhaps without a word.
	AuthTime time.Time
	Provider string // by which provider the session began; empty: unknown
	// Object is what the Session callback returned; nil means the default
	// {user: {name, email, image}, expires}, with what SessionOptions.Expose adds
	// to user.
	Object map[string]any

	id     string // as sessions.id has it
	amr    methods
	shape  *sessionshape.Shape
	kept   string // claims of the session, as JSON
	extra  map[string]any
	row    string // JSON of extra, in place of it
	claims Claims // of the token
	token  []byte // JSON of them, while nobody asked
}

// fresh reports whether the person is known to have proved who they are not longer
// ago than within.
func (s *Session) fresh(now time.Time, within time.Duration) bool {
	return !s.AuthTime.IsZero() && now.Sub(s.AuthTime) <= within
}

// emailProved reports whether a stored user has proved the address.
func emailProved(u User) bool { return u.Email != "" && !u.EmailVerified.IsZero() }

// Claims returns what SessionOptions.Claims and the Claims callback kept at the
// sign-in, nil if that is nothing. Whole numbers are int64, others float64. They
// are decoded at every call.
func (s *Session) Claims() Claims { return sessionshape.Decode(s.kept) }

// Extra returns the columns of [User].Extra, nil if the adapter reads none. With
// strategy database they are what is in the store now, in the types of
// User.Extra. With strategy jwt they are as old as the token: of the sign-in, of
// the last update (POST session), or of when the token was last issued anew; they
// are read from JSON, so times are text (RFC 3339) and bytes base64.
func (s *Session) Extra() map[string]any {
	if s.row != "" {
		return sessionshape.Decode(s.row)
	}
	return s.extra
}

// Token returns the claims of the session's token, with numbers as
// [json.Number]: strategy jwt, else nil. Without a JWT callback they are decoded
// at every call.
func (s *Session) Token() Claims {
	if s.claims != nil || s.token == nil {
		return s.claims
	}
	claims, err := decodeClaims(s.token)
	if err != nil {
		return nil // never: what is no object is no session
	}
	return claims
}

// timeFormat is how JavaScript writes a Date: milliseconds and Z.
const timeFormat = "2006-01-02T15:04:05.000Z"

// sessionUser and sessionObject are the default session object.
type sessionUser struct {
	Name  *string `json:"name"`
	Email *string `json:"email"`
	Image *string `json:"image"`
}

type sessionObject struct {
	User    sessionUser `json:"user"`
	Expires string      `json:"expires"`
}

// MarshalJSON writes the client-safe object.
func (s *Session) MarshalJSON() ([]byte, error) {
	if s.Object != nil {
		return json.Marshal(s.Object)
	}
	if s.shape != nil {
		return appendSession(nil, s), nil
	}
	return json.Marshal(sessionObject{
		User:    sessionUser{nullable(s.Name), nullable(s.Email), nullable(s.Image)},
		Expires: s.Expires.UTC().Format(timeFormat),
	})
}

func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// object is the default session object as the Session callback gets it.
func (s *Session) object() map[string]any {
	user := map[string]any{"name": nil, "email": nil, "image": nil}
	for name, v := range map[string]string{"name": s.Name, "email": s.Email, "image": s.Image} {
		if v != "" {
			user[name] = v
		}
	}
	if s.shape != nil {
		s.shape.Add(user, s.values())
	}
	return map[string]any{"user": user, "expires": s.Expires.UTC().Format(timeFormat)}
}

// values are what the shape may show.
func (s *Session) values() *sessionshape.Values {
	return &sessionshape.Values{ID: s.UserID, Provider: s.Provider, EmailVerified: s.EmailVerified, Claims: s.kept,
		Columns: s.extra, Row: s.row, Text: appendString}
}

// Decode returns what is known of a session as a T, usually a struct of the
// application's with json tags. The object that it reads has id, name, email,
// email_verified, image and provider, claims and columns by their names, and what
// SessionOptions.Expose shows by its name there. A name that could be two things
// is neither, unless Expose has it. What a Session callback returned plays no
// part. The error is that of package json.
func Decode[T any](s *Session) (T, error) {
	var v T
	b := append([]byte(nil), `{"name":`...)
	b = appendNullable(b, s.Name)
	b = append(b, `,"email":`...)
	b = appendNullable(b, s.Email)
	b = append(b, `,"image":`...)
	b = appendNullable(b, s.Image)
	err := json.Unmarshal(append(s.shape.AppendAll(b, s.values()), '}'), &v)
	return v, err
}

// sessions stores sessions: in the cookie itself or in the adapter. The strategy
// is chosen once, in New; nothing else asks which it is.
type sessions interface {
	// start makes the first session record of a sign-in. It is nil when
	// nothing is stored; login passes it to the compound steps.
	start(b *sessionStart) *SessionRecord
	// issue completes a session whose record, if any, is stored.
	issue(ctx context.Context, b *sessionStart) (sessionCookie, error)
	// read returns the session that a cookie's value stands for, nil if none.
	// With touch it slides the expiry; renewed is then the new cookie.
	read(ctx context.Context, raw string, now time.Time, how readOptions) (s *Session, renewed *sessionCookie, err error)
	// end ends one session. The event is nil if there was none.
	end(ctx context.Context, raw string, now time.Time) (*SignOutEvent, error)
	// endBy ends a user's sessions that began by a provider or by an unknown
	// one, and returns the stored ones.
	endBy(ctx context.Context, userID, provider string, now time.Time) ([]SessionRecord, error)
	// retell puts what was changed of the user, the name or the address, which is
	// proved, into a session that carries it; renewed is then the new cookie.
	retell(ctx context.Context, raw string, change UserUpdate, now time.Time) (renewed *sessionCookie, err error)
	// lists reports whether a stored record is of a session of this kind.
	lists(r *SessionRecord) bool
	// endRecord ends the session of a listed record. ErrNotFound: it has ended.
	endRecord(ctx context.Context, r *SessionRecord, now time.Time) error
	// carry returns what another host is to know of a session, with the claims that
	// it wants.
	carry(s *Session, raw string, now time.Time, claim func(name string) bool) ([]byte, error)
	// enteredBy is how such a host reads it, from cookies under its key.
	enteredBy(key *seal.Sealer) enteredPlace
	// refersToUser reports whether a session record needs a stored user.
	refersToUser() bool
	// id names the session for the CSRF token, without asking the store.
	id(raw string, now time.Time) string
}

// A sessionStart has what a new session is made from.
type sessionStart struct {
	user     User
	account  *Account
	profile  Profile
	isNew    bool
	provider string
	began    time.Time
	authTime time.Time // when the person proved who they are; zero: unknown
	token    string    // database: the cookie's value; jwt: the claim sid
	origin   SessionOrigin
	claims   []byte // that stay with the session, as JSON
}

// readOptions says what a read is for.
type readOptions struct {
	touch   bool
	full    bool // callbacks take part, if there are any
	trigger string
	data    any
}

// current returns who is signed in without renewing anything.
func (kp *keeper) current(rq *request) (*Session, error) {
	s, _, err := kp.readSession(rq, readOptions{})
	return s, err
}

// readSession reads the session that the request's cookie stands for, nil if
// none. A cookie under an unknown key is left alone: another replica may have
// the new secret already.
func (kp *keeper) readSession(rq *request, how readOptions) (*Session, *sessionCookie, error) {
	raw := rq.sessionCookieValue()
	if raw == "" {
		return nil, nil, nil
	}
	how.full = how.full && kp.customSession
	s, renewed, err := rq.at().(readPlace).read(rq.ctx, raw, rq.now, how)
	if errors.Is(err, errUnknownKey) {
		rq.unknownKey, err = true, nil
	}
	return s, renewed, err
}

// getSession: GET session answers the session object, or an empty one.
func (kp *keeper) getSession(rq *request) outcome {
	return kp.answerSession(rq, readOptions{touch: true, full: true})
}

// updateSession: POST session asks the callbacks to take over what the client
// sent as data. It needs the CSRF token.
func (kp *keeper) updateSession(rq *request) outcome {
	if !rq.csrfOK() {
		rq.audit("csrf.refused", "", "token missing or not that of the cookie")
		return object{raw: kp.dialect.emptySession, status: http.StatusBadRequest}
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
			rq.audit("session.ambiguous", "", "session cookies that make no sense together")
		}
		return rq.json(kp.dialect.emptySession)
	}
	s, err := kp.slideSession(rq, how)
	if errors.Is(err, errSessionTooLarge) {
		return object{raw: []byte("{}"), status: http.StatusRequestEntityTooLarge}
	}
	if err != nil {
		kp.log.Error("session could not be read", "request", rq.requestID(), "err", err)
		return object{raw: []byte("{}"), status: http.StatusServiceUnavailable}
	}
	if s == nil {
		if !rq.unknownKey {
			rq.at().drop(rq)
		}
		return rq.json(kp.dialect.emptySession)
	}
	if kp.events.Session != nil {
		kp.fleet.emit("session", func() { kp.events.Session(rq.ctx, s) })
	}
	if s.Object == nil {
		return rq.json(appendSession(rq.room[:0], s))
	}
	return object{v: s}
}

// slideSession reads the session and sends what renews it. If it has become too
// large it is the one from before, or errSessionTooLarge if the client asked for
// the change.
func (kp *keeper) slideSession(rq *request, how readOptions) (*Session, error) {
	s, renewed, err := kp.readSession(rq, how)
	if err == nil && renewed != nil && !rq.at().keep(rq, *renewed) {
		err = errSessionTooLarge
	}
	if !errors.Is(err, errSessionTooLarge) {
		return s, err
	}
	kp.log.Error("changes of a session were refused", "request", rq.requestID(), "err", err)
	if how.trigger == "update" {
		return nil, err
	}
	s, _, err = kp.readSession(rq, readOptions{full: how.full})
	return s, err
}

// askSession runs the Session callback, if there is one and it is wanted.
func (kp *keeper) askSession(ctx context.Context, v *Session, u User, how readOptions) (err error) {
	if kp.callbacks.Session == nil || !how.full {
		return nil
	}
	defer kp.fleet.recovered("session callback", func() { err = errors.New("session callback panicked") })
	obj, err := kp.callbacks.Session(ctx, SessionParams{Session: v.object(), User: u, Claims: v.Token(), AMR: v.AMR(), ACR: v.ACR(), Trigger: how.trigger, Data: how.data})
	if err != nil {
		return err
	}
	if obj == nil {
		obj = map[string]any{}
	}
	v.Object = obj
	return nil
}

// appendSession writes the default session object, the body of nearly every
// GET session, without reflection. A test holds it equal to MarshalJSON.
func appendSession(b []byte, s *Session) []byte {
	b = append(b, `{"user":{"name":`...)
	b = appendNullable(b, s.Name)
	b = append(b, `,"email":`...)
	b = appendNullable(b, s.Email)
	b = append(b, `,"image":`...)
	b = appendNullable(b, s.Image)
	if s.shape != nil {
		b = s.shape.Append(b, s.values())
	}
	b = append(b, `},"expires":"`...)
	b = s.Expires.UTC().AppendFormat(b, timeFormat)
	return append(b, `"}`...)
}

func appendNullable(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return appendString(b, s)
}

// appendString writes s as a JSON string, leaving all but plain ASCII to
// encoding/json, which also escapes <, > and &.
func appendString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c == 0x7f {
			quoted, err := json.Marshal(s)
			if err != nil { // a string always marshals
				return append(b, `""`...)
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// lifetime says how long a session lives: maxAge since its last extension,
// absolute since the person proved who they are.
type lifetime struct {
	maxAge, updateAge, absolute time.Duration
}

// end is when a session ends that is extended now, in whole milliseconds.
func (l *lifetime) end(began, now time.Time) time.Time {
	end, last := now.Add(l.maxAge), began.Add(l.absolute)
	if last.Before(end) {
		end = last
	}
	return end.Truncate(time.Millisecond)
}

// due reports whether a session that was extended at that time is to be
// extended again.
func (l *lifetime) due(extended, now time.Time) bool {
	return now.Sub(extended) >= l.updateAge
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// sessionRoutes are those that say who is signed in.
func sessionRoutes(s *keeper) map[string]*route {
	return map[string]*route{"session": {get: s.getSession, post: s.updateSession, cors: always, internal: http.MethodGet}}
}

// sessionEvents are those of sessions.
var sessionEvents = []auditKind{
	{"session.ambiguous", AuditRefused, "The session was asked for with session cookies that contradict each other or are incomplete, so none counted: somebody may have planted one. All were expired."},
	{"session.end_failed", AuditFailed, "EndSession failed, or there is no such session."},
	{"sessions.ended", AuditSuccess, "EndSessions ended all sessions of a user, or EndOtherSessions all but one: the reason says which."},
	{"sessions.end_failed", AuditFailed, "EndSessions or EndOtherSessions failed. Some sessions may have ended."},
}
