//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"authsvc/internal/test/quiet"
	"authsvc/internal/test/servertest"
)

// TestConnectionLimit: the number of connections for a limit of open files.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	for files, want := range map[uint64]int{0: 8192, 1: 1, 64: 32, 100: 68, 256: 192, 1024: 768, 20000: 8192, 1 << 40: 8192} {
		if got := connectionLimit(files); got != want {
			t.Errorf("%d files: %d connections, want %d", files, got, want)
		}
	}
}

// setFileLimit sets the limit of open files for a process that has not started yet.
func setFileLimit(l *process, files uint64) {
	l.cmd.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec -a authsvc "$0" "$@"`, files), l.cmd.Path}, l.cmd.Args[1:]...)
	l.cmd.Path = "/bin/bash"
}

func rawRequest(t *testing.T, conn net.Conn, request string) string {
	t.Helper()
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, request); err != nil {
		return ""
	}
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return line
}

const healthRequest = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

// TestIdleConnections: idle connections leave room for others, and connections that
// never send a byte are closed, so that the next request is answered.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	const files, limit = 256, 192
	op, addr := startProvider(t), freeAddress(t)
	origin := "http://" + addr
	l := newProcess(t, t.TempDir(), addr, testConfig(origin, op))
	setFileLimit(l, files)
	l.start()
	var most int
	for i := range limit + limit/3 {
		conn, err := net.DialTimeout("tcp", addr, patience)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer conn.Close()
		if i < limit {
			if got := rawRequest(t, conn, healthRequest); !strings.Contains(got, "200") {
				t.Fatalf("connection %d: %q", i, got)
			}
		}
		most = max(most, openFiles(t, l))
	}
	if most > limit+reservedFiles {
		t.Errorf("%d files were open", most)
	}
	if code, _ := getStatus(t, origin+"/healthz"); code != http.StatusOK {
		t.Errorf("health: %d", code)
	}
	if err := newPerson(origin, op, &http.Transport{}).signIn(); err != nil {
		t.Error(err)
	}
	t.Logf("%d files at most, memory %s", most, residentMemory(t, l))
	l.terminate()
}

// TestFewFiles: with 64 files and more clients, the service sheds load and works
// afterwards.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	servertest.Long(t)
	op, addr, dir := startProvider(t), freeAddress(t), t.TempDir()
	origin := "http://" + addr
	l := newProcess(t, dir, addr, testConfig(origin, op))
	setFileLimit(l, 64)
	l.start()
	people := startLoad(t, 100, func() error {
		p := newPerson(origin, op, &http.Transport{DisableKeepAlives: true})
		p.Client.Timeout = 10 * time.Second
		return p.signIn()
	})
	eventually(t, "signing in", func() bool { return people.count() > 150 })
	if people.stop(); len(people.failed) > 0 {
		t.Logf("the first failure: %v", people.failed[0])
	}
	t.Logf("%d signed in, %d did not", people.count(), len(people.failed))
	for range 10 {
		if err := newPerson(origin, op, nil).signIn(); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
	l.terminate()
	again := newProcess(t, dir, addr, testConfig(origin, op))
	again.start() // checks the integrity of the database
	again.terminate()
}

// TestSlowClients: a client that sends or reads too slowly is disconnected and holds no
// file afterwards.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	servertest.Long(t)
	op, addr := startProvider(t), freeAddress(t)
	l := newProcess(t, t.TempDir(), addr, testConfig("http://"+addr, op))
	l.start()
	before := openFiles(t, l)
	const post = "POST /api/auth/signin/op HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 5000\r\n\r\n"
	for name, c := range map[string]struct {
		first string
		more  string // sent every 100 ms
		limit time.Duration
	}{
		"headers": {"GET /healthz HTTP/1.1\r\nX: ", "a", 10 * time.Second},
		"nothing": {"", "", 10 * time.Second},
		"body":    {fmt.Sprintf(post, addr), "a", 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			begun, closed := time.Now(), make(chan struct{})
			go func() { io.Copy(io.Discard, conn); close(closed) }()
			io.WriteString(conn, c.first)
			for {
				select {
				case <-closed:
					t.Logf("cut off after %v", time.Since(begun).Round(time.Millisecond))
					return
				case <-time.After(100 * time.Millisecond):
					io.WriteString(conn, c.more)
				}
				if time.Since(begun) > quiet.Limit(c.limit) {
					t.Fatalf("not cut off after %v", time.Since(begun))
				}
			}
		})
	}
	eventually(t, "all closed", func() bool { return openFiles(t, l) <= before+1 })
	l.terminate()
}

// TestLargeHeaders: headers over the limit, which is below 64 KB, get 431.
func TestLargeHeaders(t *testing.T) {
	t.Parallel()
	op, addr := startProvider(t), freeAddress(t)
	l := newProcess(t, t.TempDir(), addr, testConfig("http://"+addr, op))
	l.start()
	for size, want := range map[int]string{20 << 10: "200", 64 << 10: "431"} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := rawRequest(t, conn, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("a", size)+"\r\n\r\n"); !strings.Contains(got, want) {
			t.Errorf("%d bytes: %q, want %s", size, got, want)
		}
		conn.Close()
	}
	// No HTTP/2 without TLS: neither by prior knowledge nor by an upgrade.
	for name, request := range map[string]string{
		"prior knowledge": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"upgrade":         "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := rawRequest(t, conn, request); !strings.HasPrefix(got, "HTTP/1.1 ") || strings.Contains(got, "101") {
			t.Errorf("%s: %q", name, got)
		}
		conn.Close()
	}
	l.terminate()
}

// TestNearLimit: above three quarters of the limit, and after a signal to stop,
// connections close after their request. Connections that switched to another protocol
// count too.
func TestNearLimit(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var s handlerSwitch
	limited, nearLimit := limitConnections(l, 4)
	s.nearLimit = nearLimit
	hijacked := make(chan net.Conn, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hijack" {
			s.ServeHTTP(w, r)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		hijacked <- conn
	})}
	go server.Serve(limited)
	t.Cleanup(func() { server.Close() })
	ask := func(kept bool) net.Conn {
		t.Helper()
		conn, err := net.DialTimeout("tcp", l.Addr().String(), patience)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(patience))
		io.WriteString(conn, healthRequest)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != http.StatusOK || res.Close == kept {
			t.Errorf("%d, closed %t, kept should be %t", res.StatusCode, res.Close, kept)
		}
		return conn
	}
	changed := ask(true)
	io.WriteString(changed, "GET /hijack HTTP/1.1\r\nHost: x\r\n\r\n")
	defer (<-hijacked).Close()
	ask(true)
	last := ask(true)
	ask(false)
	ask(false) // there is room again, because the previous one is closed
	last.Close()
	eventually(t, "below the limit", func() bool { return !nearLimit() })
	s.draining.Store(true)
	ask(false)
}
