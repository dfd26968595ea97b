package verify

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/chromium"
)

// A logoutEnd is a provider's end-session endpoint. Unless it stays, it redirects
// browsers back. It records visits.
type logoutEnd struct {
	mu   sync.Mutex
	stay bool
	came []logoutVisit
}

type logoutVisit struct {
	method, uri, referer string
	sent                 url.Values
}

func (e *logoutEnd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/end" {
		http.NotFound(w, r)
		return
	}
	r.ParseForm()
	sent := r.URL.Query()
	if r.Method == http.MethodPost {
		sent = r.PostForm
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.came = append(e.came, logoutVisit{r.Method, r.RequestURI, r.Referer(), sent})
	if e.stay {
		writePage(w, "<title>Example</title><h1>Signed out of Example</h1>")
		return
	}
	http.Redirect(w, r, sent.Get("post_logout_redirect_uri")+"?state="+url.QueryEscape(sent.Get("state")), http.StatusFound)
}

// last returns the latest visit and the number of visits.
func (e *logoutEnd) last() (v logoutVisit, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n = len(e.came); n > 0 {
		v = e.came[n-1]
	}
	return v, n
}

func (e *logoutEnd) stays(stay bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stay = stay
}

// logout02 checks everything sent to a browser and logged between the sign-out and
// the return.
func logout02(t *T) {
	t.Strategies(func(t *T, strategy string) {
		for name, c := range map[string]struct{ scope, method string }{"personal": {"", "POST"}, "twin, not personal": {"openid", "GET"}} {
			for _, script := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, script=%v", name, script), func(t *T) { logoutHint(t, strategy, c.scope, c.method, script) })
			}
		}
	})
}

func logoutHint(t *T, strategy, scope, method string, script bool) {
	end := &logoutEnd{}
	there := httptest.NewServer(end)
	defer there.Close()
	w := logoutWorld(t, func(c *authsvc.Config) {
		c.Session.Strategy = authsvc.Strategy(strategy)
		oidcProvider(c).Scope, oidcProvider(c).Endpoints.EndSession = scope, there.URL+"/end"
	})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	token := logoutStored(t, w, w.Person(t, b))
	personal := logoutIsPersonal(token)
	if personal != (method == http.MethodPost) {
		t.Fatalf("the ID token is personal: %v", personal)
	}
	out := b.Post("/api/auth/signout", "callbackUrl", "/bye", "json", fmt.Sprint(script))
	to := out.Location()
	if script {
		to = out.URL(t)
	}
	l := b.Leave(to)
	if l.Method != method || l.Sent.Get("id_token_hint") != token {
		t.Errorf("by %s with %v", l.Method, l.Sent)
	}
	shown := []string{to, l.To.String(), out.Text, fmt.Sprint(out.Header)}
	if personal {
		page := b.Get(to)
		links, _ := redirectLinks(t, page.Text)
		shown = append(append(shown, fmt.Sprint(page.Header)), links...)
		if strings.Count(page.Text, token) != 1 || page.Header.Get("Referrer-Policy") != "strict-origin" || !strings.Contains(page.Header.Get("Cache-Control"), "no-store") {
			t.Errorf("the page: %v %s", page.Header, page.Text)
		}
	}
	res := logoutSend(t, there, l)
	shown = append(shown, res.Header.Get("Location"))
	v, n := end.last()
	if n != 1 || v.method != method || v.sent.Get("id_token_hint") != token || v.sent.Get("client_id") != "app" {
		t.Errorf("%d came: %+v", n, v)
	}
	if shown = append(shown, v.uri); personal {
		logoutHides(t, token, shown...)
	}
	logoutHides(t, token, w.Logs.String())
	back := b.Get(res.Header.Get("Location"))
	if back.Location() != arena.Origin+"/bye" || w.Person(t, b) != "" {
		t.Errorf("back at %s, as %q\n%s", back.Location(), w.Person(t, b), w.Logs)
	}
}

// logoutStored returns the stored ID token of a user.
func logoutStored(t *T, w *arena.World, userID string) string {
	t.Helper()
	accounts, err := w.Accounts(t.Context(), userID)
	if err != nil || len(accounts) != 1 || strings.Count(accounts[0].IDToken, ".") != 2 {
		t.Fatalf("%+v, %v", accounts, err)
	}
	return accounts[0].IDToken
}

func logoutIsPersonal(token string) bool {
	payload, _ := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	return strings.Contains(string(payload), "Ada Lovelace") && strings.Contains(string(payload), "ada@example.com")
}

// logoutHides fails if a text contains the token's claims or signature.
func logoutHides(t *T, token string, texts ...string) {
	t.Helper()
	parts := append(strings.Split(token, ".")[1:], "id_token_hint")
	for _, text := range texts {
		for _, part := range parts {
			if strings.Contains(text, part) {
				t.Errorf("%.20s… stands in %s", part, text)
			}
		}
	}
}

// logoutSend goes to the provider as a browser does.
func logoutSend(t *T, there *httptest.Server, l arena.Leaving) *http.Response {
	t.Helper()
	client := there.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var res *http.Response
	var err error
	if l.Method == http.MethodPost {
		res, err = client.PostForm(l.To.String(), l.Sent)
	} else {
		res, err = client.Get(l.To.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res
}

// leavesByPost signs out at the provider in a browser, with and without scripts. A
// script of the origin must not get the token.
func leavesByPost(t *T) {
	const login = "https://login.test"
	end := &logoutEnd{}
	s := t.stage(func(c *authsvc.Config) {
		oidcProvider(c).LogoutAtProvider, oidcProvider(c).Endpoints.EndSession = true, login+"/end"
	})
	s.net.Serve(login, end)
	b := s.tab()
	posted := func(what string, visits int) url.Values {
		t.Helper()
		v, n := end.last()
		if n != visits || v.method != http.MethodPost || v.uri != "/end" || v.referer != arena.Origin+"/" || strings.Count(v.sent.Get("id_token_hint"), ".") != 2 {
			t.Errorf("%s: %d came: %+v", what, n, v)
		}
		return v.sent
	}
	s.signIn(b, "op", "ada")
	s.signOut(b)
	posted("by itself", 1)
	s.is(b, "")

	s.signIn(b, "op", "ada")
	end.stays(true)
	b.Open(base + "/signout?callbackUrl=/bye")
	b.Click("#submitButton")
	b.At(login)
	page := "/api/auth/signout/provider?state=" + url.QueryEscape(posted("and stays", 2).Get("state"))
	b.Open(arena.Origin + "/home")
	var got string
	b.Script(`fetch(`+chromium.Quote(page)+`).then((r) => r.text().then((text) => r.status + text))`, &got)
	if !strings.HasPrefix(got, "403") || strings.Contains(got, "eyJ") {
		t.Errorf("a script reads %s", got)
	}
	b.Script(`new Promise((done) => { const f = document.createElement("iframe"); f.onload = () => { let text = "hidden"; try { text = f.contentDocument.documentElement.outerHTML } catch {} done(text) }; f.src = `+chromium.Quote(page)+`; document.body.append(f) })`, &got)
	if strings.Contains(got, "eyJ") {
		t.Errorf("a frame shows %s", got)
	}
	if _, n := end.last(); n != 2 {
		t.Errorf("%d came", n)
	}

	end.stays(false)
	b.Scripts(false)
	b.Open(arena.Origin + page)
	b.Click("main button")
	b.At(arena.Origin + "/bye")
	posted("by its button", 3)
	b.Scripts(true)
	s.is(b, "")
}
