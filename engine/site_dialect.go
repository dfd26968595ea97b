package engine

import (
	"net/http"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/seal"
)

// A dialect holds everything that depends on Config.Compat. It is compiled once, here;
// no other code asks for the mode.
type dialect struct {
	mode authsvc.Compat // as the store remembers it

	cookieStem    string                                       // what the names of the next three begin with; "": CookieOptions.Prefix
	cookies       [3]string                                    // of the session, the CSRF token and the callback URL
	sessionPrefix string                                       // of the first and the last cookie over https, without Domain
	showsID       bool                                         // GET session shows the id of the user
	asksSignOut   bool                                         // GET signout has its form also if no one is signed in
	emptySession  []byte                                       // body of GET session if the user is not signed in
	csrfRefusal   int                                          // status for scripts if the CSRF token is wrong; 0: 200
	forbids       bool                                         // every AccessDenied is a 403 for scripts, not only that from credentials
	foldsErrors   bool                                         // the case of an error code does not matter: NextAuth.js itself writes error=configuration
	unsupported   func(method string) (body string, json bool) // body of the answer 400 to a method that a route does not have; "": answer as usual

	openIDType      string // Account.Type of OpenID Connect
	tenantIDs       bool   // new accounts of several tenants' issuers name the tenant
	linksSignedIn   bool   // signing in while signed in links
	linksFresh      bool   // asking to link needs a fresh proof
	keepsFirstProof bool
	sealsTokens     bool // of identity providers
	mailsCodes      bool // unless Email.Codes says otherwise
	changesEmail    bool // unless AccountOptions.ChangeEmail says otherwise

	foreignSessions bool          // other programs also make sessions
	cookieSlides    bool          // a session's cookie expires when the unused session ends, as with those programs
	leeway          time.Duration // of exp and nbf of other programs' tokens
	sessionSealer   func(r *seal.Ring, origin, cookie string) *seal.Sealer
	shortSecrets    bool                            // short secrets may be permitted
	hashSecrets     func(secrets []string) []string // secrets that CSRF tokens and links are hashed with; nil: they have keys
}

// newDialect returns the dialect of a mode, nil if there is no such mode.
func newDialect(mode authsvc.Compat) *dialect {
	switch mode {
	case authsvc.CompatNone:
		return &dialect{mode: mode, cookies: [3]string{"session", "csrf", "callback-url"}, sessionPrefix: "__Host-",
			showsID: true, emptySession: []byte("{}"), csrfRefusal: http.StatusForbidden, forbids: true, unsupported: func(string) (string, bool) { return "", false },
			openIDType: "oauth", tenantIDs: true, linksFresh: true, sealsTokens: true, mailsCodes: true, changesEmail: true,
			sessionSealer: func(r *seal.Ring, origin, cookie string) *seal.Sealer {
				return r.Sealer("session " + origin + " " + cookie)
			}}
	case authsvc.NextAuthV4:
		d := nextAuthDialect(mode, "next-auth", "oauth")
		d.emptySession, d.unsupported = []byte("{}"), unsupportedByV4
		d.sessionSealer = func(r *seal.Ring, _, _ string) *seal.Sealer { return r.NextAuthV4("") }
		d.hashSecrets = func(secrets []string) []string { return secrets }
		return d
	case authsvc.AuthJSV5:
		d := nextAuthDialect(mode, "authjs", "oidc")
		d.emptySession, d.unsupported = []byte("null"), unsupportedByV5
		d.sessionSealer = func(r *seal.Ring, _, cookie string) *seal.Sealer { return r.AuthJSV5(cookie) }
		d.hashSecrets = joinedSecrets
		return d
	}
	return nil
}

// nextAuthDialect returns what both versions have in common.
func nextAuthDialect(mode authsvc.Compat, name, openIDType string) *dialect {
	return &dialect{mode: mode, cookieStem: name + ".", cookies: [3]string{"session-token", "csrf-token", "callback-url"}, sessionPrefix: "__Secure-",
		asksSignOut: true, foldsErrors: true, openIDType: openIDType, linksSignedIn: true, keepsFirstProof: true,
		foreignSessions: true, cookieSlides: true, leeway: 15 * time.Second, shortSecrets: true}
}

// joinedSecrets returns the secrets that Auth.js hashes with: its list of secrets,
// joined by commas. The single secrets follow.
func joinedSecrets(secrets []string) []string {
	if len(secrets) > 1 {
		return append([]string{strings.Join(secrets, ",")}, secrets...)
	}
	return secrets
}

func unsupportedByV4(method string) (body string, json bool) {
	if len(method) > 20 || strings.ContainsFunc(method, func(r rune) bool { return r < 'A' || r > 'Z' }) {
		method = "?"
	}
	return "Error: This action with HTTP " + method + " is not supported by NextAuth.js", false
}

func unsupportedByV5(string) (body string, json bool) { return `"Bad request."`, true }
