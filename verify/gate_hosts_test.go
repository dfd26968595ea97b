package verify

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
)

// Programs at three registrable domains, other than the service's.
var threeHosts = []string{"https://wiki.example", "https://shop.test:8443", "https://status.invalid"}

const gateCookie = "__Host-authsvc.gate"

func atThreeHosts(strategy string) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		c.Session.Strategy = authsvc.Strategy(strategy)
		for _, origin := range threeHosts {
			c.Gate.Hosts = append(c.Gate.Hosts, authsvc.GateHost{Origin: origin})
		}
	}
}

// tells answers with the user that the gate names.
func tells(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, "for "+r.Header.Get("X-Auth-Email"))
}

// gate21 tests one sign-in and one sign-out for all hosts. The sign-out must take
// effect with the next request at every replica, or once a replica has read the
// revocations.
func gate21(t *T) {
	t.CombinedStores(func(t *T, kind stores.Kind) {
		t.Strategies(func(t *T, strategy string) {
			w := t.Enter(func(c *authsvc.Config) { atThreeHosts(strategy)(c); c.Adapter = kind.Open(t) })
			other, err := engine.New(w.Config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { other.Close(context.WithoutCancel(t.Context())) })
			p := w.Roam(http.HandlerFunc(tells))
			if a := p.SignIn(threeHosts[0] + "/a?b=c"); a.Text != "for ada@example.com" || p.Trace[len(p.Trace)-1] != threeHosts[0]+"/a?b=c" {
				t.Fatalf("the first host: %d %s\n%s", a.StatusCode, a.Text, w.Logs)
			}
			p.By(other)
			for _, origin := range threeHosts[1:] {
				if a := p.Walk(origin + "/"); a.Text != "for ada@example.com" || len(p.Trace) > 6 {
					t.Errorf("%s does not let her in without asking: %d %s\n%s", origin, a.StatusCode, a.Text, strings.Join(p.Trace, "\n"))
				}
			}
			if n := w.TokenCalls(); n != 1 {
				t.Errorf("the provider was asked %d times", n)
			}
			p.By(w.Service)
			p.At(arena.Origin).Post("/api/auth/signout")
			out := time.Now()
			p.By(other)
			for _, origin := range threeHosts {
				for a := p.Open(origin + "/"); a.StatusCode == http.StatusOK; a = p.Open(origin + "/") {
					if strategy == "database" || time.Since(out) > within(10*time.Second) { // 2 s, on a busy machine
						t.Fatalf("%s still lets her in, %v after the sign-out: %s", origin, time.Since(out), a.Text)
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
			if a := p.Walk(threeHosts[2] + "/"); a.StatusCode != http.StatusFound || !strings.Contains(a.Location(), "/signin?") {
				t.Errorf("after the sign-out: %d %s", a.StatusCode, a.Location())
			}
		})
	})
}

// gate22 spoils one part of a hand-over at a time. If two replicas get a code at
// once, only one may accept it.
func gate22(t *T) {
	t.CombinedStores(func(t *T, kind stores.Kind) {
		t.Strategies(func(t *T, strategy string) {
			w := t.Enter(func(c *authsvc.Config) { atThreeHosts(strategy)(c); c.Adapter = kind.Open(t) })
			other, err := engine.New(w.Config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { other.Close(context.WithoutCancel(t.Context())) })
			p := w.Roam(http.HandlerFunc(tells))
			p.At(arena.Origin).SignIn(w.OP, "ada")
			host := threeHosts[0]
			for name, spoil := range map[string]func(enter string) string{
				"":                func(enter string) string { return enter },
				"another browser": func(enter string) string { p.At(host).Cookies = map[string]string{}; return enter },
				"another host": func(enter string) string {
					p.At(threeHosts[1]).Cookies = maps.Clone(p.At(host).Cookies)
					return strings.Replace(enter, host, threeHosts[1], 1)
				},
				"forged": func(enter string) string { return enter[:len(enter)-5] + "AAAAA" },
				"replayed": func(enter string) string {
					cookies := maps.Clone(p.At(host).Cookies)
					p.Open(enter)
					p.At(host).Cookies = cookies
					p.By(other)
					return enter
				},
				"from another person's browser": func(string) string {
					eve := w.Roam(http.HandlerFunc(tells))
					eve.At(arena.Origin).SignIn(w.OP, "alan")
					return eve.UpTo("gate/enter", host+"/")
				},
			} {
				p.By(w.Service)
				for _, origin := range threeHosts {
					p.At(origin).Cookies = map[string]string{}
				}
				address := spoil(p.UpTo("gate/enter", host+"/"))
				a := p.Open(address)
				at := p.At(arena.OriginOf(t, address))
				if entered := at.Cookies[gateCookie] != ""; entered != (name == "") || (a.StatusCode == http.StatusFound) != (name == "") || name != "" && a.StatusCode != http.StatusBadRequest {
					t.Errorf("a code that is %s: %d, signed in: %t", name, a.StatusCode, entered)
				}
			}
			p.By(w.Service)
			p.At(host).Cookies = map[string]string{}
			enterAtOnce(t, w, other, p.UpTo("gate/enter", host+"/"), p.At(host).Cookies)
		})
	})
}

// enterAtOnce sends a code to two replicas at once, eight times.
func enterAtOnce(t *T, w *arena.World, other *engine.Service, enter string, cookies map[string]string) {
	t.Helper()
	taken := make([]bool, 8)
	var all sync.WaitGroup
	for i := range taken {
		p := w.Roam(http.HandlerFunc(tells))
		if i%2 == 1 {
			p.By(other)
		}
		p.At(threeHosts[0]).Cookies = maps.Clone(cookies)
		all.Go(func() { taken[i] = p.Open(enter).StatusCode == http.StatusFound })
	}
	all.Wait()
	n := 0
	for _, yes := range taken {
		if yes {
			n++
		}
	}
	if n != 1 {
		t.Errorf("a code was taken %d times", n)
	}
}

// gate23 checks lifetimes: codes last a minute, attempts ten, and a host's cookie as
// long as the session, however often it is used. The bubble tests every minute. The
// stores test only the decisive times, with replicas whose store tells them a later
// time.
func gate23(t *T) {
	mode := t.Mode
	t.CombinedStores(func(t *T, kind stores.Kind) {
		t.Strategies(func(t *T, strategy string) { gateLater(t, kind, strategy) })
	})
	t.Strategies(func(t *T, strategy string) {
		for name, tt := range map[string]struct {
			wait  [2]time.Duration // before requesting the code, and before redeeming it
			enter bool
		}{
			"at once": {[2]time.Duration{0, 0}, true}, "in time": {[2]time.Duration{8 * time.Minute, 59 * time.Second}, true},
			"a late code": {[2]time.Duration{0, 61 * time.Second}, false}, "a late attempt": {[2]time.Duration{10 * time.Minute, 0}, false},
		} {
			t.Run(name, func(t *T) {
				synctest.Test(t.T, func(inner *testing.T) {
					t := &T{T: inner, Mode: mode, id: t.id, report: t.report, figures: t.figures}
					w := t.EnterOffline(atThreeHosts(strategy))
					p := w.Roam(http.HandlerFunc(tells))
					p.At(arena.Origin).Login("ada")
					ask := p.UpTo("gate/authorize", threeHosts[0]+"/")
					time.Sleep(tt.wait[0])
					enter := p.UpTo("gate/enter", ask)
					time.Sleep(tt.wait[1])
					a := p.Open(enter)
					if entered := p.At(threeHosts[0]).Cookies[gateCookie] != ""; entered != tt.enter || !entered && a.StatusCode != http.StatusBadRequest {
						t.Errorf("%d, signed in: %t", a.StatusCode, entered)
					}
				})
			})
		}
		synctest.Test(t.T, func(inner *testing.T) {
			t := &T{T: inner, Mode: mode, id: t.id, report: t.report, figures: t.figures}
			w := t.EnterOffline(func(c *authsvc.Config) { atThreeHosts(strategy)(c); sessionShort(strategy)(c) }) // idle an hour, three hours in all
			p := w.Roam(http.HandlerFunc(tells))
			p.SignIn(threeHosts[0] + "/")
			for minutes := range 179 {
				time.Sleep(time.Minute)
				if a := p.Open(threeHosts[0] + "/"); a.StatusCode != http.StatusOK {
					t.Fatalf("in constant use, it ended after %d minutes: %d", minutes+1, a.StatusCode)
				}
			}
			time.Sleep(2 * time.Minute)
			if a := p.Open(threeHosts[0] + "/"); a.StatusCode != http.StatusFound {
				t.Errorf("it continues after its absolute end: %d", a.StatusCode)
			}
			q := w.Roam(http.HandlerFunc(tells))
			q.SignIn(threeHosts[0] + "/")
			time.Sleep(61 * time.Minute)
			if a := q.Open(threeHosts[0] + "/"); a.StatusCode != http.StatusFound {
				t.Errorf("unused for longer than max_age: %d", a.StatusCode)
			}
		})
	})
}

// A laterStore is a store whose clock is ahead.
type laterStore struct {
	adapter.Adapter
	ahead time.Duration
}

// Now implements [adapter.Clock].
func (s laterStore) Now(context.Context) (time.Time, error) { return time.Now().Add(s.ahead), nil }

// later makes p continue at another replica on the same store, for which it is later,
// until the next call. A replica forgets what has expired for it.
func later(t *T, p *arena.Roamer) (at func(ahead time.Duration)) {
	t.Helper()
	end := func() {}
	t.Cleanup(func() { end() })
	return func(ahead time.Duration) {
		t.Helper()
		end()
		c := p.Config
		c.Adapter = laterStore{p.Store, ahead}
		s, err := engine.New(c)
		if err != nil {
			t.Fatal(err)
		}
		end = sync.OnceFunc(func() { s.Close(context.WithoutCancel(t.Context())) })
		p.By(s)
	}
}

// gateLater uses replicas on one store for which it is later. It leaves enough room
// for steps that take ten seconds here.
func gateLater(t *T, kind stores.Kind, strategy string) {
	w := t.Enter(func(c *authsvc.Config) { atThreeHosts(strategy)(c); c.Adapter = kind.Open(t) })
	host := threeHosts[0]
	for name, tt := range map[string]struct {
		attempt, code time.Duration // their ages
		enter         bool
	}{
		"in time": {8 * time.Minute, 30 * time.Second, true}, "a late code": {0, 61 * time.Second, false}, "a late attempt": {10 * time.Minute, 0, false},
	} {
		p := w.Roam(http.HandlerFunc(tells))
		p.At(arena.Origin).SignIn(w.OP, "ada")
		ask := p.UpTo("gate/authorize", host+"/")
		at := later(t, p)
		at(tt.attempt)
		enter := p.UpTo("gate/enter", ask)
		at(tt.attempt + tt.code)
		a := p.Open(enter)
		if entered := p.At(host).Cookies[gateCookie] != ""; entered != tt.enter || !entered && a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d, signed in: %t\n%s", name, a.StatusCode, entered, w.Logs)
		}
	}
	const day = 24 * time.Hour
	type use struct {
		days   time.Duration
		status int
	}
	for how, uses := range map[string][]use{"used every 29 days": {{29, 200}, {58, 200}, {87, 200}, {91, 302}}, "not used for 31 days": {{31, 302}}} {
		p := w.Roam(http.HandlerFunc(tells))
		p.SignIn(host + "/")
		at := later(t, p)
		for _, u := range uses {
			at(u.days * day)
			if a := p.Open(host + "/"); a.StatusCode != u.status {
				t.Errorf("%s, after %d: %d", how, u.days, a.StatusCode)
			}
		}
		at(0)
	}
}

// gate24 requests from a gate host what only the login host offers, with everything
// that would make the request succeed there: reads and changes.
func gate24(t *T) {
	t.CombinedStores(func(t *T, kind stores.Kind) {
		t.Strategies(func(t *T, strategy string) {
			gateAsked(t, t.Enter(func(c *authsvc.Config) { atThreeHosts(strategy)(c); c.Adapter = kind.Open(t) }))
		})
	})
}

func gateAsked(t *T, w *arena.World) {
	t.Helper()
	p := w.Roam(http.HandlerFunc(tells))
	p.SignIn(threeHosts[0] + "/")
	b, home := p.At(threeHosts[0]), p.At(arena.Origin)
	token := home.CSRF()
	own := maps.Clone(b.Cookies)
	maps.Copy(b.Cookies, home.Cookies) // as if the gate host received them
	lasting := w.Ledger.Lasting()
	for _, path := range []string{"session", "csrf", "providers", "signin/op", "signin/email", "signin", "signout", "callback/op", "callback/credentials", "callback/email", "account", "account/signout", "account/profile", "account/unlink", "token", "jwks", "confirm", "client.js", "_log", "backchannel-logout/op", "gate/authorize"} {
		for method, a := range map[string]*browser.Answer{
			"POST": b.Form("/api/auth/"+path, url.Values{"csrfToken": {token}, "email": {"ada@app.test"}, "username": {"ada"}, "password": {"right"}, "json": {"true"}, "name": {"Eve"}, "all": {"true"}}, "Origin", threeHosts[0], "Sec-Fetch-Site", "same-origin"),
			"GET":  b.Get("/api/auth/" + path),
		} {
			if a.StatusCode != http.StatusMisdirectedRequest || len(a.Cookies()) > 0 || strings.Contains(a.Text, "ada@example.com") {
				t.Errorf("%s %s: %d %s, sets %v", method, path, a.StatusCode, a.Text, a.Cookies())
			}
		}
	}
	for _, path := range []string{"gate/start", "gate/enter", "gate/landed", "gate/leave"} {
		if a := b.Form("/api/auth/"+path, url.Values{"csrfToken": {token}, "to": {"/"}}); a.StatusCode != http.StatusMethodNotAllowed && a.StatusCode != http.StatusBadRequest || len(a.Cookies()) > 0 {
			t.Errorf("POST %s: %d %s, sets %v", path, a.StatusCode, a.Text, a.Cookies())
		}
	}
	if now := w.Ledger.Lasting(); now != lasting {
		t.Errorf("it changed something: %s, before %s", now, lasting)
	}
	for _, path := range []string{"session", "csrf", "providers", "signin", "account"} {
		if a := home.Get("/api/auth/" + path); a.StatusCode != http.StatusOK {
			t.Errorf("%s at the login host: %d %s", path, a.StatusCode, a.Text)
		}
	}
	b.Cookies = own
	if a := p.Open(threeHosts[0] + "/"); home.Email() != "ada@example.com" || a.Text != "for ada@example.com" {
		t.Errorf("she is signed out: %d %s", a.StatusCode, a.Text)
	}
}
