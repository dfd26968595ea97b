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

// SignedIn signs in as the user and returns the session cookie, for requests to
// a handler without the server:
//
//	r := httptest.NewRequest("GET", "/orders", nil)
//	r.AddCookie(authtest.SignedIn(t, auth, authsvc.User{ID: "7"}))
//
// A user whose ID or Email is in the store is that one, as stored. One who is
// not is stored as given if there is an ID; without an ID the engine makes the
// user when the identity provider says who it is, as at anybody's first sign-in.
// What tables of your own say about a person, roles for example, is looked up by
// your callbacks: give the user the ID that is in those tables.
//
// A sign-in that the engine refuses ends the test; see [Service.Refused]. So
// does a session that is too large for one cookie: use [Service.Client].
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

// Expired is [SignedIn] with a session that has ended because nobody used it. It
// waits for the end: about a second, or 16 where tokens are shared with NextAuth
// (Config.Compat with strategy jwt), which lets them live for 15 more.
func Expired(t testing.TB, s *Service, user authsvc.User) *http.Cookie {
	t.Helper()
	name := SignedIn(t, s, user).Name
	brief := s.config
	brief.Session.MaxAge, brief.Session.UpdateAge, brief.Session.AbsoluteMaxAge = time.Second, 0, time.Second
	auth, err := engine.New(brief) // on the same store, with the same secrets
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

// session returns whose session these cookies are, nil for nobody.
func (s *Service) session(t testing.TB, cookies ...*http.Cookie) *authsvc.Session {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, s.URL+"/", nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	session, err := s.Session(r)
	if err != nil {
		t.Fatalf("authtest: the session: %v", err)
	}
	return session
}

// Refused signs in as the user and returns the word of the error page that this
// leads to: AccessDenied if the SignIn callback refuses, for instance. It is ""
// if the callback leads elsewhere. Somebody who gets in ends the test.
func (s *Service) Refused(t testing.TB, user authsvc.User) authsvc.ErrorCode {
	t.Helper()
	v := s.signIn(t, s.Service, user)
	if v.in {
		t.Fatalf("authtest: %s was let in", described(user))
	}
	return authsvc.ErrorCode(v.location.Query().Get("error"))
}

// Submit posts a form to a route of the engine, such as "signin/email" or
// "signout", as its own pages do: with the CSRF token of the client. Read the
// response's Body to its end and close it.
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

// A visit is one way through the sign-in.
type visit struct {
	user     authsvc.User
	jar      http.CookieJar
	set      []*http.Cookie // by the answer to the callback
	location *url.URL       // where that led
	in       bool           // there is a session
}

func (v *visit) mustBeIn(t testing.TB) {
	t.Helper()
	if !v.in {
		t.Fatalf("authtest: %s was not let in: the sign-in led to %s; a test for that calls Refused", described(v.user), v)
	}
}

// String is where the sign-in led.
func (v *visit) String() string { return v.location.String() }

func described(u authsvc.User) string { return fmt.Sprintf("user %q", cmp.Or(u.ID, u.Email, u.Name)) }

// signIn goes through the sign-in of an engine, without a network: the redirect
// to the identity provider, its approval, and the callback.
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
		text, _ := io.ReadAll(io.LimitReader(res.Body, 200)) // for the message
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

// direct is a transport on which a handler answers every request.
type direct struct{ http.Handler }

// RoundTrip answers r.
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
