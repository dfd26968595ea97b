package idp

import (
	"crypto"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"sync"
	"time"

	"authsvc/internal/protocol/weburl"
)

// Lifetimes and limits. The lifetime of codes is well below the maximum of ten minutes
// in RFC 6749 §4.1.2. The capacities only limit memory.
const (
	codeLifetime  = time.Minute
	tokenLifetime = time.Hour

	maxCodes  = 10_000
	maxTokens = 100_000
	maxPeople = 500

	maxBody  = 64 << 10 // bytes of a request body
	maxQuery = 16 << 10 // bytes of an encoded authorization request
)

// Options configures a [Provider]. Only Issuer is required.
type Options struct {
	// Issuer is the absolute URL of the provider, without trailing slash, query or
	// fragment. http is allowed only for loopback hosts.
	Issuer string

	// Clients are the applications that may request a sign-in.
	Clients []Client

	// People are the identities to choose from if the Store has none yet. Nil means
	// [DefaultPeople].
	People []Person

	// Key signs ID tokens: RSA of at least 2048 bits (RS256) or ECDSA on P-256 (ES256).
	// It is not written to the Store. Nil means the Store's key, or a new one.
	Key crypto.Signer

	// Alg is the algorithm of new keys, "RS256" or "ES256". Empty means the algorithm
	// of Key, else RS256, which every relying party supports.
	Alg string

	// Store keeps people and signing keys across restarts. Nil keeps them in memory.
	// Codes and access tokens always end with the process.
	Store Store

	// StyleSheet, if not empty, replaces the built-in CSS of the pages.
	StyleSheet []byte
}

// Provider is an OpenID Provider. It is an [http.Handler] for the complete paths under
// the issuer, and safe for concurrent use.
type Provider struct {
	issuer  string
	host    string // of the issuer, with port: the only Host that is served
	base    string // path of the issuer, "" at the root
	clients map[string]Client
	pages   *pages
	mux     *http.ServeMux
	calls   map[Endpoint]*counter
	origin  *http.CrossOriginProtection

	codes  *expiringStore[*grant]
	tokens *expiringStore[*grant]

	temporary, permanent *expiringStore[*credentials] // of OAuth 1.0a
	nonces               *expiringStore[struct{}]

	assertions *expiringStore[struct{}] // of private_key_jwt, by their jti

	faultMu sync.RWMutex
	faults  Fault

	mu       sync.RWMutex // guards the following fields, and writes to store
	store    Store
	people   []Person
	keys     []*signingKey // newest first; the first one signs
	alg      string        // of new keys
	keepKeys bool          // whether keys belong in the store
	spared   [][]byte      // stored keys that are not used because Options.Key is set
	stranger *signingKey   // for SignUnknownKey, made on first use
}

// New checks opts, loads or creates the state, and returns a provider that is ready to
// serve. It reports all mistakes in opts together.
func New(opts Options) (*Provider, error) {
	issuer, errIssuer := parseIssuer(opts.Issuer)
	clients, errClients := indexClients(opts.Clients)
	errAlg := checkAlg(opts.Alg)
	if err := errors.Join(errIssuer, errClients, errAlg); err != nil {
		return nil, fmt.Errorf("idp: %w", err)
	}
	p := &Provider{
		issuer:  opts.Issuer,
		host:    issuer.Host,
		base:    issuer.Path,
		clients: clients,
		origin:  http.NewCrossOriginProtection(),
		codes:   newExpiringStore[*grant](codeLifetime, maxCodes),
		tokens:  newExpiringStore[*grant](tokenLifetime, maxTokens),

		temporary: newExpiringStore[*credentials](codeLifetime, maxCodes),
		permanent: newExpiringStore[*credentials](tokenLifetime, maxTokens),
		nonces:    newExpiringStore[struct{}](2*clockSkew, maxTokens),

		assertions: newExpiringStore[struct{}](2*maxAssertionLife, maxTokens),

		store: opts.Store,
	}
	if err := p.loadState(opts); err != nil {
		return nil, fmt.Errorf("idp: %w", err)
	}
	p.pages = newPages(p.base, opts.StyleSheet)
	p.route()
	return p, nil
}

// Issuer returns the issuer identifier, the iss of every answer.
func (p *Provider) Issuer() string { return p.issuer }

// parseIssuer checks an issuer identifier (OpenID Connect Discovery §3). It also
// refuses identifiers that would be ambiguous as a routing prefix.
func parseIssuer(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("issuer is not a URL")
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return nil, fmt.Errorf("issuer %q must be an absolute http or https URL", u.Redacted())
	case u.Scheme == "http" && !weburl.Loopback(u.Hostname()):
		return nil, fmt.Errorf("issuer %q: http is allowed only for loopback hosts", u.Redacted())
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("issuer %q: credentials, query and fragment are not allowed", u.Redacted())
	case u.Path != "" && (u.Path != path.Clean(u.Path) || u.Path == "/"):
		return nil, fmt.Errorf("issuer %q must have a clean path without a trailing slash", raw)
	case u.Port() != "" && u.Port() == map[string]string{"http": "80", "https": "443"}[u.Scheme]:
		return nil, fmt.Errorf("issuer %q: leave out the default port, as browsers do", raw)
	case !plainPath(u.EscapedPath()):
		return nil, fmt.Errorf("issuer %q: the path must contain only letters, digits and the characters -._~/", raw)
	}
	return u, nil
}

// plainPath reports whether s needs no escaping and has no special meaning to
// [http.ServeMux].
func plainPath(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '.', c == '_', c == '~', c == '/':
		default:
			return false
		}
	}
	return true
}
