package authsvc

import (
	"encoding/json"
	"time"

	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/text"
)

// AMR returns the methods by which the user signed in, nil if unknown. They are values
// of RFC 8176, and fed (an identity provider), email (a link or a code by mail) and app
// (the application's own credentials). Sessions of other programs, and sessions that
// began before authsvc recorded AMR, have none.
func (s *Session) AMR() []string { return s.state.AMR.List() }

// ACR returns the level of the methods of AMR: 1fa (one factor), 2fa (two) or phr (a
// passkey); empty: unknown. It counts factors and does not correspond to a level of
// NIST or of a provider.
func (s *Session) ACR() string { return s.state.AMR.Level() }

// SecondAt returns when a second factor was last proved in the session, zero if never. It
// is reserved: authsvc has no second factors yet.
func (s *Session) SecondAt() time.Time { return s.state.Origin().SecondAt }

// Actor returns who acts as the user in the session, empty for the user. It is reserved:
// no one can act as another user yet.
func (s *Session) Actor() string { return s.state.Origin().Actor }

// A SessionView is a session in the list of a user's sessions.
type SessionView struct {
	ID       string    // the id for EndSession; useless as a cookie
	Device   string    // such as "Firefox on Linux"; "Unknown browser"
	Agent    string    // User-Agent of the sign-in
	Network  string    // network of the sign-in: an IPv4 /24 or IPv6 /48; empty: unknown
	Place    string    // location of the network, from Callbacks.Place; empty: unknown
	Provider string    // provider of the sign-in; empty: unknown
	Client   string    // reserved: the application that holds the session; empty: a browser
	Actor    string    // reserved: who acts as the user in the session; empty: the user
	AMR      []string  // authentication methods (RFC 8176, and fed, email, app); nil: unknown
	ACR      string    // level of AMR: 1fa, 2fa or phr; empty: unknown
	Created  time.Time // time of the sign-in; zero: unknown
	SecondAt time.Time // reserved: when a second factor was proved in the session; zero: never
	Used     time.Time // last use, accurate to 15 minutes; zero: unknown
	Expires  time.Time // when it ends if nothing renews it; with strategy jwt, the latest possible end
}

// A Session says who is signed in. Its JSON form is the client-safe object of
// GET session.
type Session struct {
	UserID string
	Name   string
	Email  string
	// EmailVerified reports whether the address was proved, by a link or by a trusted
	// provider. If false, the address is only the user's own claim: do not base
	// decisions on it. With strategy jwt it is the state at the sign-in. Sessions that NextAuth.js
	// began do not have it.
	EmailVerified bool
	// Image is the address of a picture, https or data:. With strategy jwt it is empty if
	// the session needs fewer cookies without it.
	Image   string
	Expires time.Time // when it ends if nothing renews it
	Began   time.Time // time of the sign-in
	// AuthTime is when the user is known to have last proved their identity: by a link,
	// a code or credentials at the sign-in, or at an OpenID provider if the ID token
	// says so (auth_time). Zero: unknown, for example because an OAuth 2 provider let
	// the user through, perhaps without asking.
	AuthTime time.Time
	Provider string // provider of the sign-in; empty: unknown
	// Object is the object that the Session callback returned. Nil means the default
	// {user: {name, email, image}, expires}, with the id (CompatNone) and the values of
	// SessionOptions.Expose added to user.
	Object map[string]any

	state sessionshape.State // set only by the engine
}

// Internal is for the engine alone. Its result type cannot be named elsewhere.
func (s *Session) Internal() *sessionshape.State { return &s.state }

// Claims returns the claims that SessionOptions.Claims and the Claims callback kept at
// the sign-in, nil if there are none. Whole numbers are int64, others float64. Each
// call decodes them again.
func (s *Session) Claims() Claims { return sessionshape.Decode(s.state.Kept) }

// Extra returns the columns of [User].Extra, nil if the adapter reads none. With
// strategy database they are the current values in the store, with the types of
// User.Extra. With strategy jwt they are as old as the token: from the sign-in, the
// last update (POST session), or the last time the token was issued again. They are
// read from JSON, so times are text (RFC 3339) and bytes base64.
func (s *Session) Extra() map[string]any {
	if s.state.Row != "" {
		return sessionshape.Decode(s.state.Row)
	}
	return s.state.Extra
}

// Token returns the claims of the session's token with strategy jwt, else nil. Numbers
// are [json.Number]. Without a JWT callback, each call decodes them again.
func (s *Session) Token() Claims {
	if s.state.Claims != nil || s.state.Token == nil {
		return s.state.Claims
	}
	claims, err := sessionshape.DecodeToken(s.state.Token)
	if err != nil {
		return nil // cannot happen: a session's token is an object
	}
	return claims
}

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

// MarshalJSON returns the client-safe object.
func (s *Session) MarshalJSON() ([]byte, error) {
	if s.Object != nil {
		return json.Marshal(s.Object)
	}
	if s.state.Shape != nil {
		shown := sessionshape.Shown{Values: s.state.Values(s.UserID, s.Provider, s.EmailVerified), Name: s.Name, Email: s.Email, Image: s.Image, Expires: s.Expires}
		return shown.Append(nil, s.state.Shape), nil
	}
	return json.Marshal(sessionObject{
		User:    sessionUser{text.Nullable(s.Name), text.Nullable(s.Email), text.Nullable(s.Image)},
		Expires: s.Expires.UTC().Format(text.TimeFormat),
	})
}

// Decode returns the data of a session as a T, usually a struct of the application with
// json tags. The object that it reads has id, name, email, email_verified, image and
// provider, claims and columns by their names, and the values of SessionOptions.Expose
// by their names there. A name with two possible meanings is left out unless Expose has
// it. The result of a Session callback is not used. Errors come from package json.
func Decode[T any](s *Session) (T, error) {
	var v T
	b := append([]byte(nil), `{"name":`...)
	b = text.AppendNullable(b, s.Name)
	b = append(b, `,"email":`...)
	b = text.AppendNullable(b, s.Email)
	b = append(b, `,"image":`...)
	b = text.AppendNullable(b, s.Image)
	values := s.state.Values(s.UserID, s.Provider, s.EmailVerified)
	err := json.Unmarshal(append(s.state.Shape.AppendAll(b, &values), '}'), &v)
	return v, err
}
