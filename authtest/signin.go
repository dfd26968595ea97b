package authtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine"
)

// SignedIn signs in as the user and returns the session cookie, for requests to a
// handler without the server:
//
//	r := httptest.NewRequest("GET", "/orders", nil)
//	r.AddCookie(authtest.SignedIn(t, auth, authsvc.User{ID: "7"}))
//
// If the user's ID or Email is in the store, the stored user signs in. Otherwise, a
// user with an ID is stored as given; without an ID the engine creates the user from
// the identity provider's claims, as at any first sign-in. If your callbacks look up
// data in your own tables, such as roles, give the user the ID that those tables have.
// The user's Extra is stored if Config.Adapter is a memory.Store with these columns;
// with any other store, the test fails.
//
// If the engine refuses the sign-in, the test fails at once; see [Service.Refused]. It
// also fails if the session is too large for one cookie: use [Service.Client].
func SignedIn(t testing.TB, s *Service, user authsvc.User) *http.Cookie {
	t.Helper()
	v := s.signIn(t, s.Service, user)
	v.mustBeIn(t)
	for _, c := range v.set {
		if s.session(t, c) != nil {
			return c
		}
	}
	t.Fatal("authtest: the session is in several cookies; use Client")
	return nil
}

// Expired is like [SignedIn], but the session has ended because it was not used. It
// waits for that end: about a second, or 16 if tokens are shared with NextAuth
// (Config.Compat with strategy jwt), which accepts them for 15 more.
func Expired(t testing.TB, s *Service, user authsvc.User) *http.Cookie {
	t.Helper()
	name := SignedIn(t, s, user).Name
	brief := s.config
	brief.Session.MaxAge, brief.Session.UpdateAge, brief.Session.AbsoluteMaxAge = time.Second, 0, time.Second
	auth, err := engine.New(brief) // with the same store and secrets
	if err != nil {
		t.Fatalf("authtest: %v", err)
	}
	defer end(t, auth)
	v := s.signIn(t, auth, user)
	for _, c := range v.set {
		if c.Name != name {
			continue
		}
		for s.session(t, c) != nil {
			time.Sleep(50 * time.Millisecond)
		}
		return c
	}
	t.Fatalf("authtest: no session: %s", v)
	return nil
}

// session returns the session of these cookies, nil if there is none.
func (s *Service) session(t testing.TB, cookies ...*http.Cookie) *authsvc.Session {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, s.URL+"/", nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	session, err := s.Session(r)
	if err != nil {
		t.Fatalf("authtest: cannot read the session: %v", err)
	}
	return session
}

// Refused signs in as the user and returns the error code of the page that the sign-in
// leads to, such as AccessDenied if the SignIn callback refuses. It returns "" if the
// callback redirects elsewhere. If the sign-in succeeds, the test fails at once.
func (s *Service) Refused(t testing.TB, user authsvc.User) authsvc.ErrorCode {
	t.Helper()
	v := s.signIn(t, s.Service, user)
	if v.in {
		t.Fatalf("authtest: %s could sign in", described(user))
	}
	return authsvc.ErrorCode(v.location.Query().Get("error"))
}

// Submit posts a form to a route of the engine, such as "signin/email" or "signout", as
// the engine's own pages do: with the client's CSRF token. Read the response's Body to
// its end and close it.
func (s *Service) Submit(t testing.TB, client *http.Client, route string, form url.Values) *http.Response {
	t.Helper()
	res, err := submit(client, s.BaseURL(), route, form)
	if err != nil {
		t.Fatalf("authtest: %v", err)
	}
	return res
}

func submit(client *http.Client, base, route string, form url.Values) (*http.Response, error) {
	res, err := client.Get(base + "/csrf")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var token struct{ CSRFToken string }
	if err := json.NewDecoder(res.Body).Decode(&token); err != nil {
		return nil, fmt.Errorf("GET csrf: %s: %w", res.Status, err)
	}
	sent := url.Values{"csrfToken": {token.CSRFToken}}
	for name, values := range form {
		sent[name] = values
	}
	return client.PostForm(base+"/"+route, sent)
}

// A visit is one pass through the sign-in.
type visit struct {
	user     authsvc.User
	jar      http.CookieJar
	set      []*http.Cookie // set by the answer to the callback
	location *url.URL       // where the callback led
	in       bool           // there is a session
}

func (v *visit) mustBeIn(t testing.TB) {
	t.Helper()
	if !v.in {
		t.Fatalf("authtest: %s could not sign in: the sign-in led to %s; if the test expects that, call Refused", described(v.user), v)
	}
}

// String returns where the sign-in led.
func (v *visit) String() string { return v.location.String() }

func described(u authsvc.User) string { return fmt.Sprintf("user %q", cmp.Or(u.ID, u.Email, u.Name)) }

// signIn runs the sign-in of an engine without a network: the redirect to the identity
// provider, its approval, and the callback.
func (s *Service) signIn(t testing.TB, auth *engine.Service, user authsvc.User) *visit {
	t.Helper()
	sub, err := s.introduce(t.Context(), user)
	if err != nil {
		t.Fatalf("authtest: %s: %v", described(user), err)
	}
	v := &visit{user: user, jar: newJar(t)}
	browser := &http.Client{Jar: v.jar, Transport: direct{auth}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if err := v.run(s, browser, sub); err != nil {
		t.Fatalf("authtest: %s: %v", described(user), err)
	}
	v.in = s.session(t, v.set...) != nil
	return v
}

func (v *visit) run(s *Service, browser *http.Client, sub string) error {
	res, err := submit(browser, s.BaseURL(), "signin/"+ProviderID, url.Values{"callbackUrl": {s.URL}})
	if err != nil {
		return err
	}
	to := res.Header.Get("Location")
	answer, err := s.idp.Approve(to, sub)
	if err != nil {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 200)) // for the error message
		return errors.Join(fmt.Errorf("POST signin/%s: %s %s %s", ProviderID, res.Status, to, text), err)
	}
	if res, err = browser.Get(answer.URL()); err != nil {
		return err
	}
	for _, c := range res.Cookies() {
		if c.Value != "" && c.MaxAge >= 0 {
			v.set = append(v.set, c)
		}
	}
	v.location, err = res.Request.URL.Parse(res.Header.Get("Location"))
	return err
}

// direct is a transport that passes every request to a handler.
type direct struct{ http.Handler }

// RoundTrip implements [http.RoundTripper].
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	in := httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), r.Body)
	in.Header = r.Header.Clone()
	in.ContentLength = r.ContentLength
	w := httptest.NewRecorder()
	d.ServeHTTP(w, in)
	res := w.Result()
	res.Request = r
	return res, nil
}
