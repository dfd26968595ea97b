package verify

import (
	"net/http"
	"strings"

	"authsvc/internal/test/browser"
)

// gateSpoofs are ways in which a client claims to be eve, or to request something
// open.
var gateSpoofs = map[string][]string{
	"as it is written":    {"X-Auth-Email: eve@evil.test"},
	"small":               {"x-auth-email: eve@evil.test", "x-auth-user-id: eve"},
	"capitals":            {"X-AUTH-EMAIL: eve@evil.test", "X-AUTH-GROUPS: eve"},
	"underscores":         {"X_Auth_Email: eve@evil.test", "X_AUTH_USER_ID: eve"},
	"one underscore":      {"X-Auth_Email: eve@evil.test", "X_Auth-User-Id: eve", "X-Auth-User_Id: eve"},
	"twice":               {"X-Auth-Email: eve@evil.test", "X-Auth-Email: eve@evil.test"},
	"empty and full":      {"X-Auth-Email:", "X-Auth-Email: eve@evil.test"},
	"others":              {"X-Auth-User-Id: eve", "X-Auth-Name: eve", "X-Auth-Groups: eve,ops"},
	"hop by hop":          {"Connection: X-Auth-Email, X-Auth-User-Id", "X-Auth-Email: eve@evil.test"},
	"hop by hop, ours":    {"Connection: close, X-Auth-Email, Cookie, X-Forwarded-Uri, X-Forwarded-Host, X-Forwarded-Method, X-Forwarded-For"},
	"tab before":          {"X-Auth-Email:\teve@evil.test"},
	"folded":              {"X-Auth-Email: a", " eve@evil.test"},
	"blank in the name":   {"X-Auth-Email : eve@evil.test"},
	"a line feed":         {"X-A: b\nX-Auth-Email: eve@evil.test"},
	"a carriage return":   {"X-A: b\rX-Auth-Email: eve@evil.test"},
	"a trailer":           {"Trailer: X-Auth-Email", "TE: trailers"},
	"another target":      {"X-Forwarded-Uri: /public/", "X-Original-URL: /public/", "X-Rewrite-URL: /public/", "X-Original-URI: /public/"},
	"another, twice":      {"X-Forwarded-Uri: /public/", "X-Forwarded-Uri: /public/", "X-Forwarded-Method: OPTIONS", "X-Forwarded-Method: OPTIONS", "X-Forwarded-Host: evil.test", "X-Forwarded-Host: evil.test"},
	"another, listed":     {"Connection: X-Forwarded-Uri, X-Forwarded-Host, X-Forwarded-Method", "X-Forwarded-Uri: /public/", "X-Forwarded-Method: OPTIONS", "X-Forwarded-Host: evil.test"},
	"another method":      {"X-Forwarded-Method: OPTIONS", "X-Original-Method: OPTIONS"},
	"another host":        {"X-Forwarded-Host: evil.test", "Forwarded: host=evil.test;proto=http", "X-Forwarded-Proto: http"},
	"another, underscore": {"X_Forwarded_Uri: /public/", "X-Forwarded_Uri: /public/", "X_Forwarded_Host: evil.test"},
	"another prefix":      {"X-Forwarded-Prefix: /public", "X-Script-Name: /public", "X-Envoy-Original-Path: /public/"},
	"another client":      {"X-Forwarded-For: 10.6.6.6", "X-Real-IP: 10.6.6.6", "True-Client-IP: 10.6.6.6"},
	"an answer of ours":   {"X-Accel-Redirect: /public/", "Location: /public/", "X-Sendfile: /public/"},
}

// gate12 checks that a client cannot appear as another user, or as requesting
// something else, than the proxy or authsvc sees.
func gate12(t *T) {
	behindGate(t, gateTune{}, func(t *T, s *gatedSite) {
		ada := s.signedIn(t, "ada")
		for name, lines := range gateSpoofs {
			for who, b := range map[string]*browser.Browser{"ada": ada, "": nil} {
				spoofed(t, s, name, who, s.raw(t, b, "GET /public/x", lines...))
				if a := s.raw(t, b, "GET /admin/x", lines...); who == "" && answeredByProgram(a) {
					t.Errorf("%s: a signed-out client is shown /admin/x:\n%s", name, a.Text)
				} else if who != "" {
					spoofed(t, s, name, who, a)
				}
			}
		}
		gateOtherTargets(t, s, ada)
		gateOtherPeers(t, s)
	})
}

func answeredByProgram(a *browser.Answer) bool { return a.Header.Get("X-Program") != "" }

// spoofed checks the request that arrived.
func spoofed(t *T, s *gatedSite, name, who string, a *browser.Answer) {
	t.Helper()
	g, asked := got(t, a)
	if !asked { // refused by the proxy or by us
		if a.StatusCode == http.StatusOK {
			t.Errorf("%s: %q\n%.300s", name, who, a.Text)
		}
		return
	}
	want := map[string]string{"ada": "ada@example.com"}[who]
	hopByHop := strings.HasPrefix(name, "hop by hop") // may remove the client's own cookie
	for header, values := range g.Header {
		plain := strings.ReplaceAll(strings.ToLower(header), "_", "-")
		all := strings.Join(values, "|")
		switch {
		case strings.HasPrefix(plain, "x-auth-") && (strings.Contains(all, "eve") || strings.Contains(header, "_") || len(values) > 1):
			t.Errorf("%s, %q: the program got %s: %q", name, who, header, values)
		case plain == "x-auth-email" && all != want && !(hopByHop && all == ""):
			t.Errorf("%s, %q: the program got %s: %q", name, who, header, values)
		case plain == "x-forwarded-for" && !strings.HasSuffix(all, "127.0.0.1"):
			t.Errorf("%s: the client is %q", name, all)
		}
	}
	if g.Header.Get("X-Auth-Email") != want && !(hopByHop && g.Header.Get("X-Auth-Email") == "") {
		t.Errorf("%s, %q: the program does not learn it: %v", name, who, g.Header)
	}
	if g.Host != s.host() || g.Target != "/public/x" && g.Target != "/admin/x" {
		t.Errorf("%s: the program got %s at %s", name, g.Target, g.Host)
	}
}

// gateOtherTargets checks that the gate judges the target that arrives, however the
// first line and Host spell it.
func gateOtherTargets(t *T, s *gatedSite, ada *browser.Browser) {
	for _, first := range []string{
		"GET /admin/x", "GET //admin/x", "GET /public/../admin/x", "GET /public/%2e%2e/admin/x", "GET /public/..%2fadmin/x", "GET /PUBLIC/../ADMIN/x",
		"GET /public/../admin/x?/public/", "GET /admin/x?/public/", "GET /admin/x;/public/", "GET /admin/x/../../public/../admin/x", "GET /%61dmin/x", "GET /public/..;/admin/x",
		"GET " + s.origin + "/admin/x", "GET http://" + s.host() + "/admin/x", "GET https://evil.test/admin/x", "GET /api/auth/../admin/x", "GET /api/auth/%2e%2e/%2e%2e/admin/x",
		"GET /api/auth/..%2f..%2fadmin/x", "GET /API/AUTH/../../admin/x", "GET /_gate", "GET /public/\\..\\admin/x", "GET /public/%5c..%5cadmin/x", "PROPFIND /admin/x", "HEAD /admin/x", "OPTIONS /admin/x", "OPTIONS *",
	} {
		for _, host := range []string{s.host(), "evil.test", s.host() + ", evil.test"} {
			a := s.raw(t, nil, first, "Host: "+host)
			if !answeredByProgram(a) {
				continue
			}
			if g, _ := got(t, a); g.Host != s.host() || strings.Contains(strings.ToLower(strings.SplitN(g.Target, "?", 2)[0]), "dmin") {
				t.Errorf("%q at %s: a signed-out client is shown %s of %s", first, host, g.Target, g.Host)
			}
		}
	}
	for _, lines := range [][]string{{"Host: " + s.host(), "Host: evil.test"}, {"Host: evil.test", "Host: " + s.host()}, {"Host:"}} {
		if a := s.raw(t, nil, "GET /dash", lines...); answeredByProgram(a) {
			t.Errorf("%q: a signed-out client is shown the program", lines)
		}
	}
	for _, first := range []string{"GET /admin/x", "GET /public/../admin/x", "GET " + s.origin + "/admin/x"} { // twins
		if a := s.raw(t, ada, first); !answeredByProgram(a) && a.StatusCode != http.StatusBadRequest {
			t.Errorf("%q of ada: %d %.300s", first, a.StatusCode, a.Text)
		}
	}
}

// gateOtherPeers checks that a client that is not in gate.proxies gets no decision.
func gateOtherPeers(t *T, s *gatedSite) {
	if s.proxy == nil {
		return
	}
	ask := func(from, way string) rawAnswer {
		return rawFrom(t, from, s.Addr, "GET /api/auth/gate/"+way+" HTTP/1.1\r\nHost: "+s.host()+"\r\nConnection: close\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Host: "+s.host()+"\r\nX-Forwarded-Uri: /public/x\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n")
	}
	for _, way := range []string{"forward-auth", "auth-request", "ext-authz/public/x", "denied"} {
		if a := ask("127.0.0.2", way); len(a.status) != 1 || a.status[0] != http.StatusForbidden || strings.Contains(a.text, "X-Auth-") || strings.Contains(a.text, "Location") {
			t.Errorf("%s, asked by an untrusted client: %v\n%s", way, a.status, a.text)
		}
		want := http.StatusOK
		if way == "denied" {
			want = http.StatusServiceUnavailable
		}
		if a := ask("127.0.0.1", way); len(a.status) != 1 || a.status[0] != want {
			t.Errorf("twin: %s, asked by the proxy: %v", way, a.status)
		}
	}
}
