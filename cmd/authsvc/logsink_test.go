package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"authsvc/internal/freeport"
)

func plainLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// A gated writer takes nothing while it is shut.
type gated struct {
	mu   sync.Mutex
	shut chan struct{} // closed to open it
	fail bool
	b    bytes.Buffer
}

func (g *gated) Write(p []byte) (int, error) {
	if g.shut != nil {
		<-g.shut
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fail {
		return 0, errors.New("no space left on device")
	}
	return g.b.Write(p)
}

func (g *gated) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.String()
}

func (g *gated) breaks(fail bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail = fail
}

func TestLogSinkIsSynchronousWhileRead(t *testing.T) {
	t.Parallel()
	g := &gated{}
	s := newLogSink(g, plainLogger)
	for i := range 100 {
		line := fmt.Sprintf("line %d\n", i)
		if n, err := s.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
		if !strings.HasSuffix(g.String(), line) {
			t.Fatalf("%q is not there when Write returns", line)
		}
	}
	s.close()
}

// A log that is blocked costs one writer a moment; the rest is counted.
func TestLogSinkBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gated{shut: make(chan struct{})}
		s := newLogSink(g, plainLogger)
		began := time.Now()
		const more = 7
		for i := range logWaiting + 1 + more { // one is in the writer's hand
			fmt.Fprintf(s, "line %d\n", i)
		}
		if took := time.Since(began); took != logPatience {
			t.Errorf("writers were held up for %v", took)
		}
		close(g.shut)
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(g.String()), "\n")
		if len(lines) != logWaiting+2 || lines[logWaiting] != fmt.Sprintf("line %d", logWaiting) ||
			!strings.Contains(lines[logWaiting+1], fmt.Sprintf("lines=%d", more)) {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
		fmt.Fprintf(s, "after\n")
		if !strings.HasSuffix(g.String(), "\nafter\n") {
			t.Error("not synchronous again")
		}
		s.close()
	})
}

func TestLogSinkFails(t *testing.T) {
	t.Parallel()
	g := &gated{fail: true}
	s := newLogSink(g, plainLogger)
	fmt.Fprintf(s, "lost\n")
	fmt.Fprintf(s, "lost too\n")
	g.breaks(false)
	fmt.Fprintf(s, "kept\n")
	s.close()
	if got := g.String(); !strings.HasPrefix(got, "kept\n") || !strings.Contains(got, "lines=2") {
		t.Errorf("%q", got)
	}
}

// The end waits for what is written, and not for ever.
func TestLogSinkEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gated{shut: make(chan struct{})}
		s := newLogSink(g, plainLogger)
		fmt.Fprintf(s, "line\n")
		began := time.Now()
		s.close()
		if took := time.Since(began); took != logFlush {
			t.Errorf("waited for %v", took)
		}
		close(g.shut)
		synctest.Wait()
		if g.String() != "line\n" {
			t.Error("lost")
		}
	})
}

// TestServeWithBlockedLog: serve answers while nobody reads its log, which is a
// real pipe, when it is read again it says what is missing, and when the
// reader is gone it goes on too.
func TestServeWithBlockedLog(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	base, cmd := startServe(t, write)
	write.Close()
	refuse(t, base, 1000) // the pipe holds about 400 lines and the queue 1024
	found := make(chan bool, 1)
	go func() {
		rest := make([]byte, 0, 1<<20)
		chunk := make([]byte, 64<<10)
		for !bytes.Contains(rest, []byte("log lines were dropped")) {
			n, err := read.Read(chunk)
			if rest = append(rest, chunk[:n]...); err != nil {
				found <- false
				return
			}
		}
		found <- true
	}()
	select {
	case ok := <-found:
		if !ok {
			t.Error("the drops were not told")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the drops were not told in time")
	}
	read.Close()
	refuse(t, base, 10)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("serve ended with %v", err)
	}
}

// TestServeStopsWithBlockedLog: SIGTERM ends it although nobody reads.
func TestServeStopsWithBlockedLog(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	base, cmd := startServe(t, write)
	write.Close()
	refuse(t, base, 300)
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("serve ended with %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// startServe runs serve with a log and returns its address.
func startServe(t *testing.T, log *os.File) (base string, cmd *exec.Cmd) {
	t.Helper()
	port, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	cmd = exec.CommandContext(t.Context(), "authsvc", "serve")
	cmd.Dir, cmd.Stderr = t.TempDir(), log
	cmd.Env = append(os.Environ(), "AUTHSVC_URL=http://"+addr, "AUTHSVC_LISTEN="+addr, "AUTHSVC_STORAGE_URL=memory:",
		"AUTHSVC_SECRET=qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4", "AUTHSVC_CONFIG=authsvc.yaml", "GORACE=atexit_sleep_ms=0")
	const file = "providers: [{id: acme, type: oidc, issuer: https://id.acme.example, client_id: a, client_secret: b}]\n"
	if err := os.WriteFile(filepath.Join(cmd.Dir, "authsvc.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("it does not serve: %v", err)
	}
	return "http://" + addr, cmd
}

// refuse has serve refuse n sign-ins, each of which is two lines in its log.
func refuse(t *testing.T, base string, n int) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for range n {
		resp, err := client.Get(base + "/api/auth/callback/acme?state=nonsense")
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body) //nolint:errcheck // the status counts
		resp.Body.Close()
		if resp.StatusCode != http.StatusFound {
			t.Fatalf("status %d", resp.StatusCode)
		}
	}
}
