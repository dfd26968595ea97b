package engine_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
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
		"a second step": {"amr": []any{"fed", "mfa"}, "acr": "2fa", "second_at": 1.7e9, "act": map[string]any{"sub": "support"}},
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
	if s := sessionOf(t, w, b); s.AMR() != nil || s.ACR() != "" || !s.SecondAt().IsZero() || s.Actor() != "" {
		t.Errorf("another program's claims are accepted as authsvc's: %s", proof(s))
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

// TestForeignColumns: a session of NextAuth.js gets the columns of its user at its first
// use, with one read of the store, and then like any other session. While the store does
// not answer, the session continues without them. What the application itself keeps
// under the name of the engine does not count.
func TestForeignColumns(t *testing.T) {
	t.Parallel()
	ring, err := seal.NewRing(arena.Secret)
	if err != nil {
		t.Fatal(err)
	}
	sealers := map[authsvc.Compat]func(cookie string) *seal.Sealer{
		authsvc.NextAuthV4: func(string) *seal.Sealer { return ring.NextAuthV4("") },
		authsvc.AuthJSV5:   ring.AuthJSV5,
	}
	for mode, sealer := range sealers {
		for name, own := range map[string]map[string]any{
			"plain": nil,
			"own":   {"authsvc_session": map[string]any{"columns": map[string]any{"role": "forged"}, "claims": map[string]any{"groups": []string{"forged"}}}},
		} {
			t.Run(string(mode)+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { foreignColumns(t, mode, sealer, own) })
			})
		}
	}
}

func foreignColumns(t *testing.T, mode authsvc.Compat, sealer func(cookie string) *seal.Sealer, own map[string]any) {
	store := &countedUsers{brokenUsers: brokenUsers{Store: memory.New("role")}}
	if _, err := store.CreateUser(t.Context(), authsvc.User{ID: "ada", Email: "ada@app.test"}, nil); err != nil {
		t.Fatal(err)
	}
	set := func(role string) {
		if err := store.SetExtra(t.Context(), "ada", map[string]any{"role": role}); err != nil {
			t.Fatal(err)
		}
	}
	set("editor")
	w := replica(t, store, func(c *authsvc.Config) {
		passwords(c)
		c.Compat, c.Session.Expose = mode, map[string]string{"role": "role"}
	})
	defer end(w, t)
	foreign := func(sub string) *arena.Browser {
		now := time.Now().Unix()
		claims := map[string]any{"name": "Ada", "email": "ada@app.test", "picture": nil, "sub": sub, "iat": now, "exp": now + 2592000, "jti": "3f2b" + sub}
		maps.Copy(claims, own)
		raw, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		b := w.Browser()
		if b.Cookies[w.SessionCookie()], err = sealer(w.SessionCookie()).Seal(raw); err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := foreign("ada")
	stolen := b.Clone()
	expect := func(what string, b *arena.Browser, role string, reads int64) {
		t.Helper()
		before := store.reads.Load()
		if got := userOf(t, b); got != `"role":`+role || store.reads.Load()-before != reads {
			t.Errorf("%s: %s after %d reads, want %s after %d", what, got, store.reads.Load()-before, role, reads)
		}
		if claims := sessionOf(t, w, b).Claims(); claims != nil {
			t.Errorf("%s: claims %v", what, claims)
		}
	}
	if extra := sessionOf(t, w, b).Extra(); extra != nil {
		t.Errorf("before the first use: %v", extra)
	}
	store.down.Store(true)
	expect("without the store", b, "null", 1)
	store.down.Store(false)
	expect("with the store again", b, `"editor"`, 1)
	set("admin")
	expect("in the token", b, `"editor"`, 0)
	b.Raw("/api/auth/session", "application/json", `{"csrfToken":"`+b.CSRF()+`","data":{"role":"forged"}}`)
	expect("after update()", b, `"admin"`, 0)
	set("reader")
	time.Sleep(25 * time.Hour) // due
	expect("reissued", b, `"reader"`, 1)

	unknown := foreign("nobody")
	expect("not stored", unknown, "null", 1)
	expect("not stored, again", unknown, "null", 0)

	if b.Post("/api/auth/signout"); b.Email() != "" || stolen.Email() != "" {
		t.Error("a token is still valid after the sign-out")
	}
}

// TestForeignKept: what an application keeps under the engine's name never becomes part
// of a session, neither columns after a service that reads none has taken the session
// over, nor claims in a session that was taken over.
func TestForeignKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring, err := seal.NewRing(arena.Secret)
		if err != nil {
			t.Fatal(err)
		}
		forged := map[string]any{"columns": map[string]any{"role": "forged"}, "claims": map[string]any{"groups": []string{"forged"}}}
		token := func(more map[string]any) string {
			now := time.Now().Unix()
			claims := map[string]any{"email": "ada@app.test", "sub": "ada", "iat": now, "exp": now + 2592000, "jti": "3f2b", "authsvc_session": forged}
			maps.Copy(claims, more)
			raw, err := json.Marshal(claims)
			if err != nil {
				t.Fatal(err)
			}
			value, err := ring.NextAuthV4("").Seal(raw)
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
		compat := func(c *authsvc.Config) { passwords(c); c.Compat, c.Session.UpdateAge = authsvc.NextAuthV4, -1 }
		before := replica(t, memory.New(), compat)
		defer end(before, t)
		b := before.Browser()
		b.Cookies[before.SessionCookie()] = token(nil)
		if b.Email() != "ada@app.test" || b.Cookies[before.SessionCookie()] == "" {
			t.Fatal("not taken over")
		}
		after := replica(t, memory.New("role"), func(c *authsvc.Config) {
			compat(c)
			c.Session.UpdateAge, c.Session.Expose = 0, map[string]string{"role": "role"}
		})
		defer end(after, t)
		kept := after.Browser()
		kept.Cookies[after.SessionCookie()] = b.Cookies[before.SessionCookie()]
		if got := userOf(t, kept); got != `"role":null` {
			t.Errorf("columns of the application: %s", got)
		}
		kept.Cookies[after.SessionCookie()] = token(map[string]any{"authsvc_sid": "s", "authsvc_auth_time": time.Now().Unix()})
		if claims := sessionOf(t, after, kept).Claims(); claims != nil {
			t.Errorf("claims of the application: %v", claims)
		}
	})
}

// countedUsers counts the reads of users.
type countedUsers struct {
	brokenUsers
	reads atomic.Int64
}

func (s *countedUsers) GetUser(ctx context.Context, id string) (authsvc.User, error) {
	s.reads.Add(1)
	return s.brokenUsers.GetUser(ctx, id)
}

// TestForeignDatabaseToken: NextAuth.js percent-encodes cookie values, and an
// application may make its own session tokens.
func TestForeignDatabaseToken(t *testing.T) {
	t.Parallel()
	store := memory.New()
	u, err := store.CreateUser(t.Context(), authsvc.User{ID: "ada", Email: "ada@app.test"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const token = "a+token/of their=own"
	if _, err := store.CreateSession(t.Context(), adapter.SessionRecord{ID: "s", SessionToken: token, Digest: "d", UserID: u.ID, Expires: time.Now().Add(time.Hour)}); err != nil {
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
