package authtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/authtest"
	"authsvc/engine"
	"authsvc/internal/test/logbuffer"
	"authsvc/internal/test/quiet"
)

// who returns a page that says who is signed in.
func who(s *engine.Service) http.Handler {
	return s.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := s.Session(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, "%s <%s> %s", session.UserID, session.Email, session.Token()["role"])
	}))
}

func get(t *testing.T, c *http.Client, to string) (status int, text string) {
	t.Helper()
	res, err := c.Get(to)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(raw)
}

// asked returns the response of a page to a browser with the cookie c, or without a
// cookie if c is nil.
func asked(h http.Handler, origin string, c *http.Cookie) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, origin+"/who", nil)
	r.Header.Set("Accept", "text/html")
	if c != nil {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var ada = authsvc.User{ID: "7", Name: "Ada Lovelace", Email: "ada@example.com"}

// TestEveryKind tests each session strategy and each compat mode, on loopback and under
// the site's later address.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	for name, tune := range map[string]func(*authsvc.Config){
		"nothing":         nil,
		"jwt":             func(c *authsvc.Config) { c.Session.Strategy = authsvc.StrategyJWT },
		"without a store": func(c *authsvc.Config) { c.Adapter = nil },
		"next-auth-v4":    func(c *authsvc.Config) { c.Compat = authsvc.NextAuthV4 },
		"next-auth-v4 jwt": func(c *authsvc.Config) {
			c.Compat, c.Session.Strategy = authsvc.NextAuthV4, authsvc.StrategyJWT
		},
		"authjs-v5":              func(c *authsvc.Config) { c.Compat = authsvc.AuthJSV5 },
		"https":                  func(c *authsvc.Config) { c.URL = "https://app.example.com" },
		"a port":                 func(c *authsvc.Config) { c.URL = "https://app.example.com:8443/login" },
		"another path":           func(c *authsvc.Config) { c.URL += "/auth" },
		"the caller's transport": func(c *authsvc.Config) { c.Outbound.DangerousTransport = closed{} },
		"a cookie name":          func(c *authsvc.Config) { c.Cookies.Session = "who" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := authtest.New(t, tune)
			s.Handle("/who", who(s.Service))
			want := "7 <ada@example.com> "
			if status, text := get(t, s.Client(t, ada), s.URL+"/who"); status != http.StatusOK || !strings.HasPrefix(text, want) {
				t.Errorf("signed in: %d %s", status, text)
			}
			if status, text := get(t, s.Guest(t), s.URL+"/who"); status != http.StatusUnauthorized {
				t.Errorf("no session: %d %s", status, text)
			}
			cookie, h := authtest.SignedIn(t, s, ada), who(s.Service)
			if a := asked(h, s.URL, cookie); a.Code != http.StatusOK || !strings.HasPrefix(a.Body.String(), want) {
				t.Errorf("with the cookie: %d %s", a.Code, a.Body)
			}
			if name == "next-auth-v4 jwt" && !quiet.Full {
				return // it takes 16 s to expire
			}
			expired := authtest.Expired(t, s, ada)
			if a := asked(h, s.URL, expired); a.Code != http.StatusFound || !strings.HasPrefix(a.Header().Get("Location"), s.BaseURL()+"/signin?") {
				t.Errorf("with an expired cookie: %d %s", a.Code, a.Header())
			}
			if expired.Name != cookie.Name || expired.Value == cookie.Value {
				t.Errorf("%s and %s", cookie, expired)
			}
		})
	}
}

// closed is a transport that fails every call.
type closed struct{}

func (closed) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("closed") }

// TestUsers checks the user in the store and behind Require.
func TestUsers(t *testing.T) {
	t.Parallel()
	store := memory.New()
	var created []string
	s := authtest.New(t, func(c *authsvc.Config) {
		c.Adapter = store
		c.Events.CreateUser = func(_ context.Context, u authsvc.User) { created = append(created, u.Email) }
	})
	s.Handle("/who", who(s.Service))
	seeded, err := store.CreateUser(t.Context(), authsvc.User{ID: "seeded", Name: "Grace", Email: "grace@example.com", EmailVerified: time.UnixMilli(1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signIn := func(u authsvc.User, want string) {
		t.Helper()
		for range 2 { // the second time everything exists
			if _, text := get(t, s.Client(t, u), s.URL+"/who"); !strings.Contains(text, want) {
				t.Errorf("%+v: %s, want %s", u, text, want)
			}
		}
	}
	signIn(ada, "7 <ada@example.com>")
	signIn(authsvc.User{ID: "7"}, "7 <ada@example.com>")
	signIn(authsvc.User{Email: "Ada@Example.com"}, "7 <ada@example.com>")
	signIn(authsvc.User{Email: "grace@example.com"}, seeded.ID+" <grace@example.com>")
	signIn(authsvc.User{ID: seeded.ID}, seeded.ID+" <grace@example.com>")
	if len(created) != 0 {
		t.Errorf("created: %v", created)
	}
	signIn(authsvc.User{Email: "new@example.com", Name: "Neu"}, " <new@example.com>")
	signIn(authsvc.User{Name: "Ünsal Müller"}, " <>")
	if want := []string{"new@example.com", ""}; fmt.Sprint(created) != fmt.Sprint(want) {
		t.Errorf("created: %q, want %q", created, want)
	}
	if u, err := store.GetUserByEmail(t.Context(), "new@example.com"); err != nil || u.Name != "Neu" || u.ID == "" {
		t.Errorf("the user that the engine created: %+v, %v", u, err)
	}
	if u, err := store.GetUser(t.Context(), "7"); err != nil || !reflect.DeepEqual(u, authsvc.User{ID: "7", Name: ada.Name, Email: ada.Email}) {
		t.Errorf("the given user: %+v, %v", u, err)
	}
	if a, err := store.ListAccounts(t.Context(), seeded.ID); err != nil || len(a) != 2 || a[0].Provider != authtest.ProviderID {
		t.Errorf("accounts of the existing user: %+v, %v", a, err)
	}
}

// TestExtra checks that a session has the columns of a user, and that columns that no
// store can keep end the test.
func TestExtra(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		s := authtest.New(t, func(c *authsvc.Config) {
			c.Adapter, c.Session.Strategy = memory.New("role", "plan"), strategy
		})
		role := func(u authsvc.User) string {
			t.Helper()
			r := httptest.NewRequest(http.MethodGet, s.URL+"/", nil)
			r.AddCookie(authtest.SignedIn(t, s, u))
			session, err := s.Session(r)
			if err != nil || session == nil {
				t.Fatal(session, err)
			}
			return fmt.Sprint(session.Extra()["role"], " ", session.Extra()["plan"])
		}
		for _, c := range []struct {
			user authsvc.User
			want string
		}{
			{authsvc.User{ID: "7", Email: ada.Email, Extra: map[string]any{"role": "admin", "plan": "pro"}}, "admin pro"},
			{authsvc.User{ID: "7"}, "admin pro"},
			{authsvc.User{Email: ada.Email, Extra: map[string]any{"role": "reader"}}, "reader pro"},
			{authsvc.User{ID: "8"}, "<nil> <nil>"},
		} {
			if got := role(c.user); got != c.want {
				t.Errorf("%s: %+v: %s, want %s", strategy, c.user, got, c.want)
			}
		}
		if said := failure(t, func(t testing.TB) {
			s.Client(t, authsvc.User{Email: "new@example.com", Extra: map[string]any{"role": "admin"}})
		}); !strings.Contains(said, "needs an ID") {
			t.Errorf("without an ID: %q", said)
		}
		if said := failure(t, func(t testing.TB) { s.Client(t, authsvc.User{ID: "7", Extra: map[string]any{"rôle": "admin"}}) }); !strings.Contains(said, "does not read the columns rôle of Extra") {
			t.Errorf("an unknown column: %q", said)
		}
	}
	for name, store := range map[string]adapter.Adapter{"no store": nil, "another store": struct{ adapter.Adapter }{memory.New("role")}} {
		s := authtest.New(t, func(c *authsvc.Config) { c.Adapter = store })
		if said := failure(t, func(t testing.TB) { s.Client(t, authsvc.User{ID: "7", Extra: map[string]any{"role": "admin"}}) }); !strings.Contains(said, "cannot set Extra (role)") {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// TestClaims checks that callbacks of the program see the sign-in.
func TestClaims(t *testing.T) {
	t.Parallel()
	roles := map[string]string{"7": "admin"}
	s := authtest.New(t, func(c *authsvc.Config) {
		c.Session.Strategy = authsvc.StrategyJWT
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			if p.User != nil {
				p.Claims["role"] = roles[p.User.ID]
			}
			return p.Claims, nil
		}
		c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
			if a.Account.Provider == authtest.ProviderID && a.User.ID == "eve" {
				return "", authsvc.ErrAccessDenied
			}
			if a.User.ID == "guest" {
				return "/welcome", nil
			}
			return "", nil
		}
	})
	s.Handle("/who", who(s.Service))
	if _, text := get(t, s.Client(t, ada), s.URL+"/who"); !strings.HasSuffix(text, " admin") {
		t.Errorf("the claim is missing: %s", text)
	}
	if code := s.Refused(t, authsvc.User{ID: "eve"}); code != authsvc.CodeAccessDenied {
		t.Errorf("eve: %q", code)
	}
	if code := s.Refused(t, authsvc.User{ID: "guest"}); code != "" {
		t.Errorf("redirected elsewhere: %q", code)
	}
	for what, call := range map[string]func(testing.TB){
		"a refused sign-in":           func(t testing.TB) { authtest.SignedIn(t, s, authsvc.User{ID: "eve"}) },
		"a client for a refused user": func(t testing.TB) { s.Client(t, authsvc.User{ID: "eve"}) },
		"a user who may sign in":      func(t testing.TB) { s.Refused(t, ada) },
		"no user":                     func(t testing.TB) { s.Client(t, authsvc.User{}) },
		"no address":                  func(t testing.TB) { s.Client(t, authsvc.User{Email: "ada"}) },
		"a wrong configuration":       func(t testing.TB) { authtest.New(t, func(c *authsvc.Config) { c.Session.MaxAge = -1 }) },
		"a wrong address":             func(t testing.TB) { authtest.New(t, func(c *authsvc.Config) { c.URL = "app.example.com" }) },
		"no mail":                     func(t testing.TB) { s.Mail.Wait(t, "not an address") },
	} {
		if said := failure(t, call); !strings.HasPrefix(said, "authtest: ") {
			t.Errorf("%s does not end the test: %q", what, said)
		}
	}
}

// failure returns the message with which a call ends its test, or "" if it does not.
func failure(t *testing.T, call func(testing.TB)) (said string) {
	t.Helper()
	f := &failing{TB: t}
	defer func() {
		if v := recover(); v != nil && v != any(f) {
			panic(v)
		}
		said = f.said
	}()
	call(f)
	return ""
}

// failing is a test that records its failure.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Fatalf(format string, args ...any) { f.said = fmt.Sprintf(format, args...); panic(f) }
func (f *failing) Fatal(args ...any)                 { f.said = fmt.Sprint(args...); panic(f) }

// TestLargeSession checks that only a client can hold a session in several cookies.
func TestLargeSession(t *testing.T) {
	t.Parallel()
	s := authtest.New(t, func(c *authsvc.Config) {
		c.Session.Strategy = authsvc.StrategyJWT
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			p.Claims["role"] = strings.Repeat("x", 5000)
			return p.Claims, nil
		}
	})
	s.Handle("/who", who(s.Service))
	if status, text := get(t, s.Client(t, ada), s.URL+"/who"); status != http.StatusOK || len(text) < 5000 {
		t.Errorf("%d %s", status, text)
	}
	if said := failure(t, func(t testing.TB) { authtest.SignedIn(t, s, ada) }); !strings.Contains(said, "use Client") {
		t.Errorf("SignedIn: %q", said)
	}
}

// TestMail checks that all mails are caught, also from the program's own provider, and
// that their links and codes work.
func TestMail(t *testing.T) {
	t.Parallel()
	for name, tune := range map[string]func(*authsvc.Config){
		"built in": nil,
		"own": func(c *authsvc.Config) {
			c.Providers = []authsvc.Provider{&authsvc.Email{Name: "Own", From: "Acme <no-reply@example.com>",
				Send: func(context.Context, authsvc.Message) error { panic("a mail to a person") }}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := authtest.New(t, tune)
			s.Handle("/who", who(s.Service))
			client := s.Guest(t)
			s.Submit(t, client, "signin/email", url.Values{"email": {"Ada@example.com"}}).Body.Close()
			m := s.Mail.Wait(t, "Ada@example.com")
			if m.To != "ada@example.com" || m.Subject == "" || m.HTML == "" || !strings.Contains(m.Text, m.Link) {
				t.Errorf("the mail: %+v", m)
			}
			if all := s.Mail.Messages(); len(all) != 1 || all[0] != m {
				t.Errorf("all mails: %+v", all)
			}
			link := s.Mail.Link(t, "ada@example.com")
			if res, err := client.Get(link); err != nil {
				t.Fatal(err)
			} else {
				res.Body.Close()
			}
			if status, text := get(t, client, s.URL+"/who"); status != http.StatusOK || !strings.Contains(text, "ada@example.com") {
				t.Errorf("after the link: %d %s", status, text)
			}
			s.Submit(t, client, "signout", nil).Body.Close()
			if status, _ := get(t, client, s.URL+"/who"); status != http.StatusUnauthorized {
				t.Errorf("after the sign-out: %d", status)
			}
			s.Mail.Clear(t)
			s.Submit(t, client, "signin/email", url.Values{"email": {"ada@example.com"}}).Body.Close()
			s.Submit(t, client, "callback/email", url.Values{"email": {"ada@example.com"}, "code": {s.Mail.Code(t, "ada@example.com")}}).Body.Close()
			if status, text := get(t, client, s.URL+"/who"); status != http.StatusOK || !strings.Contains(text, "ada@example.com") {
				t.Errorf("after the code: %d %s", status, text)
			}
			if s.Mail.Clear(t); len(s.Mail.Messages()) != 0 {
				t.Error("mails are left")
			}
		})
	}
}

// TestCSRF checks that the engine refuses a form without the token, and accepts one
// with it.
func TestCSRF(t *testing.T) {
	t.Parallel()
	s := authtest.New(t, nil)
	s.Handle("/who", who(s.Service))
	client := s.Client(t, ada)
	res, err := client.PostForm(s.BaseURL()+"/signout", url.Values{"csrfToken": {"x"}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if status, _ := get(t, client, s.URL+"/who"); status != http.StatusOK {
		t.Errorf("a forged sign-out ended the session: %d", status)
	}
	s.Submit(t, client, "signout", nil).Body.Close()
	if status, _ := get(t, client, s.URL+"/who"); status != http.StatusUnauthorized {
		t.Errorf("after the sign-out: %d", status)
	}
}

// heard is a test that records its output.
type heard struct {
	testing.TB
	out io.Writer
}

func (h heard) Output() io.Writer { return h.out }

// TestQuiet checks that New does not warn about its own settings, but still warns about
// others.
func TestQuiet(t *testing.T) {
	t.Parallel()
	var usual, odd bytes.Buffer
	authtest.New(heard{t, &usual}, nil)
	authtest.New(heard{t, &odd}, func(c *authsvc.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")} })
	if strings.Contains(usual.String(), "level=WARN") || !strings.Contains(odd.String(), "trusts everyone") {
		t.Errorf("%s\n%s", usual.String(), odd.String())
	}
}

// TestServerLog checks that a panic of the program under test is in the output of the
// test, not on standard error.
func TestServerLog(t *testing.T) {
	t.Parallel()
	var out logbuffer.Buffer
	s := authtest.New(heard{t, &out}, nil)
	s.Handle("/panics", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("no such order") }))
	if res, err := http.Get(s.URL + "/panics"); err == nil {
		res.Body.Close()
		t.Errorf("answered %s", res.Status)
	}
	if got := out.String(); !strings.Contains(got, "authtest: http: panic serving") || !strings.Contains(got, "no such order") {
		t.Errorf("the output is %q", got)
	}
}
