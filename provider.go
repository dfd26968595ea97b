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

// A Provider is one way to sign in: *OAuth, *OAuth1, *OpenID2, *Email or *Credentials.
// It is plain data that New compiles, so one value can serve several services.
type Provider interface {
	provider() // only the types below
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
	// PrivateKey, instead of Secret, signs for OAuth.AuthMethod "private_key_jwt". It
	// is PKCS #8 in PEM, where \n may stand for the end of a line, or a private JWK.
	// The key must be ECDSA on P-256 or P-384, Ed25519, or RSA of at least 2048 bits.
	PrivateKey string
	KeyID      string // kid of its signatures; default: the JWK's
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
	Name   string // display name
	Client Client

	// OpenID says that the provider returns an ID token, which is verified.
	OpenID bool
	// Issuer is compared exactly. With OpenID it is required, and endpoints that are
	// not given are discovered from it on first use. Without OpenID it is compared with
	// the iss parameter of the callback (RFC 9207).
	Issuer    string
	Endpoints Endpoints
	// DangerousInsecureIssuer permits http to the host and port of Issuer, for the
	// endpoints there, too. That host must be in a private network, or in
	// Outbound.AllowNetworks, and is called without Outbound.Proxy. On the way there,
	// anyone can read the client secret and forge sign-ins. It is an error unless Issuer
	// is http beyond loopback. Every start logs a warning.
	DangerousInsecureIssuer bool
	// Tenants lists the accepted tenants of an Issuer that contains "{tenantid}", which
	// stands for the claim tid of the ID token. It is required unless PairwiseSubject
	// is set; with PairwiseSubject, empty means any tenant. New accounts of such an
	// Issuer have the id TENANT/ID.
	Tenants []string
	// PairwiseSubject says that the operator of all tenants, not the tenant, assigns
	// the claim sub, and that sub differs for each person, tenant and application, as
	// at Microsoft. So no tenant can issue the sub of another tenant's person.
	PairwiseSubject bool
	// Hosts lists further hosts, host[:port], that Hooks may call and that may get the
	// access token; "*.example.com" is any subdomain. The hosts of Endpoints are always
	// included.
	Hosts []string

	Scope string // default "openid email profile" with OpenID Connect
	// AuthorizationParams are added to the authorization request.
	AuthorizationParams map[string]string
	// AuthorizationFragment, without #, is the fragment of the authorization request's
	// address.
	AuthorizationFragment string
	// TokenParams are added to the token request.
	TokenParams map[string]string
	// ClientIDParam is the parameter that holds the client id in the authorization
	// request and in requests to the token and revocation endpoints; default
	// "client_id".
	ClientIDParam string
	// AuthMethod authenticates at the token endpoint; default [ClientSecretBasic].
	AuthMethod AuthMethod
	// AssertionAudience is the audience of the signatures of private_key_jwt. Default:
	// Issuer. It is required if Issuer is empty or contains "{tenantid}".
	AssertionAudience string
	// ResponseMode "form_post" makes the provider respond by a POST.
	ResponseMode string
	// DeniedErrors lists the provider's own error values in the callback, beside
	// access_denied, for a person who refused.
	DeniedErrors []string
	// SigningAlgs lists the accepted ID-token algorithms; default: the asymmetric ones.
	SigningAlgs []string
	// NoPKCE turns off PKCE, for a provider that does not support it or refuses
	// requests with it.
	NoPKCE bool
	// NoAuthTime says that ID tokens have no auth_time although max_age asks for it.
	// Such a provider cannot be made to ask people to prove their identity again. A
	// sign-in there is then a fresh proof of identity only for people who have no other
	// way to give such a proof.
	NoAuthTime bool
	// Checks may name pkce, state and nonce. Empty: all that apply. Dropping one logs a
	// warning at start; dropping all is refused.
	Checks []string

	// Headers are sent with token and userinfo requests. {client_id} in a value
	// is the client id.
	Headers  map[string]string
	UserInfo UserInfo

	// Fields maps the profile to the user. Its zero value uses the standard claims of
	// OpenID Connect.
	Fields Fields
	// TrustEmail says that the provider only asserts addresses that it has verified.
	// Without it, an address counts as verified only if Fields.EmailVerified is the
	// boolean true.
	TrustEmail bool
	// VerifiedText also accepts the texts "true" and "1" at Fields.EmailVerified, for
	// the few providers that document them.
	VerifiedText bool
	// LinkVerifiedEmail links to an existing user by email if both addresses are
	// verified. Without it the sign-in ends with OAuthAccountNotLinked.
	LinkVerifiedEmail bool

	// InitiateLogin lets the provider begin a sign-in (OpenID Connect Core §4): GET
	// {base}/signin/ID with iss equal to Issuer leads to the provider at once if no one
	// is signed in, instead of showing the sign-in page. target_link_uri is checked as a
	// callbackUrl, and login_hint is passed on. Any site can then make a browser sign in
	// with its own account at the provider. It needs an Issuer.
	InitiateLogin bool

	// LogoutAtProvider continues a sign-out at the provider, which ends its own session
	// and sends the browser back (OpenID Connect RP-Initiated Logout 1.0). Register
	// {base}/signout/return there as post-logout redirect URI. The provider's endpoint
	// must accept POST if ID tokens have personal claims.
	LogoutAtProvider bool

	Hooks Hooks
	Style Style
}

// Endpoints holds the addresses of a provider, https except on loopback. With OpenID,
// empty ones are discovered.
type Endpoints struct {
	Discovery     string // metadata (RFC 8414); default: below OAuth.Issuer
	Authorization string // RFC 6749 §3.1
	Token         string // RFC 6749 §3.2
	UserInfo      string // OpenID Connect Core §5.3, or any that returns a profile as JSON
	JWKS          string // RFC 7517
	Revocation    string // RFC 7009
	EndSession    string // OpenID Connect RP-Initiated Logout 1.0
}

// UserInfo configures the userinfo request.
type UserInfo struct {
	// AddClaims makes the request even if there is an ID token, and adds the claims of
	// the answer. Its sub must match.
	AddClaims bool
	// Method is GET (default) or POST. Body is the body of a POST: JSON if it begins
	// with { or [, else a form.
	Method string
	Body   string
	// Auth says how to send the access token, instead of as "Authorization: Bearer":
	// "query:NAME", "header:NAME" (the bare token) or "header:NAME SCHEME".
	Auth string
	// Headers are sent with this request, in addition to OAuth.Headers.
	Headers map[string]string
}

// Hooks are functions for providers that depart from the standards. An error or panic
// of a hook refuses the sign-in; ErrAccessDenied refuses it with AccessDenied. Errors
// are logged, so they must not contain secrets.
type Hooks struct {
	// Authorize changes the query of the authorization request, as the last step. It
	// must not change the parameters that bind the response to the browser (state,
	// nonce, the PKCE challenge) or say where it goes.
	Authorize func(q url.Values)
	// ClientSecret returns a client secret, such as a signed assertion. It is cached
	// until shortly before expires. If expires is zero, it is used once.
	ClientSecret func(c Client, now time.Time) (secret string, expires time.Time, err error)
	// ExchangeCode replaces the token request. It returns the response with the
	// standard names (access_token, refresh_token, expires_in, token_type, id_token,
	// scope) and any others.
	ExchangeCode func(ctx context.Context, x *Exchange) (Profile, error)
	// ConformTokens corrects a token response that departs from RFC 6749, before it is
	// checked. It may return an error for a response with status 200.
	ConformTokens func(answer Profile) (Profile, error)
	// RefreshTokens replaces the request that renews the access token. x.Tokens has the
	// stored refresh_token, access_token, scope and session_state; session_state is the
	// value that ExchangeCode returned, at most 191 characters of it. The result is
	// like that from ExchangeCode. ErrTokenRefused, or a response with the error
	// invalid_grant, means that the refresh token is no longer valid; ErrNoToken means
	// that the stored tokens do not suffice. If ExchangeCode is set and RefreshTokens
	// is not, tokens are not refreshed.
	RefreshTokens func(ctx context.Context, x *Exchange) (Profile, error)
	// RevokeToken replaces the request that revokes a token of an account (RFC 7009).
	// x.Tokens has the session_state. hint is refresh_token or access_token.
	RevokeToken func(ctx context.Context, x *Exchange, token, hint string) error
	// UserInfo replaces the userinfo request.
	UserInfo func(ctx context.Context, x *Exchange) (Profile, error)
	// MapProfile replaces Fields. User.ID is the person's id at the provider.
	MapProfile func(Profile) (User, error)
}

// Fields holds paths into a Profile:
//
//	a.b[0].c                    members and list indexes (also a.b.0.c)
//	emails[primary=true].email  the first object of a list with that member
//	"https://x.example/id"      a name with dots or slashes
//	token.user_id               a value of the token response, not the profile
//	{first_name} {last_name}    a template of paths
//	name|login                  alternatives: the first non-empty one wins
//	roles[].name                a list: from each element of a list or value of an object
//	roles[keys]                 a list: the names of an object's members
//	scope[split " ,"]           a list: the parts of a text between these characters
//
// The last three are for SessionOptions.Claims; in Fields they are an error.
// A value in a filter is true, false, a number, a word, or text in double quotes; "&"
// joins several filters. A template of paths and spaces leaves out empty values. A
// template with other text, or for an ID, is empty unless all its values are present.
// Numbers become exact decimal strings.
type Fields struct {
	ID            string // default "sub"
	Name          string // default "name|nickname|preferred_username"
	Email         string // default "email"
	EmailVerified string // default "email_verified"; counts if boolean true
	Image         string // default "picture"
}

// Credentials signs in by your own check, such as a password.
type Credentials struct {
	ID     string // default "credentials"
	Name   string // default "Credentials"
	Fields []Field
	// Authorize checks the submitted fields and returns the user. ErrAccessDenied
	// refuses, and so does a User.ID that is blank or has control characters. Any other
	// error also refuses, and is logged. With database sessions, User.ID must be the id
	// of a stored user. Calls are rate limited by the value of the first field.
	Authorize func(ctx context.Context, fields map[string]string) (User, error)
	// ForgotURL is the path or address of your own page for users who forgot their
	// password. It is linked below the form; empty: no link.
	ForgotURL string
}

// A Field is an input of the credentials form.
type Field struct {
	Name         string // name of the form field
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
