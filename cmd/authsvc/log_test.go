package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
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

	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/test/freeport"
)

// A gatedWriter blocks while it is shut.
type gatedWriter struct {
	mu   sync.Mutex
	shut chan struct{} // closed to open it
	fail bool
	b    bytes.Buffer
}

func (g *gatedWriter) Write(p []byte) (int, error) {
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

func (g *gatedWriter) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.String()
}

func (g *gatedWriter) setFail(fail bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail = fail
}

// TestLogSinkSynchronous: while the log is read, Write returns when its line is
// written.
func TestLogSinkSynchronous(t *testing.T) {
	t.Parallel()
	g := &gatedWriter{}
	s := newLogSink(g)
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

// TestLogSinkBlocked: a log that is blocked delays one writer for a moment; lines
// that do not fit are counted.
func TestLogSinkBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gatedWriter{shut: make(chan struct{})}
		s := newLogSink(g)
		began := time.Now()
		const more = 7
		for i := range logQueueSize + 1 + more { // one is in the writer's hand
			fmt.Fprintf(s, "line %d\n", i)
		}
		if took := time.Since(began); took != logWriteTimeout {
			t.Errorf("writers were held up for %v", took)
		}
		close(g.shut)
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(g.String()), "\n")
		if len(lines) != logQueueSize+2 || lines[logQueueSize] != fmt.Sprintf("line %d", logQueueSize) ||
			!strings.Contains(lines[logQueueSize+1], fmt.Sprintf("lines=%d", more)) {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
		fmt.Fprintf(s, "after\n")
		if !strings.HasSuffix(g.String(), "\nafter\n") {
			t.Error("not synchronous again")
		}
		s.close()
	})
}

// TestLogSinkWriteError: lines that cannot be written are counted.
func TestLogSinkWriteError(t *testing.T) {
	t.Parallel()
	g := &gatedWriter{fail: true}
	s := newLogSink(g)
	fmt.Fprintf(s, "lost\n")
	fmt.Fprintf(s, "lost too\n")
	g.setFail(false)
	fmt.Fprintf(s, "kept\n")
	s.close()
	if got := g.String(); !strings.HasPrefix(got, "kept\n") || !strings.Contains(got, "lines=2") {
		t.Errorf("%q", got)
	}
}

// TestLogSinkNotice: the sink's own line has the format of the log, also after
// a reload that changed it.
func TestLogSinkNotice(t *testing.T) {
	t.Parallel()
	g := &gatedWriter{fail: true}
	s := newLogSink(g)
	s.logger(config.Log{Format: "text"})
	log := s.logger(config.Log{Format: "json"})
	log.Info("lost")
	g.setFail(false)
	log.Info("kept")
	s.close()
	if lines := strings.Split(g.String(), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "{") || !strings.HasPrefix(lines[1], "{") {
		t.Errorf("%q", g.String())
	}
}

// TestLogSinkClose: close waits for what is being written, and not for ever.
func TestLogSinkClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gatedWriter{shut: make(chan struct{})}
		s := newLogSink(g)
		fmt.Fprintf(s, "line\n")
		began := time.Now()
		s.close()
		if took := time.Since(began); took != logFlushTimeout {
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
// reader is gone it goes on too. A reload changes none of that.
func TestServeWithBlockedLog(t *testing.T) {
	t.Parallel()
	for name, reloads := range map[string]int{"from the start": 0, "after a reload": 1, "after two": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			base, cmd := startServe(t, write)
			write.Close()
			for range reloads {
				if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
					t.Fatal(err)
				}
				readUntil(t, read, "configuration.changed")
			}
			makeRefusals(t, base, 1000) // the pipe holds about 400 lines and the queue 1024
			readUntil(t, read, "log lines were dropped")
			read.Close()
			makeRefusals(t, base, 10)
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("serve ended with %v", err)
			}
		})
	}
}

// readUntil reads a log until it has a text.
func readUntil(t *testing.T, log io.Reader, want string) {
	t.Helper()
	found := make(chan bool, 1)
	go func() {
		var said []byte
		chunk := make([]byte, 64<<10)
		for !bytes.Contains(said, []byte(want)) {
			n, err := log.Read(chunk)
			if said = append(said, chunk[:n]...); err != nil {
				found <- false
				return
			}
		}
		found <- true
	}()
	select {
	case ok := <-found:
		if !ok {
			t.Errorf("the log ended without %q", want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("the log did not say %q in time", want)
	}
}

// TestSecondSignalWithBlockedLog: a second signal ends it at once although nobody
// reads its last lines.
func TestSecondSignalWithBlockedLog(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	base, cmd := startServe(t, write)
	write.Close()
	makeRefusals(t, base, 1000)
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /api/auth/signout HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\n", conn.RemoteAddr())
	time.Sleep(100 * time.Millisecond) // it is under way, and stays so
	for range 2 {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if cmd.ProcessState.ExitCode() != exitFailed {
			t.Errorf("serve ended with %v", err)
		}
	case <-time.After(8 * time.Second):
		t.Error("serve is still there")
	}
}

// TestStopWithBlockedLog: SIGTERM ends it although nobody reads.
func TestStopWithBlockedLog(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	base, cmd := startServe(t, write)
	write.Close()
	makeRefusals(t, base, 300)
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
		"AUTHSVC_SECRET=qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4", "AUTHSVC_CONFIG=authsvc.yaml",
		"AUTHSVC_RATE_LIMIT_ENABLED=false", // or one line would stand for all refusals
		"GORACE=atexit_sleep_ms=0")
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

// makeRefusals has serve refuse n sign-ins, each of which logs two lines.
func makeRefusals(t *testing.T, base string, n int) {
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
