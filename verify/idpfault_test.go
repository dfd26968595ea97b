package verify

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

var idpfaultChecks = checks{
	"01": {title: "provider down, slow, resetting", run: idpfault01},
	"02": {title: "5xx and 429: codes are sent once, GETs three times; circuit breaker", run: idpfault02},
	"03": {title: "broken bodies", run: idpfault03},
	"04": {title: "many unknown keys, and many cold sign-ins at once", run: idpfault04},
	"05": {title: "keys cannot be fetched", run: idpfault05},
	"06": {title: "withdrawn key", run: idpfault06},
	"07": {title: "clocks differ", run: idpfault07},
	"08": {title: "metadata changes while running", run: idpfault08},
	"09": {title: "name server fails", once: true, run: idpfault09, alone: true},
	"10": {title: "userinfo fails after the code is spent", run: idpfault10},
}

type idpfaultHook = map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool

// idpfaultEndpoints lists the endpoints that the service calls. All except discovery
// are called at the callback.
var idpfaultEndpoints = []idp.Endpoint{idp.EndpointDiscovery, idp.EndpointToken, idp.EndpointJWKS, idp.EndpointUserInfo}

// idpfaultCell signs in in a bubble while an endpoint of a new world has a fault.
// Within 10 s, the sign-in must end with an error that allows a retry.
func idpfaultCell(t *T, name string, e idp.Endpoint, fault idp.Fault, more func(t *T, w *arena.World, took time.Duration)) {
	t.Helper()
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, nil)
		b := w.Browser()
		back, word := "", "OAuthSignin"
		if e != idp.EndpointDiscovery {
			back, word = b.Approve(w.OP, b.Begin("op"), "ada"), "OAuthCallback"
		}
		w.OP.SetFault(fault)
		begin := time.Now()
		a := w.MustRefuseLate(t, func() *browser.Answer {
			if back == "" {
				return b.Post("/api/auth/signin/op")
			}
			return b.Get(back)
		})
		took := time.Since(begin)
		if took > 10*time.Second || !strings.Contains(a.Location(), "error="+word) {
			t.Errorf("%s: %s after %v", name, a.Location(), took)
		}
		pages := oidcPages(b, a)
		oidcNoSecrets(t, w, name, pages, "", back)
		if !strings.Contains(pages, `action="`+arena.Origin+`/api/auth/signin/op"`) {
			t.Errorf("%s: no way to retry", name)
		}
		if more != nil {
			more(t, w, took)
		}
		w.OP.SetFault(idp.Fault{})
		time.Sleep(11 * time.Second)
		oidcAccepted(t, w, name+", over", idp.Fault{})
	})
}

func idpfault01(t *T) {
	drop := func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
	all := idp.Fault{Delay: map[idp.Endpoint]time.Duration{}}
	for _, e := range idpfaultEndpoints {
		all.Delay[e] = 4 * time.Second
		for name, fault := range map[string]idp.Fault{
			"30 s late": {Delay: map[idp.Endpoint]time.Duration{e: 30 * time.Second}}, "never": {Delay: map[idp.Endpoint]time.Duration{e: time.Hour}},
			"breaks": {Intercept: idpfaultHook{e: drop}},
		} {
			idpfaultCell(t, string(e)+" "+name, e, fault, func(t *T, w *arena.World, _ time.Duration) {
				begin := time.Now()
				if a := w.Browser().SignInByMail(w, "someone@app.test"); a.Location() != arena.Origin || time.Since(begin) > 100*time.Millisecond {
					t.Errorf("another way in, meanwhile: %s after %v", a.Location(), time.Since(begin))
				}
			})
		}
	}
	idpfaultCell(t, "all slightly late", idp.EndpointToken, all, nil)
	if t.Mode == modeNone {
		idpfaultSockets(t)
	}
}

func idpfault02(t *T) {
	type cell struct {
		status int
		after  string
		tries  int // for a GET
	}
	for name, c := range map[string]cell{
		"500": {500, "", 3}, "502": {502, "", 3}, "503 in a second": {503, "1", 3}, "503 in an hour": {503, "3600", 1}, "503 at a date": {503, "Fri, 31 Dec 1999 23:59:59 GMT", 3},
		"429": {429, "", 1}, "429 in a second": {429, "1", 3}, "429 in a minute": {429, "60", 1}, "503 nonsense": {503, "soon", 1},
	} {
		for _, e := range idpfaultEndpoints {
			fault := idp.Fault{Intercept: idpfaultHook{e: func(w http.ResponseWriter, _ *http.Request) bool {
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				w.WriteHeader(c.status)
				return true
			}}}
			idpfaultCell(t, string(e)+" "+name, e, fault, func(t *T, w *arena.World, took time.Duration) {
				want := c.tries
				if e == idp.EndpointToken {
					want = 1
				}
				n := w.OP.Calls(e)
				if n != want || took > 5*time.Second {
					t.Errorf("%s %s: %d calls in %v, want %d", e, name, n, took, want)
				}
				if n := w.OP.Calls(idp.EndpointToken); n > 1 {
					t.Errorf("%s %s: the code is sent %d times", e, name, n)
				}
			})
		}
	}
	idpfaultJitter(t)
	for _, e := range []idp.Endpoint{idp.EndpointToken, idp.EndpointUserInfo} {
		idpfaultBreaker(t, e)
	}
}

// idpfaultJitter checks that the pauses between retries vary.
func idpfaultJitter(t *T) {
	pauses := map[time.Duration]bool{}
	for range 10 {
		var at []time.Time
		fault := idp.Fault{Intercept: idpfaultHook{idp.EndpointJWKS: func(w http.ResponseWriter, _ *http.Request) bool {
			at = append(at, time.Now())
			w.WriteHeader(500)
			return true
		}}}
		idpfaultCell(t, "jitter", idp.EndpointJWKS, fault, func(t *T, _ *arena.World, _ time.Duration) {
			if len(at) != 3 {
				t.Fatalf("%d tries", len(at))
			}
			first, second := at[1].Sub(at[0]), at[2].Sub(at[1])
			if first < 50*time.Millisecond || second < first/2 || first+second > 2*time.Second {
				t.Errorf("pauses of %v and %v", first, second)
			}
			pauses[first] = true
		})
	}
	if len(pauses) < 5 {
		t.Errorf("10 sign-ins wait in %d ways", len(pauses))
	}
}

// idpfaultBreaker checks that an endpoint that does not answer is left alone, and
// used again once it answers.
func idpfaultBreaker(t *T, e idp.Endpoint) {
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, nil)
		oidcAccepted(t, w, "before", idp.Fault{})
		hang := idp.Fault{Delay: map[idp.Endpoint]time.Duration{e: time.Hour}}
		asked := w.OP.Calls(e)
		for range 5 {
			oidcRefused(t, w, "hangs", hang)
		}
		if n := w.OP.Calls(e) - asked; n != 5 {
			t.Errorf("%s: %d calls of 5 sign-ins", e, n)
		}
		asked = w.OP.Calls(e)
		begin := time.Now()
		for range 20 {
			oidcRefused(t, w, "open", hang)
		}
		if n, d := w.OP.Calls(e)-asked, time.Since(begin); n > 0 || d > 3*time.Second {
			t.Errorf("%s: open, but %d calls in %v", e, n, d)
		}
		time.Sleep(6 * time.Second)
		oidcRefused(t, w, "probe", hang)
		oidcRefused(t, w, "open again", hang)
		if n := w.OP.Calls(e) - asked; n != 1 {
			t.Errorf("%s: %d probes", e, n)
		}
		time.Sleep(6 * time.Second)
		oidcAccepted(t, w, "back", idp.Fault{})
		oidcAccepted(t, w, "twin: and stays so", idp.Fault{})
	})
}

// idpfaultMangler changes a provider's answers at a path.
type idpfaultMangler struct {
	to http.Handler

	mu     sync.Mutex
	path   string
	mangle func(header http.Header, body []byte) (status int, changed []byte)
}

func (m *idpfaultMangler) set(path string, mangle func(http.Header, []byte) (int, []byte)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.path, m.mangle = path, mangle
}

func (m *idpfaultMangler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	mangle := m.mangle
	if r.URL.Path != m.path {
		mangle = nil
	}
	m.mu.Unlock()
	if mangle == nil {
		m.to.ServeHTTP(w, r)
		return
	}
	rec := httptest.NewRecorder()
	m.to.ServeHTTP(rec, r)
	w.Header().Set("Content-Type", "application/json")
	status, body := mangle(w.Header(), rec.Body.Bytes())
	w.WriteHeader(status)
	w.Write(body)
}

const idpfaultCanary = "canary-of-the-broken-body"

func idpfaultBodies() map[string]func(h http.Header, body []byte) (int, []byte) {
	html := "<!doctype html><script>alert('" + idpfaultCanary + "')</script>"
	return map[string]func(http.Header, []byte) (int, []byte){
		"truncated": func(_ http.Header, b []byte) (int, []byte) { return 200, b[:len(b)/2] },
		"one short": func(_ http.Header, b []byte) (int, []byte) {
			return 200, bytes.TrimSpace(b)[:len(bytes.TrimSpace(b))-1]
		},
		"html": func(h http.Header, _ []byte) (int, []byte) {
			h.Set("Content-Type", "text/html")
			return 200, []byte(html)
		},
		"html as JSON": func(http.Header, []byte) (int, []byte) { return 200, []byte(html) },
		"UTF-16": func(h http.Header, b []byte) (int, []byte) {
			h.Set("Content-Type", "application/json; charset=utf-16le")
			var wide []byte
			for _, c := range utf16.Encode([]rune(string(b))) {
				wide = append(wide, byte(c), byte(c>>8))
			}
			return 200, wide
		},
		"not UTF-8": func(_ http.Header, b []byte) (int, []byte) {
			return 200, bytes.Replace(b, []byte("{"), []byte("{\"\xff\xfe\":1,"), 1)
		},
		"BOM": func(_ http.Header, b []byte) (int, []byte) { return 200, append([]byte("\xef\xbb\xbf"), b...) },
		"depth bomb": func(_ http.Header, b []byte) (int, []byte) {
			return 200, bytes.Replace(b, []byte("{"), []byte(`{"x":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+","), 1)
		},
		"objects": func(_ http.Header, b []byte) (int, []byte) {
			return 200, bytes.Replace(b, []byte("{"), []byte(strings.Repeat(`{"x":`, 50_000)), 1)
		},
		"empty":      func(http.Header, []byte) (int, []byte) { return 200, nil },
		"204":        func(http.Header, []byte) (int, []byte) { return 204, nil },
		"206":        func(_ http.Header, b []byte) (int, []byte) { return 206, b[:len(b)/2] },
		"null":       func(http.Header, []byte) (int, []byte) { return 200, []byte("null") },
		"list":       func(_ http.Header, b []byte) (int, []byte) { return 200, append(append([]byte("["), b...), ']') },
		"text":       func(http.Header, []byte) (int, []byte) { return 200, []byte(`"` + idpfaultCanary + `"`) },
		"more":       func(_ http.Header, b []byte) (int, []byte) { return 200, append(b, idpfaultCanary...) },
		"error page": func(http.Header, []byte) (int, []byte) { return 400, []byte(html) },
	}
}

func idpfault03(t *T) {
	paths := map[idp.Endpoint]string{idp.EndpointDiscovery: "/.well-known/openid-configuration", idp.EndpointToken: "/token", idp.EndpointJWKS: "/jwks", idp.EndpointUserInfo: "/userinfo"}
	for name, mangle := range idpfaultBodies() {
		for e, path := range paths {
			oidcBubble(t, func(t *T) {
				var m *idpfaultMangler
				w := oidcOffline(t, func(c *authsvc.Config) {
					wire := c.Outbound.DangerousTransport.(arena.Wire)
					m = &idpfaultMangler{to: wire["op.test"]}
					wire["op.test"] = m
				})
				b := w.Browser()
				back := ""
				if e != idp.EndpointDiscovery {
					back = b.Approve(w.OP, b.Begin("op"), "ada")
				}
				m.set(path, mangle)
				a := w.MustRefuseLate(t, func() *browser.Answer {
					if back == "" {
						return b.Post("/api/auth/signin/op")
					}
					return b.Get(back)
				})
				if pages := oidcPages(b, a); strings.Contains(pages, idpfaultCanary) || !strings.Contains(a.Location(), "error=OAuth") {
					t.Errorf("%s %s: %s", e, name, a.Location())
				}
				if !strings.Contains(w.Logs.String(), "cause=") || strings.Contains(w.Logs.String(), "<script") {
					t.Errorf("%s %s: the log does not say it\n%s", e, name, w.Logs)
				}
				m.set("", nil)
				time.Sleep(6 * time.Second)
				oidcAccepted(t, w, string(e)+" "+name+", mended", idp.Fault{})
			})
			if t.Failed() {
				t.Fatalf("%s %s", e, name)
			}
		}
	}
}

func idpfault10(t *T) {
	drop := func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
	for name, fault := range map[string]idp.Fault{"500": {Status: map[idp.Endpoint]int{idp.EndpointUserInfo: 500}}, "401": {Status: map[idp.Endpoint]int{idp.EndpointUserInfo: 401}},
		"hangs": {Delay: map[idp.Endpoint]time.Duration{idp.EndpointUserInfo: time.Hour}}, "breaks": {Intercept: idpfaultHook{idp.EndpointUserInfo: drop}}} {
		oidcBubble(t, func(t *T) {
			w := oidcOffline(t, nil)
			oidcRefused(t, w, name, fault) // no effects, and no token or code in the log or on pages
			if n := w.OP.Calls(idp.EndpointToken); n != 1 {
				t.Errorf("%s: the code was sent %d times", name, n)
			}
			if _, err := w.Store.GetUserByAccount(t.Context(), "op", "ada"); err == nil {
				t.Errorf("%s: a user was made", name)
			}
			oidcAccepted(t, w, "from the start", idp.Fault{})
		})
	}
}
