package authsvc_test

import "authsvc"

// rawSession asks GET session with a Cookie header as written.
func rawSession(w *arena, lines ...string) *answer {
	b := w.browser()
	b.header["Cookie"] = lines
	return b.get("/api/auth/session")
}

// offlineProvider needs no network to begin a sign-in.
func offlineProvider() *authsvc.OAuth {
	return &authsvc.OAuth{ID: "plain", Name: "Plain", Client: authsvc.Client{ID: "app", Secret: clientSecret},
		AuthorizationURL: "https://id.test/authorize", TokenURL: "https://id.test/token", UserInfoURL: "https://id.test/user"}
}
