package authsvc

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"time"

	"authsvc/internal/text"
)

// A Provider is one way to sign in: *OAuth, *OAuth1, *OpenID2, *Email or
// *Credentials. The value is data; New compiles it, so one value may serve
// several services.
type Provider interface {
	provider() // these alone are
}

func (*OAuth) provider()       {}
func (*OAuth1) provider()      {}
func (*OpenID2) provider()     {}
func (*Email) provider()       {}
func (*Credentials) provider() {}

// Style is how a provider's button looks.
type Style struct {
	Logo       string // one of the built-in marks; empty: the first letter of Name
	Background string // CSS colour #rrggbb
	Text       string // CSS colour #rrggbb
}

// A Client is the application as registered at an identity provider.
type Client struct {
	ID     string
	Secret string
	// PrivateKey, in place of Secret, signs for OAuth.AuthMethod
	// "private_key_jwt": PKCS #8 in PEM, \n may stand for the end of a line, or a
	// private JWK. ECDSA on P-256 or P-384, Ed25519, or RSA from 2048 bits on.
	PrivateKey string
	KeyID      string // kid of its signatures; default: that of the JWK
}

// AuthMethod is how the application authenticates at the token endpoint, as
// registered in "OAuth Token Endpoint Authentication Methods" (RFC 7591 §2).
type AuthMethod string

// The methods.
const (
	ClientSecretBasic AuthMethod = "client_secret_basic" // RFC 6749 §2.3.1, in the header
	ClientSecretPost  AuthMethod = "client_secret_post"  // the same, in the body
	PrivateKeyJWT     AuthMethod = "private_key_jwt"     // RFC 7523 §2.2
	AuthMethodNone    AuthMethod = "none"                // a public client
)

// OAuth signs in with OAuth 2.0 (RFC 6749) or, with OpenID set, OpenID
// Connect. PKCE (S256), state and, with OpenID Connect, nonce are on.
type OAuth struct {
	ID     string // [a-z0-9_-]+, part of the routes and of stored accounts
	Name   string // for people
	Client Client

	// OpenID: the provider answers an ID token, which is checked.
	OpenID bool
	// Issuer, compared exactly: with OpenID required, and the endpoints that
	// are not given are discovered from it on first use. Without OpenID it is
	// compared with the iss parameter of the callback (RFC 9207).
	Issuer    string
	Endpoints Endpoints
	// Tenants are the tenants to accept of an Issuer with "{tenantid}" in it,
	// which stands for the claim tid of the ID token. Required, unless
	// PairwiseSubject is set; then empty is any. New accounts of such an Issuer
	// have the id TENANT/ID.
	Tenants []string
	// PairwiseSubject: sub is made by the service that runs all tenants of the
	// Issuer, for one person, tenant and application, as Microsoft's is: no
	// tenant can give out that of another's people.
	PairwiseSubject bool
	// Hosts are further hosts, host[:port], that Hooks may call and the access
	// token may go to; "*.example.com" is any subdomain. Those of Endpoints are
	// always in.
	Hosts []string

	Scope string // default "openid email profile" with OpenID Connect
	// AuthorizationParams are added to the authorization request.
	AuthorizationParams map[string]string
	// AuthorizationFragment, without #, ends the address of that request.
	AuthorizationFragment string
	// TokenParams are added to the token request.
	TokenParams map[string]string
	// ClientIDParam is the name under which both requests carry the client
	// id; default "client_id".
	ClientIDParam string
	// AuthMethod at the token endpoint; default [ClientSecretBasic].
	AuthMethod AuthMethod
	// AssertionAudience is who the signatures of private_key_jwt are for. Default:
	// Issuer. Required without one, or with "{tenantid}" in it.
	AssertionAudience string
	// ResponseMode "form_post" makes the provider answer by a POST.
	ResponseMode string
	// DeniedErrors are the provider's own words, beside access_denied, in the
	// callback's error when the person said no.
	DeniedErrors []string
	// SigningAlgs are the ID-token algorithms to accept; default: the
	// asymmetric ones.
	SigningAlgs []string
	// NoPKCE: the provider does not know PKCE, or refuses a request with it.
	NoPKCE bool
	// NoAuthTime: ID tokens have no auth_time, although max_age asks for it, so
	// that the provider cannot be made to ask people again. It then serves to
	// confirm who somebody is only for people who have nothing else.
	NoAuthTime bool
	// Checks may name pkce, state and nonce. Empty: all that apply. Dropping
	// one is warned about at start, dropping all is refused.
	Checks []string

	// Headers are sent with token and userinfo requests. {client_id} in a value
	// is the client id.
	Headers  map[string]string
	UserInfo UserInfo

	// Fields maps the profile to the user; the zero value is the OpenID
	// Connect standard claims.
	Fields Fields
	// TrustEmail: the provider only asserts addresses that it has verified.
	// Without it, an address counts as verified only when Fields.EmailVerified
	// is a boolean true.
	TrustEmail bool
	// VerifiedText: the texts "true" and "1" at Fields.EmailVerified count as
	// well, for the few providers that document them.
	VerifiedText bool
	// LinkVerifiedEmail links to an existing user by e-mail, when both sides
	// are verified. Off: OAuthAccountNotLinked.
	LinkVerifiedEmail bool

	// LogoutAtProvider: a sign-out here goes on at the provider, which ends its
	// own session and sends the browser back (OpenID Connect RP-Initiated Logout
	// 1.0). Register {base}/signout/return there as post-logout redirect URI.
	// Its endpoint has to take POST where ID tokens have personal claims.
	LogoutAtProvider bool

	Hooks Hooks
	Style Style
}

// Endpoints are the addresses of a provider, https except on loopback. With
// OpenID, those that are empty are discovered.
type Endpoints struct {
	Discovery     string // where the metadata is (RFC 8414); default: below OAuth.Issuer
	Authorization string // RFC 6749 §3.1
	Token         string // RFC 6749 §3.2
	UserInfo      string // OpenID Connect Core §5.3, or any that answers a profile as JSON
	JWKS          string // RFC 7517
	Revocation    string // RFC 7009
	EndSession    string // OpenID Connect RP-Initiated Logout 1.0
}

// UserInfo says how the userinfo endpoint is asked.
type UserInfo struct {
	// AddClaims asks it although there is an ID token; its claims are added,
	// its sub must match.
	AddClaims bool
	// Method is GET (default) or POST. Body is what a POST carries: JSON if it
	// begins with { or [, else a form.
	Method string
	Body   string
	// Auth says how the access token travels, instead of as
	// "Authorization: Bearer": "query:NAME", "header:NAME" (the bare token) or
	// "header:NAME SCHEME".
	Auth string
	// Headers are sent with this request, beside OAuth.Headers.
	Headers map[string]string
}

// Hooks are functions for providers that depart from the standards. An error or
// a panic of a hook refuses the sign-in, ErrAccessDenied with AccessDenied.
// Errors are logged, so they must not hold secrets.
type Hooks struct {
	// Authorize changes the query of the authorization request, as the last
	// step. The parameters that bind the response to the browser (state, nonce,
	// the PKCE challenge) and say where it goes must not change.
	Authorize func(q url.Values)
	// ClientSecret returns a client secret, such as a signed assertion. It is
	// cached until shortly before expires; one with a zero time is used once.
	ClientSecret func(c Client, now time.Time) (secret string, expires time.Time, err error)
	// ExchangeCode replaces the token request. It returns the answer with the
	// standard names (access_token, refresh_token, expires_in, token_type,
	// id_token, scope) and any others.
	ExchangeCode func(ctx context.Context, x *Exchange) (Profile, error)
	// ConformTokens corrects a token answer that departs from RFC 6749 before it
	// is checked. It may return an error for one with status 200.
	ConformTokens func(answer Profile) (Profile, error)
	// RefreshTokens replaces the request that renews the access token; x.Tokens
	// has the refresh_token, access_token, scope and session_state that are
	// stored; session_state is what ExchangeCode returned, at most 191
	// characters of it. The result is like that of ExchangeCode.
	// ErrTokenRefused, or an answer with the error invalid_grant, means that the
	// refresh token is no longer valid, ErrNoToken that the stored tokens do not
	// suffice. If ExchangeCode is set and RefreshTokens is not, tokens are not
	// refreshed.
	RefreshTokens func(ctx context.Context, x *Exchange) (Profile, error)
	// RevokeToken replaces the request that revokes a token of an account (RFC
	// 7009). x.Tokens has the session_state. hint is refresh_token or
	// access_token.
	RevokeToken func(ctx context.Context, x *Exchange, token, hint string) error
	// UserInfo replaces the userinfo request.
	UserInfo func(ctx context.Context, x *Exchange) (Profile, error)
	// MapProfile replaces Fields. User.ID is the person's id at the provider.
	MapProfile func(Profile) (User, error)
}

// Fields are paths into a Profile:
//
//	a.b[0].c                    members and list indexes (also a.b.0.c)
//	emails[primary=true].email  the first object of a list with that member
//	"https://x.example/id"      a name with dots or slashes
//	token.user_id               of the token answer instead of the profile
//	{first_name} {last_name}    a template of paths
//	name|login                  alternatives: the first non-empty one wins
//
// A value in a filter is true, false, a number, a word, or text in double
// quotes; "&" joins several. A template of paths and spaces leaves out what is
// empty; one with other text, or of an ID, is nothing unless all of it is
// there. Numbers become exact decimal strings.
type Fields struct {
	ID            string // default "sub"
	Name          string // default "name|nickname|preferred_username"
	Email         string // default "email"
	EmailVerified string // default "email_verified"; counts when boolean true
	Image         string // default "picture"
}

// Credentials signs in by a check of your own, such as a password.
type Credentials struct {
	ID     string // default "credentials"
	Name   string // default "Credentials"
	Fields []Field
	// Authorize checks the submitted fields and returns the user. ErrAccessDenied
	// refuses, and so does a User.ID that is blank or has control characters. Any
	// other error refuses, too, and is logged. With database sessions User.ID
	// must be that of a stored user. Calls are rate limited by the value of the
	// first field.
	Authorize func(ctx context.Context, fields map[string]string) (User, error)
	// ForgotURL is the path or address of your own page for people who forgot
	// their password. It is linked below the form; empty: no link.
	ForgotURL string
}

// A Field is one input of the credentials form.
type Field struct {
	Name         string // form field
	Label        string
	Type         string // text (default), password, email, number, tel
	Placeholder  string
	Autocomplete string // HTML autofill token, such as "current-password"
}

// String names the client without its secret.
func (c Client) String() string { return "client " + text.Printable(c.ID, 80) }

// Format implements [fmt.Formatter] for all verbs.
func (c Client) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) } //nolint:errcheck // fmt keeps it

// LogValue implements [slog.LogValuer].
func (c Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText keeps encoders from walking the fields.
func (c Client) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
