package authsvc

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"authsvc/adapter"
	"authsvc/internal/text"
)

// Config is the configuration of a Service. The zero value of every field is the safe
// default. URL, Secrets and at least one provider are required.
type Config struct {
	// URL is the public address: an origin and optionally a path, which replaces
	// /api/auth. It must be https except on loopback hosts.
	URL string
	// Secrets lists the service's secrets: the first encrypts, all can decrypt. Each must be at
	// least 32 bytes of random text; `authsvc secret` prints one.
	Secrets []string
	// Providers lists the providers in the order of the sign-in page.
	Providers []Provider
	// Adapter stores users and accounts. If nil, sessions live only in cookies
	// (strategy jwt), and email sign-in is not available.
	Adapter adapter.Adapter
	// Session sets where sessions live and for how long.
	Session SessionOptions
	// Compat selects a version of NextAuth.js to be compatible with. Default: none.
	Compat Compat
	// Account configures the account page. It needs an Adapter; without one,
	// GET account and GET confirm do not exist.
	Account AccountOptions
	// Notices configures the mails that tell users about changes to their account.
	Notices NoticeOptions
	// SignIn restricts who may sign in. Default: everyone.
	SignIn SignInRules
	// SignUp restricts who may become a user. Default: everyone who may sign in.
	SignUp SignUpRules
	// Gate puts other programs behind sign-in.
	Gate Gate
	// Callbacks can decide about a request. Events only observe it.
	Callbacks Callbacks
	Events    Events
	// Pages replaces built-in pages with your own.
	Pages Pages
	Theme Theme
	// AllowedRedirects lists further origins (scheme://host[:port]) that a callbackUrl
	// may lead to.
	AllowedRedirects []string
	// TrustedOrigins lists same-site origins whose pages may call the service with
	// credentials (CORS), and to which a callbackUrl may lead, such as
	// https://www.example.com beside https://auth.example.com.
	TrustedOrigins []string
	// InternalHosts lists further names, as host or host:port, under which the
	// application's servers reach the service. A request with such a Host may ask for
	// the session (GET session), for tokens (POST token, GET jwks) and for the
	// program's health paths; every other path answers 421. Cookies and links still use
	// URL, and no answer names an internal host.
	InternalHosts []string
	// TrustedProxies lists the proxies whose X-Forwarded-For is trusted; from all
	// others it is ignored.
	TrustedProxies []netip.Prefix
	// ProxyKeys lists keys of at least 32 printable ASCII characters. A request with one
	// of them in its only Authsvc-Proxy-Key header counts as one of a trusted proxy,
	// whatever its address is. The keys are for front ends without a fixed address; they
	// do not permit gate checks. With several, you can replace one without an
	// interruption.
	ProxyKeys []string
	// ForwardedHost serves requests whose Host is not the host of URL, if a trusted proxy
	// sent them with a single X-Forwarded-Host that names the host of URL. It is for
	// proxies that cannot pass Host on, and needs TrustedProxies or ProxyKeys. The proxy
	// must replace the X-Forwarded-Host of clients. Links and cookies still use URL. A
	// host of Gate stays that host.
	ForwardedHost bool
	Cookies       CookieOptions
	// HSTS is the max-age of the Strict-Transport-Security header: for this long
	// browsers reach the host of URL only by https, whatever else it serves. Default:
	// 0, which leaves the header to the proxy in front. It needs an https URL.
	HSTS      time.Duration
	RateLimit RateLimit
	Audit     AuditOptions
	// Tokens configures tokens that tell back ends who is signed in. Without Audiences
	// the routes token and jwks do not exist.
	Tokens TokenOptions
	// PersonalTokens configures tokens for programs that act for a user without a
	// browser. They need an Adapter.
	PersonalTokens PersonalTokenOptions
	Outbound       Outbound
	// FirstProof says what happens when an email link first proves the address of a
	// user: "strict" (the default, and the safe choice) or "keep" (default in compat
	// modes).
	FirstProof FirstProof
	// ShowRefusal answers AccessDenied if a SignIn callback refuses to send a link. If
	// false, the answer to such a refusal is the same as for every other address.
	ShowRefusal bool
	// StaleRevocations says what to do while revocations of JWT sessions cannot be
	// read: "refuse" (default) answers 503, "accept" continues without them.
	StaleRevocations StaleRevocations
	// ProviderTokens says how the store keeps access, refresh and ID tokens of identity
	// providers: "sealed" with AES-256-GCM under the first of Secrets (default),
	// "plain" (default in compat modes, where NextAuth.js reads the rows), or "drop",
	// not at all. Sealed and plain rows can both be read. A sign-in rewrites its row;
	// Operator.RewriteTokens rewrites all of them.
	ProviderTokens ProviderTokens
	// DangerousInsecureURL permits http beyond loopback.
	DangerousInsecureURL bool
	// DangerousShortSecret permits secrets under 32 bytes, or with fewer than 10
	// different ones, in compat modes.
	DangerousShortSecret bool
	// Logger gets one line per refusal and failure, with the request id. It never gets
	// a secret. Nil: slog.Default().
	Logger *slog.Logger
}

// Compat selects the version of NextAuth.js whose cookies, tokens and responses the
// service uses.
type Compat string

// The compat modes. With NextAuthV4 or AuthJSV5, sessions are shared with a running
// NextAuth.js application that has the same secret and the same tables.
const (
	CompatNone Compat = "none"
	NextAuthV4 Compat = "next-auth-v4"
	AuthJSV5   Compat = "authjs-v5"
)

// Strategy says where sessions live.
type Strategy string

// The strategies.
const (
	StrategyDatabase Strategy = "database" // in the store
	StrategyJWT      Strategy = "jwt"      // in the cookie, encrypted
)

// FirstProof says what happens to a user's accounts and sessions when an email link
// first proves the address.
type FirstProof string

// The effects of the first proof.
const (
	FirstProofStrict FirstProof = "strict" // accounts and sessions are removed
	FirstProofKeep   FirstProof = "keep"   // they stay
)

// StaleRevocations says what happens to JWT sessions while the revocation log cannot be
// read.
type StaleRevocations string

// The responses to an unreadable revocation log.
const (
	StaleRevocationsRefuse StaleRevocations = "refuse" // answer 503
	StaleRevocationsAccept StaleRevocations = "accept" // accept the sessions
)

// ProviderTokens says how tokens of identity providers are stored.
type ProviderTokens string

// The ways to store them.
const (
	ProviderTokensSealed ProviderTokens = "sealed" // encrypted under the first of Secrets
	ProviderTokensPlain  ProviderTokens = "plain"
	ProviderTokensDrop   ProviderTokens = "drop" // not stored
)

// ColorScheme is the colour scheme of the built-in pages.
type ColorScheme string

// The colour schemes.
const (
	ColorSchemeAuto  ColorScheme = "auto" // as the browser prefers
	ColorSchemeLight ColorScheme = "light"
	ColorSchemeDark  ColorScheme = "dark"
)

// TokenOptions configure the tokens of POST token: JWTs (RFC 7519) that tell another
// program who is signed in. They cannot be revoked before they expire.
type TokenOptions struct {
	// Rotate is how long a signing key signs, default 2160 h, from 24 h to 87600 h.
	// Without an Adapter, keys are derived from Secrets and change with them.
	Rotate time.Duration
	// Audiences lists the programs that tokens are issued for.
	Audiences []Audience
}

// An Audience is a program that accepts tokens.
type Audience struct {
	// ID is the claim aud: up to 255 printable characters without spaces, such as the
	// address of the program.
	ID string
	// Alg is the algorithm that signs its tokens. RS256 needs an Adapter.
	Alg SigningAlg
	// Typ is the typ header: "JWT" (default) or "at+jwt".
	Typ string
	// TTL is how long a token is valid, at most until its session ends: default 5 min,
	// from 1 to 15 min.
	TTL time.Duration
	// Claims names further claims, in addition to iss, sub, aud, iat, exp, jti, auth_time, sid and
	// idp: "name", "email" (with email_verified), "picture", and names of
	// SessionOptions.Claims or, with a Claims callback, any other name that is valid
	// there. Names that authsvc sets itself and registered names of RFC 7519 §4.1 are
	// errors, also in another case, such as "Sub".
	Claims []string
	// Allow lists conditions; a session must meet at least one to get a token. Empty:
	// every signed-in user. Conditions see the claims of [Session.Claims]. An address
	// counts only if Session.EmailVerified.
	Allow []Condition
	// When, if set, is called after Allow. If it returns false or an error, no token is
	// issued.
	When func(ctx context.Context, r AccessRequest) (bool, error)
}

// SigningAlg is a signature algorithm (RFC 7518 section 3.1).
type SigningAlg string

// The algorithms of tokens.
const (
	SigningES256 SigningAlg = "ES256" // the default
	SigningEdDSA SigningAlg = "EdDSA" // with Ed25519
	SigningRS256 SigningAlg = "RS256" // 2048 bits; signing takes 30 times as long
)

// SessionOptions configure sessions. Durations of 0 mean the default.
type SessionOptions struct {
	Strategy       Strategy      // "database" (default with an Adapter) or "jwt"
	MaxAge         time.Duration // lifetime without use, default 720 h
	UpdateAge      time.Duration // how often a live session is extended, default 24 h; negative: every time
	AbsoluteMaxAge time.Duration // since authentication, default 2160 h
	// Claims selects the claims of a provider's profile that stay with the session: it
	// maps the name of a claim to its path, written as in Fields. Lists and objects
	// keep their type; missing values are left out. Claims are read once, at the
	// sign-in, and change only at the next. They take at most 4 KiB as JSON; if they
	// take more, the sign-in is refused. A name has at most 64 characters: letters,
	// digits, - and _. A collision-resistant name (RFC 7519 §4.2), such as
	// "https://app.example.com/plan" or "custom:plan", has at most 255 characters of a
	// URI, except & and '.
	Claims map[string]string
	// Expose selects what GET session adds to name, email and image under user, where
	// every script of the page can read it. It maps the name there to a value: "id",
	// "email_verified", "provider" (the id of the sign-in's provider), "claims.NAME" or
	// just NAME from Claims, "User.COLUMN" or just COLUMN from User.Extra. Unknown
	// values are null. Names have at most 64 characters: letters, digits, - and _.
	// With CompatNone, the id is always there, under the name "id" unless Expose gives
	// this name another value.
	Expose map[string]string
}

// AccountOptions configure what users can do about their account at GET account.
type AccountOptions struct {
	// Disabled removes the account page.
	Disabled bool
	// Fresh is how recently the user must have proved their identity for actions that a
	// borrowed session must not allow, such as removing a way to sign in. Default
	// 10 min, from 1 min to 24 h. After that the user must prove it again at
	// GET confirm.
	Fresh time.Duration
	// Edit lists the fields that users may change. Default: ["name"]. An empty non-nil
	// list disables editing.
	Edit []string
	// ChangeEmail lets users change their address, with proof at both addresses. It
	// needs an Email provider, which sends the mails. Default: true with CompatNone if there is
	// an Email provider, else false.
	ChangeEmail *bool
	// Delete lets users delete their account. It is off by default, since records of
	// the application may refer to its users; see Callbacks.DeleteUser.
	Delete bool
	// DeleteGrace is how long users can still sign in and keep an account whose
	// deletion they requested: default 336 h, from 1 min to 8760 h. Negative: the
	// account is deleted at once. [authsvc/engine.Service.ScheduleDeletion] uses it,
	// too.
	DeleteGrace time.Duration
}

// Pages are paths or URLs of your own pages; empty means built in.
type Pages struct {
	SignIn, SignOut, Error, VerifyRequest, NewUser string
	// Account replaces the page of GET account; after a change it gets done=WORD or
	// error=WORD. Confirm replaces the page of GET confirm; it gets callbackUrl and, as
	// ways, the ids of the providers by which the user can prove their identity.
	// Scripts still get the JSON of GET account.
	Account, Confirm string
}

// Theme adapts the built-in pages.
type Theme struct {
	ColorScheme ColorScheme // "auto" (default), "light" or "dark"
	BrandColor  string      // #rrggbb; its text colour is chosen for contrast
	ButtonText  string      // #rrggbb; refused if its contrast on BrandColor is under 4.5
	Logo        string      // https URL or data:image URL
	SiteName    string      // default: the host of URL
}

// CookieOptions rename cookies or share them with subdomains.
type CookieOptions struct {
	// Domain shares the session and callback-url cookies with all subdomains. Their
	// names then start with __Secure- instead of __Host-.
	Domain string
	// Prefix begins the names of all cookies, after __Host- or __Secure-: at most 32
	// letters, digits, - and _. The default is authsvc. Services on the same host name
	// need different prefixes, because browsers send cookies to every port and path. In
	// compat modes, the names below are those of NextAuth.js whatever Prefix is.
	Prefix string
	// Session, CSRF and CallbackURL replace the complete cookie names.
	Session, CSRF, CallbackURL string
}

// RateLimit limits attempts. The store counts for all replicas; without a store, or
// while it fails, each process counts. A zero Rate means the default.
type RateLimit struct {
	Disabled              bool // no limits; other refusals are logged and audited one by one, not one a minute with a count
	SignIn                Rate // POST signin/*, sign-ins that a provider begins, and callback/credentials per client address, default 30/min
	EmailPerAddress       Rate // links per mailbox, and per browser that signed in with it before, default 5/h
	EmailTotal            Rate // all mails that people request, default 1000/h; no more are sent above it
	CredentialsPerAccount Rate // above it attempts wait for a turn, one each 5 s; default 10/min
	Link                  Rate // email links tried per client address, default 30/min
	BackchannelLogout     Rate // logout tokens per address of a provider, default 300/min
	Token                 Rate // POST token per session, default 60/min
	Account               Rate // changes of an account, per user, default 60/min; exports have 5/h
	NoticesPerUser        Rate // mails to a user about their account, default 20/d; above it there is only the event; half for notices without an undo link
	PersonalToken         Rate // refused personal access tokens per client address, default 30/min
}

// A Rate is N events per period.
type Rate struct {
	N   int
	Per time.Duration
}

// Outbound limits calls to identity providers.
type Outbound struct {
	// AllowNetworks lists the private networks whose hosts may be called if a provider's
	// discovery document names them.
	AllowNetworks []netip.Prefix
	// Proxy is the address of an HTTP proxy, http://[USER:PASSWORD@]HOST:PORT, or https
	// for TLS up to the proxy. Calls to providers go through it by CONNECT, except calls
	// to loopback, to NoProxy and to the issuer of OAuth.DangerousInsecureIssuer. The
	// proxy resolves names, so it must itself refuse to connect to internal addresses; a
	// host given as such an address, and a name that only an internal network has, are
	// refused as without a proxy. Default: none; the environment is not read.
	Proxy string
	// NoProxy lists hosts that are called without Proxy, as host or host:port;
	// "*.example.com" is any subdomain. It needs Proxy.
	NoProxy []string
	// DangerousTransport makes all calls to providers, for a test or a network that
	// Proxy does not fit. It then decides which addresses may be reached. The service
	// still calls only https and follows no redirect.
	DangerousTransport http.RoundTripper
}

// String names the proxy without its user and password. With "/", "?" or "#" in them, it
// names nothing, since url.Parse would end the host there.
func (o Outbound) String() string {
	u, err := url.Parse(o.Proxy)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" || strings.ContainsAny(o.Proxy, "?#") {
		return "outbound calls"
	}
	return "outbound calls by the proxy " + text.Printable(u.Host, 80)
}

// Format implements [fmt.Formatter] for all verbs.
func (o Outbound) Format(f fmt.State, _ rune) { io.WriteString(f, o.String()) } //nolint:errcheck // fmt keeps it

// LogValue implements [slog.LogValuer].
func (o Outbound) LogValue() slog.Value { return slog.StringValue(o.String()) }

// MarshalText keeps encoders from walking the fields.
func (o Outbound) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// A Config, a Client, an Outbound and a Service print without their contents, so that no
// log line or panic shows a secret.

// String names the configuration without showing its contents.
func (c Config) String() string { return "configuration of " + text.Printable(c.URL, 80) }

// Format implements [fmt.Formatter] for all verbs.
func (c Config) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) } //nolint:errcheck // fmt keeps it

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText keeps encoders from walking the fields.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
