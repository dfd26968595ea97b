package authsvc

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"authsvc/internal/text"
)

// Config is everything that a Service needs. The zero value of every field is
// the safe default; URL, Secrets and at least one provider are required.
type Config struct {
	// URL is the public address: an origin, and optionally a path, which then
	// replaces /api/auth. It must be https except on loopback hosts.
	URL string
	// Secrets: the first seals, all open. Each is at least 32 bytes of random
	// text; `authsvc secret` prints one.
	Secrets []string
	// Providers in the order of the sign-in page.
	Providers []Provider
	// Adapter keeps users and accounts. Nil: sessions live in cookies only
	// (strategy jwt), and e-mail sign-in is not possible.
	Adapter Adapter
	// Session sets how long sessions live and where.
	Session SessionOptions
	// Compat says whose cookies, tokens and answers to speak.
	Compat Compat
	// Account configures the account page. It needs an Adapter; without one the
	// page and the one that asks for a fresh proof do not exist.
	Account AccountOptions
	// Notices configures the mails that tell people what changed on their account.
	Notices NoticeOptions
	// SignIn says who may sign in; everybody, by default.
	SignIn SignInRules
	// SignUp says who may become a user; everybody who may sign in, by default.
	SignUp SignUpRules
	// Gate puts other programs behind sign-in.
	Gate Gate
	// Callbacks may decide, Events may watch.
	Callbacks Callbacks
	Events    Events
	// Pages replaces built-in pages by your own.
	Pages Pages
	Theme Theme
	// AllowedRedirects are further origins (scheme://host[:port]) that a
	// callbackUrl may lead to.
	AllowedRedirects []string
	// TrustedOrigins are same-site origins whose pages may call the service
	// with credentials (CORS) and may be led to, such as
	// https://www.example.com beside https://auth.example.com.
	TrustedOrigins []string
	// InternalHosts are further names, as host or host:port, that servers of the
	// application reach the service at. A request whose Host is one of them may
	// ask for the session (GET session), for tokens (POST token, GET jwks) and for
	// the health paths of the program, and gets 421 for all else. Cookies and links are
	// those of URL all the same; no answer names an internal host.
	InternalHosts []string
	// TrustedProxies may set X-Forwarded-For; nobody else's counts.
	TrustedProxies []netip.Prefix
	Cookies        CookieOptions
	// HSTS is sent as Strict-Transport-Security: for this long browsers reach
	// the host of URL by https only, whatever else it serves. Zero, the
	// default, leaves that to the proxy in front. It needs an https URL.
	HSTS      time.Duration
	RateLimit RateLimit
	Audit     AuditOptions
	// Tokens are for back ends that learn from a token who is asking. Without
	// Audiences the routes token and jwks do not exist.
	Tokens TokenOptions
	// PersonalTokens are for programs that act for a user without a browser. They
	// need an Adapter.
	PersonalTokens PersonalTokenOptions
	Outbound       Outbound
	// FirstProof says what happens when an e-mail link first proves the
	// address of a user: "strict" (default, and the safe one) or "keep"
	// (default in compat modes).
	FirstProof FirstProof
	// ShowRefusal answers AccessDenied when a SignIn callback refuses to send a
	// link; otherwise the answer is that of every other address.
	ShowRefusal bool
	// StaleRevocations: "refuse" (default) answers 503 while revocations of
	// JWT sessions cannot be read, "accept" goes on.
	StaleRevocations StaleRevocations
	// ProviderTokens says how access, refresh and ID tokens of identity
	// providers are kept in the store: "sealed" with AES-256-GCM under the
	// first of Secrets (default), "plain" (default in compat modes, where
	// NextAuth.js reads the rows), or not at all, "drop". Rows of either kind
	// are read; a sign-in writes anew, and Operator.RewriteTokens all at once.
	ProviderTokens ProviderTokens
	// DangerousInsecureURL permits http beyond loopback.
	DangerousInsecureURL bool
	// DangerousShortSecret permits secrets under 32 bytes, in compat modes.
	DangerousShortSecret bool
	// Logger gets one line per refusal and failure, with the request id. It
	// never gets a secret. Nil: slog.Default().
	Logger *slog.Logger
}

// Compat selects the dialect of cookies, tokens and answers.
type Compat string

// The dialects. With NextAuthV4 or AuthJSV5, the same secret and the same
// tables, sessions are shared with a running NextAuth.js application.
const (
	CompatNone Compat = "none"
	NextAuthV4 Compat = "next-auth-v4"
	AuthJSV5   Compat = "authjs-v5"
)

// Strategy is where sessions live.
type Strategy string

// The strategies.
const (
	StrategyDatabase Strategy = "database" // in the store
	StrategyJWT      Strategy = "jwt"      // in the cookie, encrypted
)

// FirstProof says what happens to the accounts and sessions of a user when an
// e-mail link first proves the address.
type FirstProof string

// What the first proof does.
const (
	FirstProofStrict FirstProof = "strict" // accounts and sessions are removed
	FirstProofKeep   FirstProof = "keep"   // they stay
)

// StaleRevocations says what happens to JWT sessions while the revocation log
// cannot be read.
type StaleRevocations string

// What to do meanwhile.
const (
	StaleRevocationsRefuse StaleRevocations = "refuse" // answer 503
	StaleRevocationsAccept StaleRevocations = "accept" // let them in
)

// ProviderTokens says how tokens of identity providers are stored.
type ProviderTokens string

// The ways to keep them.
const (
	ProviderTokensSealed ProviderTokens = "sealed" // encrypted under the first of Secrets
	ProviderTokensPlain  ProviderTokens = "plain"
	ProviderTokensDrop   ProviderTokens = "drop" // not at all
)

// ColorScheme is that of the built-in pages.
type ColorScheme string

// The colour schemes.
const (
	ColorSchemeAuto  ColorScheme = "auto" // as the browser prefers
	ColorSchemeLight ColorScheme = "light"
	ColorSchemeDark  ColorScheme = "dark"
)

// TokenOptions configure the tokens of POST token: JWTs that say to another
// program who is signed in (RFC 7519). They cannot be taken back before they
// expire.
type TokenOptions struct {
	// Rotate is how long a signing key signs, default 2160 h, from 24 h to
	// 87600 h. Without an Adapter keys follow from Secrets and change with
	// them.
	Rotate time.Duration
	// Audiences are the programs that tokens are issued for.
	Audiences []Audience
}

// An Audience is a program that takes tokens.
type Audience struct {
	// ID is the claim aud: up to 255 printable characters without spaces, such as
	// the address of the program.
	ID string
	// Alg signs its tokens. RS256 needs an Adapter.
	Alg SigningAlg
	// Typ is that of the header: "JWT" (default) or "at+jwt".
	Typ string
	// TTL is how long a token is good, at most until its session ends: default
	// 5 min, from 1 to 15 min.
	TTL time.Duration
	// Claims are told beside iss, sub, aud, iat, exp, jti, auth_time, sid and
	// idp: "name", "email" (with email_verified), "picture", and names of
	// SessionOptions.Claims or, with a Claims callback, any other.
	Claims []string
	// Allow are conditions of which one has to hold for a session to get a token.
	// Empty: everybody who is signed in. Claims are those of [Session.Claims], and an
	// address counts if Session.EmailVerified.
	Allow []Condition
	// When, if set, is asked after them. False or an error refuses.
	When func(ctx context.Context, r AccessRequest) (bool, error)
}

// SigningAlg is an algorithm of signatures (RFC 7518 section 3.1).
type SigningAlg string

// The algorithms of tokens.
const (
	SigningES256 SigningAlg = "ES256" // the default
	SigningEdDSA SigningAlg = "EdDSA" // with Ed25519
	SigningRS256 SigningAlg = "RS256" // 2048 bits; signing takes 30 times as long
)

// SessionOptions: durations of 0 mean the default.
type SessionOptions struct {
	Strategy       Strategy      // "database" (default with an Adapter) or "jwt"
	MaxAge         time.Duration // idle lifetime, default 720 h
	UpdateAge      time.Duration // how often a live session is extended, default 24 h; negative: every time
	AbsoluteMaxAge time.Duration // since authentication, default 2160 h
	// Claims are what of a provider's profile stays with the session: the name of
	// the claim, and where it is, written as in Fields. Lists and objects stay
	// what they are, and what is not there is left out. They are read once, at the
	// sign-in, take at most 4 KiB as JSON, or the sign-in is refused, and change
	// at the next sign-in only. A name has at most 64 letters, digits, - and _.
	Claims map[string]string
	// Expose is what GET session shows under user beside name, email and image,
	// where every script of the page can read it: the name there, and what it
	// shows, "id", "email_verified", "provider" (the id of the provider of the
	// sign-in), "claims.NAME" or just NAME of Claims, "User.COLUMN" or just COLUMN
	// of User.Extra. What is unknown is null. Names are as in Claims.
	Expose map[string]string
}

// AccountOptions configure what people can do about their account at GET account.
type AccountOptions struct {
	// Disabled: there is no account page.
	Disabled bool
	// Fresh is how recent the proof of who somebody is has to be for what a
	// borrowed session must not do, such as removing a way to sign in: default
	// 10 min, from 1 min to 24 h. Later the person is asked at GET confirm.
	Fresh time.Duration
	// Edit names what people may change about themselves: "name". Nil means
	// that, an empty list nothing.
	Edit []string
	// ChangeEmail lets people change their address, with proof at both ends.
	// Default: true with CompatNone if there is an Email provider, whose mails it
	// needs, else false.
	ChangeEmail *bool
	// Delete lets people delete their account. It is off by default, since records of
	// the application may refer to its users; see Callbacks.DeleteUser.
	Delete bool
	// DeleteGrace is for how long whoever had their account deleted can sign in and
	// keep it: default 336 h, from 1 min to 8760 h; negative: it is deleted at once.
	// [authsvc/engine.Service.ScheduleDeletion] goes by it, too.
	DeleteGrace time.Duration
}

// Pages are paths or URLs of pages of your own; empty means built in.
type Pages struct {
	SignIn, SignOut, Error, VerifyRequest, NewUser string
	// Account is where a browser that asks for GET account is led, with done=WORD or
	// error=WORD after a change, and Confirm for GET confirm, with callbackUrl and,
	// as ways, the ids of the providers by which the person can prove who they are. Scripts get the
	// JSON of GET account all the same.
	Account, Confirm string
}

// Theme adapts the built-in pages.
type Theme struct {
	ColorScheme ColorScheme // "auto" (default), "light" or "dark"
	BrandColor  string      // #rrggbb; the text on it is chosen for contrast
	ButtonText  string      // #rrggbb; refused when its contrast on BrandColor is under 4.5
	Logo        string      // https URL or data:image URL
	SiteName    string      // default: the host of URL
}

// CookieOptions rename cookies or share them with subdomains.
type CookieOptions struct {
	// Domain shares the session and callback-url cookies with all subdomains;
	// their names then start with __Secure- instead of __Host-.
	Domain string
	// Session, CSRF and CallbackURL replace the cookie names, whole.
	Session, CSRF, CallbackURL string
}

// RateLimit bounds attempts: in the store, for all replicas; without one, or
// while it fails, per process. A zero Rate means the default.
type RateLimit struct {
	Disabled              bool // also reports each refusal in log and audit, instead of one a minute and a count
	SignIn                Rate // POST signin/* and callback/credentials per client address, default 30/min
	EmailPerAddress       Rate // links per mailbox, and per browser that signed in with it before, default 5/h
	EmailTotal            Rate // mails that people ask for, in all, default 1000/h; past it none is sent
	CredentialsPerAccount Rate // past it attempts wait for a turn, one each 5 s; default 10/min
	Link                  Rate // e-mail links tried per client address, default 30/min
	BackchannelLogout     Rate // logout tokens per address of a provider, default 300/min
	Token                 Rate // POST token per session, default 60/min
	Account               Rate // POST account/* per user, default 60/min
	NoticesPerUser        Rate // mails to a user about their account, default 20/d; past it there is only the event
	PersonalToken         Rate // personal access tokens that are refused, per client address, default 30/min
}

// A Rate is N events per period.
type Rate struct {
	N   int
	Per time.Duration
}

// Outbound limits calls to identity providers.
type Outbound struct {
	// AllowNetworks are private networks that hosts learnt from discovery may
	// be in.
	AllowNetworks []netip.Prefix
	// DangerousTransport makes all calls to providers, for a proxy or a test.
	// Which addresses may be reached is then its business; that only https is
	// called and no redirect followed stays ours.
	DangerousTransport http.RoundTripper
}

// A Config, a Client and a Service print without their contents, so that no
// log line and no panic shows a secret.

// String names the configuration without showing it.
func (c Config) String() string { return "configuration of " + text.Printable(c.URL, 80) }

// Format implements [fmt.Formatter] for all verbs.
func (c Config) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) } //nolint:errcheck // fmt keeps it

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText keeps encoders from walking the fields.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
