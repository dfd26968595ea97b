package engine

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc/engine/internal/cookie"
	"authsvc/engine/internal/fleet"

	"authsvc"
)

// fuzzed returns a service without storage, with the OAuth providers op and op2.
func fuzzed(f *testing.F, mode authsvc.Compat) *Service {
	f.Helper()
	provider := func(id string) *authsvc.OAuth {
		return &authsvc.OAuth{ID: id, Name: id, Endpoints: authsvc.Endpoints{Authorization: "https://id.test/a", Token: "https://id.test/t", UserInfo: "https://id.test/u"}, Client: authsvc.Client{ID: "app", Secret: "s"}}
	}
	s, err := New(authsvc.Config{URL: "https://app.test", Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, Compat: mode, Logger: slog.New(slog.DiscardHandler),
		Providers: []authsvc.Provider{provider("op"), provider("op2")}, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close(context.Background()) })
	return s
}

// fuzzedRequest returns a request with a Cookie header.
func fuzzedRequest(s *Service, cookies string) *request {
	r := httptest.NewRequest(http.MethodGet, "https://app.test/api/auth/session", nil)
	r.Header["Cookie"] = []string{cookies}
	return s.site.newRequest(r)
}

// FuzzChunks checks that a session split into cookies is read back unchanged and that no
// cookie is larger than browsers keep. If a cookie other than the last is missing, the
// session must not be read.
func FuzzChunks(f *testing.F) {
	for _, n := range []int{0, 1, cookie.ChunkSize - 1, cookie.ChunkSize, cookie.ChunkSize + 1, 2 * cookie.ChunkSize, cookie.MaxChunks * cookie.ChunkSize, cookie.MaxChunks*cookie.ChunkSize + 1} {
		f.Add(strings.Repeat("a", n), byte(0))
		f.Add(strings.Repeat("ab.", n/3), byte(1))
	}
	s := fuzzed(f, authsvc.NextAuthV4)
	f.Fuzz(func(t *testing.T, raw string, drop byte) {
		value := strings.Map(func(r rune) rune {
			if r > ' ' && r < 0x7f && !strings.ContainsRune(`",;\`, r) {
				return r
			}
			return -1
		}, raw)
		rq := fuzzedRequest(s, "")
		if !rq.setSession(value, time.Now().Add(time.Hour)) {
			if len(value) <= cookie.ChunkSize*cookie.MaxChunks {
				t.Fatalf("%d bytes do not fit", len(value))
			}
			return
		}
		var parts []string
		for i := range rq.set {
			pair, _, _ := strings.Cut(rq.set[i].Line(true), ";")
			if len(pair) > 4096 {
				t.Fatalf("a cookie of %d bytes", len(pair))
			}
			parts = append(parts, pair)
		}
		if got, _ := fuzzedRequest(s, strings.Join(parts, "; ")).jar.Session(); got != value {
			t.Fatalf("%d bytes became %d", len(value), len(got))
		}
		if len(parts) < 2 {
			return
		}
		gone := int(drop) % (len(parts) - 1) // only the seal shows that the last one is missing
		left := append(append([]string{}, parts[:gone]...), parts[gone+1:]...)
		if got, _ := fuzzedRequest(s, strings.Join(left, "; ")).jar.Session(); got != "" {
			t.Fatalf("without cookie %d, %d bytes came out", gone, len(got))
		}
	})
}

// FuzzCSRF checks that a cookie is valid only if it is made from its token, the secret
// and, without a compat mode, the session. Without a compat mode every byte must match.
func FuzzCSRF(f *testing.F) {
	own, v4 := fuzzed(f, authsvc.CompatNone).site.csrf.(boundCSRF), fuzzed(f, authsvc.NextAuthV4).site.csrf.(nextAuthCSRF)
	for _, sid := range []string{"", "session"} {
		_, one := own.make("", sid)
		_, two := v4.make("", sid)
		for _, cookie := range []string{one, two, one + "=", one[1:], strings.Replace(one, ".", "..", 1), strings.ToUpper(two), two + "|x", strings.Replace(two, "%7C", "|", 1), strings.Replace(two, "%7C", "%7c", 1), "%", "|", "."} {
			f.Add(cookie, sid)
			f.Add(cookie, sid+"x")
		}
	}
	f.Fuzz(func(t *testing.T, cookie, sid string) {
		if token, ok := own.verify(cookie, sid); ok && cookie != token+"."+b64(own.mac.Sum(token, sid)) {
			t.Fatalf("%q counts for %q", cookie, sid)
		}
		token, ok := v4.verify(cookie, sid)
		if !ok {
			return
		}
		plain, err := url.PathUnescape(cookie)
		if strings.Contains(cookie, "|") && !strings.Contains(cookie, "%") {
			plain = cookie
		}
		want := token + "|" + hashHex(token, v4.secrets[0])
		if err != nil || plain != want && !strings.HasPrefix(plain, want+"|") {
			t.Fatalf("%q counts", cookie)
		}
	})
}

// FuzzState checks that a sign-in attempt finishes only with the cookie and the state
// that it began with, at the provider where it began.
func FuzzState(f *testing.F) {
	s := fuzzed(f, authsvc.CompatNone)
	begun := fuzzedRequest(s, "")
	begun.flow = s.site.flows["op"]
	begun.ensureCSRF()
	tx := transaction{Provider: "op", RedirectURI: "https://app.test/api/auth/callback/op", CallbackURL: "https://app.test"}
	if err := s.desk.startTx(begun, &tx); err != nil {
		f.Fatal(err)
	}
	var csrf, sealed string
	for _, c := range begun.set {
		if c.Name == s.site.names.CSRF {
			csrf = c.Name + "=" + c.Value
		} else {
			sealed = c.Value
		}
	}
	f.Add(sealed, tx.State, "op")
	f.Add(sealed, tx.State, "op2")
	f.Add(sealed, tx.State+"=", "op")
	f.Add(sealed[:len(sealed)-1], tx.State, "op")
	f.Add(sealed+"A", tx.State, "op")
	f.Add("", "", "op")
	f.Fuzz(func(t *testing.T, value, state, provider string) {
		flow := s.site.flows[provider]
		if flow == nil || strings.ContainsAny(value, ";\r\n") {
			return
		}
		s.common.Adapter = fleet.NoStorage() // forget used states
		rq := fuzzedRequest(s, csrf+"; "+s.desk.txName(state)+"="+value)
		rq.flow = flow
		got, err := s.desk.finishTx(rq, state, false)
		genuine := strings.Trim(value, " \t") == sealed && state == tx.State && provider == "op"
		if (err == nil) != genuine {
			t.Fatalf("cookie %q, state %q, provider %q: %v, %v", value, state, provider, got, err)
		}
		if err != nil && value != "" && len(value) > 8 && strings.Contains(err.Error(), value) {
			t.Fatalf("the error quotes the cookie: %v", err)
		}
	})
}

// FuzzForwarded checks that the client's address is the peer's unless the peer is a
// trusted proxy, and that entries to the left of an untrusted address do not count.
func FuzzForwarded(f *testing.F) {
	s := fuzzed(f, authsvc.CompatNone)
	for _, line := range []string{"", "1.2.3.4", "1.2.3.4, 10.0.0.2", "10.0.0.1,10.0.0.2", "1.2.3.4:80", "[2001:db8::1]:80", "::ffff:10.0.0.1", "unknown", ",", " , 1.2.3.4\t", "fe80::1%eth0", "0300.1.1.1", strings.Repeat("10.0.0.1,", 1000)} {
		for _, peer := range []string{"10.0.0.1:1", "203.0.113.7:1", "[fd00::1]:1", "[::ffff:10.0.0.1]:1", "pipe", ""} {
			f.Add(peer, line, "5.6.7.8")
			f.Add(peer, "5.6.7.8", line)
		}
	}
	f.Fuzz(func(t *testing.T, peer, one, two string) {
		rq := fuzzedRequest(s, "")
		rq.r.RemoteAddr, rq.r.Header["X-Forwarded-For"] = peer, []string{one, two}
		got := rq.clientIP()
		if want := slowClientIP(s, peer, one+","+two); got != want {
			// An empty line has no hop; in the joined list it becomes an empty one.
			if one != "" && two != "" {
				t.Fatalf("%q, %q, %q: %v, want %v", peer, one, two, got, want)
			}
		}
		ap, err := netip.ParseAddrPort(peer)
		if err != nil && got.IsValid() || err == nil && !s.site.trustedProxy(ap.Addr().Unmap().WithZone("")) && got != ap.Addr().Unmap().WithZone("") {
			t.Fatalf("peer %q: %v", peer, got)
		}
		if got.IsValid() && strings.ContainsAny(rq.clientKey(), " \r\n,;") {
			t.Fatalf("key %q", rq.clientKey())
		}
	})
}

// slowClientIP returns the expected address: it splits the whole list and walks it from
// the right.
func slowClientIP(s *Service, peer, list string) netip.Addr {
	ap, err := netip.ParseAddrPort(peer)
	if err != nil {
		return netip.Addr{}
	}
	at := ap.Addr().Unmap().WithZone("")
	hops := strings.Split(list, ",")
	for i := len(hops) - 1; i >= 0 && s.site.trustedProxy(at); i-- {
		hop := strings.TrimSpace(hops[i])
		next, err := netip.ParseAddr(hop)
		if err != nil {
			withPort, err := netip.ParseAddrPort(hop)
			if err != nil {
				break
			}
			next = withPort.Addr()
		}
		at = next.Unmap().WithZone("")
	}
	return at
}
