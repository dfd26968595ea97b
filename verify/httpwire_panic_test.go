package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// panicWord is in every panic and error of the application's code, and must be in no
// answer.
const panicWord = "canary-8c1f at /srv/app/hooks.go"

// httpwirePanics lists ways to panic.
var httpwirePanics = map[string]func(){
	"value":   func() { panic(panicWord) },
	"error":   func() { panic(errors.New(panicWord)) },
	"nil map": func() { m := map[bool]map[string]int{}; m[true]["a"] = 1 },
	"index":   func() { var l []int; _ = l[len(panicWord)] },
	"nil":     func() { var u *authsvc.User; u.ID = panicWord },
}

// httpwireHooks put a panic into each function that an application may provide.
func httpwireHooks(boom func()) map[string]func(*authsvc.Config) {
	op := func(c *authsvc.Config) *authsvc.OAuth { return c.Providers[0].(*authsvc.OAuth) }
	return map[string]func(*authsvc.Config){
		"SignIn": func(c *authsvc.Config) {
			c.Callbacks.SignIn = func(context.Context, authsvc.SignInAttempt) (string, error) { boom(); return "", nil }
		},
		"Redirect": func(c *authsvc.Config) {
			c.Callbacks.Redirect = func(context.Context, string, string) string { boom(); return "" }
		},
		"JWT": func(c *authsvc.Config) {
			c.Session.Strategy = "jwt"
			c.Callbacks.JWT = func(context.Context, authsvc.JWTParams) (authsvc.Claims, error) { boom(); return nil, nil }
		},
		"Session": func(c *authsvc.Config) {
			c.Callbacks.Session = func(context.Context, authsvc.SessionParams) (map[string]any, error) { boom(); return nil, nil }
		},
		"MapProfile": func(c *authsvc.Config) {
			op(c).Hooks.MapProfile = func(authsvc.Profile) (authsvc.User, error) { boom(); return authsvc.User{}, nil }
		},
		"Authorize": func(c *authsvc.Config) {
			c.Providers[2] = &authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) { boom(); return authsvc.User{}, nil }}
		},
		"Send": func(c *authsvc.Config) {
			c.Providers[1].(*authsvc.Email).Send = func(context.Context, authsvc.Message) error { boom(); return nil }
		},
		"events": func(c *authsvc.Config) {
			c.Events = authsvc.Events{
				SignIn:      func(context.Context, authsvc.SignInEvent) { boom() },
				SignOut:     func(context.Context, authsvc.SignOutEvent) { boom() },
				CreateUser:  func(context.Context, authsvc.User) { boom() },
				UpdateUser:  func(context.Context, authsvc.User) { boom() },
				LinkAccount: func(context.Context, authsvc.User, authsvc.Account) { boom() },
				Session:     func(context.Context, *authsvc.Session) { boom() },
				Audit:       func(context.Context, authsvc.AuditEvent) { boom() },
			}
		},
	}
}

// httpwireTour runs every flow and returns all answers.
func httpwireTour(w *arena.World, b *arena.Browser) []*browser.Answer {
	all := []*browser.Answer{b.Get("/api/auth/signin"), b.Get("/api/auth/providers")}
	add := func(a *browser.Answer) *browser.Answer { all = append(all, a); return a }
	if a := add(b.Post("/api/auth/signin/op", "callbackUrl", "/page")); strings.HasPrefix(a.Location(), w.OP.Issuer()) {
		add(b.Get(b.Approve(w.OP, a.Location(), "ada")))
	}
	add(b.Get("/api/auth/session"))
	add(b.Raw("/api/auth/session", jsonType, `{"csrfToken":"`+b.CSRF()+`","data":{"a":1}}`))
	add(b.Post("/api/auth/signin/email", "email", "mail@app.test"))
	add(b.Post("/api/auth/callback/credentials", "username", "ada", "password", "right"))
	add(b.Post("/api/auth/signout"))
	for _, a := range all[:len(all):len(all)] {
		if to := a.Location(); strings.HasPrefix(to, b.Origin+"/api/auth/") {
			add(b.Get(to))
		}
	}
	return all
}

func httpwire14(t *T) {
	tours := 0
	for kind, boom := range httpwirePanics {
		for name, tune := range httpwireHooks(boom) {
			tours++
			t.Run(name+" "+kind, func(t *T) {
				t.Parallel()
				w := t.Enter(tune)
				b := w.Browser()
				for _, a := range httpwireTour(w, b) {
					httpwireQuiet(t, w, a)
				}
				if !strings.Contains(w.Logs.String(), "panic") && name != "Send" {
					t.Error("the log says nothing of a panic")
				}
				if name != "Session" && name != "JWT" && name != "events" {
					return
				}
				if a := w.Browser().Get("/api/auth/session"); a.StatusCode != 200 {
					t.Errorf("twin: others get %d", a.StatusCode)
				}
			})
		}
		t.Run("store "+kind, func(t *T) {
			t.Parallel()
			httpwireStorePanics(t, boom)
		})
	}
	t.Run("the queue tries again", httpwireSenderPanics)
	t.Figure("%d tours with a panic in each hook", tours)
}

// httpwireSenderPanics checks that a mail survives a panic of its sender.
func httpwireSenderPanics(t *T) {
	synctest.Test(t.T, func(bubble *testing.T) {
		var calls atomic.Int64
		sent := arena.NewOutbox()
		w := (&T{T: bubble, Mode: t.Mode}).EnterOffline(func(c *authsvc.Config) {
			c.Providers[0].(*authsvc.Email).Send = func(ctx context.Context, m authsvc.Message) error {
				if calls.Add(1) == 1 {
					panic(panicWord)
				}
				return sent.Send(ctx, m)
			}
		})
		w.Browser().Post("/api/auth/signin/email", "email", "ada@app.test")
		time.Sleep(time.Minute)
		synctest.Wait()
		if calls.Load() != 2 || sent.Count() != 1 {
			t.Errorf("%d calls, %d mails", calls.Load(), sent.Count())
		}
	})
}

// httpwireStorePanics makes each store call of a tour panic.
func httpwireStorePanics(t *T, boom func()) {
	w := t.Enter(nil)
	for n := 1; ; n++ {
		hit := false
		b := w.Browser()
		w.Ledger.BreakAt(func(i int, _ string) arena.Failure {
			if i == n {
				hit = true
				boom()
			}
			return arena.Works
		})
		answers := httpwireTour(w, b)
		w.Ledger.BreakAt(nil)
		for _, a := range answers {
			httpwireQuiet(t, w, a)
		}
		if !hit {
			if n < 10 {
				t.Errorf("twin: the tour made %d calls of the store", n-1)
			}
			break
		}
	}
	b := w.Browser()
	if b.SignIn(w.OP, "ada"); b.Email() != "ada@example.com" {
		t.Error("twin: no one can sign in afterwards")
	}
}

// httpwireQuiet checks that an answer reveals no internals, and that the log has the
// request of a 500.
func httpwireQuiet(t *T, w *arena.World, a *browser.Answer) {
	t.Helper()
	var all strings.Builder
	fmt.Fprintf(&all, "%s\n%v\n", a.Text, a.Header)
	text := all.String()
	for _, inside := range []string{"canary", "hooks.go", "connection reset", "goroutine ", ".go:", "runtime error", "nil map", "nil pointer", "panic", "SELECT ", "INSERT ", "/usr/", "/root/", "/home/",
		runtime.Version(), arena.Secret, arena.ClientSecret, "X-Powered-By", "Server:"} {
		if strings.Contains(text, inside) {
			t.Errorf("%d shows %q: %.400s", a.StatusCode, inside, text)
		}
	}
	if a.StatusCode == http.StatusInternalServerError && strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") {
		_, id, found := strings.Cut(a.Text, "request ")
		if !found || !strings.Contains(w.Logs.String(), id) {
			t.Errorf("%q is not in the log", a.Text)
		}
	}
}

// httpwire15 forces errors of everything that the engine depends on.
func httpwire15(t *T) {
	hostile := func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(400)
		fmt.Fprintf(rw, `{"error":"%s","error_description":"%s"}`, panicWord, panicWord)
		return true
	}
	for name, fault := range map[string]idp.Fault{
		"discovery": {Intercept: intercept(idp.EndpointDiscovery, hostile)}, "token": {Intercept: intercept(idp.EndpointToken, hostile)},
		"keys": {Intercept: intercept(idp.EndpointJWKS, hostile)}, "user": {Intercept: intercept(idp.EndpointUserInfo, hostile)},
		"token 500": {Status: map[idp.Endpoint]int{idp.EndpointToken: 500}},
		"dropped":   {Intercept: intercept(idp.EndpointToken, func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })},
		"ID token":  {IDToken: func(c map[string]any) { c["iss"] = panicWord }},
		"no JWT":    {RawIDToken: func(map[string]any) string { return panicWord }},
	} {
		w := t.Enter(nil)
		w.OP.SetFault(fault)
		for _, a := range httpwireTour(w, w.Browser()) {
			httpwireQuiet(t, w, a)
		}
		if !strings.Contains(w.Logs.String(), "sign-in refused") {
			t.Errorf("twin: %s: nothing is refused", name)
		}
	}
	w := t.Enter(nil)
	for n := 1; n <= 40; n++ {
		for _, how := range []arena.Failure{arena.FailBefore, arena.FailAfter} {
			w.Ledger.BreakAt(func(i int, _ string) arena.Failure {
				if i == n {
					return how
				}
				return arena.Works
			})
			for _, a := range httpwireTour(w, w.Browser()) {
				httpwireQuiet(t, w, a)
			}
		}
	}
	w.Ledger.BreakAt(nil)
	refusing := t.Enter(func(c *authsvc.Config) {
		c.Callbacks.SignIn = func(context.Context, authsvc.SignInAttempt) (string, error) { return "", errors.New(panicWord) }
	})
	b := refusing.Browser()
	for _, a := range httpwireTour(refusing, b) {
		httpwireQuiet(t, refusing, a)
	}
	for _, query := range []string{"?error=" + panicWord + "&error_description=" + panicWord, "?code=x&state=y", "?error=access_denied", "?oauth_token=x", "?code=%zz"} {
		for _, path := range httpwirePaths {
			r := httptest.NewRequest(http.MethodGet, b.Origin+"/api/auth"+path, nil)
			r.URL.RawQuery = strings.ReplaceAll(query[1:], " ", "+")
			httpwireQuiet(t, refusing, b.Clone().Do(r))
		}
	}
	if !strings.Contains(refusing.Logs.String(), "canary") {
		t.Error("twin: the cause is not in the log")
	}
	if c := w.Browser(); c.SignIn(w.OP, "ada").Location() == "" || c.Email() != "ada@example.com" {
		t.Error("twin: no one can sign in afterwards")
	}
}

func intercept(e idp.Endpoint, f func(http.ResponseWriter, *http.Request) bool) map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool {
	return map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{e: f}
}
