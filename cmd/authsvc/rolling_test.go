package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"authsvc/internal/test/servertest"
)

// A balancer passes requests to backends in turn. It tries the next backend if it
// cannot connect, or if a connection ends before an answer: a stopping replica never
// processes requests that it has not begun.
type balancer struct {
	*httptest.Server
	backends []string
	next     atomic.Int64
	passed   atomic.Int64
}

func newBalancer(t *testing.T, backends []string) *balancer {
	t.Helper()
	b := &balancer{backends: backends}
	b.Server = httptest.NewServer(&httputil.ReverseProxy{
		Transport: b,
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.Host, r.Out.URL.Scheme = r.In.Host, "http" },
	})
	t.Cleanup(b.Close)
	return b
}

// keepAliveTransport keeps connections open.
var keepAliveTransport = &http.Transport{MaxIdleConnsPerHost: 50}

// RoundTrip implements [http.RoundTripper].
func (b *balancer) RoundTrip(r *http.Request) (res *http.Response, err error) {
	var body []byte
	if r.Body != nil { // an attempt closes it
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	first := int(b.next.Add(1))
	for i := range 2 * len(b.backends) {
		if r.Body != nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		r.URL.Host = b.backends[(first+i)%len(b.backends)]
		if res, err = keepAliveTransport.RoundTrip(r); err == nil {
			return res, nil
		}
		b.passed.Add(1)
	}
	return res, err
}

// TestRollingDeploy: replicas are replaced one by one while people sign in. Some people
// stay at the provider for longer than a replica lives. No sign-in fails.
func TestRollingDeploy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		replicas int
		storage  func(t *testing.T) string
	}{
		{"postgres", 3, func(t *testing.T) string { return servertest.Postgres(t) }},
		{"sqlite", 2, func(t *testing.T) string { return "sqlite:shared.db" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rollReplicas(t, c.replicas, c.storage(t))
		})
	}
}

// rollReplicas replaces the replicas on a storage one by one under load.
func rollReplicas(t *testing.T, replicas int, storage string) {
	t.Helper()
	variable, op, dir := "AUTHSVC_STORAGE_URL="+storage, startProvider(t), t.TempDir()
	var backends []string
	for range replicas {
		backends = append(backends, freeAddress(t))
	}
	front := newBalancer(t, backends)
	u, err := url.Parse(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	origin := "http://" + u.Host
	replica := func(addr string) *process {
		l := newProcess(t, dir, addr, testConfig(origin, op), variable)
		l.start()
		return l
	}
	var running []*process
	for _, addr := range backends {
		running = append(running, replica(addr))
	}
	away := map[*person]string{}
	for range 20 {
		p := newPerson(origin, op, nil)
		if away[p], err = p.startSignIn(); err != nil {
			t.Fatal(err)
		}
	}
	people := startLoad(t, 6, func() error {
		p := newPerson(origin, op, nil)
		at, err := p.startSignIn()
		if err == nil {
			time.Sleep(100 * time.Millisecond) // at the provider
			err = p.finishSignIn(at)
		}
		return err
	})
	for i, old := range running {
		done := people.count()
		eventually(t, "signing in", func() bool { return people.count() > done+10 })
		old.terminate()
		running[i] = replica(old.addr)
	}
	for p, at := range away {
		if err := p.finishSignIn(at); err != nil {
			t.Errorf("a sign-in that began before: %v", err)
		}
	}
	people.stopWithoutErrors(t)
	t.Logf("%d attempts continued at another replica", front.passed.Load())
	for _, l := range running {
		l.terminate()
	}
}
