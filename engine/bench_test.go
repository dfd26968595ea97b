package engine_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// A sink is a ResponseWriter that costs almost nothing.
type sink struct{ h http.Header }

func (s *sink) Header() http.Header       { return s.h }
func (*sink) Write(p []byte) (int, error) { return len(p), nil }
func (*sink) WriteHeader(int)             {}

// benchService runs a service whose only provider is Credentials. It returns the
// service and a request of a signed-in browser.
func benchService(tb testing.TB, tune func(*authsvc.Config)) (*engine.Service, *http.Request) {
	tb.Helper()
	store := memory.New()
	if _, err := store.CreateUser(tb.Context(), authsvc.User{ID: "7", Name: "Ada Lovelace", Email: "ada@example.com"}, nil); err != nil {
		tb.Fatal(err)
	}
	c := authsvc.Config{
		URL: arena.Origin, Secrets: []string{arena.Secret}, Adapter: store, Logger: slog.New(slog.DiscardHandler),
		RateLimit: authsvc.RateLimit{Disabled: true},
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: authorizeAda}},
	}
	if tune != nil {
		tune(&c)
	}
	s, err := engine.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close(tb.Context()) })
	return s, signedIn(tb, s)
}

// signedIn signs a user in and returns a request for the session.
func signedIn(tb testing.TB, s http.Handler) *http.Request {
	tb.Helper()
	b := &arena.Browser{T: tb, H: s, Origin: arena.Origin, Cookies: map[string]string{}, Header: http.Header{}, IP: "203.0.113.7:4711"}
	if a := b.Login("ada"); a.StatusCode != http.StatusFound || strings.Contains(a.Location(), "error") {
		tb.Fatalf("sign-in: %s %s", a.Status, a.Location())
	}
	r := httptest.NewRequest("GET", arena.Origin+"/api/auth/session", nil)
	for _, name := range b.SessionCookies() {
		r.AddCookie(&http.Cookie{Name: name, Value: b.Cookies[name]})
	}
	return r
}

// bareSession returns the floor: a plain net/http handler that opens the same JWE and
// answers with the same JSON. It derives the key once.
func bareSession(tb testing.TB) http.Handler {
	tb.Helper()
	key, err := hkdf.Key(sha256.New, []byte(arena.Secret), nil, "NextAuth.js Generated Encryption Key", 32)
	if err != nil {
		tb.Fatal(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		tb.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		tb.Fatal(err)
	}
	type user struct {
		Name  *string `json:"name"`
		Email *string `json:"email"`
		Image *string `json:"image"`
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie("__Secure-next-auth.session-token")
		if err != nil {
			http.Error(w, "{}", http.StatusOK)
			return
		}
		part := strings.Split(c.Value, ".")
		if len(part) != 5 {
			http.Error(w, "{}", http.StatusOK)
			return
		}
		iv, err1 := base64.RawURLEncoding.DecodeString(part[2])
		text, err2 := base64.RawURLEncoding.DecodeString(part[3])
		tag, err3 := base64.RawURLEncoding.DecodeString(part[4])
		if err1 != nil || err2 != nil || err3 != nil || len(iv) != 12 {
			http.Error(w, "{}", http.StatusOK)
			return
		}
		plain, err := gcm.Open(nil, iv, append(text, tag...), []byte(part[0]))
		if err != nil {
			http.Error(w, "{}", http.StatusOK)
			return
		}
		var claims struct {
			Name, Email, Picture *string
			Exp                  int64
		}
		if err := json.Unmarshal(plain, &claims); err != nil || claims.Exp < time.Now().Unix() {
			http.Error(w, "{}", http.StatusOK)
			return
		}
		body, err := json.Marshal(struct {
			User    user   `json:"user"`
			Expires string `json:"expires"`
		}{user{claims.Name, claims.Email, claims.Picture}, time.Unix(claims.Exp, 0).UTC().Format("2006-01-02T15:04:05.000Z")})
		if err != nil {
			http.Error(w, "{}", http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/json; charset=utf-8")
		h.Set("Cache-Control", "private, no-cache, no-store")
		w.Write(body)
	})
}

func jwtV4(c *authsvc.Config) {
	c.Session.Strategy, c.Compat = "jwt", authsvc.NextAuthV4
}

func serveLoop(b *testing.B, h http.Handler, r *http.Request) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(&sink{h: http.Header{}}, r)
	}
}

func BenchmarkSession(b *testing.B) {
	s, r := benchService(b, jwtV4)
	b.Run("jwt", func(b *testing.B) { serveLoop(b, s, r) })
	b.Run("floor", func(b *testing.B) { serveLoop(b, bareSession(b), r) })
	own, mine := benchService(b, func(c *authsvc.Config) { c.Session.Strategy = "jwt" })
	b.Run("jwt-own", func(b *testing.B) { serveLoop(b, own, mine) })
	d, rd := benchService(b, nil)
	b.Run("database-memory", func(b *testing.B) { serveLoop(b, d, rd) })
}

func BenchmarkCSRF(b *testing.B) {
	s, _ := benchService(b, nil)
	b.Run("new", func(b *testing.B) { serveLoop(b, s, httptest.NewRequest("GET", arena.Origin+"/api/auth/csrf", nil)) })
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", arena.Origin+"/api/auth/csrf", nil))
	r := httptest.NewRequest("GET", arena.Origin+"/api/auth/csrf", nil)
	r.AddCookie(w.Result().Cookies()[0])
	b.Run("kept", func(b *testing.B) { serveLoop(b, s, r) })
}

func authorizeAda(_ context.Context, f map[string]string) (authsvc.User, error) {
	if f["username"] == "ada" && f["password"] == "right" {
		return authsvc.User{ID: "7", Name: "Ada Lovelace", Email: "ada@example.com"}, nil
	}
	return authsvc.User{}, authsvc.ErrAccessDenied
}
