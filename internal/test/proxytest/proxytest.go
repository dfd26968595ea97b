// Package proxytest starts reverse proxies for tests, with the configurations
// that the documentation shows.
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

// Host is the name of the site in the documentation.
const Host = "app.example.com"

// Programs are the proxies: nginx, haproxy and caddy.
var Programs = []string{"nginx", "haproxy", "caddy"}

// Traefik is started, on 127.0.0.1 alone, where AUTHSVC_TRAEFIK is the path of its
// binary: make traefik builds it, since Debian has none. Its Site is the static and
// the dynamic configuration, with a line of --- between.
const Traefik = "traefik"

// Missing says what lacks to start a program, "" if nothing.
func Missing(program string) string {
	if find(program) == "" {
		return "needs " + program
	}
	return ""
}

// find also looks where Debian keeps servers, which is not in everybody's PATH.
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

// Options say what a proxy does.
type Options struct {
	// Site is the configuration as documented: it listens on port 443 with
	// files in /etc/ssl, and passes requests on to 127.0.0.1:3000. All three
	// are replaced by what a test can have.
	Site string

	// Outer is put in front of Site: in http of nginx, at the top otherwise.
	Outer string

	// Backend is the host:port in place of 127.0.0.1:3000.
	Backend string

	// Replace are further pairs of what stands in Site and what takes its place.
	Replace []string
}

// A Proxy is a running program. It listens on 127.0.0.1 and ::1, but for Traefik.
type Proxy struct {
	Addr string // 127.0.0.1:port
	Logs *logbuffer.Buffer

	certificate *certificate
}

// Start runs a program, waits until it listens, and ends it with t. Where the
// program is missing the test is skipped.
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

// plainDir is a directory for the length of a test whose name has nothing of the
// test's: Traefik takes a comma for the end of a path.
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

// routes reports whether Traefik, which listens before it has read its dynamic
// configuration, knows the site.
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
		return false // the certificate is its own
	}
	res.Body.Close()
	return res.StatusCode != http.StatusNotFound
}

// Certificate is that of the proxy, as PEM.
func (p *Proxy) Certificate() []byte { return p.certificate.pem }

// Dial connects to the proxy from an address of this machine, such as
// 127.0.0.9 or ::1, with TLS.
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

// Transport takes every host for the proxy, as a browser whose address is from.
func (p *Proxy) Transport(from string) *http.Transport {
	return &http.Transport{DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.Dial(ctx, from) }}
}
