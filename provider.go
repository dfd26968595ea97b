package authsvc

import (
	"context"
	"time"
)

// A Provider is one way to sign in: *OAuth, *Email or *Credentials. The value
// is data; New compiles it, so one value may serve several services.
type Provider interface {
	// build checks the provider and compiles it into a flow. Mistakes are
	// reported to b.
	build(b *builder) flow
}

// A flow is a compiled provider. begin answers POST signin/:provider,
// complete GET and POST callback/:provider. Nothing else in the engine asks
// what kind of provider it has.
type flow interface {
	info() info
	begin(*request) outcome
	complete(*request) outcome
}

// info is what routes and pages need to know of a provider.
type info struct {
	id, name string
	kind     string // wire type: oauth, oidc, email, credentials
	form     string // template of its part of the sign-in page: button, email, fields
	style    Style
	fields   []Field
	formPost bool // the callback is a POST from another site
	issuer   string
	linkAge  time.Duration // of e-mailed links; 0: it sends none
	inboxURL string        // where they can be read
}

// A deliverer is a flow that sends mails from the queue.
type deliverer interface {
	deliver(ctx context.Context, m Message) error
}

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
}

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
	Issuer string

	AuthorizationURL string
	TokenURL         string
	UserInfoURL      string
	JWKSURL          string

	Scope string // default "openid email profile" with OpenID Connect
	// AuthorizationParams are added to the authorization request.
	AuthorizationParams map[string]string
	// AuthMethod at the token endpoint: client_secret_basic (default),
	// client_secret_post or none.
	AuthMethod string
	// ResponseMode "form_post" makes the provider answer by a POST.
	ResponseMode string
	// SigningAlgs are the ID-token algorithms to accept; default: the
	// asymmetric ones.
	SigningAlgs []string
	// Checks may name pkce, state and nonce. Empty: all that apply. Dropping
	// one is warned about at start, dropping all is refused.
	Checks []string
	// Headers are sent with token and userinfo requests.
	Headers map[string]string

	// Fields maps the profile to the user; the zero value is the OpenID
	// Connect standard claims.
	Fields Fields
	// UserInfoClaims asks the userinfo endpoint although there is an ID
	// token; its claims are added, its sub must match.
	UserInfoClaims bool
	// TrustEmail: the provider only asserts addresses that it has verified.
	// Without it, an address counts as verified only when Fields.EmailVerified
	// is a boolean true.
	TrustEmail bool
	// LinkVerifiedEmail links to an existing user by e-mail, when both sides
	// are verified. Off: OAuthAccountNotLinked.
	LinkVerifiedEmail bool

	// MapProfile replaces Fields.
	MapProfile func(Profile) (User, error)
	// UserInfo replaces the userinfo request. get fetches JSON from one of
	// the hosts that this provider names, with the access token and Headers;
	// objects are map[string]any, numbers json.Number.
	UserInfo func(ctx context.Context, get func(ctx context.Context, url string) (any, error)) (Profile, error)

	Style Style
}

// Fields are paths into a Profile, dotted; alternatives are separated by "|",
// the first non-empty one wins. Numbers become exact decimal strings.
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
	// Authorize judges the submitted fields. A zero User.ID or ErrAccessDenied
	// means no; any other error is logged and means no. With database
	// sessions User.ID must be that of a stored user. It is rate limited by
	// the value of the first field.
	Authorize func(ctx context.Context, fields map[string]string) (User, error)
}

// A Field is one input of the credentials form.
type Field struct {
	Name         string // form field
	Label        string
	Type         string // text (default), password, email, number, tel
	Placeholder  string
	Autocomplete string // HTML autofill token, such as "current-password"
}
