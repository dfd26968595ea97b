package verify

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// gateTargets returns spellings of paths below /ops, and of paths that reach it
// through /open.
func gateTargets() (targets []string) {
	for _, word := range []string{"ops", "OPS", "%6fps", "%4fps", "%256fps", "ops;x", "ops;a=b", "o%70s", "ops%3bx", "open/../ops", "open/%2e%2e/ops", "open/%252e%252e/ops", "open/..;/ops", "open/..%2fops", "open/.%2e/ops", "/ops", "/open/..//ops", "./ops", "open//../ops", "open/x/../../ops", "open/;/../../ops", "open%2f..%2fops", "open%2F%2e%2e%2Fops", "open/..%252fops", "open/%2e%2e;x/ops", "Open/../Ops", "opsx", "open/x", "o/ps"} {
		for _, tail := range []string{"", "/", "/page", "//page", "%2fpage", "%2Fpage", "%252fpage", ";/page", ";a=b/page", "/./page", "/x/../page", "/%70age"} {
			targets = append(targets, "/"+word+tail)
		}
	}
	return targets
}

// gateRuleSets close /ops to everyone, or to everyone outside ops.test.
func gateRuleSets() map[string]authsvc.GateHost {
	anyone, nobody := authsvc.Allow{Anyone: true}, authsvc.Allow{Nobody: true}
	few := authsvc.Allow{AnyOf: []authsvc.Condition{{Domains: []string{"ops.test"}}}}
	return map[string]authsvc.GateHost{
		"open except one":     {Default: anyone, Rules: []authsvc.GateRule{{Match: "/ops/", Allow: few}}},
		"one open beside":     {Default: anyone, Rules: []authsvc.GateRule{{Match: "/ops/", Allow: nobody}, {Match: "/open/", Allow: anyone}}},
		"by method":           {Default: anyone, Rules: []authsvc.GateRule{{Match: "GET /ops/", Allow: few}, {Match: "POST /ops/", Allow: nobody}}},
		"exact and subtree":   {Default: anyone, Rules: []authsvc.GateRule{{Match: "/ops", Allow: few}, {Match: "/ops/", Allow: few}, {Match: "/ops/{any}/open", Allow: anyone}}},
		"wildcards":           {Default: anyone, Rules: []authsvc.GateRule{{Match: "/ops/{rest...}", Allow: few}, {Match: "/open/{rest...}", Allow: anyone}}},
		"closed except those": {Default: few, Rules: []authsvc.GateRule{{Match: "/open/", Allow: anyone}, {Match: "/o/", Allow: anyone}}},
	}
}

// servesClosed reports whether a program that parses paths with read would serve a
// closed page.
func servesClosed(read func(string) string, target string) bool {
	page := read(strings.SplitN(target, "?", 2)[0])
	return page == "/ops" || strings.HasPrefix(page, "/ops/")
}

// gate14 checks every target with every rule set and interface. Programs of each kind
// then parse the targets that pass.
func gate14(t *T) {
	targets := gateTargets()
	passed, asked := 0, 0
	for name, rules := range gateRuleSets() {
		w := t.Enter(func(c *authsvc.Config) {
			rules.Origin = arena.Origin
			c.Gate.Hosts = []authsvc.GateHost{rules}
			c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
		})
		ada := w.Browser()
		ada.SignIn(w.OP, "ada")
		reached := false
		guard := w.Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
		for way, may := range map[string]func(b *arena.Browser, target string) bool{
			"forward-auth": func(b *arena.Browser, target string) bool { return askAs(w, b, "forward-auth", target) },
			"auth-request": func(b *arena.Browser, target string) bool { return askAs(w, b, "auth-request", target) },
			"ext-authz":    func(b *arena.Browser, target string) bool { return askAs(w, b, "ext-authz", target) },
			"guard": func(b *arena.Browser, target string) bool {
				reached = false
				guard.ServeHTTP(httptest.NewRecorder(), gateRequest(w, b, target))
				return reached
			},
		} {
			for _, who := range []*arena.Browser{nil, ada} {
				for _, target := range targets {
					asked++
					if !may(who, target) {
						continue
					}
					passed++
					for how, read := range gateReaders {
						if servesClosed(read, target) {
							t.Errorf("%s, %s: a program that %s serves %s", name, way, how, target)
						}
					}
				}
				for _, open := range []string{"/open/page", "/open/a%2Fb;c", "/open/x//y"} {
					if !may(who, open) {
						t.Errorf("%s, %s: %s is open", name, way, open)
					}
				}
			}
		}
	}
	if len(targets) < 300 {
		t.Errorf("%d targets", len(targets))
	}
	t.Figure("%d of %d questions pass", passed, asked)
	gateCorpusThrough(t, targets)
}

// gateRequest returns a request with a literal target from a browser in the trusted
// network. If b is nil, the request has no cookies.
func gateRequest(w *arena.World, b *arena.Browser, target string) *http.Request {
	r := httptest.NewRequest("GET", arena.Origin+"/", nil)
	r.RequestURI, r.RemoteAddr = target, "203.0.113.1:1"
	if b != nil {
		for name, v := range b.Cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: v})
		}
	}
	return r
}

func askAs(w *arena.World, b *arena.Browser, way, target string) bool {
	r := gateRequest(w, b, "/api/auth/gate/"+way)
	if way == "ext-authz" {
		r.RequestURI += target
	} else {
		r.Header["X-Forwarded-Method"], r.Header["X-Forwarded-Host"], r.Header["X-Forwarded-Uri"] = []string{"GET"}, []string{"app.test"}, []string{target}
	}
	answer := httptest.NewRecorder()
	w.ServeHTTP(answer, r)
	return answer.Code == http.StatusOK
}

// gateCorpusThrough sends a sample through each proxy and checks how programs of each
// kind parse the targets that arrive.
func gateCorpusThrough(t *T, targets []string) {
	step := max(1, len(targets)/t.Scale("targets through each proxy", 1, 30, 400))
	tune := gateTune{yaml: []string{"rules:", "default: anyone\n      rules:", "- {match: /public/, allow: anyone}", "- {match: /ops/, allow: nobody}"}}
	behindGate(t, tune, func(t *T, s *gatedSite) {
		var b *browser.Browser
		arrived := 0
		for i := 0; i < len(targets); i += step {
			a := s.raw(t, b, "GET "+targets[(i*7)%len(targets)])
			g, asked := got(t, a)
			if !asked {
				continue
			}
			arrived++
			for how, read := range gateReaders {
				if servesClosed(read, g.Target) {
					t.Errorf("%s arrives as %s, and a program that %s serves it", targets[i], g.Target, how)
				}
			}
		}
		if g, asked := got(t, s.raw(t, b, "GET /open/a%2Fb;c?d//e")); !asked || g.Target != "/open/a%2Fb;c?d//e" {
			t.Errorf("what is open arrives as %s", g.Target)
		}
		t.Figure("%s: %d arrive", s.program, arrived)
	})
}

// gate15 checks that a request that two parsers would split differently does not pass
// the gate, and that the next request gets its own answer.
func gate15(t *T) {
	behindGate(t, gateTune{}, func(t *T, s *gatedSite) {
		var all sync.WaitGroup
		for name, request := range smuggles(s.host()) {
			for _, path := range []string{"/public/" + name[:2], "/dash"} {
				request := smuggleAt(request, path)
				c := s.dial(t)
				all.Go(func() { rawExchange(t, c, 500*time.Millisecond, strings.NewReader(request)) })
			}
		}
		all.Wait()
		for range 20 {
			if g, asked := got(t, s.raw(t, nil, "GET /public/next")); !asked || g.Target != "/public/next" || g.Method != "GET" {
				t.Errorf("the next one gets %s %s", g.Method, g.Target)
			}
		}
		arrived := 0
		for _, request := range s.app.requests() {
			if request == "POST /public/CL" || request == "POST /public/TE" {
				arrived++
			} else if request != "GET /public/next" {
				t.Errorf("the program was asked for %s", request)
			}
		}
		t.Figure("%s: %d arrive", s.program, arrived)
	})
}

// smuggleAt returns such a request to path, with a request for /admin/x inside.
func smuggleAt(request, path string) string {
	first, rest, _ := strings.Cut(request, "\r\n")
	words := strings.Split(first, " ")
	words[1] = path
	if at := strings.LastIndex(rest, "/api/auth/"); at >= 0 {
		end := at + strings.Index(rest[at:], " ")
		inside := "/admin/x" + strings.Repeat("y", end-at-len("/admin/x")) // keeps the lengths
		rest = rest[:at] + inside + rest[end:]
	}
	return strings.Join(words, " ") + "\r\n" + rest
}
