package authsvc

import (
	"encoding/json"
	"time"

	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/text"
)

// AMR returns by which methods the person signed in, nil if that is not known:
// values of RFC 8176, and fed (an identity provider), email (a link or a code by
// mail) and app (the application's own credentials). Sessions from before authsvc
// kept it, and of other programs, have none.
func (s *Session) AMR() []string { return s.state.AMR.List() }

// ACR returns what the methods of AMR amount to: 1fa (one factor), 2fa (two) or phr
// (a passkey); empty: unknown. It counts factors and stands for no level of NIST or
// of a provider.
func (s *Session) ACR() string { return s.state.AMR.Level() }

// A SessionView is a session in a list of those of one user.
type SessionView struct {
	ID       string    // names it to EndSession; it is of no use as a cookie
	Device   string    // such as "Firefox on Linux"; "Unknown browser"
	Agent    string    // the User-Agent of the sign-in
	Network  string    // where the sign-in came from: an IPv4 /24 or IPv6 /48; empty: unknown
	Place    string    // of the network, as Callbacks.Place says; empty: unknown
	Provider string    // by which it began; empty: unknown
	Client   string    // the application that holds it; empty: a browser
	Actor    string    // who acts as the user in it; empty: the user
	AMR      []string  // how the person proved who they are (RFC 8176, and fed, email, app); nil: unknown
	ACR      string    // 1fa, 2fa or phr, by AMR; empty: unknown
	Created  time.Time // the sign-in; zero: unknown
	SecondAt time.Time // when a second factor was proved in it; zero: never
	Used     time.Time // the last use, to a quarter of an hour; zero: unknown
	Expires  time.Time // when it ends if nothing renews it, or at the latest
}

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

	state sessionshape.State // what the engine alone sets
}

// Internal is for the engine alone: its type has no name elsewhere.
func (s *Session) Internal() *sessionshape.State { return &s.state }

// Claims returns what SessionOptions.Claims and the Claims callback kept at the
// sign-in, nil if that is nothing. Whole numbers are int64, others float64. They
// are decoded at every call.
func (s *Session) Claims() Claims { return sessionshape.Decode(s.state.Kept) }

// Extra returns the columns of [User].Extra, nil if the adapter reads none. With
// strategy database they are what is in the store now, in the types of
// User.Extra. With strategy jwt they are as old as the token: of the sign-in, of
// the last update (POST session), or of when the token was last issued anew; they
// are read from JSON, so times are text (RFC 3339) and bytes base64.
func (s *Session) Extra() map[string]any {
	if s.state.Row != "" {
		return sessionshape.Decode(s.state.Row)
	}
	return s.state.Extra
}

// Token returns the claims of the session's token, with numbers as
// [json.Number]: strategy jwt, else nil. Without a JWT callback they are decoded
// at every call.
func (s *Session) Token() Claims {
	if s.state.Claims != nil || s.state.Token == nil {
		return s.state.Claims
	}
	claims, err := sessionshape.DecodeToken(s.state.Token)
	if err != nil {
		return nil // never: what is no object is no session
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

// MarshalJSON writes the client-safe object.
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

// Decode returns what is known of a session as a T, usually a struct of the
// application's with json tags. The object that it reads has id, name, email,
// email_verified, image and provider, claims and columns by their names, and what
// SessionOptions.Expose shows by its name there. A name that could be two things
// is neither, unless Expose has it. What a Session callback returned plays no
// part. The error is that of package json.
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
