package authsvc_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/idp"
)

// inMemory carries requests to a provider without a network, so that time can
// be faked in a bubble. lost makes an endpoint's answers fail on the way.
type inMemory struct {
	op   *idp.Provider
	lost func(*http.Request) error
}

func (m *inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.lost != nil {
		if err := m.lost(r); err != nil {
			return nil, err
		}
	}
	done := make(chan *http.Response, 1)
	go func() {
		defer func() {
			if recover() != nil {
				done <- nil
			}
		}()
		in := r.Clone(r.Context())
		if in.Host, in.RequestURI = r.URL.Host, r.URL.RequestURI(); in.Body == nil {
			in.Body = http.NoBody
		}
		rec := httptest.NewRecorder()
		m.op.ServeHTTP(rec, in)
		done <- rec.Result()
	}()
	select {
	case a := <-done:
		if a == nil {
			return nil, io.ErrUnexpectedEOF
		}
		return a, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// offline is a world with an identity provider "op", with userinfo, and e-mail,
// in a bubble.
func offline(t *testing.T) (*world, *inMemory) {
	t.Helper()
	p, err := idp.New(idp.Options{Issuer: "https://op.test", Alg: "ES256",
		Clients: []idp.Client{{ID: "app", Secret: clientSecret, RedirectURIs: redirectURIs()}}})
	if err != nil {
		t.Fatal(err)
	}
	way := &inMemory{op: p}
	w := &world{t: t, op: &idp.Server{Provider: p}, mail: newOutbox(), logs: &logBuffer{}, store: memory.New()}
	w.config = authsvc.Config{
		URL: origin, Secrets: []string{testSecret}, Adapter: w.store,
		Logger:   slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Outbound: authsvc.Outbound{DangerousTransport: way},
		Providers: []authsvc.Provider{
			&authsvc.OAuth{ID: "op", Name: "Example", OpenID: true, UserInfoClaims: true, Issuer: p.Issuer(), Client: authsvc.Client{ID: "app", Secret: clientSecret}},
			&authsvc.Email{From: "Acme <no-reply@app.test>", Send: w.mail.send},
		},
	}
	w.config.RateLimit.Disabled = true
	if w.Service, err = authsvc.New(w.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(t.Context()) })
	return w, way
}

// nobody fails the test if a sign-in left a user behind.
func (w *world) nobody(t *testing.T) {
	t.Helper()
	if _, err := w.store.GetUserByAccount(t.Context(), "op", "ada"); !errors.Is(err, authsvc.ErrNotFound) {
		t.Errorf("a user was made: %v", err)
	}
}

// TestOutageEndsInTime: whatever endpoint misbehaves in whatever way, the person
// reads within 10 s that the sign-in failed, no user is made, no secret gets
// into the log, and when it is over the next try succeeds.
func TestOutageEndsInTime(t *testing.T) {
	t.Parallel()
	late := func(d time.Duration) idp.Fault {
		f := idp.Fault{Delay: map[idp.Endpoint]time.Duration{}}
		for _, e := range []idp.Endpoint{idp.EndpointDiscovery, idp.EndpointJWKS, idp.EndpointToken, idp.EndpointUserInfo} {
			f.Delay[e] = d
		}
		return f
	}
	one := func(e idp.Endpoint, d time.Duration) idp.Fault {
		return idp.Fault{Delay: map[idp.Endpoint]time.Duration{e: d}}
	}
	drop := func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
	for name, c := range map[string]struct {
		fault idp.Fault
		warm  bool // metadata came before
		word  string
		token int // requests of the token endpoint
	}{
		"discovery hangs":        {one(idp.EndpointDiscovery, time.Hour), false, "OAuthSignin", 0},
		"discovery is gone":      {idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointDiscovery: 503}}, false, "OAuthSignin", 0},
		"token endpoint hangs":   {one(idp.EndpointToken, time.Hour), true, "OAuthCallback", 1},
		"token endpoint breaks":  {idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{idp.EndpointToken: drop}}, true, "OAuthCallback", 1},
		"token endpoint 503":     {idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointToken: 503}}, true, "OAuthCallback", 1},
		"keys hang":              {one(idp.EndpointJWKS, time.Hour), true, "OAuthCallback", 1},
		"keys are gone":          {idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointJWKS: 500}}, true, "OAuthCallback", 1},
		"userinfo hangs":         {one(idp.EndpointUserInfo, time.Hour), true, "OAuthCallback", 1},
		"userinfo 500":           {idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointUserInfo: 500}}, true, "OAuthCallback", 1},
		"userinfo breaks":        {idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{idp.EndpointUserInfo: drop}}, true, "OAuthCallback", 1},
		"all are slow, together": {late(4 * time.Second), true, "OAuthCallback", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, _ := offline(t)
				b := w.browser()
				back, token := "", ""
				if c.warm {
					back = b.approve(w.op, b.begin("op"), "ada")
				}
				fault := c.fault
				fault.TokenAnswer = func(a map[string]any) { token, _ = a["access_token"].(string) }
				w.op.SetFault(fault)
				begin := time.Now()
				a := w.firstAnswer(b, back)
				if d := time.Since(begin); d > 10*time.Second {
					t.Errorf("the answer took %v", d)
				}
				if !strings.Contains(a.location(), "error="+c.word) || len(sessionCookies(b)) > 0 {
					t.Errorf("%d %s %v", a.StatusCode, a.location(), sessionCookies(b))
				}
				if page := b.get(b.get(a.location()).location()); page.StatusCode != 200 || !strings.Contains(page.body, `action="`+origin+`/api/auth/signin/op"`) {
					t.Errorf("no way to try again: %d", page.StatusCode)
				}
				if n := w.op.Calls(idp.EndpointToken); n != c.token {
					t.Errorf("%d token requests", n)
				}
				w.nobody(t)
				w.noSecrets(t, token, back)
				w.op.SetFault(idp.Fault{})
				time.Sleep(6 * time.Second)
				if a := b.signIn(w.op, "ada"); a.location() != origin {
					t.Errorf("the next try: %s\n%s", a.location(), w.logs)
				}
			})
		})
	}
}

// firstAnswer begins a sign-in, or ends the one that led to back.
func (w *world) firstAnswer(b *browser, back string) *answer {
	if back == "" {
		return b.post("/api/auth/signin/op")
	}
	return b.get(back)
}

// noSecrets looks in the log for a token and for what is in a callback.
func (w *world) noSecrets(t *testing.T, token, back string) {
	t.Helper()
	q := mustURL(t, back).Query()
	for _, secret := range []string{clientSecret, token, q.Get("code"), q.Get("state")} {
		if secret != "" && strings.Contains(w.logs.String(), secret) {
			t.Errorf("%q is in the log:\n%s", secret, w.logs)
		}
	}
}

// TestOutageOfOneProvider: while one hangs, the others and the start of a
// service are as quick as ever.
func TestOutageOfOneProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _ := offline(t) // with a provider that nobody has asked anything yet
		b := w.browser()
		to := make([]string, 1000)
		others := make([]*browser, len(to))
		for i := range to {
			others[i] = w.browser()
			to[i] = others[i].approve(w.op, others[i].begin("op"), "ada")
		}
		w.op.SetFault(idp.Fault{Delay: map[idp.Endpoint]time.Duration{idp.EndpointToken: time.Hour}})
		done := make(chan *answer, len(to))
		begin := time.Now()
		for i, back := range to {
			go func() { done <- others[i].get(back) }()
		}
		time.Sleep(time.Second)
		asked := time.Now()
		if a := b.signInByMail(w, "ada@app.test"); a.location() != origin || time.Since(asked) > 100*time.Millisecond {
			t.Errorf("mail meanwhile: %s after %v", a.location(), time.Since(asked))
		}
		soon := 0
		for range to {
			if a := <-done; !strings.Contains(a.location(), "error=OAuthCallback") {
				t.Errorf("%s", a.location())
			}
			if time.Since(begin) < 3*time.Second {
				soon++
			}
		}
		if d := time.Since(begin); d > 10*time.Second || soon < 900 {
			t.Errorf("all were answered after %v, %d soon", d, soon)
		}
		if n := w.op.Calls(idp.EndpointToken); n > 64 {
			t.Errorf("%d token requests", n)
		}
		w.nobody(t)
	})
}

// TestClockHint: what clocks that differ do is told in the log.
func TestClockHint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		off  time.Duration // the provider's clock
		want string
	}{
		"30 s ahead":  {30 * time.Second, ""},
		"30 s behind": {-30 * time.Second, ""},
		"2 min ahead": {2 * time.Minute, "issued in the future, by 2m0s: clocks differ"},
		"2 h behind":  {-2 * time.Hour, "expired 1h0m0s ago by the clock of this machine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, _ := offline(t)
				w.op.SetFault(idp.Fault{IDToken: func(claims map[string]any) {
					at := time.Now().Add(c.off)
					claims["iat"], claims["exp"] = at.Unix(), at.Add(time.Hour).Unix()
				}})
				a := w.browser().signIn(w.op, "ada")
				if c.want == "" {
					if a.location() != origin {
						t.Errorf("%s\n%s", a.location(), w.logs)
					}
					return
				}
				if !strings.Contains(a.location(), "error=OAuthCallback") || !strings.Contains(w.logs.String(), c.want) {
					t.Errorf("%s\n%s", a.location(), w.logs)
				}
				w.nobody(t)
			})
		})
	}
}

// TestLongValues: what a browser sends does not make requests to a provider
// long.
func TestLongValues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _ := offline(t)
		for n, passes := range map[int]bool{512: true, 513: false, 64 << 10: false} {
			hint := strings.Repeat("h", n)
			a := w.browser().post("/api/auth/signin/op?login_hint=" + hint)
			if !strings.HasPrefix(a.location(), w.op.Issuer()) || strings.Contains(a.location(), hint) != passes {
				t.Errorf("login_hint of %d bytes: %.200s", n, a.location())
			}
		}
		for n, passes := range map[int]bool{4096: true, 4097: false, 64 << 10: false} {
			b := w.browser()
			before := w.op.Calls(idp.EndpointToken)
			back := mustURL(t, b.approve(w.op, b.begin("op"), "ada"))
			q := back.Query()
			q.Set("code", strings.Repeat("c", n))
			back.RawQuery = q.Encode()
			if a := b.get(back.String()); !isRefusal(a) || w.op.Calls(idp.EndpointToken)-before != map[bool]int{true: 1}[passes] {
				t.Errorf("code of %d bytes: %d %s", n, a.StatusCode, a.location())
			}
		}
	})
}

// TestStaleKeysAreTold: with keys at hand sign-ins go on for a day, and the log
// says once that it will not be longer.
func TestStaleKeysAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const line = "the keys of a provider cannot be read"
		w, _ := offline(t)
		w.browser().signIn(w.op, "ada")
		w.op.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointJWKS: 500}})
		for _, c := range []struct {
			wait time.Duration
			told int
			ok   bool
		}{{30 * time.Minute, 0, true}, {time.Hour, 1, true}, {20 * time.Hour, 1, true}, {3 * time.Hour, 1, false}} {
			time.Sleep(c.wait)
			a := w.browser().signIn(w.op, "ada")
			synctest.Wait()
			if n := strings.Count(w.logs.String(), line); n != c.told || (a.location() == origin) != c.ok {
				t.Errorf("%v later: %s, told %d times", c.wait, a.location(), n)
			}
		}
		if strings.Contains(w.logs.String(), "the metadata of a provider") {
			t.Error("metadata, which came, is said to be old")
		}
	})
}
