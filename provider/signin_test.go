package provider_test

import (
	"context"
	"html"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/logbuffer"
	"authsvc/provider"
)

// An attempt is one person's sign-in at one emulated provider.
type attempt struct {
	*emulator
	id      string // of the provider, as in routes
	service *engine.Service
	browser *browser.Browser
	stored  *outcome // the person who was signed in
	kept    string   // the access token of the account
	log     *logbuffer.Buffer
	secrets []string    // from its options
	last    string      // the URL of its latest callback
	header  http.Header // of the following requests
	userID  string      // of stored
	store   adapter.Adapter
	lost    int // number of TokenRefused events
}

func newAttempt(t *testing.T, entry provider.Entry, rec *recording, more ...authsvc.Provider) *attempt {
	t.Helper()
	a := &attempt{emulator: newEmulator(t, rec, origin+"/api/auth/callback/"+entry.ID), id: entry.ID, log: &logbuffer.Buffer{}, store: memory.New()}
	client := authsvc.Client{ID: clientID, Secret: clientSecret}
	if entry.NoSecret {
		client.Secret = ""
	}
	for _, o := range entry.Options {
		if o.Secret {
			a.secrets = append(a.secrets, rec.Options[o.Key])
		}
	}
	p, err := entry.New(client, rec.Options)
	if err != nil {
		t.Fatal(err)
	}
	a.service, err = engine.New(authsvc.Config{
		URL: origin, Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, Adapter: a.store,
		Providers: append(more, p), Outbound: authsvc.Outbound{DangerousTransport: a.emulator},
		RateLimit: authsvc.RateLimit{Disabled: true}, Logger: slog.New(slog.NewTextHandler(a.log, nil)),
		Events: authsvc.Events{TokenRefused: func(context.Context, authsvc.Account) { a.lost++ }, SignIn: func(_ context.Context, e authsvc.SignInEvent) {
			a.userID = e.User.ID
			a.kept = e.Account.AccessToken
			a.stored = &outcome{ID: e.Account.ProviderAccountID, Name: e.User.Name, Email: e.User.Email, Image: e.User.Image,
				Verified: !e.User.EmailVerified.IsZero()}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.service.Close(context.WithoutCancel(t.Context())) })
	a.browser = browser.New(origin, browser.Handler(a.service))
	return a
}

// again makes it an attempt of another person at the same service: creating a service
// takes longer than signing in.
func (a *attempt) again(t *testing.T, rec *recording) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.t, a.rec, a.fail = t, rec, nil
	a.asked, a.called, a.idToken, a.access, a.stored = nil, map[string]int{}, "", "", nil
	a.issued, a.asserted = nil, nil
	a.log.Reset()
	a.browser = a.browser.Fresh()
}

// start begins the sign-in and checks the authorization request.
func (a *attempt) start() {
	a.t.Helper()
	to := a.begin()
	if to.Host == "app.example.com" {
		a.t.Fatalf("the sign-in leads to %s\n%s", to, a.log)
	}
	a.authorize(to)
}

// begin returns the URL to which the sign-in leads.
func (a *attempt) begin() *url.URL {
	a.t.Helper()
	to, err := a.do(http.MethodPost, "/api/auth/signin/"+a.id, url.Values{"csrfToken": {a.csrf()}}).Response.Location()
	if err != nil {
		a.t.Fatal(err)
	}
	return to
}

// csrf fetches the token that a form needs.
func (a *attempt) csrf() string {
	a.t.Helper()
	token, err := a.browser.CSRF()
	if err != nil {
		a.t.Fatal(err)
	}
	return token
}

// authorize acts as the provider on the authorization request.
func (a *attempt) authorize(to *url.URL) {
	a.t.Helper()
	s, got := a.rec.Authorize, a.once(to.Query())
	want := map[string]string{"client_id": clientID, "redirect_uri": a.back, "response_type": "code", "state": anything}
	if s.PKCE {
		want["code_challenge"], want["code_challenge_method"] = anything, "S256"
	}
	if a.rec.IDToken != nil {
		want["nonce"] = anything
	}
	switch a.rec.Protocol {
	case "oauth1":
		a.compare("authorization request", map[string]string{"oauth_token": a.issuedLast()}, got)
	case "openid2":
		a.authenticate(got)
	default:
		a.compare("authorization request", a.expected(want, s.Params, s.Drop), got)
	}
	if to.Fragment != s.Fragment {
		a.t.Errorf("fragment %q", to.Fragment)
	}
	if strings.Contains(to.String(), " ") || strings.Contains(to.RawQuery, "+") {
		a.t.Errorf("spaces are not %%20 in %s", to)
	}
	to.RawQuery, to.Fragment = "", ""
	if to.String() != s.URL {
		a.t.Errorf("the sign-in leads to %s, not %s", to, s.URL)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = url.Values{}
	for name, v := range got {
		a.asked.Set(name, v)
	}
}

// comeBack returns to the callback as recorded, with changes applied, and returns the
// page's error word.
func (a *attempt) comeBack(changes map[string]string) string {
	a.t.Helper()
	back := a.back
	switch {
	case a.rec.Protocol == "oauth1":
		back = a.callback
	case a.rec.Protocol == "openid2":
		back = a.asked.Get("openid.return_to")
	case a.rec.Authorize.Return != "":
		back = a.asked.Get(a.rec.Authorize.Return)
	}
	to, err := url.Parse(back)
	if err != nil || !strings.HasPrefix(back, a.back) {
		a.t.Fatalf("the provider would send people to %s", back)
	}
	answer := a.response()
	maps.Copy(answer, changes)
	v := to.Query()
	for name, s := range answer {
		if v.Del(name); s != "" {
			v.Set(name, string(a.fill([]byte(s))))
		}
	}
	signCallback(v)
	a.last = to.Path + "?" + v.Encode()
	if a.asked.Get("response_mode") == "form_post" {
		return errorOf(a.t, a.formPost(to.Path, v))
	}
	return errorOf(a.t, a.do(http.MethodGet, a.last, nil))
}

// response returns the parameters that the provider sends through the browser.
func (a *attempt) response() map[string]string {
	switch a.rec.Protocol {
	case "oauth1":
		return map[string]string{"oauth_token": a.issuedLast(), "oauth_verifier": verifierGiven}
	case "openid2":
		return a.assertion()
	}
	answer := map[string]string{"code": codeGiven}
	if !a.rec.Authorize.NoState {
		answer["state"] = a.asked.Get("state")
	}
	maps.Copy(answer, a.rec.Callback)
	return answer
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)

// formPost posts from the provider's site, without cookies, then submits the page that
// answers.
func (a *attempt) formPost(path string, v url.Values) *browser.Answer {
	a.t.Helper()
	from, err := url.Parse(a.rec.Authorize.URL)
	if err != nil {
		a.t.Fatal(err)
	}
	first := a.request(http.MethodPost, path, v)
	first.Header.Set("Origin", "https://"+from.Host)
	w := httptest.NewRecorder()
	a.service.ServeHTTP(w, first)
	again := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(w.Body.String(), -1) {
		again.Add(html.UnescapeString(field[1]), html.UnescapeString(field[2]))
	}
	return a.do(http.MethodPost, path, again)
}

func (a *attempt) request(method, path string, form url.Values) *http.Request {
	r := httptest.NewRequestWithContext(a.t.Context(), method, origin+path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
	}
	return r
}

// do sends a request from the person's browser.
func (a *attempt) do(method, path string, form url.Values) *browser.Answer {
	a.t.Helper()
	r := a.request(method, path, form)
	r.RequestURI = "" // a client's request has none
	maps.Copy(r.Header, a.header)
	resp, err := a.browser.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp
}

// errorOf returns the error word of the page that an answer leads to, or "" if there is
// none.
func errorOf(t *testing.T, resp *browser.Answer) string {
	t.Helper()
	to, err := resp.Response.Location()
	if err != nil {
		t.Fatalf("status %d: %s", resp.StatusCode, resp.Text)
	}
	return to.Query().Get("error")
}
