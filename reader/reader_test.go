package reader_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/test/allocs"
	"authsvc/internal/test/arena"
	"authsvc/reader"
)

var modes = []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5}

// config is that of a program beside w.
func config(w *arena.World) reader.Config {
	return reader.Config{URL: w.Config.URL, Secrets: w.Config.Secrets, Compat: w.Config.Compat, Adapter: w.Config.Adapter,
		Session: w.Config.Session, Cookies: w.Config.Cookies, Logger: w.Config.Logger}
}

func newReader(t *testing.T, c reader.Config) *reader.Reader {
	t.Helper()
	r, err := reader.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// asks is a request of a browser to the other program.
func asks(b *arena.Browser) *http.Request {
	r := httptest.NewRequest("GET", arena.Origin+"/app", nil)
	for name, v := range b.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: v})
	}
	return r
}

// TestRead: the program knows who is signed in, with what stays with the session,
// and that somebody is not any more; it writes nothing.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, compat := range modes {
		for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
			synctest.Test(t, func(t *testing.T) {
				w := arena.EnterInMemory(t, func(c *authsvc.Config) {
					c.Compat, c.Session = compat, authsvc.SessionOptions{Strategy: strategy, MaxAge: time.Minute, Claims: map[string]string{"given": "sub"}}
				})
				b := w.Browser()
				c := config(w)
				r := newReader(t, c)
				if s, err := r.Read(asks(b)); s != nil || err != nil {
					t.Errorf("%s, %s: nobody is %+v, %v", compat, strategy, s, err)
				}
				b.SignIn(w.OP, "ada")
				before := len(w.Ledger.Written())
				s, err := r.Read(asks(b))
				if err != nil || s == nil || s.Email != "ada@example.com" || !s.EmailVerified || s.Provider != "op" || !slices.Equal(s.AMR(), []string{"fed"}) || s.ACR() != "1fa" || s.Claims()["given"] != "ada" {
					t.Errorf("%s, %s: %+v, %v", compat, strategy, s, err)
				}
				other := c
				other.Secrets = []string{strings.Repeat("another secret ", 4)}
				if s, err := newReader(t, other).Read(asks(b)); strategy == authsvc.StrategyJWT && (s != nil || err != nil) {
					t.Errorf("%s: another secret reads %+v, %v", compat, s, err)
				}
				was := asks(b)
				time.Sleep(2 * time.Minute)
				if s, err := r.Read(was); s != nil || err != nil {
					t.Errorf("%s, %s: expired and %+v, %v", compat, strategy, s, err)
				}
				if err := r.Ready(t.Context()); err != nil {
					t.Error(err)
				}
				for _, step := range w.Ledger.Written()[before:] {
					if !strings.HasPrefix(step, "Sweep") && !strings.HasPrefix(step, "PutMeta") { // of the service
						t.Errorf("%s, %s: %s", compat, strategy, step)
					}
				}
				if err := w.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestSignedOut: who signs out at the service is gone here two seconds later, with
// strategy jwt too, if there is a store.
func TestSignedOut(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		synctest.Test(t, func(t *testing.T) {
			w := arena.EnterInMemory(t, func(c *authsvc.Config) { c.Session.Strategy = strategy })
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			c := config(w)
			r := newReader(t, c)
			was := asks(b)
			if s, err := r.Read(was); s == nil || err != nil {
				t.Fatalf("%s: %+v, %v", strategy, s, err)
			}
			b.Post("/api/auth/signout")
			time.Sleep(2500 * time.Millisecond)
			if s, err := r.Read(was); s != nil || err != nil {
				t.Errorf("%s: signed out and %+v, %v", strategy, s, err)
			}
			if c.Adapter = nil; strategy == authsvc.StrategyJWT { // which the documentation warns of
				if s, err := newReader(t, c).Read(was); s == nil || err != nil {
					t.Errorf("without a store: %+v, %v", s, err)
				}
			}
			if err := w.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRefused: what would read wrongly does not start.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	for name, tt := range map[string]struct {
		tune  func(*reader.Config)
		field string
	}{
		"no secret":              {func(c *reader.Config) { c.Secrets = nil }, "Secrets"},
		"a short secret":         {func(c *reader.Config) { c.Secrets = []string{"hush"} }, "Secrets"},
		"another mode":           {func(c *reader.Config) { c.Compat = authsvc.NextAuthV4 }, "Compat"},
		"no address":             {func(c *reader.Config) { c.URL = "" }, "URL"},
		"database without store": {func(c *reader.Config) { c.Adapter, c.Session.Strategy = nil, authsvc.StrategyDatabase }, "Session.Strategy"},
	} {
		c := config(w)
		tt.tune(&c)
		_, err := reader.New(c)
		if all := authsvc.ConfigErrors(err); len(all) != 1 || all[0].Field != tt.field {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// readsJWT is a reader of tokens alone, and a request of somebody who is signed in.
func readsJWT(t testing.TB) (*reader.Reader, *http.Request) {
	t.Helper()
	w := arena.EnterOffline(t, func(c *authsvc.Config) { c.Session.Strategy = authsvc.StrategyJWT })
	browser := w.Browser()
	browser.Login("ada")
	c := config(w)
	c.Adapter = nil
	r, err := reader.New(c)
	if err != nil {
		t.Fatal(err)
	}
	q := asks(browser)
	if s, err := r.Read(q); err != nil || s == nil {
		t.Fatal(s, err)
	}
	return r, q
}

// TestReadFigures: Read takes 8 allocations at most and, on a machine of its own with
// AUTHSVC_FIGURES, 2.5 µs, or on a slower one 1.4 times the least that opens
// such a cookie.
func TestReadFigures(t *testing.T) {
	r, q := readsJWT(t)
	read := func() {
		if _, err := r.Read(q); err != nil {
			t.Fatal(err)
		}
	}
	if n := allocs.PerRun(read); n > 8 {
		t.Errorf("%v allocations, at most 8 are promised", n)
	}
	floor := opensCookie(t)
	took, least := time.Hour, time.Hour
	for range 50 {
		took, least = min(took, oneOf(read)), min(least, oneOf(floor))
	}
	t.Logf("Read takes %v, the least that opens the cookie %v: %.2f", took, least, float64(took)/float64(least))
	if os.Getenv("AUTHSVC_FIGURES") != "" && took > max(2500*time.Nanosecond, least*7/5) {
		t.Errorf("Read takes %v, over 2.5 µs and over 1.4 times the least", took)
	}
}

// oneOf is how long f takes, of 500.
func oneOf(f func()) time.Duration {
	begun := time.Now()
	for range 500 {
		f()
	}
	return time.Since(begun) / 500
}

// opensCookie is what anybody would write with the key at hand: the cookie is found,
// opened with AES-256-GCM and read as JSON.
func opensCookie(t *testing.T) func() {
	t.Helper()
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	claims := fmt.Appendf(nil, `{"name":"Ada Lovelace","email":"ada@example.com","picture":"https://id.example.com/ada.png","sub":"7","iat":%d,"exp":%d,"jti":"%s"}`, now, now+60, rand.Text())
	head, nonce := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"dir","enc":"A256GCM"}`)), make([]byte, gcm.NonceSize())
	sealed := gcm.Seal(nil, nonce, claims, []byte(head))
	q := httptest.NewRequest("GET", arena.Origin+"/app", nil)
	q.AddCookie(&http.Cookie{Name: "session", Value: head + "." + base64.RawURLEncoding.EncodeToString(sealed)})
	return func() {
		c, err := q.Cookie("session")
		if err != nil {
			t.Fatal(err)
		}
		head, body, _ := strings.Cut(c.Value, ".")
		sealed, err := base64.RawURLEncoding.DecodeString(body)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := gcm.Open(sealed[:0], nonce, sealed, []byte(head))
		if err != nil {
			t.Fatal(err)
		}
		var claims struct {
			Name, Email, Picture, Sub string
			Exp                       int64
		}
		if err := json.Unmarshal(plain, &claims); err != nil || claims.Exp < now {
			t.Fatal(err)
		}
	}
}

// BenchmarkRead is what a guarded handler pays: strategy jwt.
func BenchmarkRead(b *testing.B) {
	r, q := readsJWT(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Read(q); err != nil {
			b.Fatal(err)
		}
	}
}
