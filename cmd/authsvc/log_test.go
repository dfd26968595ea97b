package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc/cmd/authsvc/internal/config"
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

// TestLogNamesKeys: a warning of the engine names the key of authsvc.yaml.
func TestLogNamesKeys(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		log := newLogger(&b, config.Log{Level: "info", Format: format})
		log.Warn("a warning", "field", "RateLimit.Disabled", "provider", "x")
		if said := b.String(); !strings.Contains(strings.ReplaceAll(said, `"`, ""), "rate_limit.enabled") || strings.Contains(said, "field") {
			t.Errorf("%s: %s", format, said)
		}
	}
}

// TestLogSinkSynchronous: while the log is read, Write returns after its line has been
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

// TestLogSinkBlocked: a blocked log delays one writer briefly. Lines that do not fit
// are counted.
func TestLogSinkBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gatedWriter{shut: make(chan struct{})}
		s := newLogSink(g)
		began := time.Now()
		const more = 7
		for i := range logQueueSize + 1 + more { // the writer has taken one
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

// TestLogSinkNotice: the sink's own line has the format of the log, even after a reload
// that changed it.
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

// TestLogSinkClose: close waits for pending lines, but not forever.
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

// TestDebugLog: at level debug, the log contains no secret, code, state or cookie. The
// public port serves neither metrics nor profiles.
func TestDebugLog(t *testing.T) {
	t.Parallel()
	op, addr := startProvider(t), freeAddress(t)
	origin := "http://" + addr
	l := newProcess(t, t.TempDir(), addr, testConfig(origin, op, "log: {level: debug}"))
	l.start()
	person := newPerson(origin, op, nil)
	at, err := person.startSignIn()
	if err != nil {
		t.Fatal(err)
	}
	if err := person.finishSignIn(at); err != nil {
		t.Fatal(err)
	}
	if err := person.finishSignIn(at); err == nil {
		t.Error("a code was taken twice")
	}
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{testSecret, "test-client-secret", u.Query().Get("code"), u.Query().Get("state")}
	base, err := url.Parse(person.Base + "/api/auth")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range person.Client.Jar.Cookies(base) {
		if len(c.Value) > 20 { // one is the name of a provider
			secrets = append(secrets, c.Value)
		}
	}
	for _, secret := range secrets {
		if len(secret) < 8 {
			t.Errorf("%q is too short to be a secret", secret)
		} else if strings.Contains(l.out.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/vars", "/api/auth/metrics", "/api/auth/debug"} {
		if code, _ := getStatus(t, origin+path); code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
	l.terminate()
}
