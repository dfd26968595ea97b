package main

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"authsvc/internal/idp"
	"authsvc/internal/mailbox"
	"authsvc/internal/test/quiet"
	"authsvc/internal/test/servertest"
)

// TestStopUnderLoad: SIGTERM resets no connection, with or without keep-alive, not even
// while callbacks wait for a slow provider: requests are answered, and later
// connections are refused.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	const slow = time.Second
	for name, transport := range map[string]*http.Transport{"kept": {MaxIdleConnsPerHost: 100}, "one request each": {DisableKeepAlives: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, addr := startProvider(t), freeAddress(t)
			op.SetFault(idp.Fault{Delay: map[idp.Endpoint]time.Duration{idp.EndpointToken: slow}})
			origin := "http://" + addr
			l := newProcess(t, t.TempDir(), addr, testConfig(origin, op))
			l.start()
			// The callbacks of some are in flight all the time.
			callbacks := startLoad(t, 5, func() error {
				p := newPerson(origin, op, transport)
				at, err := p.startSignIn()
				if err != nil {
					return err
				}
				_, err = p.Get(at)
				return err
			})
			pages := startLoad(t, 10, func() error {
				defer time.Sleep(20 * time.Millisecond)
				p := newPerson(origin, op, transport)
				_, err := p.Form("/api/auth/signout", nil)
				return err
			})
			eventually(t, "answering", func() bool { return callbacks.count() >= 5 && pages.count() >= 100 })
			eventually(t, "waiting for the provider", func() bool { return op.Calls(idp.EndpointToken) > callbacks.count() })
			l.signal(syscall.SIGTERM)
			begun := time.Now()
			if code := l.waitForExit(quiet.Limit(15 * time.Second)); code != 0 {
				t.Errorf("exit code %d", code)
			}
			t.Logf("ended in %v", time.Since(begun).Round(time.Millisecond))
			callbacks.stopWithoutErrors(t)
			pages.stopWithoutErrors(t)
		})
	}
}

// TestStopTwice: a second signal ends the process at once with exit code 1, whatever
// hangs, and the store is intact.
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

// TestStopWithHungStore: a store that hangs delays the end no longer than the time for
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
	code := l.waitForExit(quiet.Limit(drainTime + lingerTime + closeTime + 2*time.Second))
	t.Logf("exit code %d after %v", code, time.Since(begun).Round(time.Millisecond))
	server.Thaw()
	people.stop()
	if strings.Contains(l.out.String(), "panic") {
		t.Error("panicked")
	}
}

// TestStopWithHungMailServer: a mail server that accepts a connection and stays silent
// does not delay a stop, which ends with exit code 0; the mail is sent after the next
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
	if code := l.waitForExit(quiet.Limit(lingerTime + drainTime)); code != exitOK {
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
