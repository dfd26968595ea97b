package verify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"authsvc/internal/test/browser"
	"authsvc/internal/test/freeport"
	"authsvc/internal/test/npm"
	"authsvc/internal/test/process"
	"authsvc/internal/test/proxytest"
)

// A realProgram is a third-party program behind the gate.
type realProgram struct {
	addr string
}

// startProgram writes a configuration file, starts a command that serves at an
// address, and waits until it answers. {file} and {addr} stand for the file and the
// address, also in the text.
func startProgram(t *T, file, text string, command ...string) *realProgram {
	t.Helper()
	dir, addr := t.TempDir(), freeAddr(t)
	path := filepath.Join(dir, file)
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "{addr}", addr)), 0o600); err != nil {
		t.Fatal(err)
	}
	return startIn(t, dir, path, addr, command...)
}

func freeAddr(t *T) string {
	t.Helper()
	port, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

func startIn(t *T, dir, path, addr string, command ...string) *realProgram {
	t.Helper()
	fill := strings.NewReplacer("{file}", path, "{addr}", addr)
	for i := range command {
		command[i] = fill.Replace(command[i])
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // PHP-FPM then ends its workers
	cmd.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the end of t.Context has already asked it to end
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return &realProgram{addr}
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not listen: %v\n%s", command[0], err, said.String())
		}
	}
}

// gate puts the program behind the gate of the binary. through, if not empty, is a
// command that runs the binary. Anyone may get /open; /closed, /Admin/{id} and DELETE
// below /open are closed to everyone; other paths require a signed-in user.
func (p *realProgram) gate(t *T, through ...string) *gatedSite {
	t.Helper()
	s := &gatedSite{Neighbours: process.NewNeighbours(t), program: "upstream"}
	s.Process = process.Prepare(t, s.YAML(`gate:
  hosts:
    - origin: "{origin}"
      upstream: http://`+p.addr+`
      rules:
        - {match: /open/, allow: anyone}
        - {match: /closed, allow: nobody}
        - {match: "DELETE /open/", allow: nobody}
        - {match: "/Admin/{id}", allow: nobody}
`), "AUTHSVC_STORAGE_URL=memory:")
	s.Through = through
	s.Start()
	s.Ready(patience)
	s.origin = s.URL
	return s
}

// exchangeRaw sends bytes to an address and returns the answer's status and body, or
// status 0 without an answer.
func exchangeRaw(t *T, addr, text string) (status int, header http.Header, body string) {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	io.WriteString(c, text) //nolint:errcheck // the answer shows it
	method, _, _ := strings.Cut(text, " ")
	answer, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		return 0, nil, ""
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return answer.StatusCode, answer.Header, ""
	}
	all, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return answer.StatusCode, answer.Header, string(all)
}

// tokenCharacters are the characters allowed in a header name (RFC 9110 section
// 5.6.2) except letters and digits.
const tokenCharacters = "!#$%&'*+-.^_`|~"

// claims returns header lines that claim to be eve. They use the names of identity
// and forwarding headers, with a character in place of each and of every "-".
func claims(character rune) (lines []string) {
	for _, name := range []string{"X-Auth-User-Id", "X-Auth-Email", "X-Auth-Name", "X-Auth-Groups", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Groups", "X-Forwarded-Prefix"} {
		lines = append(lines, strings.ReplaceAll(name, "-", string(character))+": eve")
		for i := range name {
			if name[i] == '-' {
				lines = append(lines, name[:i]+string(character)+name[i+1:]+": eve")
			}
		}
	}
	return lines
}

const phpEcho = `<?php
header('X-Program: php');
echo json_encode(array_filter($_SERVER, fn($k) => str_starts_with($k, 'HTTP_'), ARRAY_FILTER_USE_KEY));
`

const fpmPool = `[global]
daemonize = no
error_log = /dev/stderr
[www]
listen = {addr}
pm = static
pm.max_children = 2
`

// startFPM starts PHP-FPM, and Caddy in front of it.
func startFPM(t *T) *realProgram {
	t.Helper()
	found, err := filepath.Glob("/usr/sbin/php-fpm*")
	if err != nil || len(found) == 0 {
		t.Fatal("needs php-fpm")
	}
	command, pool := []string{found[0], "--nodaemonize", "--fpm-config", "{file}"}, fpmPool
	if os.Geteuid() == 0 {
		command, pool = append(command, "--allow-to-run-as-root"), pool+"user = root\n"
	}
	fpm := startProgram(t, "pool.conf", pool, command...)
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "index.php"), []byte(phpEcho), 0o600); err != nil {
		t.Fatal(err)
	}
	caddy := proxytest.Start(t, "caddy", proxytest.Options{Site: ":443 {\n\troot * " + root + "\n\trewrite * /index.php\n\tphp_fastcgi " + fpm.addr + "\n}\n", Backend: fpm.addr})
	return &realProgram{passOnTo(t, caddy)}
}

// gate28 tests PHP, which turns more characters into _ than CGI does. Whatever
// replaces the "-" of an identity or forwarding header, PHP must not read the header.
func gate28(t *T) {
	t.Run("php -S", func(t *T) {
		readsNoClaims(t, startProgram(t, "echo.php", phpEcho, "php", "-S", "{addr}", "{file}"))
	})
	t.Run("PHP-FPM behind Caddy", func(t *T) { readsNoClaims(t, startFPM(t)) })
}

// readsNoClaims checks that PHP can be deceived alone, but not behind the gate.
func readsNoClaims(t *T, php *realProgram) {
	t.Helper()
	believed := 0
	for _, c := range tokenCharacters { // the program alone can be deceived
		_, _, body := exchangeRaw(t, php.addr, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+strings.Join(claims(c), "\r\n")+"\r\n\r\n")
		if strings.Contains(body, `"HTTP_X_AUTH_USER_ID":"eve"`) {
			believed++
		}
	}
	if believed < 2 {
		t.Fatalf("PHP reads only %d other characters as -", believed)
	}
	t.Figure("PHP reads %d other characters as -", believed)
	look := func(t *T, s *gatedSite, b *browser.Browser, who string) {
		for _, c := range tokenCharacters {
			for _, target := range []string{"/open/x", "/public/x"} {
				a := s.raw(t, b, "GET "+target, append(claims(c), "Connection: close")...)
				if a.Header.Get("X-Program") == "" {
					continue // refused
				}
				var got map[string]string
				if err := json.Unmarshal([]byte(a.Text), &got); err != nil {
					t.Fatalf("%q: %v", a.Text, err)
				}
				for name, v := range got {
					if strings.Contains(v, "eve") {
						t.Errorf("%q at %s: PHP reads %s: %q", c, target, name, v)
					}
				}
				if got["HTTP_X_AUTH_EMAIL"] != who {
					t.Errorf("%q at %s: PHP receives %q, not %q", c, target, got["HTTP_X_AUTH_EMAIL"], who)
				}
			}
		}
		if a := s.raw(t, b, "GET /public/x", "Connection: close"); who != "" && !strings.Contains(a.Text, `"HTTP_X_AUTH_EMAIL":"`+who+`"`) {
			t.Errorf("twin: %d %s", a.StatusCode, a.Text)
		}
	}
	each := func(t *T, s *gatedSite) {
		look(t, s, nil, "")
		look(t, s, s.signedIn(t, "ada"), "ada@example.com")
	}
	each(t, php.gate(t))
	eachGateProxy(t, func(t *T, program string) { each(t, startGated(t, program, gateTune{app: php.addr})) })
}

const hypercornApp = `
calls = []

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": "hello"})
        await send({"type": "websocket.close"})
        return
    headers = dict(scope["headers"])
    calls.append(scope["http_version"] + " " + scope["method"] + " " + scope["path"])
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-program", b"hypercorn"), (b"x-upgrade", headers.get(b"upgrade", b""))]})
    await send({"type": "http.response.body", "body": "\n".join(calls).encode()})
`

const askH2C = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"

// gate29 checks that a connection cannot switch to HTTP/2, whose requests the gate
// would not check. WebSockets are allowed.
func gate29(t *T) {
	app := startProgram(t, "app.py", hypercornApp, "/usr/bin/python3", "-m", "hypercorn", "--bind", "{addr}", "app:app")
	if status, _, _ := exchangeRaw(t, app.addr, "GET /open/x HTTP/1.1\r\nHost: x\r\n"+askH2C+"\r\n"); status != http.StatusSwitchingProtocols {
		t.Fatalf("Hypercorn does not change to h2c: %d", status)
	}
	s := app.gate(t)
	ada := s.signedIn(t, "ada")
	for name, lines := range map[string]string{
		"h2c": askH2C, "as HTTP/2.0": "Connection: Upgrade\r\nUpgrade: HTTP/2.0\r\n", "beside a WebSocket": "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: websocket, h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
		"twice": "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: websocket\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", "no key": "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
		"capitals": "Connection: upgrade, http2-settings\r\nUPGRADE: H2C\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
	} {
		for _, cookie := range []string{"", "Cookie: " + s.cookies(ada) + "\r\n"} {
			status, header, body := exchangeRaw(t, s.Addr, "GET /open/x HTTP/1.1\r\nHost: "+s.host()+"\r\n"+lines+cookie+"\r\n")
			if status == http.StatusSwitchingProtocols || header.Get("X-Upgrade") != "" {
				t.Errorf("%s: %d, the program gets Upgrade: %q\n%s", name, status, header.Get("X-Upgrade"), body)
			}
			if name == "h2c" && (status != http.StatusOK || header.Get("X-Program") != "hypercorn") {
				t.Errorf("twin: %s does not arrive without the upgrade: %d", name, status)
			}
		}
	}
	const webSocket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
	if status, header, _ := exchangeRaw(t, s.Addr, "GET /open/socket HTTP/1.1\r\nHost: "+s.host()+"\r\n"+webSocket+"\r\n"); status != http.StatusSwitchingProtocols || header.Get("Sec-WebSocket-Accept") == "" {
		t.Errorf("twin: a WebSocket: %d %v", status, header)
	}
	eachGateProxy(t, func(t *T, program string) {
		s := startGated(t, program, gateTune{app: app.addr})
		for _, line := range []string{"Upgrade: h2c", "Upgrade: websocket, h2c"} {
			a := s.raw(t, nil, "GET /public/x", "Connection: Upgrade, HTTP2-Settings", line, "HTTP2-Settings: AAMAAABkAAQAAP__")
			if a.StatusCode == http.StatusSwitchingProtocols || a.Header.Get("X-Upgrade") != "" {
				t.Errorf("%s: %d, the program gets Upgrade: %q", line, a.StatusCode, a.Header.Get("X-Upgrade"))
			}
		}
	})
}

const flaskApp = `
import sys
from flask import Flask, request
app = Flask(__name__)

@app.route("/open/thing", methods=["GET", "DELETE"])
def thing():
    return ("deleted" if request.method == "DELETE" else "shown"), 200, {"X-Program": "flask"}

host, port = sys.argv[1].rsplit(":", 1)
app.run(host, int(port))
`

func startExpress(t *T) *realProgram {
	t.Helper()
	dir, err := filepath.Abs("testdata/express")
	if err == nil {
		err = npm.Install(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return startIn(t, dir, filepath.Join(dir, "server.mjs"), freeAddr(t), "node", "{file}", "{addr}")
}

// gate30 checks that a method that programs read as another one is refused, or
// checked as that one.
func gate30(t *T) {
	flask := startProgram(t, "app.py", flaskApp, "/usr/bin/python3", "{file}", "{addr}")
	express := startExpress(t)
	for name, c := range map[string]struct {
		program *realProgram
		attacks []string // first lines and headers
	}{
		"Flask":   {flask, []string{"delete /open/thing", "Delete /open/thing", "DELETE /open/thing"}},
		"Express": {express, []string{"POST /open/thing?_method=DELETE", "POST /open/thing?_method=delete", "GET /open/thing?a=b&_method=DELETE", "POST /open/thing?%5Fmethod=DELETE", "POST /open/thing\nX-HTTP-Method-Override: DELETE", "POST /open/thing\nX-HTTP-Method-Override: DELETE,", "POST /open/thing\nX-HTTP-Method-Override: delete, x", "POST /open/thing\nX_HTTP_Method_Override: DELETE"}},
	} {
		t.Run(name, func(t *T) {
			s := c.program.gate(t)
			works := 0
			for _, attack := range c.attacks {
				first, more, _ := strings.Cut(attack, "\n")
				if more != "" {
					more += "\r\n"
				}
				text := func(host string) string {
					return first + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\nContent-Length: 0\r\n" + more + "\r\n"
				}
				if _, _, body := exchangeRaw(t, c.program.addr, text("x")); strings.Contains(body, "deleted") {
					works++
				}
				if status, _, body := exchangeRaw(t, s.Addr, text(s.host())); strings.Contains(body, "deleted") {
					t.Errorf("%q: %d, the program deletes", attack, status)
				}
			}
			if works < 2 {
				t.Errorf("the program is deceived by %d of %d: too few to show anything", works, len(c.attacks))
			}
			if status, _, body := exchangeRaw(t, s.Addr, "GET /open/thing HTTP/1.1\r\nHost: "+s.host()+"\r\nConnection: close\r\n\r\n"); status != http.StatusOK || body != "shown" {
				t.Errorf("twin: %d %q", status, body)
			}
			t.Figure("%s without the gate is deceived by %d of %d ways", name, works, len(c.attacks))
		})
	}
}

// gate31 tests proxies that decode a path: nginx if it passes on $uri, and Caddy if
// it rewrites. %3F then starts a query. The resulting path must pass the gate as
// well.
func gate31(t *T) {
	seen := newGatedProgram(t)
	back := seen.Listener.Addr().String()
	for name, c := range map[string]struct{ program, site string }{
		"nginx": {"nginx", "server {\n listen 443 ssl;\n server_name app.example.com;\n ssl_certificate /etc/ssl/app.example.com.pem;\n ssl_certificate_key /etc/ssl/app.example.com.key;\n location / { proxy_pass http://" + back + "$uri; }\n}\n"},
		"caddy": {"caddy", ":443 {\n\trewrite * {uri}\n\treverse_proxy " + back + "\n}\n"},
	} {
		t.Run(name, func(t *T) {
			inner := proxytest.Start(t, c.program, proxytest.Options{Site: c.site, Backend: back})
			front := passOnTo(t, inner)
			s := (&realProgram{front}).gate(t)
			ada := s.signedIn(t, "ada")
			for _, target := range []string{"/closed%3F", "/closed%3Fa", "/closed%3fa=b", "/closed%23", "/closed%253F", "/open/..%2fclosed%3F"} {
				for _, b := range []*browser.Browser{nil, ada} {
					a := s.raw(t, b, "GET "+target, "Connection: close")
					if g, asked := got(t, a); asked && strings.HasPrefix(strings.SplitN(g.Target, "?", 2)[0], "/closed") && !strings.Contains(g.Target, "%") {
						t.Errorf("%s: %d, the program shows %s", target, a.StatusCode, g.Target)
					}
				}
			}
			twin := s.raw(t, ada, "GET /page%3Fa", "Connection: close")
			if _, asked := got(t, twin); !asked {
				t.Errorf("twin: a path that is open in every reading does not pass: %d %.200q", twin.StatusCode, twin.Text)
			}
		})
	}
}

// passOnTo listens for HTTP and forwards to a proxy that speaks TLS.
func passOnTo(t *T, p *proxytest.Proxy) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := p.Dial(t.Context(), "127.0.0.1")
			if err != nil {
				in.Close()
				continue
			}
			go func() { io.Copy(out, in); out.Close() }() //nolint:errcheck // one of them has ended
			go func() { io.Copy(in, out); in.Close() }()  //nolint:errcheck // one of them has ended
		}
	}()
	return fmt.Sprint(l.Addr())
}
