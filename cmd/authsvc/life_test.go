package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"authsvc/internal/idp"
)

const testSecret = "qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"

// A process is one run of the program.
type process struct {
	t    *testing.T
	addr string
	dir  string
	cmd  *exec.Cmd
	out  *syncBuffer
	done chan struct{}
	err  error // of the process, once done is closed
}

// newProcess returns a process that serves a configuration, without starting it.
// It adds listen to the configuration.
func newProcess(t *testing.T, dir, addr, config string, env ...string) *process {
	t.Helper()
	l := &process{t: t, addr: addr, dir: dir, out: &syncBuffer{}, done: make(chan struct{})}
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

// start runs the process until it is ready. It is killed with the test.
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

// waitForExit waits until the process has ended and returns its exit code.
func (l *process) waitForExit(within time.Duration) int {
	l.t.Helper()
	select {
	case <-l.done:
	case <-time.After(within):
		l.t.Fatalf("the service still runs after %v", within)
	}
	return l.cmd.ProcessState.ExitCode()
}

// terminate stops the process and fails the test unless it ends cleanly.
func (l *process) terminate() {
	l.t.Helper()
	l.signal(syscall.SIGTERM)
	if code := l.waitForExit(20 * time.Second); code != 0 {
		l.t.Errorf("exit code %d after SIGTERM\n%s", code, l.out)
	}
}

// waitForLog waits until the output has a text at least that many times.
func (l *process) waitForLog(text string, times int) {
	l.t.Helper()
	eventually(l.t, "logging "+text, func() bool { return strings.Count(l.out.String(), text) >= times })
}

// reload writes a configuration and waits until it is in force.
func (l *process) reload(config string) {
	l.t.Helper()
	before := strings.Count(l.out.String(), "configuration.changed")
	l.writeConfig(config)
	l.signal(syscall.SIGHUP)
	l.waitForLog("configuration.changed", before+1)
}

func startProvider(t *testing.T) *idp.Server {
	t.Helper()
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: "life-client-secret"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	return op
}

// testConfig returns a configuration with the provider op and without rate limits.
func testConfig(origin string, op *idp.Server, more ...string) string {
	return "url: " + origin + "\nsecret: " + testSecret + "\nrate_limit: {enabled: false}\n" +
		"providers:\n  - {id: op, type: oidc, name: Op, issuer: \"" + op.Issuer() + "\", client_id: app, client_secret: life-client-secret}\n" +
		strings.Join(more, "\n") + "\n"
}

// A person signs in with a browser of their own.
type person struct {
	base   string
	op     *idp.Server
	client *http.Client
}

func newPerson(origin string, op *idp.Server, transport http.RoundTripper) *person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err) // it never fails
	}
	return &person{base: origin + "/api/auth", op: op, client: &http.Client{Jar: jar, Transport: transport, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// do sends a request, and returns status, Location and body.
func (p *person) do(ctx context.Context, method, to string, form url.Values) (int, string, []byte, error) {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, to, body)
	if err != nil {
		return 0, "", nil, err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := p.client.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header.Get("Location"), raw, err
}

// startSignIn begins a sign-in and returns the URL to which the provider sends the
// person back.
func (p *person) startSignIn(ctx context.Context) (string, error) {
	var csrf struct {
		Token string `json:"csrfToken"`
	}
	status, _, raw, err := p.do(ctx, "GET", p.base+"/csrf", nil)
	if err != nil || json.Unmarshal(raw, &csrf) != nil {
		return "", fmt.Errorf("csrf: %d %.200s %w", status, raw, err)
	}
	var to struct{ URL string }
	status, _, raw, err = p.do(ctx, "POST", p.base+"/signin/op", url.Values{"csrfToken": {csrf.Token}, "json": {"true"}})
	if err != nil || json.Unmarshal(raw, &to) != nil {
		return "", fmt.Errorf("signin: %d %.200s %w", status, raw, err)
	}
	answer, err := p.op.Approve(to.URL, "grace")
	if err != nil {
		return "", fmt.Errorf("signin led to %s: %w", to.URL, err)
	}
	return answer.URL(), nil
}

// finishSignIn ends a sign-in, and checks that there is a session.
func (p *person) finishSignIn(ctx context.Context, at string) error {
	status, to, raw, err := p.do(ctx, "GET", at, nil)
	if err != nil || status != http.StatusFound || strings.Contains(to, "error") {
		return fmt.Errorf("callback: %d %s %.200s %w", status, to, raw, err)
	}
	return p.signedIn(ctx)
}

// signedIn checks that there is a session.
func (p *person) signedIn(ctx context.Context) error {
	status, _, raw, err := p.do(ctx, "GET", p.base+"/session", nil)
	if err != nil || status != http.StatusOK || !strings.Contains(string(raw), "grace@example.com") {
		return fmt.Errorf("session: %d %.200s %w", status, raw, err)
	}
	return nil
}

func (p *person) signIn(ctx context.Context) error {
	at, err := p.startSignIn(ctx)
	if err != nil {
		return err
	}
	return p.finishSignIn(ctx, at)
}

// A load runs the same step again and again, several at a time, and counts.
type load struct {
	mu     sync.Mutex
	done   int
	failed []error
	cancel context.CancelFunc
	all    sync.WaitGroup
}

// isDialError reports whether no connection was made, so that nothing was sent.
func isDialError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// startLoad runs step in n goroutines, each until it can make no connection.
func startLoad(t *testing.T, n int, step func(ctx context.Context, i int) error) *load {
	ctx, cancel := context.WithCancel(context.Background())
	c := &load{cancel: cancel}
	t.Cleanup(c.stop)
	for i := range n {
		c.all.Go(func() {
			for ctx.Err() == nil {
				err := step(context.WithoutCancel(ctx), i)
				if isDialError(err) {
					return
				}
				c.mu.Lock()
				if err == nil {
					c.done++
				} else {
					c.failed = append(c.failed, err)
				}
				c.mu.Unlock()
			}
		})
	}
	return c
}

// stop waits for the steps under way.
func (c *load) stop() { c.cancel(); c.all.Wait() }

func (c *load) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// stopWithoutErrors stops, and fails the test if a step failed or none was done.
func (c *load) stopWithoutErrors(t *testing.T) {
	t.Helper()
	c.stop()
	if len(c.failed) > 0 {
		t.Errorf("%d of %d failed; the first: %v", len(c.failed), len(c.failed)+c.done, c.failed[0])
	}
	if c.done == 0 {
		t.Error("nothing was done")
	}
	t.Logf("%d done, %d failed", c.done, len(c.failed))
}
