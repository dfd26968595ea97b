package verify

import (
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

func idpfault04(t *T) {
	n := t.Scale("tokens signed by unknown keys, and cold sign-ins at once", 200, 1000, 1000)
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, nil)
		oidcAccepted(t, w, "before", idp.Fault{})
		var kid atomic.Int64
		storm := idp.Fault{Signing: idp.SignUnknownKey, IDTokenHeader: func(h map[string]any) { h["kid"] = fmt.Sprint("k", kid.Add(1)) }}
		browsers, backs := make([]*arena.Browser, n), make([]string, n)
		for i := range n {
			browsers[i] = w.Browser()
			backs[i] = browsers[i].Approve(w.OP, browsers[i].Begin("op"), "ada")
		}
		good := w.Browser()
		back := good.Approve(w.OP, good.Begin("op"), "grace")
		fetched := w.OP.Calls(idp.EndpointJWKS)
		w.OP.SetFault(storm)
		var in atomic.Int64
		together(n, func(i int) {
			if a := browsers[i].Get(backs[i]); a.Location() == arena.Origin {
				in.Add(1)
			}
		})
		w.OP.SetFault(idp.Fault{})
		if got := w.OP.Calls(idp.EndpointJWKS) - fetched; got != 1 || in.Load() != 0 {
			t.Errorf("%d fetches of keys for %d tokens by unknown keys, %d signed in", got, n, in.Load())
		}
		if a := good.Get(back); a.Location() != arena.Origin {
			t.Errorf("the known key does not work: %s", a.Location())
		}
		for range 3 {
			time.Sleep(31 * time.Second)
			before := w.OP.Calls(idp.EndpointJWKS)
			for range 20 {
				oidcRefused(t, w, "later", storm)
			}
			if got := w.OP.Calls(idp.EndpointJWKS) - before; got > 1 {
				t.Errorf("%d fetches of keys in one interval", got)
			}
		}
	})
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, nil)
		w.OP.SetFault(idp.Fault{Delay: map[idp.Endpoint]time.Duration{idp.EndpointDiscovery: time.Second, idp.EndpointJWKS: time.Second}})
		var in atomic.Int64
		together(n, func(int) {
			b := w.Browser()
			if a := b.SignIn(w.OP, "ada"); a.Location() == arena.Origin {
				in.Add(1)
			}
		})
		if d, k := w.OP.Calls(idp.EndpointDiscovery), w.OP.Calls(idp.EndpointJWKS); d != 1 || k != 1 || int(in.Load()) != n {
			t.Errorf("%d of %d cold sign-ins, %d fetches of metadata, %d of keys", in.Load(), n, d, k)
		}
	})
}

func idpfault05(t *T) {
	const line = "the keys of a provider cannot be read"
	down := idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointJWKS: 500}}
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, nil)
		oidcAccepted(t, w, "warm", idp.Fault{})
		// The limit is 24 h after the keys were fetched, as docs/when-others-fail.md
		// says.
		for _, c := range []struct {
			wait time.Duration
			told int
			ok   bool
		}{{30 * time.Minute, 0, true}, {31 * time.Minute, 1, true}, {time.Hour, 1, true}, {21*time.Hour + 58*time.Minute, 1, true}, {2 * time.Minute, 1, false}} {
			time.Sleep(c.wait)
			if c.ok {
				oidcAccepted(t, w, "warm, down for "+c.wait.String(), down)
			} else {
				oidcRefused(t, w, "past the limit", down)
			}
			synctest.Wait()
			if n := strings.Count(w.Logs.String(), line); n != c.told {
				t.Errorf("after another %v the log says so %d times", c.wait, n)
			}
		}
		time.Sleep(6 * time.Second)
		oidcAccepted(t, w, "back", idp.Fault{})
	})
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, nil)
		oidcRefused(t, w, "cold", down)
		if !strings.Contains(w.Logs.String(), "keys: identity provider unavailable: status 500") {
			t.Errorf("the log does not say what is missing\n%s", w.Logs)
		}
		time.Sleep(6 * time.Second)
		oidcAccepted(t, w, "twin: back", idp.Fault{})
	})
	t.Figure("24 h with the known keys")
}

// idpfault06 checks that a key that is no longer published is accepted for the hour
// of the cache, and at most until the next fetch.
func idpfault06(t *T) {
	next := oidcSigned("ES256", oidcES256(), map[string]any{"kid": "next"})
	withdrawn := func([]map[string]any) []map[string]any {
		return []map[string]any{oidcJWK(oidcES256(), "ES256", "next")}
	}
	old := idp.Fault{JWKS: withdrawn}
	next.JWKS = withdrawn
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, nil)
		oidcAccepted(t, w, "before", idp.Fault{})
		time.Sleep(59 * time.Minute)
		oidcAccepted(t, w, "within the hour", old)
		time.Sleep(2 * time.Minute)
		oidcRefused(t, w, "after an hour", old)
		oidcAccepted(t, w, "twin: the key that is published", next)
	})
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, nil)
		oidcAccepted(t, w, "before", idp.Fault{})
		oidcAccepted(t, w, "a token by the new key", next) // fetches the keys early
		oidcRefused(t, w, "a token by the old one, after it", old)
	})
	t.Figure("1 h at most")
}

func idpfault07(t *T) {
	for name, c := range map[string]struct {
		off  time.Duration // of the provider's clock
		hint string        // "": accepted
	}{
		"exact": {0, ""}, "30 s ahead": {30 * time.Second, ""}, "30 s behind": {-30 * time.Second, ""}, "60 s ahead": {time.Minute, ""},
		"2 min ahead": {2 * time.Minute, "issued 2m0s in the future: clocks differ"}, "2 min behind": {-2 * time.Minute, "expired 1m30s ago by the clock of this machine"},
		"1 h ahead": {time.Hour, "issued 1h0m0s in the future: clocks differ"}, "1 h behind": {-time.Hour, "expired 59m30s ago by the clock of this machine"},
	} {
		oidcBubble(t, func(t *T) {
			w := oidcOffline(t, nil)
			skewed := idp.Fault{IDToken: func(claims map[string]any) { // tokens live for half a minute
				at := time.Now().Add(c.off)
				claims["iat"], claims["exp"] = at.Unix(), at.Add(30*time.Second).Unix()
			}}
			if c.hint == "" {
				oidcAccepted(t, w, name, skewed)
				return
			}
			oidcRefused(t, w, name, skewed)
			if !strings.Contains(w.Logs.String(), c.hint) {
				t.Errorf("%s: no hint in the log\n%s", name, w.Logs)
			}
		})
	}
	idpfaultJump(t)
}

// idpfaultJump makes the provider's clock jump during the flow. The service's own
// clock cannot be set back from here. Tokens that live for years show that a session
// ends at its own time, whatever a provider says.
func idpfaultJump(t *T) {
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, func(c *authsvc.Config) { c.Session.MaxAge = time.Hour })
		b := w.Browser()
		to := b.Begin("op")
		time.Sleep(14 * time.Minute)
		years := func(c map[string]any) {
			c["iat"], c["exp"] = time.Now().Add(-5*time.Minute).Unix(), time.Now().Add(20*365*24*time.Hour).Unix()
		}
		w.OP.SetFault(idp.Fault{IDToken: years})
		if a := b.Get(b.Approve(w.OP, to, "ada")); a.Location() != arena.Origin {
			t.Fatalf("a token of five minutes ago: %s\n%s", a.Location(), w.Logs)
		}
		if b.Email() == "" {
			t.Error("twin: no session")
		}
		time.Sleep(61 * time.Minute)
		if b.Email() != "" {
			t.Error("the session outlives its hour")
		}
	})
}

func idpfault08(t *T) {
	moved := func(m map[string]any) { m["authorization_endpoint"] = "https://op.test/authorize?v=2" }
	begins := func(t *T, w *arena.World) *url.URL {
		t.Helper()
		return arena.MustURL(t, w.Browser().Post("/api/auth/signin/op").Location())
	}
	for name, c := range map[string]struct {
		change func(map[string]any)
		taken  bool
	}{
		"endpoint": {moved, true},
		"issuer":   {func(m map[string]any) { moved(m); m["issuer"] = "https://evil.test" }, false},
		"issuer and all": {func(m map[string]any) {
			for k, v := range m {
				if s, ok := v.(string); ok {
					m[k] = strings.Replace(s, "op.test", "evil.test", 1)
				}
			}
		}, false},
		"http endpoint":    {func(m map[string]any) { moved(m); m["token_endpoint"] = "http://op.test/token" }, false},
		"endpoint missing": {func(m map[string]any) { moved(m); delete(m, "token_endpoint") }, false},
	} {
		oidcBubble(t, func(t *T) {
			w := oidcOffline(t, nil)
			oidcAccepted(t, w, "before", idp.Fault{})
			w.OP.SetFault(idp.Fault{Discovery: c.change})
			if to := begins(t, w); to.Query().Has("v") || to.Host != "op.test" {
				t.Errorf("%s: used at once: %s", name, to)
			}
			time.Sleep(61 * time.Minute)
			if to := begins(t, w); to.Query().Has("v") != c.taken || to.Host != "op.test" {
				t.Errorf("%s: after an hour: %s", name, to)
			}
			time.Sleep(23 * time.Hour)
			if to := begins(t, w); c.taken != (to.Host == "op.test") {
				t.Errorf("%s: after a day: %s", name, to)
			}
			if !c.taken && !strings.Contains(w.Logs.String(), "the metadata of a provider cannot be read") {
				t.Errorf("%s: the log does not tell", name)
			}
			w.OP.SetFault(idp.Fault{})
			time.Sleep(61 * time.Minute)
			oidcAccepted(t, w, name+", twin: as before", idp.Fault{})
		})
	}
}
