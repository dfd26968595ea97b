package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"authsvc/internal/dev/idp"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/quiet"
	"authsvc/internal/test/servertest"
)

// TestStopUnderLoad: after SIGTERM, requests in flight are answered, such as callbacks
// that wait for a slow provider, and later connections are refused. Requests that
// arrive as the listener closes are answered or lose their connection.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	for name, transport := range map[string]*http.Transport{"kept": {MaxIdleConnsPerHost: 100}, "one request each": {DisableKeepAlives: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, addr, dir := startProvider(t), freeAddress(t), t.TempDir()
			origin := "http://" + addr
			config := testConfig(origin, op)
			l := newProcess(t, dir, addr, config)
			l.start()
			pages := startLoad(t, 10, func() error {
				defer time.Sleep(20 * time.Millisecond)
				return unlessCut(newPerson(origin, op, transport).Form("/api/auth/signout", nil))
			})
			eventually(t, "answering", func() bool { return pages.count() >= 100 })
			people, answered, release := startSlowCallbacks(t, 5, origin, op, transport)
			l.signal(syscall.SIGTERM)
			eventually(t, "refusing connections", func() bool {
				conn, err := net.DialTimeout("tcp", addr, patience)
				if err == nil {
					conn.Close()
				}
				return isDialError(err)
			})
			select {
			case <-l.done:
				t.Error("it ended before its requests")
			default:
			}
			release()
			for range people {
				if err := <-answered; err != nil {
					t.Errorf("in flight: %v", err)
				}
			}
			if code := l.waitForExit(patience); code != 0 {
				t.Errorf("exit code %d", code)
			}
			pages.stopWithoutErrors(t)
			again := newProcess(t, dir, addr, config)
			again.start()
			for _, p := range people {
				if err := p.signedIn(); err != nil {
					t.Errorf("afterwards: %v", err)
				}
			}
			again.terminate()
		})
	}
}

// unlessCut returns the error of a request, unless its connection ended before the
// answer.
func unlessCut(a *browser.Answer, err error) error {
	var cut *url.Error
	switch {
	case errors.As(err, &cut) && !cut.Timeout() && !isDialError(err):
		return nil
	case err == nil && a.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("%d %.200s", a.StatusCode, a.Text)
	}
	return err
}

// startSlowCallbacks starts callbacks of n people that wait for the provider until
// release is called. answered gets the result of each.
func startSlowCallbacks(t *testing.T, n int, origin string, op *idp.Server, transport http.RoundTripper) (people []*person, answered chan error, release func()) {
	t.Helper()
	held := make(chan struct{})
	var waiting atomic.Int64
	op.SetFault(idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{idp.EndpointToken: func(http.ResponseWriter, *http.Request) bool {
		waiting.Add(1)
		<-held
		return false
	}}})
	release = sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	answered = make(chan error, n)
	for range n {
		p := newPerson(origin, op, transport)
		at, err := p.startSignIn()
		if err != nil {
			t.Fatal(err)
		}
		people = append(people, p)
		go func() { answered <- p.Open(at) }()
	}
	eventually(t, "waiting for the provider", func() bool { return waiting.Load() == int64(n) })
	return people, answered, release
}

// TestStopTwice: a second signal ends the process at once with exit code 1, even if
// something hangs. The store is intact.
func TestStopTwice(t *testing.T) {
	t.Parallel()
	op, addr, dir := startProvider(t), freeAddress(t), t.TempDir()
	origin := "http://" + addr
	l := newProcess(t, dir, addr, testConfig(origin, op))
	l.start()
	if err := newPerson(origin, op, nil).signIn(); err != nil {
		t.Fatal(err)
	}
	startHangingCallback(t, l, origin, op)
	l.signal(syscall.SIGTERM)
	l.waitForLog("msg=stopping", 1)
	time.Sleep(300 * time.Millisecond) // well within the time for requests
	begun := time.Now()
	l.signal(syscall.SIGTERM)
	if code := l.waitForExit(patience); code != exitFailed || time.Since(begun) > quiet.Limit(4*time.Second) {
		t.Errorf("exit code %d after %v", code, time.Since(begun))
	}
	l.waitForLog("second signal", 1)
	op.SetFault(idp.Fault{})
	again := newProcess(t, dir, addr, testConfig(origin, op))
	again.start() // checks the integrity of the database
	if err := newPerson(origin, op, nil).signIn(); err != nil {
		t.Error(err)
	}
	again.terminate()
}

// startHangingCallback starts a callback that the provider does not answer.
func startHangingCallback(t *testing.T, l *process, origin string, op *idp.Server) {
	t.Helper()
	op.SetFault(idp.Fault{Delay: map[idp.Endpoint]time.Duration{idp.EndpointToken: time.Minute}})
	p := newPerson(origin, op, nil)
	at, err := p.startSignIn()
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Bool
	go func() { calls.Store(true); p.Get(at) }()
	before := op.Calls(idp.EndpointToken)
	eventually(t, "hanging", func() bool {
		return calls.Load() && op.Calls(idp.EndpointToken) > before-1 && op.Calls(idp.EndpointToken) > 0
	})
}

// TestStopWithHungStore: a store that hangs delays the end at most by the time for
// requests and for closing.
func TestStopWithHungStore(t *testing.T) {
	t.Parallel()
	servertest.Long(t)
	server := servertest.OwnPostgres(t)
	op, addr := startProvider(t), freeAddress(t)
	origin := "http://" + addr
	l := newProcess(t, t.TempDir(), addr, testConfig(origin, op), "AUTHSVC_STORAGE_URL="+server.URL)
	l.start()
	if err := newPerson(origin, op, nil).signIn(); err != nil {
		t.Fatal(err)
	}
	people := startLoad(t, 4, func() error { newPerson(origin, op, nil).signIn(); return nil })
	server.Freeze()
	time.Sleep(time.Second)
	l.signal(syscall.SIGTERM)
	begun := time.Now()
	code := l.waitForExit(quiet.Limit(drainTime + time.Second + closeTime + 2*time.Second))
	t.Logf("exit code %d after %v", code, time.Since(begun).Round(time.Millisecond))
	server.Thaw()
	people.stop()
	if strings.Contains(l.out.String(), "panic") {
		t.Error("panicked")
	}
}

// TestStopWithHungMailServer: a mail server that accepts a connection and stays silent
// does not delay a stop, which ends with exit code 0. The mail is sent after the next
// start.
func TestStopWithHungMailServer(t *testing.T) {
	t.Parallel()
	servertest.Long(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	op, addr, dir := startProvider(t), freeAddress(t), t.TempDir()
	origin := "http://" + addr
	config := strings.Replace(testConfig(origin, op), "providers:\n", "providers:\n  - {id: email, type: email, server: \"smtp://"+silent.Addr().String()+"\", from: \"App <app@example.com>\"}\n", 1)
	l := newProcess(t, dir, addr, config)
	l.start()
	requestLink(t, newPerson(origin, op, nil))
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	l.signal(syscall.SIGTERM)
	begun := time.Now()
	if code := l.waitForExit(quiet.Limit(time.Second + drainTime)); code != exitOK {
		t.Errorf("exit code %d\n%s", code, l.out)
	}
	t.Logf("ended in %v", time.Since(begun).Round(time.Millisecond))
	silent.Close()
	box, err := mailbox.Listen(mailbox.Options{Addr: silent.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	again := newProcess(t, dir, addr, config)
	again.start()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := box.Wait(ctx, func(m mailbox.Message) bool { return m.To[0] == "grace@example.com" }); err != nil {
		t.Errorf("the mail did not go out: %v", err)
	}
	again.terminate()
}

// requestLink requests a sign-in link.
func requestLink(t *testing.T, p *person) {
	t.Helper()
	a, err := p.Post("/api/auth/signin/email", "email", "grace@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if a.StatusCode != http.StatusFound || !strings.Contains(a.Location(), "verify-request") {
		t.Fatalf("signin: %d %s", a.StatusCode, a.Location())
	}
}
