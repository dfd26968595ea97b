package engine_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/seal"
	"authsvc/internal/test/arena"
)

// TestForeignClaims: a token of a NextAuth.js application may have claims of its own
// with the engine's names, of any type. Its sessions remain valid here, are extended
// with these claims unchanged, and end like any other.
func TestForeignClaims(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]map[string]any{
		"nothing":       {},
		"words":         {"provider": "github", "sid": "internal-7", "auth_time": "yesterday"},
		"numbers":       {"provider": 7, "sid": 8, "auth_time": 1},
		"objects":       {"provider": map[string]any{"id": "x"}, "sid": []any{1}, "auth_time": nil, "picture": map[string]any{"url": "x"}},
		"the future":    {"auth_time": int64(4102444800)},
		"a second step": {"amr": []any{"fed", "mfa"}, "acr": "2fa"},
		"methods":       {"amr": "mfa", "acr": 2},
		"a wrong epoch": {"authsvc_epoch": "1", "authsvc_sid": 5},
		"name as list":  {"name": []any{"Ada"}, "email": "ada@app.test"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { foreignClaims(t, own) })
		})
	}
}

func foreignClaims(t *testing.T, own map[string]any) {
	ring, err := seal.NewRing(arena.Secret)
	if err != nil {
		t.Fatal(err)
	}
	sealer := ring.NextAuthV4("")
	now := time.Now().Unix()
	claims := map[string]any{"name": "Ada", "email": "ada@app.test", "picture": nil, "sub": "ada", "iat": now, "exp": now + 2592000, "jti": "3f2b"}
	for k, v := range own {
		claims[k] = v
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	token, err := sealer.Seal(raw)
	if err != nil {
		t.Fatal(err)
	}
	w := replica(t, memory.New(), func(c *authsvc.Config) { passwords(c); c.Compat = authsvc.NextAuthV4 })
	b := w.Browser()
	b.Cookies[w.SessionCookie()] = token
	stolen := b.Clone()
	if b.Email() != "ada@app.test" {
		t.Fatalf("signed out: %v", b.Session())
	}
	if s := sessionOf(t, w, b); s.AMR() != nil || s.ACR() != "" {
		t.Errorf("another program's amr is accepted as authsvc's: %v, %s", s.AMR(), s.ACR())
	}
	guarded := w.RequireFresh(24 * time.Hour)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	r := httptest.NewRequest(http.MethodGet, b.Abs("/"), nil)
	r.AddCookie(&http.Cookie{Name: w.SessionCookie(), Value: token})
	rec := httptest.NewRecorder()
	if guarded.ServeHTTP(rec, r); rec.Code != http.StatusUnauthorized {
		t.Errorf("another program's session counts as fresh: %d", rec.Code)
	}

	time.Sleep(25 * time.Hour) // due
	if b.Email() != "ada@app.test" || b.Cookies[w.SessionCookie()] == token {
		t.Fatal("not extended")
	}
	stillHas(t, sealer, b.Cookies[w.SessionCookie()], own)
	b.Post("/api/auth/signout")
	if stolen.Email() != "" {
		t.Error("the token from before the extension is still valid")
	}
	end(w, t)
}

// stillHas checks that a token has its claims unchanged, except the engine's.
func stillHas(t *testing.T, sealer *seal.Sealer, token string, own map[string]any) {
	t.Helper()
	plain, _, err := sealer.Open(token)
	if err != nil {
		t.Fatal(err)
	}
	var after map[string]any
	if err := json.Unmarshal(plain, &after); err != nil {
		t.Fatal(err)
	}
	for k, v := range own {
		if k == "authsvc_epoch" || k == "authsvc_sid" {
			continue
		}
		want, _ := json.Marshal(v)
		if got, _ := json.Marshal(after[k]); string(got) != string(want) {
			t.Errorf("%s became %s, was %s", k, got, want)
		}
	}
}

// TestForeignDatabaseToken: NextAuth.js percent-encodes cookie values, and an
// application may make its own session tokens.
func TestForeignDatabaseToken(t *testing.T) {
	t.Parallel()
	store := memory.New()
	u, err := store.CreateUser(t.Context(), authsvc.User{ID: "ada", Email: "ada@app.test"})
	if err != nil {
		t.Fatal(err)
	}
	const token = "a+token/of their=own"
	if _, err := store.CreateSession(t.Context(), authsvc.SessionRecord{ID: "s", SessionToken: token, Digest: "d", UserID: u.ID, Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	w := replica(t, store, func(c *authsvc.Config) { passwords(c); c.Compat, c.Session.Strategy = authsvc.NextAuthV4, "database" })
	t.Cleanup(func() { end(w, t) })
	b := w.Browser()
	b.Cookies[w.SessionCookie()] = "a%2Btoken%2Fof%20their%3Down"
	if b.Email() != "ada@app.test" {
		t.Error("not found")
	}
	b.Cookies[w.SessionCookie()] = "a%2Btoken%2Fof%20their%3Downx"
	if b.Email() != "" {
		t.Error("another token was found")
	}
}
