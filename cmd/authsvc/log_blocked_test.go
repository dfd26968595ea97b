package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
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
	"authsvc/internal/test/quiet"
)

// TestServeWithBlockedLog: serve answers while its log, a real pipe, is not read. When
// the log is read again, it reports dropped lines. When the reader is gone, serve
// continues. A reload changes none of that.
func TestServeWithBlockedLog(t *testing.T) {
	t.Parallel()
	for name, reloads := range map[string]int{"from the start": 0, "after a reload": 1, "after two": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, cmd, read := startWithPipe(t)
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

// readUntil reads a log until it contains want.
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
	case <-time.After(patience):
		t.Fatalf("the log did not say %q in time", want)
	}
}

// TestSecondSignalWithBlockedLog: a second signal ends serve at once although its log
// is not read.
func TestSecondSignalWithBlockedLog(t *testing.T) {
	t.Parallel()
	base, cmd, _ := startWithPipe(t)
	makeRefusals(t, base, 1000)
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /api/auth/signout HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n", conn.RemoteAddr())
	conn.SetReadDeadline(time.Now().Add(patience))
	if line, err := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(line, "100") {
		t.Fatalf("%q, %v", line, err)
	} // the request is in flight and never completes
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
	case <-time.After(quiet.Limit(8 * time.Second)):
		t.Error("serve is still there")
	}
}

// TestStopWithBlockedLog: SIGTERM ends serve although its log is not read.
func TestStopWithBlockedLog(t *testing.T) {
	t.Parallel()
	base, cmd, _ := startWithPipe(t)
	makeRefusals(t, base, 300)
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("serve ended with %v", err)
	}
	if took := time.Since(began); took > quiet.Limit(10*time.Second) {
		t.Errorf("it took %v", took)
	}
}

// startWithPipe runs serve with a pipe as its log. It returns its URL, the command and
// the read end of the pipe.
func startWithPipe(t *testing.T) (base string, cmd *exec.Cmd, read *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	base, cmd = startServe(t, write)
	write.Close()
	return base, cmd, read
}

// startServe runs serve with a log, and returns its URL when it is ready.
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
		"AUTHSVC_SECRET="+testSecret, "AUTHSVC_CONFIG=authsvc.yaml",
		"AUTHSVC_RATE_LIMIT_ENABLED=false", // otherwise equal refusals are logged only once a minute
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

// makeRefusals makes serve refuse n sign-ins. Each logs two lines.
func makeRefusals(t *testing.T, base string, n int) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: patience}
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
