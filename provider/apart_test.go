package provider_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"authsvc"
	"authsvc/internal/test/browser"
)

// badHost is the host of the provider that misbehaves.
const badHost = "bad.example"

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestApart checks that a provider that hangs, or answers nonsense, does not affect the
// others: people can sign in there while many wait for it.
func TestApart(t *testing.T) {
	t.Parallel()
	for name, hangs := range map[string]bool{"hangs": true, "nonsense": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := &authsvc.OAuth{ID: "bad", OpenID: true, Issuer: "https://" + badHost, Client: authsvc.Client{ID: "c", Secret: "s"}}
			a := newAttempt(t, entry(t, "gitlab"), firstCase(t, "gitlab"), bad)
			asked, release := make(chan struct{}, 1), make(chan struct{})
			a.bad = roundTripper(func(r *http.Request) (*http.Response, error) {
				select {
				case asked <- struct{}{}:
				default:
				}
				if hangs {
					<-release
				}
				return (&reply{http.StatusOK, "text/html", []byte("<title>Maintenance</title>")}).response(r), nil
			})
			var waiting sync.WaitGroup
			var unlock sync.Once
			free := func() { unlock.Do(func() { close(release) }); waiting.Wait() }
			defer free()
			for range 40 {
				ask := a.beginRequest("bad")
				waiting.Go(func() {
					w := httptest.NewRecorder()
					a.service.ServeHTTP(w, ask)
					if word := errorOf(t, &browser.Answer{Response: w.Result(), Text: w.Body.String()}); word != "OAuthSignin" {
						t.Errorf("at the bad one: %q", word)
					}
				})
			}
			<-asked
			a.start()
			if word := a.comeBack(nil); word != "" || a.stored == nil {
				t.Errorf("at the other: %q\n%s", word, a.log)
			}
			free()
		})
	}
}

// beginRequest returns a request that starts a sign-in at a provider.
func (a *attempt) beginRequest(id string) *http.Request {
	a.t.Helper()
	r := a.request(http.MethodPost, "/api/auth/signin/"+id, url.Values{"csrfToken": {a.csrf()}})
	for _, c := range a.browser.Client.Jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
	return r
}
