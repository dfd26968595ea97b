package verify

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"authsvc/internal/test/browser"
)

// httpwirePaths lists all routes of the interface.
var httpwirePaths = []string{"", "/signin", "/signin/op", "/signin/email", "/callback/op", "/callback/email", "/callback/credentials", "/signout", "/signout/provider", "/signout/return",
	"/session", "/csrf", "/providers", "/error", "/error/Callback", "/verify-request", "/_log", "/client.js", "/account", "/account/profile", "/account/unlink", "/account/signout", "/account/undo", "/account/delete", "/account/keep", "/account/export", "/account.js", "/confirm", "/backchannel-logout/op"}

func httpwire12(t *T) {
	w, b, _ := httpwireSignedIn(t)
	for _, method := range []string{"TRACE", "CONNECT", "PUT", "DELETE", "PATCH", "FOO", "OPTIONS", "HEAD", "get", "F\"<script>", "PROPFIND"} {
		t.Run(method, func(t *T) {
			for _, path := range httpwirePaths {
				a := w.NoEffect(t, b, func() *browser.Answer {
					r := httptest.NewRequest(http.MethodGet, b.Origin+"/api/auth"+path, strings.NewReader("canary"))
					r.Method = method
					r.Header.Set("X-Canary", "canary")
					return b.Clone().Do(r)
				})
				if want := map[bool]int{true: 405, false: 400}[t.Mode == modeNone]; a.StatusCode != want {
					t.Errorf("%s: %d, want %d", path, a.StatusCode, want)
				}
				if t.Mode == modeNone && a.Header.Get("Allow") == "" {
					t.Errorf("%s: no Allow", path)
				}
				if strings.Contains(a.Text, "canary") || strings.Contains(a.Text, "<script>") {
					t.Errorf("%s echoes %s", path, a.Text)
				}
			}
		})
	}
	if a := b.Post("/api/auth/signout"); a.StatusCode != 302 || b.Email() != "" {
		t.Errorf("twin: %d", a.StatusCode)
	}
	if t.Mode == modeNone {
		t.Run("on the wire", httpwireWireMethods)
	}
}

// httpwireWireMethods tests methods that the server in front of the engine could echo
// or tunnel.
func httpwireWireMethods(t *T) {
	p, _ := httpwireServe(t)
	for _, line := range []string{"TRACE / HTTP/1.1", "TRACE /api/auth/session HTTP/1.1", "CONNECT evil.test:443 HTTP/1.1", "TRACE /healthz HTTP/1.1", "OPTIONS * HTTP/1.1", "PUT / HTTP/1.1", "PRI * HTTP/2.0", "GET http://evil.test/api/auth/session HTTP/1.1"} {
		a := rawSend(t, p.Addr, line+"\r\nHost: "+p.Addr+"\r\nX-Canary: canary\r\nConnection: close\r\n\r\n")
		if strings.Contains(a.text, "canary") || len(a.status) != 1 || a.status[0] < 300 && !strings.HasPrefix(line, "OPTIONS *") || a.status[0] >= 500 && a.status[0] != 505 {
			t.Errorf("%s: %v %.300q", line, a.status, a.text)
		}
	}
	if a := rawSend(t, p.Addr, "GET /api/auth/session HTTP/1.1\r\nHost: "+p.Addr+"\r\nConnection: close\r\n\r\n"); len(a.status) != 1 || a.status[0] != 200 {
		t.Errorf("twin: %v", a.status)
	}
}

func httpwire16(t *T) {
	w := t.Enter(nil)
	b := w.Browser()
	long := strings.Repeat("x", 64<<10)
	for name, target := range map[string]string{
		"path": "/" + long, "provider": "/signin/" + long, "callback": "/callback/" + long, "error word": "/error/" + long, "slashes": strings.Repeat("/", 64<<10),
		"dots": strings.Repeat("/..", 20_000), "escapes": "/signin/" + strings.Repeat("%2e", 20_000),
	} {
		if a := w.MustRefuse(t, func() *browser.Answer { return b.Clone().Get("/api/auth" + target) }); a.StatusCode >= 500 || len(a.Text) > 1000 {
			t.Errorf("%s: %d, %d bytes", name, a.StatusCode, len(a.Text))
		}
	}
	var longest time.Duration
	for name, query := range map[string]string{
		"query": long, "callbackUrl": "callbackUrl=" + long, "10^5 keys": strings.Repeat("a=&", 100_000), "10^5 different": distinct(100_000), "one name": strings.Repeat("callbackUrl=/&", 1000),
		"state": "state=" + long + "&code=x", "code": "code=" + long + "&state=x", "error": "error=" + long, "ui_locales": "ui_locales=" + strings.Repeat("de%20", 3000),
	} {
		for _, path := range []string{"/signin", "/callback/op", "/callback/email", "/error", "/verify-request", "/session"} {
			began := time.Now()
			a := b.Clone().Get("/api/auth" + path + "?" + query)
			longest = max(longest, time.Since(began))
			if a.StatusCode >= 500 || len(a.Text) > 64<<10 || len(a.Location()) > 8<<10 {
				t.Errorf("%s %s: %d, %d bytes", path, name, a.StatusCode, len(a.Text))
			}
		}
	}
	if longest > within(500*time.Millisecond) {
		t.Errorf("an answer took %v", longest)
	}
	if a := b.Get("/api/auth/signin?callbackUrl=/" + strings.Repeat("x", 1000)); a.StatusCode != 200 || !strings.Contains(b.SignIn(w.OP, "ada").Location(), "xxxx") {
		t.Errorf("twin: %d", a.StatusCode)
	}
	if t.Mode != modeNone {
		return
	}
	p, _ := httpwireServe(t)
	for _, size := range []int{64 << 10, 1 << 20} {
		if a := rawSend(t, p.Addr, "GET /api/auth/"+strings.Repeat("x", size)+" HTTP/1.1\r\nHost: "+p.Addr+"\r\n\r\n"); len(a.status) == 1 && a.status[0] != 431 || !a.closed {
			t.Errorf("on the wire, %d: %v", size, a.status)
		}
	}
}

func distinct(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "a%d=&", i)
	}
	return s.String()
}

func httpwire19(t *T) {
	p, _ := httpwireServe(t)
	c := rawDial(t, p.Addr)
	a := rawExchange(t, c, 500*time.Millisecond, strings.NewReader(rawPost(p.Addr, "Expect: 100-continue\r\nContent-Length: 11\r\n", "")))
	if len(a.status) != 0 || !strings.HasPrefix(a.text, "HTTP/1.1 100 Continue\r\n") {
		t.Errorf("Expect without body: %v %q", a.status, a.text)
	}
	if a := rawSend(t, p.Addr, rawPost(p.Addr, "Expect: nonsense\r\nContent-Length: 11\r\n", "csrfToken=x")); len(a.status) != 1 || a.status[0] != 417 {
		t.Errorf("unknown Expect: %v", a.status)
	}
	upgrade := "GET /api/auth/session HTTP/1.1\r\nHost: " + p.Addr + "\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
	if a := rawSend(t, p.Addr, upgrade); len(a.status) != 1 || a.status[0] != 200 || strings.Contains(a.text, "101 ") {
		t.Errorf("h2c upgrade: %v %.100q", a.status, a.text)
	}
	if a := rawSend(t, p.Addr, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); !a.closed || len(a.status) == 1 && a.status[0] < 400 {
		t.Errorf("h2c with prior knowledge: %v %q", a.status, a.text)
	}
	get := "GET /api/auth/csrf HTTP/1.1\r\nHost: " + p.Addr + "\r\n\r\n"
	if a := rawSend(t, p.Addr, strings.Repeat(get, 100)); len(a.status) != 100 || strings.Count(a.text, "csrfToken") != 100 {
		t.Errorf("pipelined: %d answers", len(a.status))
	}
}
