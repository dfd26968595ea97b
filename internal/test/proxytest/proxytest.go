// Package proxytest starts reverse proxies for tests with the documented
// configurations.
package proxytest

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"authsvc/internal/test/freeport"
	"authsvc/internal/test/logbuffer"
)

// Host is the site's name in the documentation.
const Host = "app.example.com"

// Programs lists the proxies: nginx, haproxy and caddy.
var Programs = []string{"nginx", "haproxy", "caddy"}

// Traefik names a proxy that runs only if AUTHSVC_TRAEFIK is the path of its binary.
// Debian has no package of it; make traefik builds it. It listens on 127.0.0.1 only.
// Its Site is the static and the dynamic configuration, separated by a line of ---.
const Traefik = "traefik"

// Missing returns the reason why a program cannot start, or "".
func Missing(program string) string {
	if find(program) == "" {
		return "needs " + program
	}
	return ""
}

// find also looks in the directories where Debian keeps servers, which PATH may lack.
func find(program string) string {
	if program == Traefik {
		return os.Getenv("AUTHSVC_TRAEFIK")
	}
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	path, err := exec.LookPath(filepath.Join("/usr/sbin", program))
	if err != nil {
		return ""
	}
	return path
}

// Options configure a proxy.
type Options struct {
	// Site is the documented configuration. It listens on port 443, uses files in
	// /etc/ssl, and passes requests on to 127.0.0.1:3000. The test replaces all
	// three.
	Site string

	// Outer is configuration that precedes Site: inside http for nginx, at the top
	// level otherwise.
	Outer string

	// Backend is the host:port that replaces 127.0.0.1:3000.
	Backend string

	// Replace holds further pairs: a text in Site and its replacement.
	Replace []string
}

// A Proxy is a running program. It listens on 127.0.0.1 and ::1; Traefik only on
// 127.0.0.1.
type Proxy struct {
	Addr string // 127.0.0.1:port
	Logs *logbuffer.Buffer

	certificate *certificate
}

// Start runs a program, waits until it listens, and ends it with t. If the program is
// missing, it skips the test.
func Start(t testing.TB, program string, o Options) *Proxy {
	t.Helper()
	if lack := Missing(program); lack != "" {
		t.Skip(lack)
	}
	port, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	dir := plainDir(t)
	p := &Proxy{Addr: fmt.Sprintf("127.0.0.1:%d", port), Logs: &logbuffer.Buffer{}, certificate: newCertificate(t, dir)}
	file, text := filepath.Join(dir, program+".conf"), configure(program, port, dir, o)
	if program == Traefik {
		file, text = splitTraefik(t, dir, text)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(find(program), arguments(program, dir, file)...)
	cmd.Env = append(cmd.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	cmd.Stdout, cmd.Stderr = p.Logs, p.Logs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			cmd.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Logf("%s said\n%.4000s", program, p.Logs)
		}
	})
	p.await(t, program, ended)
	return p
}

// plainDir makes a temporary directory whose name does not contain the test's name:
// Traefik takes a comma for the end of a path.
func plainDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "proxy")
	if err == nil {
		err = os.Chmod(dir, 0o755) // #nosec G302 -- workers of nginx are another user
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func arguments(program, dir, file string) []string {
	switch program {
	case "nginx":
		return []string{"-p", dir, "-e", "stderr", "-c", file}
	case "haproxy":
		return []string{"-db", "-f", file}
	case Traefik:
		return []string{"--configFile=" + file}
	}
	return []string{"run", "--adapter", "caddyfile", "--config", file}
}

func (p *Proxy) await(t testing.TB, program string, ended <-chan struct{}) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", p.Addr); err == nil {
			c.Close()
			if program != Traefik || p.routes(t) {
				return
			}
		}
		select {
		case <-ended:
			t.Fatalf("%s ended:\n%s", program, p.Logs)
		default:
		}
	}
	t.Fatalf("%s does not listen:\n%s", program, p.Logs)
}

// routes reports whether Traefik knows the site. Traefik listens before it has read
// its dynamic configuration.
func (p *Proxy) routes(t testing.TB) bool {
	t.Helper()
	transport := p.Transport("127.0.0.1")
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+Host+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		return false // Traefik still presents its own certificate
	}
	res.Body.Close()
	return res.StatusCode != http.StatusNotFound
}

// Certificate returns the proxy's certificate as PEM.
func (p *Proxy) Certificate() []byte { return p.certificate.pem }

// Dial connects to the proxy with TLS from a local address, such as 127.0.0.9 or ::1.
func (p *Proxy) Dial(ctx context.Context, from string) (net.Conn, error) {
	d := tls.Dialer{Config: p.tls(), NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}}
	addr := p.Addr
	if strings.Contains(from, ":") {
		addr = strings.Replace(addr, "127.0.0.1", "[::1]", 1)
	}
	return d.DialContext(ctx, "tcp", addr)
}

func (p *Proxy) tls() *tls.Config {
	return &tls.Config{RootCAs: p.certificate.roots, ServerName: Host, NextProtos: []string{"http/1.1"}}
}

// Transport connects to the proxy for every host, from the local address from.
func (p *Proxy) Transport(from string) *http.Transport {
	return &http.Transport{DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.Dial(ctx, from) }}
}
