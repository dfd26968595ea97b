package verify

import (
	"cmp"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"authsvc/internal/test/arena"
	"authsvc/internal/test/chromium"
	"authsvc/internal/test/sites"
)

// brokenInChromium checks that a person with a real browser behind nginx reaches the
// same pages.
func brokenInChromium(t *T) {
	most := 0
	for name, broken := range brokenGates() {
		t.Run(name, func(t *T) {
			dir := t.TempDir()
			tune := gateTune{yaml: broken.yaml}
			for _, text := range broken.proxies["nginx"] {
				tune.proxy = append(tune.proxy, strings.Replace(text, "{cache}", dir, 1))
			}
			c := &circling{T: t, gatedSite: startGated(t, "nginx", tune), broken: broken}
			most = max(most, c.walk())
		})
	}
	t.Figure("%d redirects at most in Chromium", most)
}

// circling is a person at a broken gate.
type circling struct {
	*T
	*gatedSite
	broken    brokenGate
	redirects atomic.Int64
}

// walk opens a page behind the gate and returns the number of redirects.
func (c *circling) walk() int {
	c.Helper()
	b := c.open()
	if !c.broken.nobody {
		b.Open(site + "/dash") // what a cache keeps
		b.Open(site + "/api/auth/gate/start?to=%2Fdash")
		page := cmp.Or(c.broken.login, site) + "/api/auth/signin"
		b.Open(page + "?callbackUrl=" + url.QueryEscape(page))
		b.Click(".p-op button")
		c.choose(b, page)
	}
	c.redirects.Store(0)
	at := site
	if c.broken.byHTTP {
		at = strings.Replace(site, "https", "http", 1)
	}
	b.Open(at + "/dash")
	redirects := int(c.redirects.Load())
	if c.broken.presses {
		b.Click(".p-op button")
		b.Wait(`document.readyState === "complete" && (location.search.includes("csrf=true") || location.origin === ` + chromium.Quote(c.OP.Issuer()) + `)`)
		if strings.HasPrefix(b.URL(), c.OP.Issuer()) {
			c.choose(b, site+"/dash")
		}
	}
	status, says := c.broken.status, c.broken.says
	if c.broken.inChromium != nil {
		status, says = c.broken.inChromium.status, c.broken.inChromium.says
	}
	if got := chromium.Eval[int](b, `performance.getEntriesByType("navigation")[0].responseStatus`); got != status || !strings.Contains(b.Text(), says) || redirects > 6 {
		c.Errorf("%s after %d redirects: %d\n%.1500s", b.URL(), redirects, got, b.Text())
	}
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(c.Logs.String(), c.broken.logs); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Errorf("the log does not say %q", c.broken.logs)
			break
		}
	}
	return redirects
}

// choose chooses Ada at the provider.
func (c *circling) choose(b *chromium.Tab, to string) {
	c.Helper()
	b.At(c.OP.Issuer())
	b.Click(`button[name=person][value="ada"]`)
	b.At(to)
}

// open returns a browser that connects to the proxy for all hosts.
func (c *circling) open() *chromium.Tab {
	c.Helper()
	hosts := sites.Start(c.T)
	pass := &httputil.ReverseProxy{Transport: c.proxy.Transport("127.0.0.1"), ModifyResponse: c.came, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "https", Host: "app.example.com"})
		r.Out.Host = r.In.Host
	}}
	for _, origin := range []string{site, loginSite, strings.Replace(site, "https", "http", 1)} {
		hosts.Serve(origin, pass)
	}
	return tabAt(c.T, hosts)
}

var expiry = regexp.MustCompile(`Expires=([^;]*)`)

// came counts redirects and sets the service's clock back.
func (c *circling) came(res *http.Response) error {
	if res.StatusCode == http.StatusFound {
		c.redirects.Add(1)
	}
	if !c.broken.behind {
		return nil
	}
	res.Header.Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
	for i, line := range res.Header["Set-Cookie"] {
		res.Header["Set-Cookie"][i] = expiry.ReplaceAllStringFunc(line, func(part string) string {
			end, err := http.ParseTime(strings.TrimPrefix(part, "Expires="))
			if err != nil || end.Unix() <= 0 {
				return part
			}
			return "Expires=" + end.Add(-time.Hour).UTC().Format(http.TimeFormat)
		})
	}
	return nil
}

// threeInChromium checks that one sign-in counts at three registrable domains over TLS,
// and that one sign-out ends it at all of them.
func threeInChromium(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(atThreeHosts(strategy))
		hosts, gate := sites.Start(t), w.Guard(http.HandlerFunc(tells))
		for _, origin := range append([]string{arena.Origin}, threeHosts...) {
			hosts.Serve(origin, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/api/auth/") {
					w.ServeHTTP(rw, r)
					return
				}
				gate.ServeHTTP(rw, r)
			}))
		}
		b := tabAt(t, hosts)
		b.Open(threeHosts[0] + "/a?b=c")
		b.Click(".p-op button")
		b.At(w.OP.Issuer())
		b.Click(`button[name=person][value="ada"]`)
		b.At(threeHosts[0] + "/a?b=c")
		for _, origin := range threeHosts {
			if b.Open(origin + "/"); b.URL() != origin+"/" || !strings.Contains(b.Text(), "for ada@example.com") {
				t.Errorf("%s: at %s: %.300s", origin, b.URL(), b.Text())
			}
			if kept := b.Cookies(origin); kept[gateCookie] == "" || kept["__Host-authsvc.session"] != "" {
				t.Errorf("%s keeps %v", origin, kept)
			}
		}
		if n := w.TokenCalls(); n != 1 {
			t.Errorf("the provider was asked %d times", n)
		}
		b.Open(threeHosts[1] + "/api/auth/gate/leave")
		b.At(arena.Origin + "/api/auth/signout")
		b.Click("form[action$='/signout'] button")
		b.At(arena.Origin + "/api/auth/signin")
		for _, origin := range threeHosts {
			for deadline := time.Now().Add(within(10 * time.Second)); ; time.Sleep(50 * time.Millisecond) { // jwt: until the next poll
				if b.Open(origin + "/"); strings.HasPrefix(b.URL(), arena.Origin+"/api/auth/signin") {
					break
				}
				if strategy == "database" || time.Now().After(deadline) {
					t.Fatalf("%s after the sign-out: at %s: %.300s", origin, b.URL(), b.Text())
				}
			}
		}
	})
}
