package authsvc

import (
	"context"
	"net/netip"
	"net/url"
	"time"
)

// Claims are the contents of a session token (strategy "jwt"), or what stays with
// a session of a provider's profile. In a token numbers are float64 or
// json.Number.
type Claims map[string]any

// Profile is what a provider said about a person, undecoded by the engine.
// Numbers are json.Number, so that 64-bit ids stay exact.
type Profile map[string]any

// Callbacks may decide. A nil callback means the default; an error or a panic
// refuses, and a [Refusal] says for the audit why. They are called on the request
// path and should answer within seconds; the context ends with the request, or,
// once a person has proved who they are, 30 s later.
type Callbacks struct {
	// SignIn is asked before anything is stored or any session begins, and, for
	// the e-mail provider, also before a link is sent. A nil error lets the
	// person in; an error refuses with AccessDenied. A non-empty redirect sends
	// the browser there without a session; it passes the same check as
	// callbackUrl, else AccessDenied.
	SignIn func(ctx context.Context, a SignInAttempt) (redirect string, err error)

	// Claims returns the claims that stay with the session (Session.Claims), once,
	// at the sign-in, after SignIn. kept are those that SessionOptions.Claims
	// names, nil if there are none; it may change and return them. As JSON they
	// take at most 4 KiB. An error refuses with AccessDenied.
	Claims func(ctx context.Context, a SignInAttempt, kept Claims) (Claims, error)

	// CreateUser is asked before a user is stored, after SignIn and Claims. u is
	// what would be stored; of what it returns the name and the image count. An
	// error refuses with AccessDenied. If other requests change the same person
	// meanwhile, a sign-in starts over and asks again.
	CreateUser func(ctx context.Context, a SignInAttempt, u User) (User, error)

	// AllowRedirect is asked about a callbackUrl that is https and that neither the
	// own origin nor AllowedRedirects nor TrustedOrigins allow. It gets the address
	// as it would be sent, and true allows it. It is not asked where there is a
	// Redirect callback.
	AllowRedirect func(ctx context.Context, to *url.URL) bool

	// Redirect decides where a callbackUrl may lead. url is what was asked for
	// (unchecked), baseURL the origin of the service. Only this callback may
	// leave the allowed origins. The default permits paths, the own origin,
	// AllowedRedirects and TrustedOrigins, and falls back to the origin.
	Redirect func(ctx context.Context, url, baseURL string) string

	// JWT is called when a session token is made (Trigger "signIn" or
	// "signUp"), updated ("update") or read (""), and returns the claims to
	// keep. It is not called with the database strategy. The claims sub, sid,
	// auth_time, amr, acr, provider, iat, exp, jti and those that begin with
	// authsvc_ belong to the engine.
	JWT func(ctx context.Context, p JWTParams) (Claims, error)

	// Export returns what else is known of a user who takes their data: it goes into
	// the file of GET account/export and Service.Export as "application", as
	// encoding/json writes it. An error refuses the file.
	Export func(ctx context.Context, u User) (any, error)

	// WaysIn returns how many ways to sign in a user has that the service does not
	// know of, such as a password of the application's own Credentials. It is asked
	// when the last way that it knows is about to be removed; above 0 it may be. An
	// error keeps it.
	WaysIn func(ctx context.Context, u User) (int, error)

	// Place names where a network is, such as "Berlin", for the list of sessions; ""
	// if that is not known. It is called for each session of a list, and has to be
	// quick.
	Place func(network netip.Prefix) string

	// DeleteUser is asked before a user is deleted, by the person, an operator or
	// Service.DeleteUser: what the application keeps of u can go now. An error keeps
	// u; at the end of a grace it is asked again an hour later, and by one replica
	// alone. The context ends after a minute there. If the store fails afterwards,
	// it is asked about the same user again.
	DeleteUser func(ctx context.Context, u User) error

	// Session returns the object that GET session answers. p.Session holds
	// the default: user {name, email, image} and expires. It is visible to the
	// browser and to every script on the page.
	Session func(ctx context.Context, p SessionParams) (map[string]any, error)
}

// A SignInAttempt is the argument of the SignIn callback.
type SignInAttempt struct {
	User    User    // the stored user if there is one, else what would be stored
	Account Account // provider, type and provider account id; tokens at callbacks
	Profile Profile // nil for e-mail and credentials
	// Credentials are the submitted fields, for the credentials provider.
	Credentials map[string]string
	// VerificationRequest is set when the e-mail provider asks whether a link
	// may be sent.
	VerificationRequest bool
	IsNewUser           bool // no stored user yet
	// EmailProved: User.Email is known to be the person's, by what the store has, by
	// this sign-in, or, with VerificationRequest, by whoever redeems the link.
	// User.EmailVerified has only what the store knows.
	EmailProved bool
	Client      RequestClient
	Time        time.Time // of the request, by the clock of the store
}

// A RequestClient is who sends a request.
type RequestClient struct {
	IP    netip.Addr // see Config.TrustedProxies; invalid where a proxy does not say
	Agent string     // the header User-Agent, untrusted
}

// A Refusal is an error of a callback that says for the audit why it refuses. Any
// other error refuses as well.
type Refusal struct {
	// Reason is fixed words, such as "by the rule of sign-in": whoever reads the log
	// or the audit reads them.
	Reason string
	// Failed: the callback could not decide. The event is then sign_in.failed in
	// place of sign_in.refused.
	Failed bool
	Err    error // the cause, for the log; may be nil
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Err == nil {
		return r.Reason
	}
	return r.Reason + ": " + r.Err.Error()
}

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// JWTParams are the arguments of the JWT callback.
type JWTParams struct {
	Claims    Claims
	Trigger   string // "signIn", "signUp", "update" or "" when read
	User      *User  // with signIn and signUp
	Account   *Account
	Profile   Profile
	IsNewUser bool
	Data      any // with update: what the client sent, untrusted
}

// SessionParams are the arguments of the Session callback.
type SessionParams struct {
	Session map[string]any
	User    User     // the stored user (database), or what the claims say
	Claims  Claims   // of the token; nil with the database strategy
	AMR     []string // as Session.AMR
	ACR     string   // as Session.ACR
	Trigger string   // "update" or ""
	Data    any      // with update: what the client sent, untrusted
}

// Events are called after the fact. They cannot change or fail a request; their
// panics are logged.
type Events struct {
	SignIn        func(ctx context.Context, e SignInEvent)
	SignOut       func(ctx context.Context, e SignOutEvent)
	CreateUser    func(ctx context.Context, u User)
	UpdateUser    func(ctx context.Context, u User)
	DeleteUser    func(ctx context.Context, u User) // u is gone
	LinkAccount   func(ctx context.Context, u User, a Account)
	UnlinkAccount func(ctx context.Context, u User, a Account)
	// TokenRefused: the provider refused the account's refresh token, because it
	// expired, was revoked, or was used before, which may mean that it was
	// stolen. The stored tokens are no longer used; a has none.
	TokenRefused func(ctx context.Context, a Account)
	Session      func(ctx context.Context, s *Session) // GET and POST session with a live session
	Audit        func(ctx context.Context, e AuditEvent)
}

// A SignInEvent reports that a session began.
type SignInEvent struct {
	User      User
	Account   Account
	Profile   Profile
	IsNewUser bool
}

// A SignOutEvent reports that a session ended. One of the two is set.
type SignOutEvent struct {
	Claims  Claims
	Session *SessionRecord
}
