package verify

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

var tokensChecks = checks{
	"01": {title: "no token of a provider reaches the browser", run: tokens01},
	"02": {title: "refresh fails", run: tokens02},
	"03": {title: "refresh returns another user's ID token", run: tokens03},
	"04": {title: "killed between rotation and storing", once: true, run: tokens04, least: ci},
	"05": {title: "revocation at unlink", run: tokens05},
}

func tokens01(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
		var mu sync.Mutex
		tokens := map[string]string{}
		w.OP.SetFault(idp.Fault{TokenAnswer: func(a map[string]any) {
			mu.Lock()
			defer mu.Unlock()
			a["refresh_token"] = "refresh-token-of-the-provider-77c1"
			for _, name := range []string{"access_token", "refresh_token", "id_token"} {
				tokens[name] = a[name].(string)
			}
		}})
		b := w.Browser()
		seen := []*browser.Answer{b.SignIn(w.OP, "ada")}
		for _, path := range []string{"session", "csrf", "providers", "signin", "signout", "error?error=OAuthCallback", "verify-request", "client.js", ""} {
			seen = append(seen, b.Get("/api/auth/"+path))
		}
		seen = append(seen, b.Post("/api/auth/session", "data", "x"), b.Post("/api/auth/signin/op", "link", "true"))
		text := tokensSeen(t, b, seen)
		seen = append(seen, b.Post("/api/auth/signout", "json", "true"))
		text += tokensSeen(t, b, seen)
		for name, token := range tokens {
			if token == "" || strings.Contains(text, token) {
				t.Errorf("%s, %d bytes, reached the browser", name, len(token))
			}
			if strings.Contains(w.Logs.String(), token) {
				t.Errorf("%s is in the log", name)
			}
		}
		u, err := w.Store.GetUserByAccount(t.Context(), "op", "ada")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.AccessToken(t.Context(), u.ID, "op", nil); err != nil || got != tokens["access_token"] {
			t.Errorf("twin: the application has %q, %v", got, err)
		}
	})
}

// tokensSeen returns everything that a browser can read: headers, bodies, cookies and
// decoded cookies.
func tokensSeen(t *T, b *arena.Browser, answers []*browser.Answer) string {
	t.Helper()
	var all strings.Builder
	for _, a := range answers {
		fmt.Fprint(&all, a.Header, a.Text, "\n")
	}
	for _, v := range b.Cookies {
		plain, err := url.QueryUnescape(v)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(plain + "\n")
		for part := range strings.FieldsFuncSeq(plain, func(r rune) bool { return r == '.' || r == '|' }) {
			if raw, err := base64.RawURLEncoding.DecodeString(part); err == nil {
				all.Write(raw)
			}
		}
	}
	return all.String()
}

// tokensFault makes the provider issue tokens that are due for renewal. answer
// handles refreshes.
func tokensFault(answer func(w http.ResponseWriter, r *http.Request)) idp.Fault {
	return idp.Fault{
		TokenAnswer: func(a map[string]any) { a["refresh_token"], a["expires_in"] = "rt-0", 1 },
		Intercept: idpfaultHook{idp.EndpointToken: func(w http.ResponseWriter, r *http.Request) bool {
			if r.ParseForm(); r.PostForm.Get("grant_type") != "refresh_token" {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			answer(w, r)
			return true
		}},
	}
}

func tokensGood(w http.ResponseWriter, n int64, more string) {
	fmt.Fprintf(w, `{"access_token":"at-%d","refresh_token":"rt-%d","token_type":"Bearer","expires_in":3600%s}`, n, n, more)
}

// tokensOf returns ada's stored tokens, decrypted.
func tokensOf(t *T, w *arena.World, userID string) authsvc.Account {
	t.Helper()
	list, err := w.Accounts(t.Context(), userID)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d accounts, %v", len(list), err)
	}
	return list[0]
}

func tokens02(t *T) {
	t.Strategies(func(t *T, strategy string) {
		for name, c := range map[string]struct {
			fail func(http.ResponseWriter, *http.Request)
			dead bool
		}{
			"invalid_grant": {func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(400)
				fmt.Fprint(w, `{"error":"invalid_grant"}`)
			}, true},
			"500": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, false},
			"503": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "1"); w.WriteHeader(503) }, false},
			"hangs": {func(_ http.ResponseWriter, r *http.Request) {
				select {
				case <-r.Context().Done():
				case <-time.After(time.Hour):
				}
			}, false},
			"breaks": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false},
			"invalid_client": {func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(401)
				fmt.Fprint(w, `{"error":"invalid_client"}`)
			}, false},
			"html": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>invalid_grant</html>") }, false},
		} {
			oidcBubble(t, func(t *T) { tokensFails(t, strategy, name, c.fail, c.dead) })
		}
	})
	for wait, want := range map[time.Duration]bool{time.Second: true, 8 * time.Second: false} {
		oidcBubble(t, func(t *T) { tokensRest(t, wait, want) })
	}
}

// tokensRest checks that while refreshes fail, a token with some seconds left is
// returned, unless they have passed when the failure is known.
func tokensRest(t *T, wait time.Duration, want bool) {
	w := oidcOffline(t, nil)
	fault := tokensFault(func(rw http.ResponseWriter, _ *http.Request) { time.Sleep(wait); rw.WriteHeader(500) })
	fault.TokenAnswer = func(a map[string]any) { a["refresh_token"], a["expires_in"] = "rt-0", 5 }
	w.OP.SetFault(fault)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	token, err := w.AccessToken(t.Context(), w.Person(t, b), "op", nil)
	if (token != "") != want || (err == nil) != want {
		t.Errorf("a token with 5 s left, after %v: %v, %v", wait, token != "", err)
	}
}

// tokensFails checks that a refusal drops the grant, and that any other failure keeps
// it.
func tokensFails(t *T, strategy, name string, fail func(http.ResponseWriter, *http.Request), dead bool) {
	var told, asked atomic.Int64
	w := oidcOffline(t, func(c *authsvc.Config) {
		c.Session.Strategy = authsvc.Strategy(strategy)
		c.Events.TokenRefused = func(context.Context, authsvc.Account) { told.Add(1) }
	})
	w.OP.SetFault(tokensFault(func(rw http.ResponseWriter, r *http.Request) { asked.Add(1); fail(rw, r) }))
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	id := w.Person(t, b)
	time.Sleep(2 * time.Second)
	begin := time.Now()
	token, err := w.AccessToken(t.Context(), id, "op", nil)
	if token != "" || err == nil || errors.Is(err, authsvc.ErrTokenRefused) != dead || time.Since(begin) > 25*time.Second {
		t.Errorf("%s: %q, %v after %v", name, token, err, time.Since(begin))
	}
	for range 5 {
		if _, again := w.AccessToken(t.Context(), id, "op", nil); again == nil || errors.Is(again, authsvc.ErrTokenRefused) != dead {
			t.Errorf("%s, again: %v", name, again)
		}
	}
	stored := tokensOf(t, w, id)
	if n := asked.Load(); n != 1 || dead != (stored.RefreshToken != "rt-0") || dead != (told.Load() == 1) {
		t.Errorf("%s: asked %d times, refresh token %q, notified %d times", name, n, stored.RefreshToken, told.Load())
	}
	if b.Email() != "ada@example.com" {
		t.Errorf("%s: the session ended", name)
	}
	if logs := w.Logs.String(); strings.Contains(logs, "rt-0") || strings.Contains(logs, arena.ClientSecret) {
		t.Errorf("%s: a token is in the log", name)
	}
	time.Sleep(11 * time.Second)
	w.OP.SetFault(tokensFault(func(rw http.ResponseWriter, r *http.Request) {
		if r.PostForm.Get("refresh_token") != "rt-0" {
			t.Errorf("%s: refresh token %q", name, r.PostForm.Get("refresh_token"))
		}
		tokensGood(rw, 1, "")
	}))
	if dead { // only a sign-in restores it
		if _, err := w.AccessToken(t.Context(), id, "op", nil); !errors.Is(err, authsvc.ErrTokenRefused) {
			t.Errorf("%s, later: %v", name, err)
		}
		b.SignIn(w.OP, "ada")
		time.Sleep(2 * time.Second)
	}
	if token, err := w.AccessToken(t.Context(), id, "op", nil); token != "at-1" || err != nil {
		t.Errorf("%s, twin: %q, %v", name, token, err)
	}
}

func tokens03(t *T) {
	for name, c := range map[string]struct {
		change func(map[string]any)
		want   string // access token
		taken  bool
	}{
		"same person": {func(map[string]any) {}, "at-1", true}, "nonce of the first sign-in": {func(c map[string]any) { c["nonce"] = "n" }, "at-1", true},
		"another person": {func(c map[string]any) { c["sub"] = "grace" }, "", false}, "case": {func(c map[string]any) { c["sub"] = "ADA" }, "", false},
		"other client": {func(c map[string]any) { c["aud"] = "x" }, "", false}, "other issuer": {func(c map[string]any) { c["iss"] = "https://evil.test" }, "", false},
		"expired": {func(c map[string]any) { c["exp"] = 1 }, "at-1", false},
	} {
		oidcBubble(t, func(t *T) {
			w := oidcOffline(t, nil)
			w.OP.SetFault(tokensFault(func(rw http.ResponseWriter, _ *http.Request) {
				claims := map[string]any{"iss": w.OP.Issuer(), "aud": "app", "sub": "ada", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(), "new": true}
				c.change(claims)
				tokensGood(rw, 1, `,"id_token":"`+oidcMade(w.OP.Sign("JWT", claims))+`"`)
			}))
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			id := w.Person(t, b)
			before := tokensOf(t, w, id)
			time.Sleep(2 * time.Second)
			if got, err := w.AccessToken(t.Context(), id, "op", nil); got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			after := tokensOf(t, w, id)
			if taken := after.IDToken != before.IDToken; taken != c.taken || after.IDToken == "" {
				t.Errorf("%s: ID token taken over: %v\n%s", name, taken, w.Logs)
			}
			if c.want == "" && (after.AccessToken != before.AccessToken || after.RefreshToken != before.RefreshToken) {
				t.Errorf("%s: its tokens are stored", name)
			}
		})
	}
}

func tokens05(t *T) {
	for name, status := range map[string]int{"works": 200, "down": 503, "refuses": 400} {
		var mu sync.Mutex
		var revoked []string
		end := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			id, secret, _ := r.BasicAuth()
			if r.ParseForm(); id == "app" && secret == arena.ClientSecret && r.Method == http.MethodPost {
				revoked = append(revoked, r.PostForm.Get("token_type_hint")+" "+r.PostForm.Get("token"))
			}
			w.WriteHeader(status)
		}))
		defer end.Close()
		w := t.Enter(func(c *authsvc.Config) { oidcProvider(c).Endpoints.Revocation = end.URL })
		w.OP.SetFault(idp.Fault{TokenAnswer: func(a map[string]any) { a["refresh_token"] = "rt-0" }})
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		begin := time.Now()
		if err := w.UnlinkAccount(t.Context(), w.Person(t, b), "op", "ada", &engine.UnlinkOptions{EvenLast: true}); err != nil || time.Since(begin) > within(2*time.Second) {
			t.Errorf("%s: %v after %v", name, err, time.Since(begin))
		}
		if _, err := w.Store.GetUserByAccount(t.Context(), "op", "ada"); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
			mu.Lock()
			n := len(revoked)
			mu.Unlock()
			if n >= 2 || status == 503 && n >= 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", name, revoked)
			}
		}
		mu.Lock()
		if revoked[0] != "refresh_token rt-0" {
			t.Errorf("%s: %q", name, revoked)
		}
		mu.Unlock()
	}
}
