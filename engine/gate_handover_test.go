package engine_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/test/arena"
)

const (
	wiki     = "https://wiki.example"
	shop     = "https://shop.test:8443"
	gateName = "__Host-authsvc.gate"
	wayName  = "__Host-authsvc.gate-tx."
)

// manyHosts has programs at hosts of other registrable domains than the login host.
func manyHosts(c *authsvc.Config) {
	c.Session.Claims = map[string]string{"groups": "groups", "floor": "floor", "desk": "desk"}
	c.Callbacks.Claims = func(context.Context, authsvc.SignInAttempt, authsvc.Claims) (authsvc.Claims, error) {
		return authsvc.Claims{"groups": []any{"ops"}, "floor": "3", "desk": "7"}, nil
	}
	rules := []authsvc.GateRule{
		{Match: "/open/", Allow: authsvc.Allow{Anyone: true}},
		{Match: "/third/", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{Claims: map[string][]string{"floor": {"3"}}}}}},
		{Match: "/ops/", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{Groups: []string{"ops"}, Domains: []string{"example.com"}}}}},
		{Match: "/closed/", Allow: authsvc.Allow{Nobody: true}},
		{Match: "/fresh/", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{MaxAge: time.Nanosecond}}}},
	}
	c.Gate.Hosts = []authsvc.GateHost{{Origin: wiki, Rules: rules}, {Origin: shop, Rules: rules}, {Origin: "https://*.apps.test"}}
}

func newRoamer(w *arena.World) *arena.Roamer { return w.Roam(http.HandlerFunc(echo)) }

// TestHandOver checks that one sign-in covers hosts that cookies do not reach. Entering
// them needs no interaction, and a sign-out ends all.
func TestHandOver(t *testing.T) {
	t.Parallel()
	strategies(t, manyHosts, func(t *testing.T, w *arena.World) {
		w.T = t
		p := newRoamer(w)
		first := p.Walk(wiki + "/dash?a=b&c=d")
		if !strings.HasPrefix(first.Location(), arena.Origin+"/api/auth/signin?callbackUrl="+url.QueryEscape(arena.Origin+"/api/auth/gate/authorize?host=wiki.example&challenge=")) {
			t.Fatalf("without a session: %d %s", first.StatusCode, first.Location())
		}
		firstAttempt := "" // which is left behind
		for firstAttempt = range p.At(wiki).Cookies {
		}
		a := p.SignIn(wiki + "/dash?a=b&c=d")
		if a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "ada@example.com") || !strings.HasSuffix(p.Trace[len(p.Trace)-1], wiki+"/dash?a=b&c=d") {
			t.Fatalf("after the sign-in: %d %s\n%s\n%s", a.StatusCode, a.Text, strings.Join(p.Trace, "\n"), w.Logs)
		}
		for _, address := range []string{shop + "/ops/", "https://one.apps.test/", "https://two.apps.test/x", wiki + "/third/"} {
			if a := p.Walk(address); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "ada@example.com") || !strings.Contains(a.Text, "Ada%20Lovelace") || len(p.Trace) > 6 {
				t.Errorf("%s: %d %s\n%s", address, a.StatusCode, a.Text, strings.Join(p.Trace, "\n"))
			}
		}
		delete(p.At(wiki).Cookies, firstAttempt)
		for origin, b := range p.All() {
			if names := slices.Sorted(maps.Keys(b.Cookies)); origin != arena.Origin && (len(names) != 1 || names[0] != gateName) {
				t.Errorf("%s has the cookies %q", origin, names)
			}
			if len(b.Cookies[gateName])+len(gateName) > 4096 || b.Cookies[gateName] != "" && origin == arena.Origin {
				t.Errorf("%s: a cookie of %d bytes", origin, len(b.Cookies[gateName]))
			}
		}
		p.At(arena.Origin).Post("/api/auth/signout")
		for _, address := range []string{wiki + "/dash", shop + "/dash", "https://one.apps.test/"} {
			if a := p.Open(address); a.StatusCode != http.StatusFound || !strings.Contains(a.Location(), "/gate/start?to=") {
				t.Errorf("after the sign-out: %s: %d %s", address, a.StatusCode, a.Text)
			}
		}
		if a := p.Open(wiki + "/open/"); a.StatusCode != http.StatusOK || strings.Contains(a.Text, "ada@") {
			t.Errorf("what is open: %d %s", a.StatusCode, a.Text)
		}
	})
}

// TestHandOverRefuses checks that a code is accepted once, at its host, in the browser
// that began, in time and unchanged.
func TestHandOverRefuses(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		for name, bad := range map[string]struct {
			spoil  func(p *arena.Roamer, enter string) string // returns the address that is opened instead
			reason string
		}{
			"unchanged": {func(_ *arena.Roamer, enter string) string { return enter }, ""},
			"replayed":  {func(p *arena.Roamer, enter string) string { p.Open(enter); return enter }, "did not begin"},
			"replayed with its cookie": {func(p *arena.Roamer, enter string) string {
				kept := maps.Clone(p.At(wiki).Cookies)
				p.Open(enter)
				p.At(wiki).Cookies = kept
				return enter
			}, "used before"},
			"another browser": {func(p *arena.Roamer, enter string) string { p.At(wiki).Cookies = map[string]string{}; return enter }, "did not begin"},
			"an attempt of another browser": {func(p *arena.Roamer, enter string) string {
				other := newRoamer(p.World)
				other.UpTo("gate/authorize", wiki+"/dash")
				mine, theirs := "", ""
				for name := range p.At(wiki).Cookies {
					mine = name
				}
				for _, v := range other.At(wiki).Cookies {
					theirs = v
				}
				p.At(wiki).Cookies = map[string]string{mine: theirs}
				return enter
			}, "did not begin"},
			"another host": {func(p *arena.Roamer, enter string) string {
				p.At(shop).Cookies = p.At(wiki).Cookies
				return strings.Replace(enter, wiki, shop, 1)
			}, "another host"},
			"forged":  {func(_ *arena.Roamer, enter string) string { return enter[:len(enter)-6] + "AAAAAA" }, "not made here"},
			"none":    {func(_ *arena.Roamer, enter string) string { return wiki + "/api/auth/gate/enter" }, "not made here"},
			"doubled": {func(_ *arena.Roamer, enter string) string { return enter + "&" + arena.MustURL(t, enter).RawQuery }, "not made here"},
			"the attempt as the code": {func(p *arena.Roamer, _ string) string {
				return wiki + "/api/auth/gate/enter?code=" + firstOf(p.At(wiki).Cookies)
			}, "not made here"},
			"signed out": {func(p *arena.Roamer, enter string) string { p.At(arena.Origin).Post("/api/auth/signout"); return enter }, "has ended"},
			"the store fails, then recovers": {func(p *arena.Roamer, enter string) string {
				p.Ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
				if a := p.Open(enter); a.StatusCode != http.StatusServiceUnavailable || p.At(wiki).Cookies[gateName] != "" {
					p.T.Errorf("without the store: %d", a.StatusCode)
				}
				p.Ledger.BreakAt(nil)
				return enter
			}, "did not begin"},
		} {
			t.Run(string(strategy)+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := arena.Enter(t, func(c *authsvc.Config) { c.Session.Strategy = strategy; manyHosts(c) })
				p := newRoamer(w)
				if a := p.At(arena.Origin).SignIn(w.OP, "ada"); a.StatusCode != http.StatusFound {
					t.Fatal(a.Text)
				}
				address := bad.spoil(p, p.UpTo("gate/enter", wiki+"/dash"))
				delete(p.At(wiki).Cookies, gateName)
				a := p.Open(address)
				at := arena.OriginOf(t, address)
				if bad.reason == "" {
					if a.StatusCode != http.StatusFound || a.Location() != wiki+"/api/auth/gate/landed?to=%2Fdash" || p.At(at).Cookies[gateName] == "" || len(p.At(at).Cookies) != 1 {
						t.Errorf("%d %s %v\n%s", a.StatusCode, a.Location(), p.At(at).Cookies, w.Logs)
					}
					return
				}
				if a.StatusCode != http.StatusBadRequest || p.At(at).Cookies[gateName] != "" || !strings.Contains(w.Logs.String(), "gate.enter_refused") || !strings.Contains(w.Logs.String(), bad.reason) {
					t.Errorf("%d %v\n%s", a.StatusCode, p.At(at).Cookies, w.Logs)
				}
				if !strings.Contains(a.Text, `href="`+at+"/") || !strings.Contains(a.Text, "not signed in here yet") {
					t.Errorf("the page leads nowhere:\n%s", a.Text)
				}
			})
		}
	}
}

func firstOf(m map[string]string) string {
	for _, v := range m {
		return v
	}
	return ""
}

// TestHandOverAsked checks which requests the login host answers with a code.
func TestHandOverAsked(t *testing.T) {
	t.Parallel()
	w := arena.Enter(t, manyHosts)
	p := newRoamer(w)
	p.At(arena.Origin).SignIn(w.OP, "ada")
	const challenge = "bFL8vBkMFXsFKcmgOe1RBi2OGkwNhdtWbVm-4ro5HBY"
	for name, tt := range map[string]struct {
		query, header string
		status        int
	}{
		"asked":                             {"host=wiki.example&challenge=" + challenge, "", 302},
		"in upper case":                     {"host=WIKI.example&challenge=" + challenge, "", 302},
		"with a port":                       {"host=shop.test:8443&challenge=" + challenge, "", 302},
		"without its port":                  {"host=shop.test&challenge=" + challenge, "", 400},
		"below a wildcard":                  {"host=x.apps.test&challenge=" + challenge, "", 302},
		"two levels below":                  {"host=x.y.apps.test&challenge=" + challenge, "", 400},
		"not configured":                    {"host=evil.test&challenge=" + challenge, "", 400},
		"the login host":                    {"host=app.test&challenge=" + challenge, "", 400},
		"no host":                           {"challenge=" + challenge, "", 400},
		"two hosts":                         {"host=wiki.example&host=evil.test&challenge=" + challenge, "", 400},
		"an address":                        {"host=https://wiki.example&challenge=" + challenge, "", 400},
		"no challenge":                      {"host=wiki.example", "", 400},
		"a short challenge":                 {"host=wiki.example&challenge=" + challenge[1:], "", 400},
		"another spelling of the challenge": {"host=wiki.example&challenge=" + challenge[:42] + "Z", "", 400},
		"a prefetch":                        {"host=wiki.example&challenge=" + challenge, "Sec-Purpose", 503},
		"a script":                          {"host=wiki.example&challenge=" + challenge, "X-Requested-With", 403},
	} {
		header := []string{}
		switch tt.header {
		case "Sec-Purpose":
			header = []string{"Sec-Purpose", "prefetch"}
		case "X-Requested-With":
			r := httptest.NewRequest("GET", arena.Origin+"/api/auth/gate/authorize?"+tt.query, nil)
			if a := p.At(arena.Origin).Do(r); a.StatusCode != tt.status {
				t.Errorf("%s: %d", name, a.StatusCode)
			}
			continue
		}
		a := p.Open(arena.Origin+"/api/auth/gate/authorize?"+tt.query, header...)
		if a.StatusCode != tt.status || (a.StatusCode == 302) != strings.Contains(a.Location(), "/api/auth/gate/enter?code=") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Location())
		}
	}
	w.Ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
	if a := p.Open(arena.Origin + "/api/auth/gate/authorize?host=wiki.example&challenge=" + challenge); w.Config.Session.Strategy == authsvc.StrategyDatabase && a.StatusCode != 503 {
		t.Errorf("without the store: %d", a.StatusCode)
	}
}

// TestHandOverLeads checks that to= leads only to a path of the same host.
func TestHandOverLeads(t *testing.T) {
	t.Parallel()
	w := arena.Enter(t, manyHosts)
	p := newRoamer(w)
	p.SignIn(wiki + "/dash")
	for _, to := range []string{"//evil.test", `/\evil.test`, `\\evil.test`, "https://evil.test", "javascript:alert(1)", "/\t/evil.test", "/%0d%0aSet-Cookie:x=y", "///evil.test", "evil.test", "@evil.test", ".evil.test", ":1@evil.test", "", "/.//evil.test", "http:evil.test", "/%2f/evil.test", "/a\r\nLocation: https://evil.test", "/" + strings.Repeat("x", 4000)} {
		for _, route := range []string{"gate/start", "gate/start?signin=true", "gate/landed", "gate/leave"} {
			for _, signedIn := range []bool{true, false} {
				q := newRoamer(w)
				if signedIn && route != "gate/leave" {
					q.At(wiki).Cookies = maps.Clone(p.At(wiki).Cookies)
				}
				a := q.Open(weburl.WithQuery(wiki+"/api/auth/"+route, "to", to))
				at := a.Location()
				u, err := url.Parse(at)
				if err != nil || a.Header.Get("X") != "" || at != "" && u.Host != "wiki.example" && u.Host != "app.test" {
					t.Errorf("%s %q: %d %s", route, to, a.StatusCode, at)
				}
				if back := u.Query().Get("callbackUrl"); back != "" && !strings.HasPrefix(back, wiki+"/api/auth/gate/start?to=%2F") {
					t.Errorf("%s %q leads back to %s", route, to, back)
				}
			}
		}
	}
	if a := p.Open(wiki + "/api/auth/gate/landed?to=%2Fdash%3Fa%3Db"); a.Location() != wiki+"/dash?a=b" {
		t.Errorf("landed: %s", a.Location())
	}
	if a := p.Open(wiki + "/api/auth/gate/leave?to=/dash"); a.Location() != arena.Origin+"/api/auth/signout?callbackUrl="+url.QueryEscape(wiki+"/api/auth/gate/start?to=%2Fdash") || p.At(wiki).Cookies[gateName] != "" {
		t.Errorf("leave: %s", a.Location())
	}
}

// TestHandOverAttempts checks that a browser keeps five attempts, and the Cookie header
// stays short. A cookie that does not open, such as another service's, is left alone
// until room is needed.
func TestHandOverAttempts(t *testing.T) {
	t.Parallel()
	w := arena.Enter(t, manyHosts)
	p := newRoamer(w)
	var ways []string
	for i := range 7 {
		ways = append(ways, p.UpTo("gate/authorize", wiki+"/api/auth/gate/start?to=/"+strings.Repeat("x", i+1)))
		if n := len(p.At(wiki).Cookies); n > 5 {
			t.Fatalf("%d attempts", n)
		}
	}
	p.At(arena.Origin).SignIn(w.OP, "ada")
	good := 0
	for i, way := range ways { // within a second, the oldest one is unknown
		if a := p.Walk(way); a.StatusCode == http.StatusOK {
			good++
		} else if i == len(ways)-1 {
			t.Errorf("the newest attempt: %d\n%s", a.StatusCode, strings.Join(p.Trace, "\n"))
		}
	}
	if good != 5 {
		t.Errorf("%d attempts of 7 succeed", good)
	}
	q := newRoamer(w)
	q.At(wiki).Cookies[wayName+"0123456789abcdef"] = "planted"
	for i := range 4 {
		q.UpTo("gate/authorize", wiki+"/api/auth/gate/start?to=/"+strings.Repeat("x", 1900))
		if i == 0 && q.At(wiki).Cookies[wayName+"0123456789abcdef"] == "" {
			t.Error("the first attempt removes another service's")
		}
	}
	total := 0
	for name, v := range q.At(wiki).Cookies {
		if total += len(name) + len(v); len(name)+len(v) > 4096 || v == "planted" {
			t.Errorf("%s has %d bytes", name, len(v))
		}
	}
	if total > 8<<10 {
		t.Errorf("%d bytes of attempts", total)
	}
}

// TestHandOverLongPrefix checks that with the longest Cookies.Prefix, the cookie of the
// longest attempt is one that browsers keep.
func TestHandOverLongPrefix(t *testing.T) {
	t.Parallel()
	prefix := strings.Repeat("p", 32)
	w := arena.Enter(t, func(c *authsvc.Config) { manyHosts(c); c.Cookies.Prefix = prefix })
	p := newRoamer(w)
	longest := 0
	for n := 400; n < 600; n++ { // JSON writes & as six bytes; the last ones are too long to be kept
		p.At(wiki).Cookies = map[string]string{}
		p.UpTo("gate/authorize", wiki+"/api/auth/gate/start?to=/?"+strings.Repeat("%26", n))
		for name, v := range p.At(wiki).Cookies {
			if !strings.HasPrefix(name, "__Host-"+prefix+".gate-tx.") {
				t.Fatalf("cookie %s", name)
			}
			longest = max(longest, len(name)+len(v))
		}
	}
	if longest > 4096 || longest < 4000 {
		t.Errorf("the longest cookie has %d bytes", longest)
	}
}

// TestGateCookieOfAnother checks that the log names the cookie of a host that another
// service has sealed, and that a cookie of our own is not taken for such a one.
func TestGateCookieOfAnother(t *testing.T) {
	t.Parallel()
	strategies(t, manyHosts, func(t *testing.T, w *arena.World) {
		w.T = t
		ring, err := seal.NewRing("zT5uX7wA9bD2eF4gH6jK8lM0nP2qR4sS6vV8nYc0mZ1")
		if err != nil {
			t.Fatal(err)
		}
		foreign, err := ring.Sealer("gate").Seal([]byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		p := newRoamer(w)
		p.SignIn(wiki + "/dash")
		if logs := w.Logs.String(); strings.Contains(logs, "another service on this host name") {
			t.Errorf("twin: %s", logs)
		}
		p.At(wiki).Cookies[gateName] = foreign
		p.At(wiki).Get("/dash")
		if logs := w.Logs.String(); !strings.Contains(logs, "cookie="+gateName+"\n") && !strings.Contains(logs, `"cookie":"`+gateName+`"`) {
			t.Errorf("logs: %s", logs)
		}
	})
}

// TestHandOverLanded checks that a browser that keeps no cookies gets an error instead
// of a redirect loop.
func TestHandOverLanded(t *testing.T) {
	t.Parallel()
	w := arena.Enter(t, manyHosts)
	p := newRoamer(w)
	p.At(arena.Origin).SignIn(w.OP, "ada")
	landed := p.Open(p.UpTo("gate/enter", wiki+"/dash")).Location()
	p.At(wiki).Cookies = map[string]string{}
	if a := p.Open(landed); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.Text, "does not keep cookies") || !strings.Contains(a.Text, `href="`+wiki+`/dash"`) {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	if a := p.Walk(wiki + "/dash"); a.StatusCode != http.StatusOK {
		t.Errorf("once the browser keeps cookies: %d", a.StatusCode)
	}
}

// TestGateCookieElsewhere checks that the cookie of a host is valid only there, and the
// session cookie not at all.
func TestGateCookieElsewhere(t *testing.T) {
	t.Parallel()
	strategies(t, manyHosts, func(t *testing.T, w *arena.World) {
		w.T = t
		p := newRoamer(w)
		p.SignIn(wiki + "/dash")
		value := p.At(wiki).Cookies[gateName]
		session := p.At(arena.Origin).Cookies
		q := newRoamer(w)
		q.At(wiki).Cookies = map[string]string{gateName: value}
		if a := q.Open(wiki + "/dash"); a.StatusCode != http.StatusOK {
			t.Fatalf("the cookie of the host: %d", a.StatusCode)
		}
		for where, cookies := range map[string]map[string]string{
			shop: {gateName: value}, "https://one.apps.test": {gateName: value}, wiki: session,
			wiki + "/": {gateName: value[:len(value)-12] + strings.Repeat("A", 12)}, wiki + "/x": {w.SessionCookie(): value}, shop + "/": {gateName: firstOf(session)},
		} {
			q := newRoamer(w)
			q.At(arena.OriginOf(t, where)).Cookies = maps.Clone(cookies)
			if a := q.Open(arena.OriginOf(t, where) + "/dash"); a.StatusCode != http.StatusFound {
				t.Errorf("at %s: %d", where, a.StatusCode)
			}
		}
		q = newRoamer(w)
		for _, name := range []string{gateName, w.SessionCookie()} {
			q.At(arena.Origin).Cookies = map[string]string{name: value}
			if got := q.At(arena.Origin).Session(); len(got) != 0 {
				t.Errorf("%s is a session at the login host: %v", name, got)
			}
		}
	})
}

// TestGateCookieTooLarge checks that a cookie which browsers would silently drop is an
// error.
func TestGateCookieTooLarge(t *testing.T) {
	t.Parallel()
	var length atomic.Int64
	length.Store(900)
	w := arena.Enter(t, func(c *authsvc.Config) {
		manyHosts(c)
		c.Session.Strategy = authsvc.StrategyJWT
		c.Callbacks.Claims = func(context.Context, authsvc.SignInAttempt, authsvc.Claims) (authsvc.Claims, error) {
			n := int(length.Load())
			return authsvc.Claims{"groups": []any{"ops"}, "floor": strings.Repeat("x", n), "desk": strings.Repeat("y", n)}, nil
		}
		c.Gate.Hosts[0].Rules = nil
		var all []authsvc.Condition
		all = append(all, authsvc.Condition{When: func(context.Context, authsvc.AccessRequest) (bool, error) { return true, nil }})
		c.Gate.Hosts[1].Default = authsvc.Allow{AnyOf: all}
	})
	p := newRoamer(w)
	p.SignIn(wiki + "/")
	small := len(p.At(wiki).Cookies[gateName])
	p.Walk(shop + "/")
	if large := len(p.At(shop).Cookies[gateName]); small == 0 || large < small+1800 {
		t.Errorf("cookies of %d and %d bytes: a host gets the claims of other hosts", small, large)
	}
	length.Store(1600) // the session has room for it in several cookies
	p = newRoamer(w)
	if a := p.SignIn(wiki + "/"); a.StatusCode != http.StatusOK {
		t.Errorf("a host that gets no claims: %d", a.StatusCode)
	}
	if a := p.Walk(shop + "/"); a.StatusCode != http.StatusInternalServerError || p.At(shop).Cookies[gateName] != "" || !strings.Contains(w.Logs.String(), "does not fit into one cookie") {
		t.Errorf("too large: %d, a cookie of %d bytes", a.StatusCode, len(p.At(shop).Cookies[gateName]))
	}
}

// TestHandOverUnproved checks that a host does not receive an unverified address, and
// that its rules ignore one.
func TestHandOverUnproved(t *testing.T) {
	t.Parallel()
	for proved, status := range map[bool]int{true: http.StatusOK, false: http.StatusForbidden} {
		strategies(t, func(c *authsvc.Config) {
			manyHosts(c)
			o := *c.Providers[0].(*authsvc.OAuth)
			if !proved {
				o.Fields.EmailVerified = "nothing"
			}
			c.Providers[0] = &o
		}, func(t *testing.T, w *arena.World) {
			w.T = t
			p := newRoamer(w)
			if a := p.SignIn(wiki + "/dash"); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "Ada%20Lovelace") || strings.Contains(a.Text, "ada@example.com") != proved {
				t.Errorf("proved %v: %d %s", proved, a.StatusCode, a.Text)
			}
			if a := p.Walk(wiki + "/ops/"); a.StatusCode != status {
				t.Errorf("proved %v: a rule about the address: %d", proved, a.StatusCode)
			}
		})
	}
}

// TestHandOverForeign checks a host's copy of a session that NextAuth.js began. It ends
// with all sessions of its user. It also ends with a sign-out under a token that
// NextAuth.js reissued, which has another ID. Sessions of other users stay.
func TestHandOverForeign(t *testing.T) {
	t.Parallel()
	ring, err := seal.NewRing(arena.Secret)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Unix()
	begin := func(w *arena.World, who *arena.Roamer, id, jti string) {
		raw := fmt.Sprintf(`{"name":"Ada","email":"ada@app.test","sub":%q,"iat":%d,"exp":%d,"jti":%q}`, id, began, began+2592000, jti)
		token, err := ring.NextAuthV4("").Seal([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		who.At(arena.Origin).Cookies[w.SessionCookie()] = token
	}
	for name, end := range map[string]func(w *arena.World, ada *arena.Roamer) error{
		"all sessions": func(w *arena.World, _ *arena.Roamer) error { return w.EndSessions(t.Context(), "ada-id") },
		"the same token": func(_ *arena.World, ada *arena.Roamer) error {
			ada.At(arena.Origin).Post("/api/auth/signout")
			return nil
		},
		"a token issued again": func(w *arena.World, ada *arena.Roamer) error {
			begin(w, ada, "ada-id", "another")
			ada.At(arena.Origin).Post("/api/auth/signout")
			return nil
		},
	} {
		w := arena.EnterOffline(t, func(c *authsvc.Config) {
			manyHosts(c)
			c.Compat, c.Session.Strategy = authsvc.NextAuthV4, authsvc.StrategyJWT
		})
		ada, bob := newRoamer(w), newRoamer(w)
		for id, who := range map[string]*arena.Roamer{"ada-id": ada, "bob-id": bob} {
			begin(w, who, id, "of "+id)
			if a := who.Walk(wiki + "/dash"); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, id) {
				t.Fatalf("%s: %d %s", name, a.StatusCode, a.Text)
			}
		}
		if err := end(w, ada); err != nil {
			t.Fatal(err)
		}
		if a := ada.Open(wiki + "/dash"); a.StatusCode != http.StatusFound {
			t.Errorf("after the end, %s: %d %s", name, a.StatusCode, a.Text)
		}
		if a := bob.Open(wiki + "/dash"); a.StatusCode != http.StatusOK {
			t.Errorf("another user, %s: %d", name, a.StatusCode)
		}
	}
}
