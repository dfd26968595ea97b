package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"authsvc/internal/dev/idp"
	"authsvc/internal/test/freeport"
	"authsvc/internal/test/logbuffer"
)

const testSecret = "qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"

// A process is one run of the program.
type process struct {
	t    *testing.T
	addr string
	dir  string
	cmd  *exec.Cmd
	out  *logbuffer.Buffer
	done chan struct{}
	err  error // of the process, once done is closed
}

// newProcess returns a process that will serve a configuration. It adds listen to the
// configuration.
func newProcess(t *testing.T, dir, addr, config string, env ...string) *process {
	t.Helper()
	l := &process{t: t, addr: addr, dir: dir, out: &logbuffer.Buffer{}, done: make(chan struct{})}
	l.writeConfig(config)
	l.cmd = exec.Command(os.Args[0])
	l.cmd.Args = []string{"authsvc", "serve", "--config", configFile(addr)} // TestMain makes it the program
	l.cmd.Dir, l.cmd.Stdout, l.cmd.Stderr = dir, l.out, l.out
	l.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}, env...)
	return l
}

// configFile returns the name of the configuration of the process at an address.
func configFile(addr string) string { return strings.ReplaceAll(addr, ":", "_") + ".yaml" }

// writeConfig replaces the configuration atomically.
func (l *process) writeConfig(config string) {
	l.t.Helper()
	file := filepath.Join(l.dir, configFile(l.addr))
	if err := os.WriteFile(file+".new", []byte(config+"\nlisten: "+l.addr+"\n"), 0o600); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		l.t.Fatal(err)
	}
}

// start runs the process until it is ready. The process is killed at the end of the
// test.
func (l *process) start() {
	l.t.Helper()
	if err := l.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	go func() { l.err = l.cmd.Wait(); close(l.done) }()
	l.t.Cleanup(func() {
		l.cmd.Process.Kill()
		<-l.done
		if l.t.Failed() {
			said := l.out.String()
			l.t.Logf("the service at %s said\n%s", l.addr, said[max(0, len(said)-4000):])
		}
	})
	eventually(l.t, "ready", func() bool {
		select {
		case <-l.done:
			l.t.Fatalf("the service ended: %v\n%s", l.err, l.out)
		default:
		}
		code, _ := getStatus(l.t, "http://"+l.addr+"/readyz")
		return code == http.StatusOK
	})
}

func (l *process) signal(s syscall.Signal) {
	l.t.Helper()
	if err := l.cmd.Process.Signal(s); err != nil {
		l.t.Error(err)
	}
}

// waitForExit waits until the process has ended, and returns its exit code.
func (l *process) waitForExit(within time.Duration) int {
	l.t.Helper()
	select {
	case <-l.done:
	case <-time.After(within):
		l.t.Fatalf("the service still runs after %v", within)
	}
	return l.cmd.ProcessState.ExitCode()
}

// terminate stops the process, and fails the test unless it ends cleanly.
func (l *process) terminate() {
	l.t.Helper()
	l.signal(syscall.SIGTERM)
	if code := l.waitForExit(patience); code != 0 {
		l.t.Errorf("exit code %d after SIGTERM\n%s", code, l.out)
	}
}

// waitForLog waits until the output contains a text at least times times.
func (l *process) waitForLog(text string, times int) {
	l.t.Helper()
	eventually(l.t, "logging "+text, func() bool { return strings.Count(l.out.String(), text) >= times })
}

// reload writes a configuration and waits until it is applied.
func (l *process) reload(config string) {
	l.t.Helper()
	before := strings.Count(l.out.String(), "configuration.changed")
	l.writeConfig(config)
	l.signal(syscall.SIGHUP)
	l.waitForLog("configuration.changed", before+1)
}

func startProvider(t *testing.T) *idp.Server {
	t.Helper()
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: "test-client-secret"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	return op
}

// testConfig returns a configuration with the provider op and without rate limits.
func testConfig(origin string, op *idp.Server, more ...string) string {
	return "url: " + origin + "\nsecret: " + testSecret + "\nrate_limit: {enabled: false}\n" +
		"providers:\n  - {id: op, type: oidc, name: Op, issuer: \"" + op.Issuer() + "\", client_id: app, client_secret: test-client-secret}\n" +
		strings.Join(more, "\n") + "\n"
}

// getStatus returns the status and the body of a GET. Status 0 means that there was no
// answer.
func getStatus(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, ""
	}
	return res.StatusCode, string(body)
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not %s after %v", what, patience)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}
