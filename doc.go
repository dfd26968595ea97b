// Package authsvc holds the words of an authentication service: what a program
// says to it, such as [Config], and what it reads from it, such as [Session].
// Package authsvc/engine makes a service of them:
//
//	auth, err := engine.New(authsvc.Config{
//		URL:       "https://app.example.com",
//		Secrets:   []string{os.Getenv("AUTHSVC_SECRET")},
//		Adapter:   store, // one of adapter/…; nil: sessions live in cookies
//		Providers: []authsvc.Provider{provider.GitHub(authsvc.Client{ID: id, Secret: secret})},
//	})
//	if err != nil {
//		log.Fatal(err) // every mistake in the configuration, at once
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
// The engine is one [net/http.Handler] for the routes under /api/auth. A
// [Provider] is one way to sign in, and a sign-in ends with a [Session], which a
// cookie names. The [Adapter] keeps users, accounts and sessions; without one, the
// cookie holds the session itself, sealed. Callbacks may decide about a sign-in,
// Events may watch it.
//
// Package authtest signs in for tests, package devidp on a developer's machine.
// docs/manual explains everything with examples.
//
// # Routes
//
// They are the HTTP interface of NextAuth.js (label v4-unreleased). The unmodified
// next-auth/react client works against them.
//
//	GET       {base}/signin              the sign-in page
//	POST      {base}/signin/:provider    start a sign-in
//	GET, POST {base}/callback/:provider  the return of a sign-in
//	GET, POST {base}/signout             ask, and end the session
//	GET       {base}/signout/provider    on to the provider's own sign-out
//	GET       {base}/signout/return      back from the provider's own sign-out
//	GET, POST {base}/session             who is signed in; update
//	GET       {base}/account             the person's account; POST account/profile, /unlink, /signout
//	GET       {base}/account/export      what is kept of the person, as a file
//	GET, POST {base}/confirm             a fresh proof of who somebody is
//	GET       {base}/csrf                the CSRF token
//	GET       {base}/providers           the ways to sign in
//	GET       {base}/error, {base}/verify-request, {base}/client.js
//	POST      {base}/_log
//	POST      {base}/backchannel-logout/:provider  the provider says who signed out there
//	POST      {base}/token               a token for another program (Config.Tokens)
//	GET       {base}/jwks, {base}/.well-known/openid-configuration  the keys of tokens
//
// {base} is Config.URL with its path, or /api/auth.
//
// # Words
//
// A User is a person; an Account links a User to one identity at one provider. A
// Session says who is signed in; it lives in the Adapter (strategy "database") or
// in the cookie itself (strategy "jwt", which is really a JWE: encrypted). A
// VerificationToken is an outstanding e-mail link. The word callback alone means
// the route; the destination of a sign-in is the callbackUrl.
//
// # Promises
//
//   - A wrong Config is not built: New names every mistake at once.
//   - State, PKCE and, with OpenID Connect, nonce guard every sign-in; every
//     attempt counts once. One that waits at a provider outlives the session
//     under which it began, unless it was to link an account and the user
//     changes or signs out.
//   - An e-mail address alone never links two accounts.
//   - A session token is new at every sign-in, and sign-out is final. What
//     takes access back overtakes every sign-in that is under way. Without
//     an Adapter there is nowhere to keep a revocation: then a copied cookie
//     works until it expires. With strategy jwt, other replicas know within
//     two seconds as a rule and five at most.
//   - The store holds digests of session and link tokens. Tokens of identity
//     providers are sealed, except in compat modes (Config.ProviderTokens).
//   - If the store or a callback fails, nobody is signed in by it.
//   - Nothing is read from the environment, and nothing runs by itself but the
//     mail queue, the sweep of expired records, the poll of revocations and of
//     signing keys, and the measuring of the store's clock, which Close ends.
//
// # Compatibility
//
// Config.Compat "next-auth-v4" and "authjs-v5" speak the cookies, tokens and
// answers of those versions, so that sessions are shared both ways with a
// running application that has the same secret and tables. What is then less
// strict than by default: the CSRF token is not bound to the session, session
// tokens are stored as they are, signing in while signed in links, and an
// e-mail link that first proves an address leaves older accounts alive.
//
// next-auth/react's useSession({required: true}) and its log beacon use
// /api/auth whatever the base path is; client.js does not.
package authsvc
