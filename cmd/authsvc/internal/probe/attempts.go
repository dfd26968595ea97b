package probe

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"authsvc/internal/protocol/weburl"
)

// Limits of the attempts on one host.
const (
	maxClosed = 3 // closed paths that are tried in other spellings
	maxOpen   = 2 // open paths that are tried as a way to them
)

// gets returns attempts on paths.
func gets(paths []string, plain bool, lines ...string) (list []attempt) {
	for _, path := range paths {
		list = append(list, attempt{steps: []request{{target: path, lines: lines}}, plain: plain})
	}
	return list
}

// odds returns an attempt on a path for each element of lines. An element may contain
// several header lines, separated by newlines.
func odds(path string, lines ...string) (list []attempt) {
	for _, line := range lines {
		list = append(list, attempt{steps: []request{{target: path, lines: strings.Split(line, "\n")}}})
	}
	return list
}

// firstClosed returns a path where a GET request was refused.
func (h *target) firstClosed() (string, string) {
	if len(h.refused) == 0 {
		return "", "no path is closed"
	}
	return h.refused[0], ""
}

// closedAt records the paths of attempts that were refused.
func (h *target) closedAt(list []attempt) []attempt {
	for i := range list {
		path, method := list[i].steps[0].target, list[i].steps[0].verb()
		list[i].done = func(result string) {
			if result == OK && method == http.MethodGet && !slices.Contains(h.refused, path) {
				h.refused = append(h.refused, path)
			}
		}
	}
	return list
}

// unchecked requests paths that have no location of their own.
func unchecked(h *target) ([]attempt, string) {
	list := h.closedAt(gets([]string{"/authsvc-" + h.p.mark, "/"}, true))
	for i := range list {
		list[i].rule = true
	}
	note := list[0].done
	list[0].done = func(result string) {
		note(result)
		h.everythingOpens = result == Hole
	}
	return list, ""
}

// openPaths checks that the program can be reached.
func openPaths(h *target) (list []attempt, lack string) {
	for _, text := range h.open[:min(maxOpen, len(h.open))] {
		method, path := split(text)
		list = append(list, attempt{steps: []request{{method: method, target: path}}, judge: h.opened})
	}
	return list, ""
}

// sessions looks for a path that the session may see.
func sessions(h *target) (list []attempt, lack string) {
	if h.Cookie == "" {
		return nil, "there is no session: give --cookie-file"
	}
	for _, path := range append([]string{"/"}, h.paths(h.closed)...)[:min(5, 1+len(h.paths(h.closed)))] {
		path += "?" + random()
		list = append(list, attempt{steps: []request{{target: path, cookie: true}}, judge: func(a *attempt, got *answer) (string, string) {
			result, why := h.opened(a, got)
			if result == OK && h.entered == "" {
				h.entered, _, _ = strings.Cut(path, "?")
			}
			if h.gateSaid(got) {
				return OK, why[:strings.IndexByte(why+",", ',')]
			}
			return result, why
		}})
	}
	return list, ""
}

// paths returns the paths of GET requests.
func (h *target) paths(requests []string) (list []string) {
	for _, text := range requests {
		if method, path := split(text); method == http.MethodGet {
			list = append(list, path)
		}
	}
	return list
}

// usualPaths are paths that proxies often forward to a program by their own location.
var usualPaths = strings.Fields(`/api/ /api/v1/probe /admin/ /static/probe /assets/probe /public/probe /images/probe /media/probe /uploads/probe /files/probe /download/probe
	/ws /socket.io/ /events /graphql /rpc /metrics /health /status /login /logout /webhook /hooks/probe /index.html /robots.txt /favicon.ico /.git/config`)

// uncheckedPaths requests the paths that each rule closes, and usual paths.
func uncheckedPaths(h *target) (list []attempt, lack string) {
	for _, text := range h.closed {
		method, path := split(text)
		a := attempt{steps: []request{{method: method, target: path}}, plain: true, rule: true}
		if method != http.MethodGet {
			a.steps[0].lines = []string{"Content-Length: 0"}
		}
		list = append(list, a)
	}
	list = append(list, gets(usualPaths, true)...)
	return h.closedAt(list), ""
}

// uncheckedSuffixes requests names that look like files to proxies.
func uncheckedSuffixes(h *target) ([]attempt, string) {
	var paths []string
	for _, end := range []string{".css", ".js", ".png", ".ico", ".svg", ".woff2", ".php", ".json", ".map", ".html", ".txt", ".pdf"} {
		paths = append(paths, "/authsvc-"+h.p.mark+end)
		if closed := h.ofRules(); closed != "" {
			paths = append(paths, strings.TrimSuffix(closed, "/")+"/probe"+end)
		}
	}
	return gets(paths, true), ""
}

// ofRules returns a path that a rule closes.
func (h *target) ofRules() string {
	for _, path := range h.paths(h.closed) {
		if slices.Contains(h.refused, path) && path != "/" {
			return path
		}
	}
	return ""
}

// httpPort requests paths over http.
func httpPort(h *target) (list []attempt, lack string) {
	if !h.secure {
		return nil, "the origin is http"
	}
	at := net.JoinHostPort(h.name, "80")
	for _, path := range append([]string{"/"}, h.refused[:min(maxClosed, len(h.refused))]...) {
		list = append(list, attempt{steps: []request{{target: path, at: at}}, elsewhere: true})
	}
	return list, ""
}

// otherHosts requests other hosts at the address of the host.
func otherHosts(h *target) (list []attempt, lack string) {
	for _, host := range []string{"authsvc-probe.invalid", "localhost", "127.0.0.1", h.name + ".", h.name + ":8444", "www." + h.name, h.name + ".invalid"} {
		for _, path := range append([]string{"/"}, h.refused[:min(1, len(h.refused))]...) {
			if host != h.authority && !h.known(host) {
				list = append(list, attempt{steps: []request{{target: path, host: host}}, elsewhere: true})
			}
		}
	}
	return list, ""
}

// known reports whether another host of the gate has this name.
func (h *target) known(authority string) bool {
	for i := range h.p.Hosts {
		if _, other, _ := strings.Cut(h.p.Hosts[i].Origin, "://"); other == authority {
			return true
		}
	}
	return false
}

// twoHosts names one host in the request line and another in Host.
func twoHosts(h *target) ([]attempt, string) {
	closed, lack := h.firstClosed()
	if lack != "" {
		return nil, lack
	}
	absolute := h.Origin + closed
	return []attempt{
		{steps: []request{{target: absolute, lines: []string{"Host: authsvc-probe.invalid"}}}},
		{steps: []request{{target: "https://authsvc-probe.invalid" + closed}}, elsewhere: true},
		{steps: []request{{target: "http://" + h.authority + closed}}},
		{steps: []request{{target: closed, lines: []string{"Host: " + h.authority, "Host: authsvc-probe.invalid"}}}},
		{steps: []request{{target: closed, lines: []string{"Host: authsvc-probe.invalid", "Host: " + h.authority}}}},
		{steps: []request{{target: closed, lines: []string{"Host: " + h.authority + ", authsvc-probe.invalid"}}}},
	}, ""
}

// exempt sends requests that proxies are often told not to check: from local clients,
// health checks, preflights and scripts.
func exempt(h *target) ([]attempt, string) {
	closed, lack := h.firstClosed()
	if lack != "" {
		return nil, lack
	}
	var list []attempt
	for _, method := range []string{"HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "PROPFIND", "TRACE", "PROBE", "get"} {
		list = append(list, attempt{steps: []request{{method: method, target: closed, lines: []string{"Content-Length: 0"}}}})
	}
	return append(list, odds(closed,
		"X-Forwarded-For: 127.0.0.1", "X-Forwarded-For: 10.0.0.1", "X-Forwarded-For: 192.168.0.1, 172.16.0.1", "X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1;proto=https",
		"True-Client-IP: 127.0.0.1\nCF-Connecting-IP: 127.0.0.1\nX-Client-IP: 127.0.0.1",
		"Authorization: Basic cHJvYmU6cHJvYmU=", "Authorization: Bearer probe", "X-API-Key: probe",
		"Cookie: session=probe; next-auth.session-token=probe; authjs.session-token=probe; __Host-authsvc.session=probe; __Host-authsvc.gate=probe",
		"User-Agent: kube-probe/1.30", "User-Agent: ELB-HealthChecker/2.0", "User-Agent: GoogleHC/1.0",
		"X-Requested-With: XMLHttpRequest", "Sec-Purpose: prefetch\nPurpose: prefetch", "Referer: "+h.Origin+"/\nOrigin: "+h.Origin, "Range: bytes=0-10",
		"Accept: text/html\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: document", "Accept: text/html\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: iframe",
		"Access-Control-Request-Method: GET\nOrigin: https://authsvc-probe.invalid", "X-HTTP-Method-Override: OPTIONS", "X-Auth-User-Id: probe\nX-Auth-Email: probe@authsvc-probe.invalid", "Content-Type: application/grpc\nTE: trailers",
	)...), ""
}

// clientTargets names an open path, method or host in headers by which proxies describe
// the original request.
func clientTargets(h *target) ([]attempt, string) {
	closed, lack := h.firstClosed()
	if lack != "" {
		return nil, lack
	}
	if len(h.open) == 0 {
		return nil, "no path is open that a client could name in place of a closed one"
	}
	method, open := split(h.open[0])
	other := h.openHost()
	return odds(closed,
		"X-Forwarded-Uri: "+open, "X-Original-URL: "+open, "X-Original-URI: "+open, "X-Rewrite-URL: "+open, "X-Forwarded-Path: "+open, "X-Envoy-Original-Path: "+open,
		"X-Original-URL: "+h.Origin+open, "X-Forwarded-Prefix: "+strings.TrimSuffix(open, "/"), "X_Forwarded_Uri: "+open, "X-Forwarded-Uri: "+open+"\nX-Forwarded-Uri: "+open,
		"X-Forwarded-Uri: "+open+"\nX-Forwarded-Method: "+method+"\nX-Forwarded-Host: "+h.authority, "X-Forwarded-Method: OPTIONS", "X-Original-Method: OPTIONS",
		"X-Forwarded-Host: "+other, "X-Forwarded-Host: "+h.authority+"\nX-Forwarded-Host: "+other, "Forwarded: host="+other+";proto=https",
		"Connection: close, X-Forwarded-Uri, X-Forwarded-Host, X-Forwarded-Method\nX-Forwarded-Uri: "+open, "X-Auth-Request-Redirect: "+open,
	), ""
}

// openHost returns another host, of the gate if possible.
func (h *target) openHost() string {
	for i := range h.p.Hosts {
		if o := &h.p.Hosts[i]; o.Origin != h.Origin {
			_, authority, _ := strings.Cut(o.Origin, "://")
			return authority
		}
	}
	return "authsvc-probe.invalid"
}

// webSockets opens WebSockets without a session and from another site.
func webSockets(h *target) ([]attempt, string) {
	const upgrade = "Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\nSec-Fetch-Mode: websocket"
	closed, lack := h.firstClosed()
	if lack != "" {
		return nil, lack
	}
	list := odds(closed, upgrade, upgrade+"\nOrigin: "+h.Origin, upgrade+"\nOrigin: https://authsvc-probe.invalid")
	if h.entered != "" {
		foreign := odds(h.entered, upgrade+"\nOrigin: https://authsvc-probe.invalid")
		foreign[0].steps[0].cookie = true
		list = append(list, foreign...)
	}
	return list, ""
}

// cached requests paths that another user has just seen.
func cached(h *target) (list []attempt, lack string) {
	closed, lack := h.firstClosed()
	if lack != "" {
		return nil, lack
	}
	for _, open := range h.paths(h.open)[:min(1, len(h.paths(h.open)))] {
		warm := request{target: open + "?" + random()}
		list = append(list, attempt{steps: []request{warm, warm, {target: closed + "?" + random()}}})
	}
	if h.entered == "" {
		return list, "a test whether an answer for one person is reused for others needs a session: give --cookie-file"
	}
	same := request{target: h.entered + "?" + random(), cookie: true}
	twice := same
	twice.cookie = false
	return append(list,
		attempt{steps: []request{same, same, twice}},
		attempt{steps: []request{same, {target: closed + "?" + random()}}},
	), ""
}

// ports requests the program at ports that it may listen on itself.
func ports(h *target) (list []attempt, lack string) {
	bare := h.name
	if weburl.Loopback(bare) {
		return nil, "the host is this machine"
	}
	path := "/"
	if len(h.refused) > 0 && !slices.Contains(h.refused, path) {
		path = h.refused[0]
	}
	said := slices.Clone(h.Ports)
	for _, port := range append(said, "3000", "5000", "5173", "8000", "8080", "8081", "8443", "9000") {
		at := net.JoinHostPort(bare, port)
		if at == h.address || slices.ContainsFunc(list, func(a attempt) bool { return a.steps[0].at == at }) {
			continue
		}
		list = append(list, attempt{steps: []request{{target: path, at: at}}, elsewhere: true, program: slices.Contains(h.Ports, port)})
	}
	return list, ""
}
