package authsvc

import (
	"context"
	"net/netip"
	"net/url"
	"time"

	"authsvc/adapter"
)

// Claims are the contents of a session token (strategy "jwt"), or the claims from a
// provider's profile that stay with a session. Numbers in a token are float64 or
// json.Number.
type Claims map[string]any

// Profile is a provider's description of a person, not interpreted by the engine.
// Numbers are json.Number, so that 64-bit ids stay exact.
type Profile map[string]any

// Callbacks decide about sign-ins, sessions and accounts. A nil callback means the
// default. If a callback returns an error or panics, the action is refused; return a
// [Refusal] to give the audit log a reason. Callbacks run on the request path and should
// return within seconds. Their context ends with the request; after a person has proved
// their identity, it ends 30 s after the proof instead.
type Callbacks struct {
	// SignIn is called before anything is stored or any session begins; for the email
	// provider, also before a link is sent. A nil error lets the person in; an error
	// refuses with AccessDenied. A non-empty redirect sends the browser there without a
	// session. It must pass the same check as callbackUrl, else AccessDenied.
	SignIn func(ctx context.Context, a SignInAttempt) (redirect string, err error)

	// Claims returns the claims that stay with the session (Session.Claims). It is
	// called once, at the sign-in, after SignIn. kept holds the claims that
	// SessionOptions.Claims names, nil if there are none; Claims may change and return
	// it. The claims take at most 4 KiB as JSON. An error refuses with AccessDenied.
	Claims func(ctx context.Context, a SignInAttempt, kept Claims) (Claims, error)

	// CreateUser is called before a user is stored, after SignIn and Claims. u is the
	// user to be stored. Only the name and the image of the returned user are used. An
	// error refuses with AccessDenied. If other requests change the same person
	// meanwhile, the sign-in starts again and calls CreateUser again.
	CreateUser func(ctx context.Context, a SignInAttempt, u User) (User, error)

	// AllowRedirect reports whether an https callbackUrl is allowed. It is called for
	// addresses outside the service's own origin, AllowedRedirects and TrustedOrigins,
	// with the address exactly as it would be sent. It is not called if Redirect is set.
	AllowRedirect func(ctx context.Context, to *url.URL) bool

	// Redirect decides where a callbackUrl may lead. url is the requested address
	// (unchecked), baseURL the origin of the service. Redirect may leave the allowed
	// origins. The default permits paths, the service's own origin, AllowedRedirects
	// and TrustedOrigins, and falls back to the origin.
	Redirect func(ctx context.Context, url, baseURL string) string

	// JWT is called when a session token is made (Trigger "signIn" or "signUp"),
	// updated ("update") or read (""), and returns the claims to keep. It is not called
	// with the database strategy. The claims sub, sid, auth_time, amr, acr, second_at,
	// act, provider, iat, exp, jti and all that begin with authsvc_ belong to the engine.
	JWT func(ctx context.Context, p JWTParams) (Claims, error)

	// Export returns the application's data about a user who exports their data. It
	// appears as "application", encoded by encoding/json, in the file of
	// GET account/export and Service.Export. After an error
	// there is no file.
	Export func(ctx context.Context, u User) (any, error)

	// WaysIn returns the number of a user's ways to sign in that the service does not
	// know of, such as a password in the application's own Credentials. It is called
	// before the last way that the service knows is removed. If it returns more than
	// 0, that way may be removed. If it returns an error, that way is kept.
	WaysIn func(ctx context.Context, u User) (int, error)

	// Place names the location of a network, such as "Berlin", for the list of
	// sessions; "" if unknown. It is called for each session of a list and must be
	// quick.
	Place func(network netip.Prefix) string

	// DeleteUser is called before a user u is deleted, whether the user, an operator or
	// the program (Service.DeleteUser) asked for it. The application can then delete
	// its own data about u. If DeleteUser returns an error, u is not deleted. At the
	// end of a grace period, only one replica calls it, with a context that ends after
	// a minute. If that call returns an error, a replica calls it again an hour later.
	// If DeleteUser succeeds but the store then fails, the next attempt calls it again
	// for the same user.
	DeleteUser func(ctx context.Context, u User) error

	// Session returns the JSON object of GET session. p.Session holds the default: user
	// {name, email, image}, with CompatNone also id, and expires. The browser and every
	// script on the page can read it.
	Session func(ctx context.Context, p SessionParams) (map[string]any, error)
}

// A SignInAttempt describes a sign-in to the callbacks SignIn, Claims and CreateUser.
type SignInAttempt struct {
	User    User    // the stored user if there is one, else the user to be stored
	Account Account // provider, type and provider account id; also tokens once the person is back from the provider
	Profile Profile // nil for email and credentials
	// Credentials holds the submitted fields, for the credentials provider.
	Credentials map[string]string
	// VerificationRequest is set when the email provider asks whether it may send a
	// link.
	VerificationRequest bool
	IsNewUser           bool // no stored user yet
	// EmailProved reports whether User.Email is known to belong to the person, by the
	// store or by this sign-in. It is also true with VerificationRequest, because the
	// link will prove the address. User.EmailVerified reflects only the store.
	EmailProved bool
	Client      RequestClient
	Time        time.Time // time of the request, by the store's clock
}

// A RequestClient describes the client that sent a request.
type RequestClient struct {
	IP    netip.Addr // see Config.TrustedProxies; invalid if a proxy does not report it
	Agent string     // the User-Agent header, untrusted
}

// A Refusal is a callback error that gives the audit log a reason. Any other error
// refuses as well.
type Refusal struct {
	// Reason is a fixed text, such as "by the rule of sign-in". It appears in the log
	// and in audit events.
	Reason string
	// Failed means that the callback could not decide. The event is then sign_in.failed
	// instead of sign_in.refused.
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
	Trigger   string // "signIn", "signUp", "update", or "" when read
	User      *User  // set for signIn and signUp
	Account   *Account
	Profile   Profile
	IsNewUser bool
	Data      any // for update: data from the client, untrusted
}

// SessionParams are the arguments of the Session callback.
type SessionParams struct {
	Session map[string]any
	User    User     // the stored user (database), or the user in the claims
	Claims  Claims   // claims of the token; nil with the database strategy
	AMR     []string // as Session.AMR
	ACR     string   // as Session.ACR
	// SecondAt and Actor are as Session.SecondAt and Session.Actor.
	SecondAt time.Time
	Actor    string
	Trigger  string // "update" or ""
	Data     any    // for update: data from the client, untrusted
}

// Events are called after the fact. They cannot change or fail a request. Their panics
// are logged.
type Events struct {
	SignIn        func(ctx context.Context, e SignInEvent)
	SignOut       func(ctx context.Context, e SignOutEvent)
	CreateUser    func(ctx context.Context, u User)
	UpdateUser    func(ctx context.Context, u User)
	DeleteUser    func(ctx context.Context, u User) // u is already deleted
	LinkAccount   func(ctx context.Context, u User, a Account)
	UnlinkAccount func(ctx context.Context, u User, a Account)
	// TokenRefused is called when the provider refuses the account's refresh token
	// because it expired, was revoked, or was used before, which may mean that it was
	// stolen. The stored tokens are no longer used, and the Account passed
	// has none.
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

// A SignOutEvent reports that a session ended. One of its fields is set.
type SignOutEvent struct {
	Claims  Claims
	Session *adapter.SessionRecord
}
