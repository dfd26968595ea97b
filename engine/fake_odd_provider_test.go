package engine_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// An odd is an identity provider in memory that deviates from the standards. It answers
// 404 to requests for which the test has no answer.
type odd struct {
	mu      sync.Mutex
	asked   []*http.Request // with the body parsed in Form, and as text in PostForm["raw"]
	answers map[string]string
}

// newOdd returns a provider that answers with a token and a user. more adds or replaces
// answers: the keys are host and path. A value may begin with "Content-Type: …\n", or
// be "Location: …" for a redirect.
func newOdd(more map[string]string) *odd {
	o := &odd{answers: map[string]string{
		"odd.test/token":  `{"access_token":"the-token","token_type":"bearer"}`,
		"api.odd.test/me": `{"id":7,"name":"Ada"}`,
	}}
	for k, v := range more {
		o.answers[k] = v
	}
	return o
}

func (o *odd) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Form = url.Values{}
	if r.Body != nil {
		raw, _ := io.ReadAll(r.Body)
		r.Form, _ = url.ParseQuery(string(raw))
		r.PostForm = url.Values{"raw": {string(raw)}}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, r)
	body, ok := o.answers[r.URL.Host+r.URL.Path]
	w := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	switch {
	case !ok:
		w.StatusCode = http.StatusNotFound
	case strings.HasPrefix(body, "Location: "):
		w.StatusCode = http.StatusFound
		w.Header.Set("Location", strings.TrimPrefix(body, "Location: "))
		body = ""
	case strings.HasPrefix(body, "Content-Type: "):
		kind, rest, _ := strings.Cut(strings.TrimPrefix(body, "Content-Type: "), "\n")
		w.Header.Set("Content-Type", kind)
		body = rest
	}
	w.Body = io.NopCloser(strings.NewReader(body))
	return w, nil
}

// request returns the last request to a host and path, or nil.
func (o *odd) request(where string) *http.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := len(o.asked) - 1; i >= 0; i-- {
		if o.asked[i].URL.Host+o.asked[i].URL.Path == where {
			return o.asked[i]
		}
	}
	return nil
}

// count returns the number of requests to a host and path.
func (o *odd) count(where string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.asked {
		if r.URL.Host+r.URL.Path == where {
			n++
		}
	}
	return n
}

// hosts returns the hosts that got requests.
func (o *odd) hosts() map[string]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := map[string]bool{}
	for _, r := range o.asked {
		all[r.URL.Host] = true
	}
	return all
}

// oddClient returns the configuration of the provider, changed by tune.
func oddClient(tune func(*authsvc.OAuth)) *authsvc.OAuth {
	p := &authsvc.OAuth{ID: "odd", Client: authsvc.Client{ID: "odd-client", Secret: arena.ClientSecret},
		Endpoints: authsvc.Endpoints{
			Authorization: "https://odd.test/authorize",
			Token:         "https://odd.test/token",
			UserInfo:      "https://api.odd.test/me",
		},
		Fields: authsvc.Fields{ID: "id"}}
	if tune != nil {
		tune(p)
	}
	return p
}

// oddConfig returns the configuration of a service with p as its only provider.
func oddConfig(o *odd, p *authsvc.OAuth, logs *arena.LogBuffer) authsvc.Config {
	return authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Adapter: memory.New(), Providers: []authsvc.Provider{p},
		Outbound: authsvc.Outbound{DangerousTransport: o}, RateLimit: authsvc.RateLimit{Disabled: true},
		Logger: slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))}
}

// startOdd runs a service with o as its only provider.
func startOdd(t *testing.T, o *odd, tune func(*authsvc.OAuth)) *arena.World {
	t.Helper()
	w := &arena.World{T: t, Logs: &arena.LogBuffer{}}
	w.Config = oddConfig(o, oddClient(tune), w.Logs)
	w.Store = w.Config.Adapter
	var err error
	if w.Service, err = engine.New(w.Config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return w
}

// signInOdd signs in at the provider. more adds parameters to the callback, names and
// values in turn.
func signInOdd(w *arena.World, b *arena.Browser, more ...string) *browser.Answer {
	w.T.Helper()
	state := arena.MustURL(w.T, b.Begin("odd")).Query().Get("state")
	q := url.Values{"code": {"the-code"}, "state": {state}}
	for i := 0; i+1 < len(more); i += 2 {
		q.Add(more[i], more[i+1])
	}
	return b.Get("/api/auth/callback/odd?" + q.Encode())
}

// oddUser signs a person in and returns the session's user, or nil if the sign-in was
// refused.
func oddUser(w *arena.World, more ...string) map[string]any {
	w.T.Helper()
	b := w.Browser()
	signInOdd(w, b, more...)
	user, _ := b.Session()["user"].(map[string]any)
	return user
}
