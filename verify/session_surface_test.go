package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

func session14(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(sessionStrategy(strategy))
		b := w.Browser()
		if got := b.Get("/api/auth/session").Text; got != sessionEmpty(t) {
			t.Errorf("anonymous: %s", got)
		}
		b.SignIn(w.OP, "ada")
		v := b.Session()
		user, _ := v["user"].(map[string]any)
		expires, err := time.Parse(time.RFC3339, fmt.Sprint(v["expires"]))
		if len(v) != 2 || err != nil || time.Until(expires) < time.Hour {
			t.Errorf("session %v, %v", v, err)
		}
		_, image := user["image"]
		_, id := user["id"]
		fields := 3
		if w.Config.Compat == "" || w.Config.Compat == authsvc.CompatNone { // elsewhere, the user has what NextAuth.js shows
			fields = 4
		}
		if len(user) != fields || id != (fields == 4) || user["email"] != "ada@example.com" || user["name"] == "" || !image {
			t.Errorf("user %v", user)
		}
	})
}

const sessionGreed = `{"user":{"id":"bob-id","role":"admin","email":"x@y.test"},"id":"bob-id","sub":"bob-id","role":"admin","email":"x@y.test",` +
	`"exp":9999999999,"iat":1,"auth_time":9999999998,"sid":"mine","jti":"mine","provider":"mine","expires":"9999-01-01T00:00:00.000Z"}`

// session17 runs without callbacks, which take over nothing, and with a JWT callback
// that takes over all input. Such a callback may change the application's data, but
// not the user or the expiry.
func session17(t *T) {
	t.Strategies(func(t *T, strategy string) {
		for _, greedy := range []bool{false, true} {
			w := t.EnterOffline(func(c *authsvc.Config) {
				c.Session.Strategy = authsvc.Strategy(strategy)
				if greedy {
					c.Callbacks.JWT = sessionTakesAll
				}
			})
			b := w.Browser()
			b.Login("ada")
			was, expires := sessionOf(t, w, b), b.Session()["expires"]
			a := b.Raw("/api/auth/session", "application/json", `{"csrfToken":"`+b.CSRF()+`","data":`+sessionGreed+`}`)
			if a.StatusCode != http.StatusOK || strings.Contains(a.Text, "9999") || strings.Contains(a.Text, "admin") {
				t.Errorf("%d %s", a.StatusCode, a.Text)
			}
			is := sessionOf(t, w, b)
			if is == nil || is.UserID != "ada-id" || !is.AuthTime.Equal(was.AuthTime) || is.Provider != was.Provider {
				t.Fatalf("was %+v, is %+v", was, is)
			}
			for _, name := range []string{"sub", "sid", "provider", "auth_time"} {
				if fmt.Sprint(is.Token()[name]) != fmt.Sprint(was.Token()[name]) {
					t.Errorf("%s was %v, is %v", name, was.Token()[name], is.Token()[name])
				}
			}
			if took := greedy && strategy == "jwt"; (is.Token()["role"] == "admin") != took || (is.Email == "x@y.test") != took {
				t.Errorf("callback %v: role %v, email %s", greedy, is.Token()["role"], is.Email)
			}
			if d := is.Expires.Sub(was.Expires); d < 0 || d > time.Minute {
				t.Errorf("expired %v, expires %v", expires, is.Expires)
			}
		}
	})
}

func sessionTakesAll(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
	if data, ok := p.Data.(map[string]any); ok {
		maps.Copy(p.Claims, data)
	}
	return p.Claims, nil
}

func sessionOf(t *T, w *arena.World, b *arena.Browser) *authsvc.Session {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, b.Origin+"/", nil)
	for name, v := range b.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: v})
	}
	s, err := w.Session(r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func session18(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.EnterOffline(sessionStrategy(strategy))
		b := w.Browser()
		b.Login("ada")
		token, name := b.Cookies[w.SessionCookie()], w.SessionCookie()
		if !strings.Contains(sessionRaw(w, name+"="+token).Text, "ada@app.test") {
			t.Fatal("twin: the cookie is not a session")
		}
		for what, r := range map[string]*http.Request{
			"query":         httptest.NewRequest("GET", arena.Origin+"/api/auth/session?session-token="+token+"&"+name+"="+token+"&token="+token+"&access_token="+token, nil),
			"path":          httptest.NewRequest("GET", arena.Origin+"/api/auth/session;"+name+"="+token, nil),
			"bearer":        sessionHeader("Authorization", "Bearer "+token),
			"basic":         sessionHeader("Authorization", "Basic "+token),
			"cookie2":       sessionHeader("Cookie2", name+"="+token),
			"own header":    sessionHeader("X-Session-Token", token),
			"set-cookie":    sessionHeader("Set-Cookie", name+"="+token),
			"body":          httptest.NewRequest("GET", arena.Origin+"/api/auth/session", strings.NewReader(name+"="+token)),
			"other name":    sessionHeader("Cookie", strings.TrimPrefix(strings.TrimPrefix(name, "__Host-"), "__Secure-")+"="+token),
			"name in caps":  sessionHeader("Cookie", strings.ToUpper(name)+"="+token),
			"escaped name":  sessionHeader("Cookie", strings.ReplaceAll(name, ".", "%2E")+"="+token),
			"quoted":        sessionHeader("Cookie", name+`="`+token+`"`),
			"another value": sessionHeader("Cookie", "x="+name+"="+token),
		} {
			if a := w.Browser().Do(r); a.StatusCode < 500 && strings.Contains(a.Text, "ada") || a.StatusCode >= 500 {
				t.Errorf("%s: %d %s", what, a.StatusCode, a.Text)
			}
		}
		c := w.Browser()
		a := c.Raw("/api/auth/session", "application/json", `{"csrfToken":"`+c.CSRF()+`","session-token":"`+token+`","`+name+`":"`+token+`","token":"`+token+`"}`)
		if a.Text != sessionEmpty(t) {
			t.Errorf("POST session: %d %s", a.StatusCode, a.Text)
		}
	})
}

func sessionHeader(name, value string) *http.Request {
	r := httptest.NewRequest("GET", arena.Origin+"/api/auth/session", nil)
	r.Header.Set(name, value)
	return r
}

// session19 runs every flow, with success and failure, and searches logs, pages and
// addresses for secrets.
func session19(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(sessionStrategy(strategy))
		s := &sessionSpy{World: w, secrets: map[string]string{"client secret": arena.ClientSecret, "secret": arena.Secret, "password": "right-canary-9"}}
		w.OP.SetFault(idp.Fault{TokenAnswer: func(a map[string]any) {
			s.secrets["access token"], s.secrets["ID token"] = a["access_token"].(string), a["id_token"].(string)
		}})
		s.run(t)
		for name, v := range s.secrets {
			if v == "" {
				t.Errorf("no %s", name)
				continue
			}
			for _, spelled := range []string{v, url.QueryEscape(v)} {
				if strings.Contains(w.Logs.String(), spelled) {
					t.Errorf("the log holds the %s", name)
				}
				if strings.Contains(s.addresses.String(), spelled) {
					t.Errorf("an address holds the %s", name)
				}
				if name != "CSRF token" && name != "link token" && strings.Contains(s.pages.String(), spelled) {
					t.Errorf("a page holds the %s", name)
				}
			}
		}
		if !strings.Contains(w.Logs.String(), "level=") || !strings.Contains(s.pages.String(), "ada@example.com") {
			t.Error("twin: nothing was collected")
		}
		t.Figure("%d secrets in %d answers and %d KiB of log", len(s.secrets), s.seen, len(w.Logs.String())>>10)
	})
}

// A sessionSpy collects all answers.
type sessionSpy struct {
	*arena.World
	secrets          map[string]string
	pages, addresses strings.Builder
	seen             int
}

// see keeps an answer, except addresses of the identity provider, which may contain
// state and challenge.
func (s *sessionSpy) see(a *browser.Answer) *browser.Answer {
	s.seen++
	s.pages.WriteString(a.Text)
	if to := a.Location(); strings.HasPrefix(to, arena.Origin) {
		s.addresses.WriteString(to + "\n")
	}
	for name, values := range a.Header {
		if name != "Set-Cookie" && name != "Location" {
			fmt.Fprintln(&s.pages, name, values)
		}
	}
	return a
}

func (s *sessionSpy) run(t *T) {
	b := s.Browser()
	start := s.see(b.Post("/api/auth/signin/op"))
	s.secrets["state"] = arena.MustURL(t, start.Location()).Query().Get("state")
	back := b.Approve(s.OP, start.Location(), "ada")
	s.secrets["code"] = arena.MustURL(t, back).Query().Get("code")
	s.see(b.Get(back))
	s.secrets["session"] = b.Cookies[s.SessionCookie()]
	s.see(b.Get("/api/auth/session"))
	s.see(b.Clone().Get(back))
	for _, path := range []string{"/signin", "/signout", "/error?error=Callback", "/verify-request", "/providers", "/session?" + s.SessionCookie() + "=x", "/nonsense", "/signin/op"} {
		s.see(b.Get("/api/auth" + path))
	}
	s.secrets["CSRF token"] = b.CSRF()
	s.see(b.Post("/api/auth/signin/op", "csrfToken", "wrong"))
	s.see(b.Post("/api/auth/callback/credentials", "username", "ada", "password", "right-canary-9"))
	s.mail(t, b)
	s.OP.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointToken: 500}})
	s.see(b.Get(b.Approve(s.OP, b.Begin("op"), "ada")))
	s.OP.SetFault(idp.Fault{})
	s.Ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
	s.see(b.Clone().Get("/api/auth/session"))
	s.see(b.Clone().Post("/api/auth/signin/email", "email", "ada@app.test"))
	s.Ledger.BreakAt(nil)
	s.secrets["last session"] = b.Cookies[s.SessionCookie()]
	s.see(b.Post("/api/auth/signout"))
}

func (s *sessionSpy) mail(t *T, b *arena.Browser) {
	s.see(b.Post("/api/auth/signin/email", "email", "mail@app.test"))
	link := arena.Link(t, s.Mail.Next(t))
	q := arena.MustURL(t, link).Query()
	s.secrets["link token"] = q.Get("token")
	s.see(b.Post("/api/auth/callback/email", "token", q.Get("token"), "email", "other@app.test"))
	s.see(s.Browser().Get(link))
	s.see(b.Get(link))
	s.see(b.Post("/api/auth/callback/email", "token", q.Get("token"), "email", q.Get("email")))
}

// session23 tests a sensitive route that requires a sign-in in the last five minutes.
func session23(t *T) {
	t.Strategies(func(t *T, strategy string) {
		sessionBubble(t, func(t *T) {
			w := t.EnterOffline(sessionStrategy(strategy))
			reached := 0
			guarded := w.RequireFresh(5 * time.Minute)(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				reached++
				v, err := w.Session(r)
				if err != nil || v.UserID != "ada-id" || v.Provider != "credentials" {
					t.Errorf("the route sees %+v, %v", v, err)
				}
				json.NewEncoder(rw).Encode(v.AuthTime)
			}))
			b := w.Browser()
			began := time.Now()
			b.Login("ada")
			pay := func(accept string) *browser.Answer {
				c := b.Clone()
				c.H = guarded
				r := httptest.NewRequest("GET", arena.Origin+"/pay?to=bob", nil)
				r.Header.Set("Accept", accept)
				return c.Do(r)
			}
			time.Sleep(5*time.Minute - time.Second)
			var at time.Time
			if a := pay("text/html"); reached != 1 || json.Unmarshal([]byte(a.Text), &at) != nil || at.Sub(began).Abs() > time.Second {
				t.Fatalf("twin: %d %s, signed in %v", a.StatusCode, a.Text, at)
			}
			time.Sleep(2 * time.Second)
			if a := pay("text/html"); a.StatusCode != http.StatusFound || a.Location() != arena.Origin+"/api/auth/confirm?callbackUrl=https%3A%2F%2Fapp.test%2Fpay%3Fto%3Dbob" {
				t.Errorf("stale, a person: %d %s", a.StatusCode, a.Location())
			}
			if a := pay("application/json"); a.StatusCode != http.StatusUnauthorized || reached != 1 {
				t.Errorf("stale, a script: %d, reached %d", a.StatusCode, reached)
			}
			if b.Email() != "ada@app.test" {
				t.Error("twin: the session is not valid for other pages")
			}
			if b.Login("ada"); pay("text/html").StatusCode != http.StatusOK || reached != 2 {
				t.Error("twin: signing in again does not help")
			}
		})
	})
}

// session24 presents a cookie of each strategy to the other on one store, and back.
func session24(t *T) {
	first := t.EnterOffline(sessionStrategy("database"))
	worlds := map[string]*arena.World{"database": first}
	jars := map[string]*arena.Browser{}
	worlds["jwt"] = t.EnterOffline(sessionStrategy("jwt"))
	for strategy, w := range worlds {
		jars[strategy] = w.Browser()
		jars[strategy].Login("ada")
	}
	for strategy, w := range worlds {
		other := map[string]string{"database": "jwt", "jwt": "database"}[strategy]
		sessionSignedOut(t, w, "the cookie of "+other+" with "+strategy, jars[other].Cookies[w.SessionCookie()])
		if a := sessionRaw(w, w.SessionCookie()+"="+jars[strategy].Cookies[w.SessionCookie()]); !strings.Contains(a.Text, "ada@app.test") {
			t.Errorf("twin: back with %s: %d %s", strategy, a.StatusCode, a.Text)
		}
		moved := w.Browser()
		moved.Cookies[w.SessionCookie()] = jars[other].Cookies[w.SessionCookie()]
		for _, path := range []string{"/signin", "/signout", "/csrf", "/providers"} {
			if a := moved.Clone().Get("/api/auth" + path); a.StatusCode >= 500 {
				t.Errorf("%s with the cookie of %s: %d", path, other, a.StatusCode)
			}
		}
		if moved.Login("bob"); moved.Email() != "bob@app.test" {
			t.Errorf("twin: cannot sign in with %s", strategy)
		}
	}
}
