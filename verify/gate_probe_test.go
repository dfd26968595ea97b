package verify

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"authsvc/internal/test/freeport"
	"authsvc/internal/test/process"
)

// A plantedHole is a configuration mistake that lets requests bypass the gate.
type plantedHole struct {
	kind    string // its name in authsvc probe
	proxies map[string]gateTune
}

// The parts of configurations that holes replace, and parts that lead to the program.
const (
	nginxSite   = "location / {"
	nginxToApp  = "{ proxy_pass http://127.0.0.1:8080; proxy_set_header Host $host; }\n    "
	nginxServer = "server {\n    listen 443 ssl;"
	caddySite   = "handle {\n\t\troute {"
	caddyToApp  = "{\n\t\treverse_proxy 127.0.0.1:8080\n\t}\n\t"
	caddyCheck  = "forward_auth 127.0.0.1:3000 {"
	traefikApp  = "    app: {rule: \"Host(`app.example.com`)\", service: app, middlewares: [authsvc], tls: {}}\n"
	traefikDoor = "  websecure: {address: \":443\"}\n"
	nginxTLS    = "ssl_certificate /etc/ssl/app.example.com.pem; ssl_certificate_key /etc/ssl/app.example.com.key;"
)

func inProxy(pairs ...string) gateTune { return gateTune{proxy: pairs} }

func inLua(pairs ...string) gateTune { return gateTune{lua: pairs} }

// unlessAlso makes HAProxy check fewer requests.
func unlessAlso(condition string) gateTune { return inProxy(haproxyAsks, haproxyAsks+" or "+condition) }

// besideApp adds a Traefik router that leads to the program without a check.
func besideApp(rule, more string) gateTune {
	return inProxy(traefikApp, traefikApp+"    beside: {rule: \""+rule+"\", service: app"+more+"}\n")
}

// plantedHoles returns ten holes, each for every proxy. Over http, they are at plain.
func plantedHoles(plain string) map[string]plantedHole {
	return map[string]plantedHole{
		"a location without the check": {"unchecked-path", map[string]gateTune{
			"traefik": besideApp("Host(`app.example.com`) && PathPrefix(`/admin/`)", ", tls: {}"),
			"nginx":   inProxy(nginxSite, "location /admin/ "+nginxToApp+nginxSite), "haproxy": unlessAlso("{ path_beg /admin/ }"),
			"caddy": inProxy(caddySite, "handle /admin/* "+caddyToApp+caddySite)}},
		"a location by a regular expression": {"unchecked-suffix", map[string]gateTune{
			"traefik": besideApp("Host(`app.example.com`) && PathRegexp(`[.](css|js)$`)", ", tls: {}"),
			"nginx":   inProxy(nginxSite, `location ~ \.(css|js)$ `+nginxToApp+nginxSite), "haproxy": unlessAlso("{ path_reg [.]css$ }"),
			"caddy": inProxy(caddySite, "@files path_regexp [.](css|js)$\n\thandle @files "+caddyToApp+caddySite)}},
		"the http port": {"http-port", map[string]gateTune{
			"traefik": inProxy(traefikDoor, traefikDoor+"  web: {address: \""+plain+"\"}\n", traefikApp, traefikApp+"    beside: {rule: \"Host(`app.example.com`)\", service: app, entryPoints: [web]}\n"),
			"nginx":   inProxy(nginxServer, "server { listen "+plain+"; server_name app.example.com; location / "+nginxToApp+"}\n"+nginxServer),
			"haproxy": inProxy("\nbackend app\n", "\nfrontend plain\n    mode http\n    bind "+plain+"\n    timeout client 60s\n    default_backend app\n\nbackend app\n"),
			"caddy":   inProxy("app.example.com {", "http://app.example.com:"+plain[strings.LastIndexByte(plain, ':')+1:]+" {\n\tbind 127.0.0.1\n\treverse_proxy 127.0.0.1:8080\n}\napp.example.com {")}},
		"the default server": {"default-server", map[string]gateTune{
			"traefik": besideApp("PathPrefix(`/`)", ", priority: 1, tls: {}"),
			"nginx":   inProxy(nginxServer, "server { listen 443 ssl; server_name _; "+nginxTLS+" location / "+nginxToApp+"}\n"+nginxServer),
			"haproxy": inProxy("    http-request deny unless app\n", "", haproxyAsks, haproxyAsks+" or !app", "use_backend app if app", "default_backend app"),
			"caddy":   inProxy("app.example.com {", ":443 {\n\treverse_proxy 127.0.0.1:8080\n}\napp.example.com {")}},
		"satisfy any, and its like": {"unchecked-host", map[string]gateTune{
			"traefik": besideApp("Host(`app.example.com`) && ClientIP(`127.0.0.0/8`)", ", tls: {}"),
			"nginx":   inProxy("auth_request /_gate;", "satisfy any; allow 127.0.0.1; deny all; auth_request /_gate;"), "haproxy": unlessAlso("{ src 127.0.0.0/8 }"),
			"caddy": inProxy(caddyCheck, "forward_auth @outside 127.0.0.1:3000 {", caddySite, "@outside not remote_ip 127.0.0.0/8\n\t"+caddySite)}},
		"an identity header on an open path": {"identity-header", map[string]gateTune{
			"traefik": besideApp("Host(`app.example.com`) && PathPrefix(`/public/`)", ", tls: {}"),
			"nginx":   inProxy(nginxSite, "location /public/ "+nginxToApp+nginxSite), "haproxy": unlessAlso("{ path_beg /public/ }"),
			"caddy": inProxy(caddySite, "handle /public/* "+caddyToApp+caddySite)}},
		// If the check receives the client's original request, authsvc refuses these.
		// With Traefik it always does, whatever the file says.
		"an underscore": {"underscore-header", map[string]gateTune{
			"nginx":   inProxy("listen 443 ssl;", "listen 443 ssl;\n    underscores_in_headers on;", nginxAsked, nginxAsked+" proxy_set_header Cookie $http_cookie;", "internal;", "internal; proxy_pass_request_headers off;"),
			"haproxy": inLua(`return name:lower():gsub("[^%w]", "-"):sub(1, #identity)`, "return name:lower():sub(1, #identity)", ` and not name:find("[^%w-]")`, ""),
			"caddy":   inProxy("\t\t\trequest_header -X_Auth*\n", "", caddyAsked, caddyAsked+"\nheader_up -X_Auth*")}},
		"a target of the client's": {"client-target", map[string]gateTune{
			"traefik": inProxy(traefikAsks, traefikAsks+"        trustForwardHeader: true\n", traefikDoor, "  websecure: {address: \":443\", forwardedHeaders: {insecure: true}}\n"),
			"nginx":   inProxy(nginxAsked, "proxy_set_header X-Forwarded-Uri $asked;", "upstream authsvc {", "map $http_x_original_url $asked {\n    default $http_x_original_url;\n    \"\" $request_uri;\n}\n\nupstream authsvc {"),
			"haproxy": inLua("{ txn.f:pathq() }", `{ sent["x-original-url"] and sent["x-original-url"][0] or txn.f:pathq() }`),
			"caddy": inProxy(caddyCheck, "forward_auth @said 127.0.0.1:3000 {\n"+caddyAsked+"\nheader_up X-Forwarded-Uri {header.X-Original-Url}\n}\nforward_auth @plain 127.0.0.1:3000 {",
				caddySite, "@said header X-Original-Url *\n\t@plain not header X-Original-Url *\n\t"+caddySite, "\t\t\trequest_header -X-Original-*\n", "")}},
		"a cached answer of the check": {"cached", map[string]gateTune{
			"nginx": inProxy("upstream authsvc {", "proxy_cache_path {cache} keys_zone=all:1m;\nupstream authsvc {", "internal;",
				"internal; proxy_cache all; proxy_cache_key $request_uri; proxy_cache_valid 200 1h; proxy_ignore_headers Cache-Control Expires Set-Cookie Vary;"),
			"haproxy": inLua("local function is_identity", "local kept = {}\n\nlocal function is_identity", "local answer = core.httpclient():get({", "local answer = kept[txn.f:pathq()] or core.httpclient():get({",
				"then return refuse(txn, answer) end\n    for", "then return refuse(txn, answer) end\n    kept[txn.f:pathq()] = answer\n    for"),
			"caddy": gateTune{}, "traefik": gateTune{}}},
		"the program's own port": {"program-port", map[string]gateTune{"nginx": {}, "haproxy": {}, "caddy": {}, "traefik": {}}},
	}
}

// answersKept is a proxy in front of authsvc that keeps the 200 answers by the
// checked target.
func answersKept(t *T, addr string) string {
	t.Helper()
	var mu sync.Mutex
	kept := map[string]http.Header{}
	p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr})
	p.ModifyResponse = func(res *http.Response) error {
		if res.StatusCode == http.StatusOK {
			mu.Lock()
			defer mu.Unlock()
			kept[res.Request.Header.Get("X-Forwarded-Uri")] = res.Header.Clone()
		}
		return nil
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		header := kept[r.Header.Get("X-Forwarded-Uri")]
		mu.Unlock()
		if header == nil {
			p.ServeHTTP(w, r)
			return
		}
		for name, values := range header {
			w.Header()[name] = values
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.Listener.Addr().String()
}

// startEcho runs authsvc echo and returns its address.
func startEcho(t *T) string {
	t.Helper()
	port, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.Command(process.Binary(t), "echo", "--listen", addr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() }) //nolint:errcheck // it was killed
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return addr
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// A probed is one line of authsvc probe --json.
type probed struct{ Kind, Result, Request, Why string }

// probeSite runs authsvc probe with ada's session and the echo program in place of
// the program. It returns the exit code and the findings.
func probeSite(t *T, s *gatedSite, plain, app string, own bool) (int, []probed) {
	t.Helper()
	ca, cookies := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "cookies")
	for name, content := range map[string]string{ca: string(s.proxy.Certificate()), cookies: s.cookies(s.signedIn(t, "ada"))} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"probe", "-c", "authsvc.yaml", "--echo", "--json", "--rate", "1000", "--ca-file", ca, "--cookie-file", cookies, "--port", "8080"}
	to := map[string]string{"443": s.proxy.Addr, "80": plain}
	if own {
		to["8080"] = app
	}
	for _, port := range strings.Fields("443 80 3000 5000 5173 8000 8080 8081 8443 9000") {
		if to[port] == "" {
			to[port] = "127.0.0.1:1" // has no listener
		}
		args = append(args, "--connect-to", "app.example.com:"+port+"="+to[port])
	}
	out, code := s.Command(args...)
	var findings []probed
	for line := range strings.Lines(out) {
		var f probed
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("exit code %d: %s", code, out)
		}
		findings = append(findings, f)
	}
	return code, findings
}

// gate17 plants up to ten kinds of holes in each proxy. authsvc probe must find each
// under its name, and none in the documented configurations.
func gate17(t *T) {
	app := startEcho(t)
	port, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	plain := fmt.Sprintf("127.0.0.1:%d", port)
	found := 0
	eachGateProxy(t, func(t *T, program string) {
		t.Run("as documented", func(t *T) {
			code, findings := probeSite(t, startGated(t, program, gateTune{app: app}), plain, app, false)
			for _, f := range findings {
				if f.Result != "ok" && !(f.Result == "skipped" && program == "nginx" && strings.HasPrefix(f.Kind, "http2")) { // the documented file has no http2
					t.Errorf("%+v", f)
				}
			}
			if code != 0 || len(findings) < 200 {
				t.Errorf("exit code %d, %d findings", code, len(findings))
			}
		})
		for name, hole := range plantedHoles(plain) {
			tune, is := hole.proxies[program]
			if !is {
				continue
			}
			t.Run(name, func(t *T) {
				tune.app, tune.proxy = app, slices.Clone(tune.proxy)
				for i := range tune.proxy {
					tune.proxy[i] = strings.Replace(tune.proxy[i], "{cache}", t.TempDir(), 1)
				}
				if asks := map[string]string{"caddy": caddyCheck, "traefik": traefikAsks}[program]; hole.kind == "cached" && asks != "" {
					tune.late = func(addr string) []string {
						return []string{asks, strings.Replace(asks, "127.0.0.1:3000", answersKept(t, addr), 1)}
					}
				}
				code, findings := probeSite(t, startGated(t, program, tune), plain, app, hole.kind == "program-port")
				kinds := map[string]int{}
				for _, f := range findings {
					if f.Result != "ok" && f.Result != "skipped" {
						kinds[f.Kind+" "+f.Result]++
					}
				}
				if kinds[hole.kind+" hole"] == 0 || code != 1 {
					t.Errorf("exit code %d, %d findings: %v", code, len(findings), kinds)
					return
				}
				found++
				t.Logf("%v", kinds)
			})
		}
	})
	t.Figure("%d planted holes found", found)
}
