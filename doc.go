// Package authsvc defines the configuration and the data types of an authentication
// service, such as [Config] and [Session]. Package authsvc/engine builds the service:
//
//	auth, err := engine.New(authsvc.Config{
//		URL:       "https://app.example.com",
//		Secrets:   []string{os.Getenv("AUTHSVC_SECRET")},
//		Adapter:   store, // one of adapter/…; nil: sessions live in cookies
//		Providers: []authsvc.Provider{provider.GitHub(authsvc.Client{ID: id, Secret: secret})},
//	})
//	if err != nil {
//		log.Fatal(err) // lists every mistake in the configuration
//	}
//	defer auth.Close(context.Background())
//	mux.Handle("/api/auth/", auth)
//	mux.Handle("/app/", auth.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
//		session, err := auth.Session(r)
//		if err != nil {
//			http.Error(w, "try again later", http.StatusServiceUnavailable)
//			return
//		}
//		fmt.Fprintf(w, "Hello, %s!", session.Name)
//	})))
//
// The engine is one [net/http.Handler] for the routes under /api/auth. A [Provider] is
// one way to sign in. A sign-in ends with a [Session], which a cookie identifies. An
// [authsvc/adapter.Adapter] stores users, accounts and sessions; without one, the cookie
// holds the session itself, encrypted. Callbacks can decide about a sign-in; Events only
// observe it.
//
// Package authtest signs in for tests, package devidp on a developer's machine.
// docs/manual explains everything with examples.
//
// # Routes
//
// The routes are the HTTP interface of NextAuth.js 4. The
// unmodified next-auth/react client works against them.
//
//	GET       {base}/signin              the sign-in page
//	GET       {base}/signin/:provider    the same page; with OAuth.InitiateLogin, start a
//	                                     sign-in that the provider begins
//	POST      {base}/signin/:provider    start a sign-in
//	GET, POST {base}/callback/:provider  the return of a sign-in
//	GET, POST {base}/signout             the sign-out page; end the session
//	GET       {base}/signout/provider    redirect to the provider's own sign-out
//	GET       {base}/signout/return      return from the provider's own sign-out
//	GET, POST {base}/session             the current session; update it
//	GET       {base}/account             the user's account; POST account/profile, /unlink, /signout
//	GET       {base}/account/export      the data stored about the user, as a file
//	GET, POST {base}/confirm             ask the user to prove their identity again
//	GET       {base}/csrf                the CSRF token
//	GET       {base}/providers           the ways to sign in
//	GET       {base}/error, {base}/verify-request, {base}/client.js
//	POST      {base}/_log
//	POST      {base}/backchannel-logout/:provider  the provider reports a sign-out
//	POST      {base}/token               a token for another program (Config.Tokens)
//	GET       {base}/jwks, {base}/.well-known/openid-configuration  the keys of tokens
//
// {base} is Config.URL with its path, or /api/auth.
//
// # Terms
//
// A User is a person; an Account links a User to one identity at one provider. A
// Session says who is signed in; it lives in the Adapter (strategy "database") or in
// the cookie itself (strategy "jwt", which is really a JWE: encrypted). A
// VerificationToken is an outstanding email link. The word callback alone means the
// route; the destination of a sign-in is the callbackUrl.
//
// # Guarantees
//
//   - New rejects an invalid Config and reports every mistake at once.
//   - State, PKCE and, with OpenID Connect, nonce protect every sign-in. Every attempt
//     can be completed only once. A sign-in waiting at a provider survives the end of
//     the session it started in, unless it links an account and the user changes or
//     signs out.
//   - An email address alone never links two accounts.
//   - Every sign-in creates a new session token, and sign-out is final. Revoking access
//     also stops sign-ins in progress. Without an Adapter, revocations cannot be
//     stored: a copied cookie works until it expires. With strategy jwt, other replicas
//     usually learn of a revocation within two seconds, and within five at most.
//   - The store holds digests of session and link tokens. Tokens of identity providers
//     are sealed, except in compat modes (Config.ProviderTokens).
//   - A failure of the store or of a callback never signs anyone in.
//   - The package reads no environment variables. Its background work is the mail
//     queue, the sweep of expired records, polling for revocations and signing keys,
//     and measuring the store's clock; Close stops it.
//
// # Compatibility
//
// Config.Compat "next-auth-v4" and "authjs-v5" use the cookies, tokens and responses of
// those versions. Sessions are then shared both ways with a running application that
// has the same secret and tables. These modes are less strict than the default: the
// CSRF token is not bound to the session, session tokens are stored as they are,
// signing in while signed in links accounts, and an email link that first proves an
// address leaves older accounts in place.
//
// next-auth/react's useSession({required: true}) and its log beacon use /api/auth
// whatever the base path is; client.js does not.
package authsvc
