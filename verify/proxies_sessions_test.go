package verify

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	"authsvc/internal/test/proxytest"
)

// cookies11 sends the largest session through each proxy, together with all cookies
// that sign-in attempts leave: one session cookie with the documented proxy, five
// with its settings for large sessions. A provider's picture of 4 KB does not make a
// session larger than the documented proxy permits.
func cookies11(t *T) {
	var pad atomic.Int64
	w := t.Enter(func(c *authsvc.Config) {
		c.URL, c.Session.Strategy = site, "jwt"
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			p.Claims["pad"] = strings.Repeat("x", int(pad.Load()))
			return p.Claims, nil
		}
	})
	mux := http.NewServeMux()
	mux.Handle("/", w)
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {}) // HAProxy's health check
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	eachProxy(t, func(t *T, program string, blocks []string) {
		t.Run("a picture", func(t *T) {
			pictured(t, w, &pad, program, proxytest.Start(t, program, proxytest.Options{Site: blocks[0], Backend: server.Listener.Addr().String()}))
		})
		for _, chunks := range []int{1, 5} {
			t.Run(fmt.Sprintf("%d cookies", chunks), func(t *T) {
				o := proxytest.Options{Site: blocks[0], Backend: server.Listener.Addr().String()}
				pad.Store(int64(largestPad(t, w, &pad, chunks)))
				if chunks > 1 && len(blocks) > 1 {
					if _, err := largeJourney(t, w, proxytest.Start(t, program, o)); err == nil {
						t.Error("the settings for large sessions are not needed")
					}
					o.Site, o.Outer = strings.Replace(o.Site, "proxy_buffer_size 8k;", "", 1), blocks[1]
				}
				bytes, err := largeJourney(t, w, proxytest.Start(t, program, o))
				if err != nil {
					t.Error(err)
				}
				t.Figure("%s: %d cookies, Cookie header of %d bytes", program, chunks, bytes)
				if chunks == 1 && bytes > 8<<10 {
					t.Errorf("%d bytes", bytes)
				}
			})
		}
	})
}

// pictured signs people in through a documented proxy whose provider sends a picture as
// a data: URL. A picture that the JWT callback puts into the session is too large for
// the proxy.
func pictured(t *T, w *arena.World, pad *atomic.Int64, program string, p *proxytest.Proxy) {
	t.Helper()
	const size = 4 << 10 / 3 * 4 // of a picture of 4 KB in base64
	for _, image := range []string{"https://cdn.example/ada.png", "data:image/png;base64," + strings.Repeat("iVBO", size/4)} {
		w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) { c["picture"] = image }})
		pad.Store(0)
		v := browser.New(site, p.Transport("127.0.0.1"))
		if err := v.SignIn(w.OP, "ada"); err != nil {
			t.Errorf("%.40s: %v", image, err)
			continue
		}
		a, err := v.Get("/api/auth/session")
		if err != nil || a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "ada@example.com") || strings.Contains(a.Text, image) != strings.HasPrefix(image, "https") {
			t.Errorf("%.40s: %v %+v", image, err, a)
		}
	}
	pad.Store(size)
	if err := browser.New(site, p.Transport("127.0.0.1")).SignIn(w.OP, "ada"); err == nil && program == "nginx" {
		t.Error("twin: a session of two cookies passes, so the picture tests nothing")
	}
	w.OP.SetFault(idp.Fault{})
}

// largestPad returns how much a callback can add to a session that needs this many
// cookies.
func largestPad(t *T, w *arena.World, pad *atomic.Int64, chunks int) int {
	t.Helper()
	low, high := 0, 20_000 // fits, does not fit
	for high-low > 16 {
		middle := (low + high) / 2
		pad.Store(int64(middle))
		b := w.Browser()
		a := b.Login("ada")
		if n := len(b.SessionCookies()); n > 0 && n <= chunks && !strings.Contains(a.Location(), "error") {
			low = middle
		} else {
			high = middle
		}
	}
	return low - 300 // a user of the provider also has an image and a longer address
}

// largeJourney signs in, begins sign-ins of all other kinds, completes one, and reads
// the session, all through a proxy. It returns the size of the largest Cookie header.
func largeJourney(t *T, w *arena.World, p *proxytest.Proxy) (int, error) {
	v := browser.New(site, p.Transport("127.0.0.1"))
	largest := 0
	v.Client.Transport = watched{v.Client.Transport, func(r *http.Request) { largest = max(largest, len(r.Header.Get("Cookie"))) }}
	steps := []func() (*browser.Answer, error){
		func() (*browser.Answer, error) {
			return v.Post("/api/auth/callback/credentials", "username", "ada", "password", "right")
		},
		func() (*browser.Answer, error) { return v.Post("/api/auth/signin/op", "callbackUrl", "/a") },
		func() (*browser.Answer, error) { return v.Post("/api/auth/signin/op", "callbackUrl", "/b") },
		func() (*browser.Answer, error) { return v.Post("/api/auth/signin/email", "email", "ada@app.test") },
	}
	for i, step := range steps {
		if a, err := step(); err != nil || a.StatusCode != http.StatusFound || strings.Contains(a.Location(), "error") {
			return largest, fmt.Errorf("step %d: %+v, %w", i, a, err)
		}
	}
	if err := v.SignIn(w.OP, "ada"); err != nil {
		return largest, err
	}
	email, err := v.Email()
	if err == nil && email != "ada@example.com" {
		err = fmt.Errorf("signed in as %q", email)
	}
	return largest, err
}

// watched passes every request to a function.
type watched struct {
	http.RoundTripper
	see func(*http.Request)
}

// RoundTrip implements [http.RoundTripper].
func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	w.see(r)
	return w.RoundTripper.RoundTrip(r)
}

// sharedCache makes nginx a content delivery network. It stores every answer that
// Cache-Control permits, whatever cookies the request or the answer has, and ignores
// the query.
const sharedCache = `proxy_cache_path %s keys_zone=cdn:1m;
proxy_cache cdn;
proxy_cache_key $scheme$host$uri;
proxy_cache_methods GET HEAD;
proxy_cache_valid 200 301 302 404 1m;
proxy_ignore_headers Set-Cookie Vary;
add_header X-Cache $upstream_cache_status always;
`

// session15 makes two people use one shared cache.
func session15(t *T) {
	n := process.NewNeighbours(t, site+"/api/auth/callback/op")
	p := process.Serve(t, strings.Replace(n.YAML("trusted_proxies: [127.0.0.1/32]"), `"{origin}"`, site, 1), "AUTHSVC_STORAGE_URL=memory:")
	proxy := proxytest.Start(t, "nginx", proxytest.Options{Site: proxytest.Blocks(t, proxyPage, "nginx")[0], Backend: p.Addr, Outer: fmt.Sprintf(sharedCache, t.TempDir())})
	s := &proxied{p, n, proxy}
	ada, grace, nobody := s.visitor("127.0.0.2"), s.visitor("127.0.0.3"), s.visitor("127.0.0.4")
	signIn := func(v *browser.Browser, who string) {
		t.Helper()
		if err := v.SignIn(n.OP, who); err != nil {
			t.Fatal(err)
		}
	}
	are := func(want ...string) {
		t.Helper()
		for i, v := range []*browser.Browser{ada, grace, nobody} {
			if email, err := v.Email(); email != want[i] || err != nil {
				t.Errorf("visitor %d is %q, want %q; %v", i, email, want[i], err)
			}
		}
	}
	are("", "", "")
	signIn(ada, "ada")
	are("ada@example.com", "", "")
	signIn(grace, "grace")
	for range 3 {
		are("ada@example.com", "grace@example.com", "")
	}
	tokens := map[string]bool{}
	for _, v := range []*browser.Browser{ada, grace, nobody} {
		token, err := v.CSRF()
		if err != nil || tokens[token] {
			t.Errorf("a token is shared: %v", err)
		}
		tokens[token] = true
	}
	for _, path := range append(httpwirePaths, "/error?error=AccessDenied", "/callback/op?code=x&state=y", "/nothing") {
		for range 2 {
			for _, v := range []*browser.Browser{ada, nobody, grace} {
				a, err := v.Get("/api/auth" + path)
				if err != nil {
					t.Fatal(err)
				}
				if hit := a.Header.Get("X-Cache"); hit == "HIT" && !strings.HasSuffix(path, ".js") {
					t.Errorf("%s comes out of the cache", path)
				}
				if cc := a.Header.Get("Cache-Control"); path != "" && !strings.HasSuffix(path, ".js") && // nginx answers the first
					(!strings.Contains(cc, "no-store") || !strings.Contains(cc, "private")) {
					t.Errorf("%s: Cache-Control %q", path, cc)
				}
				if v != ada && strings.Contains(a.Text, "ada@") {
					t.Errorf("%s shows another user: %s", path, a.Text)
				}
			}
		}
	}
	if err := ada.SignOut(); err != nil {
		t.Fatal(err)
	}
	are("", "grace@example.com", "") // and going back shows no cached page
	if a, err := nobody.Get("/api/auth/client.js"); err != nil || a.Header.Get("X-Cache") != "HIT" {
		t.Errorf("twin: the cache keeps nothing: %v", err)
	}
}
