package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

func TestSignInCallback(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer   func(authsvc.SignInAttempt) (string, error)
		location string
		signedIn bool
	}{
		"allows":            {func(authsvc.SignInAttempt) (string, error) { return "", nil }, arena.Origin + "/in", true},
		"refuses":           {func(authsvc.SignInAttempt) (string, error) { return "", authsvc.ErrAccessDenied }, "error=AccessDenied", false},
		"redirects":         {func(authsvc.SignInAttempt) (string, error) { return "/terms", nil }, arena.Origin + "/terms", false},
		"redirects abroad":  {func(authsvc.SignInAttempt) (string, error) { return "https://evil.example/", nil }, "error=AccessDenied", false},
		"panics":            {func(authsvc.SignInAttempt) (string, error) { panic("oops") }, "error=AccessDenied", false},
		"sees the profile":  {seesProfile, arena.Origin + "/in", true},
		"sees a known user": {seesKnownUser(), arena.Origin + "/in", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(cfg *authsvc.Config) {
				cfg.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) { return c.answer(a) }
			})
			b := w.Browser()
			a := b.SignIn(w.OP, "ada", "callbackUrl", "/in")
			if !strings.Contains(a.Location(), c.location) || (b.Email() != "") != c.signedIn {
				t.Errorf("%s, signed in as %q\n%s", a.Location(), b.Email(), w.Logs)
			}
			_, err := w.Store.GetUserByAccount(t.Context(), "op", "ada")
			if stored := err == nil; stored != c.signedIn {
				t.Errorf("user stored: %v", stored)
			}
		})
	}
}

func seesProfile(a authsvc.SignInAttempt) (string, error) {
	if a.Profile["sub"] != "ada" || a.Account.Provider != "op" || a.Account.ProviderAccountID != "ada" ||
		a.Account.AccessToken == "" || a.User.Email != "ada@example.com" || !a.IsNewUser || a.VerificationRequest {
		return "", errors.New("not what was expected")
	}
	return "", nil
}

func seesKnownUser() func(authsvc.SignInAttempt) (string, error) {
	var once sync.Once
	return func(a authsvc.SignInAttempt) (to string, err error) {
		once.Do(func() {
			if a.User.ID != "" {
				err = errors.New("a user without a row has an id")
			}
		})
		return "", err
	}
}

func TestSignInCallbackAtEmailRequest(t *testing.T) {
	t.Parallel()
	for _, show := range []bool{false, true} {
		w := arena.Start(t, func(c *authsvc.Config) {
			c.ShowRefusal = show
			c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
				if a.VerificationRequest && a.User.Email == "blocked@app.test" {
					return "", authsvc.ErrAccessDenied
				}
				return "", nil
			}
		})
		b := w.Browser()
		a := b.Post("/api/auth/signin/email", "email", "blocked@app.test")
		if got := strings.Contains(a.Location(), "AccessDenied"); got != show {
			t.Errorf("show_refusal %v: %s", show, a.Location())
		}
		if b.Post("/api/auth/signin/email", "email", "fine@app.test"); w.Mail.Next(t).To != "fine@app.test" || w.Mail.Count() != 1 {
			t.Errorf("%d mails", w.Mail.Count())
		}
	}
}

func TestRedirectCallback(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Callbacks.Redirect = func(_ context.Context, url, base string) string {
			switch url {
			case "panic":
				panic("oops")
			case "abroad":
				return "https://partner.example/landing?x=1"
			case "script":
				return "javascript:alert(1)"
			}
			return base + "/decided"
		}
	})
	for want, to := range map[string]string{
		"abroad": "https://partner.example/landing?x=1",
		"/x":     arena.Origin + "/decided",
		"script": arena.Origin,
		"panic":  arena.Origin,
	} {
		if got := w.Browser().SignIn(w.OP, "ada", "callbackUrl", want).Location(); got != to {
			t.Errorf("%s leads to %s, want %s", want, got, to)
		}
	}
}

func TestJWTAndSessionCallbacks(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var triggers []string
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Session.Strategy = "jwt"
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			mu.Lock()
			triggers = append(triggers, p.Trigger)
			mu.Unlock()
			if p.User != nil {
				p.Claims["role"] = "admin"
			}
			if data, ok := p.Data.(map[string]any); ok && p.Trigger == "update" {
				p.Claims["name"] = data["name"]
				p.Claims["sub"], p.Claims["exp"], p.Claims["sid"] = "another-user", int64(9999999999), "x"
			}
			return p.Claims, nil
		}
		c.Callbacks.Session = func(_ context.Context, p authsvc.SessionParams) (map[string]any, error) {
			p.Session["role"] = p.Claims["role"]
			p.Session["user"].(map[string]any)["id"] = p.User.ID
			return p.Session, nil
		}
	})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	before := b.Session()
	if before["role"] != "admin" {
		t.Errorf("session %v\n%s", before, w.Logs)
	}
	id := before["user"].(map[string]any)["id"]
	after := update(b, map[string]any{"name": "Countess", "role": "root"})
	user := after["user"].(map[string]any)
	if user["name"] != "Countess" || user["id"] != id || after["role"] != "admin" {
		t.Errorf("after update %v", after)
	}
	if got := b.Session()["user"].(map[string]any)["name"]; got != "Countess" {
		t.Errorf("the update did not stay: %v", got)
	}
	if !slices.Equal(triggers, []string{"signUp", "", "update", ""}) {
		t.Errorf("triggers %q", triggers)
	}
	stolen := w.Browser()
	for name, v := range b.Cookies {
		stolen.Cookies[name] = v
	}
	b.Post("/api/auth/signout")
	if len(stolen.Session()) != 0 {
		t.Error("the re-issued token is not covered by the sign-out")
	}
}

// update posts data to the session route as the client does, and returns the answer.
func update(b *arena.Browser, data any) map[string]any {
	b.T.Helper()
	raw, err := json.Marshal(map[string]any{"csrfToken": b.CSRF(), "data": data})
	if err != nil {
		b.T.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, b.Abs("/api/auth/session"), strings.NewReader(string(raw)))
	r.Header.Set("Content-Type", "application/json")
	a := b.Do(r)
	var v map[string]any
	if err := json.Unmarshal([]byte(a.Text), &v); err != nil {
		b.T.Fatalf("update: %d %s", a.StatusCode, a.Text)
	}
	return v
}

func TestFailingSessionCallbacksRefuse(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"jwt", "database"} {
		for name, fail := range map[string]func(){"error": func() {}, "panic": func() { panic("oops") }} {
			w := arena.Start(t, func(c *authsvc.Config) {
				c.Session.Strategy = authsvc.Strategy(strategy)
				c.Callbacks.Session = func(context.Context, authsvc.SessionParams) (map[string]any, error) {
					fail()
					return map[string]any{"user": "root"}, errors.New("no")
				}
			})
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			if a := b.Get("/api/auth/session"); a.StatusCode != http.StatusServiceUnavailable || a.Text != "{}" {
				t.Errorf("%s, %s: %d %s", strategy, name, a.StatusCode, a.Text)
			}
		}
	}
}

// An eventLog collects the names of events.
type eventLog struct {
	mu   sync.Mutex
	list []string
}

func (l *eventLog) add(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, name)
}

func (l *eventLog) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// watch makes l collect every event. CreateUser also panics, which must not affect the
// request.
func (l *eventLog) watch(c *authsvc.Config) {
	c.Events = authsvc.Events{
		SignIn: func(_ context.Context, e authsvc.SignInEvent) {
			l.add(fmt.Sprint("signIn ", e.Account.Provider, " ", e.IsNewUser))
		},
		SignOut:    func(context.Context, authsvc.SignOutEvent) { l.add("signOut") },
		CreateUser: func(_ context.Context, u authsvc.User) { l.add("createUser"); panic("an event may not fail a request") },
		UpdateUser: func(context.Context, authsvc.User) { l.add("updateUser") },
		LinkAccount: func(_ context.Context, u authsvc.User, a authsvc.Account) {
			l.add("linkAccount " + a.ProviderAccountID)
		},
		UnlinkAccount: func(_ context.Context, _ authsvc.User, a authsvc.Account) {
			l.add("unlinkAccount " + a.ProviderAccountID)
		},
		Session: func(_ context.Context, s *authsvc.Session) { l.add("session " + s.Email) },
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		for person, want := range map[string][]string{
			// The provider has verified ada's address, but not alan's.
			"ada": {"createUser", "linkAccount ada", "signIn op true", "session ada@example.com", "signOut", "signIn email false"},
			"alan": {"createUser", "linkAccount alan", "signIn op true", "session alan@example.com", "signOut",
				"unlinkAccount alan", "updateUser", "signIn email false"},
		} {
			log := &eventLog{}
			w := arena.Start(t, func(c *authsvc.Config) {
				c.Session.Strategy = authsvc.Strategy(strategy)
				log.watch(c)
			})
			b := w.Browser()
			b.SignIn(w.OP, person)
			b.Session()
			b.Post("/api/auth/signout")
			b.SignInByMail(w, person+"@example.com")
			if got := log.names(); !slices.Equal(got, want) {
				t.Errorf("%s, %s: events %q\nwant %q", strategy, person, got, want)
			}
		}
	}
}
