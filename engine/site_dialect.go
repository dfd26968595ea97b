package engine

import (
	"net/http"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/seal"
)

// A dialect is what Config.Compat decides. It is compiled once, here; nothing
// else asks for the mode.
type dialect struct {
	mode authsvc.Compat // as the store remembers it

	cookies       [3]string                                    // of session, CSRF token and callback URL, without a prefix
	sessionPrefix string                                       // of the first and the last over https, without Domain
	emptySession  []byte                                       // body of GET session when nobody is signed in
	csrfRefusal   int                                          // status for scripts when the CSRF token is wrong, 0: 200
	forbids       bool                                         // every AccessDenied is a 403 for scripts, not only that of credentials
	foldsErrors   bool                                         // the case of an error word does not matter: NextAuth.js itself writes error=configuration
	unsupported   func(method string) (body string, json bool) // the answer 400 to a method that a route does not have; "": as usual

	openIDType      string // Account.Type of OpenID Connect
	tenantIDs       bool   // new accounts of several tenants' issuers name the tenant
	linksSignedIn   bool   // being signed in is the wish to link
	linksFresh      bool   // to ask to link needs a fresh proof
	keepsFirstProof bool
	sealsTokens     bool // of identity providers
	mailsCodes      bool // unless Email.Codes says otherwise
	changesEmail    bool // unless AccountOptions.ChangeEmail says otherwise

	foreignSessions bool          // other programs make sessions, too
	cookieSlides    bool          // a session's cookie ends when the session does if nothing extends it, as theirs do
	leeway          time.Duration // of exp and nbf of their tokens
	sessionSealer   func(r *seal.Ring, origin, cookie string) *seal.Sealer
	shortSecrets    bool                            // may be permitted
	hashSecrets     func(secrets []string) []string // what CSRF tokens and links are hashed with; nil: they have keys
}

// newDialect is nil if there is no such mode.
func newDialect(mode authsvc.Compat) *dialect {
	switch mode {
	case authsvc.CompatNone:
		return &dialect{mode: mode, cookies: [3]string{"authsvc.session", "authsvc.csrf", "authsvc.callback-url"}, sessionPrefix: "__Host-",
			emptySession: []byte("{}"), csrfRefusal: http.StatusForbidden, forbids: true, unsupported: func(string) (string, bool) { return "", false },
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

// nextAuthDialect is what both versions have in common.
func nextAuthDialect(mode authsvc.Compat, name, openIDType string) *dialect {
	return &dialect{mode: mode, cookies: [3]string{name + ".session-token", name + ".csrf-token", name + ".callback-url"}, sessionPrefix: "__Secure-",
		foldsErrors: true, openIDType: openIDType, linksSignedIn: true, keepsFirstProof: true,
		foreignSessions: true, cookieSlides: true, leeway: 15 * time.Second, shortSecrets: true}
}

// joinedSecrets: Auth.js hashes with its list of secrets joined by commas.
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
