package authsvc_test

import (
	"net/http/httptest"
	"testing"

	"authsvc"
)

// rawSession asks GET session with a Cookie header as written.
func rawSession(w *arena, lines ...string) *answer {
	b := w.browser()
	b.header["Cookie"] = lines
	return b.get("/api/auth/session")
}

func TestAttackTokenElsewhere(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		w := enter(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
		victim := w.browser()
		victim.signIn(w.op, "ada")
		mine := victim.cookies[sessionName]
		t.Run("session-18 token from other places "+strategy, func(t *testing.T) {
			r := httptest.NewRequest("GET", origin+"/api/auth/session?session-token="+mine+"&"+sessionName+"="+mine, nil)
			r.Header.Set("Authorization", "Bearer "+mine)
			if a := w.browser().do(r); a.body != "{}" {
				t.Errorf("%s", a.body)
			}
		})
	}
}

// offlineProvider is an identity provider that needs no network to be sent to.
func offlineProvider() *authsvc.OAuth {
	return &authsvc.OAuth{ID: "plain", Name: "Plain", Client: authsvc.Client{ID: "app", Secret: clientSecret},
		AuthorizationURL: "https://id.test/authorize", TokenURL: "https://id.test/token", UserInfoURL: "https://id.test/user"}
}
