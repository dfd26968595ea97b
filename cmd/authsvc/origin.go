package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc/internal/weburl"
)

// originHandler stands before the engine when it owns the whole origin. It answers
//
//	GET /healthz  200 as long as the process answers
//	GET /readyz   200 if [authsvc.Service.Ready] finds nothing and no stop was asked for, else 503
//	GET /         the sign-in page
//	GET /favicon.ico  204: no picture, which browsers remember
//
// and refuses requests that name another host (RFC 9110 §7.4), except for the
// two health paths, since probes address machines.
type originHandler struct {
	origin   string // scheme://host[:port]
	base     string // of the engine's routes
	service  http.Handler
	log      *slog.Logger
	ready    *readiness
	warnHost sync.Once // says why a host is refused, once
}

func newOriginHandler(base string, service http.Handler, log *slog.Logger, ready func(context.Context) error) *originHandler {
	f := &originHandler{origin: weburl.OriginOf(base), base: base, service: service, log: log, ready: &readiness{}}
	f.ready.setPing(ready)
	return f
}

// setUnready makes the service unready, so that load balancers look elsewhere.
func (f *originHandler) setUnready() { f.ready.draining.Store(true) }

// ServeHTTP implements [http.Handler].
func (f *originHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/healthz":
		health(w, r, true)
	case r.URL.Path == "/readyz":
		health(w, r, f.ready.check(r.Context(), f.log))
	case !f.matchesHost(r.Host):
		f.rejectHost(w, r)
	case r.URL.Path == "/favicon.ico" && isRead(r):
		w.Header().Set("Cache-Control", "public, max-age=86400")
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Path == "/" && isRead(r):
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, f.base+"/signin", http.StatusFound) // #nosec G710 -- the configured address
	default:
		f.service.ServeHTTP(w, r)
	}
}

// matchesHost reports whether the host of a request is ours.
func (f *originHandler) matchesHost(host string) bool {
	scheme, _, _ := strings.Cut(f.origin, "://")
	origin, ok := weburl.ExactOrigin(scheme + "://" + host)
	return ok && origin == f.origin
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

func health(w http.ResponseWriter, r *http.Request, ok bool) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	switch {
	case !isRead(r):
		h.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
	case ok:
		io.WriteString(w, "ok\n")
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "not ready\n")
	}
}

// rejectHost refuses a request for another host. A proxy that replaces the
// Host header is the usual cause, so the log says what to do about it.
func (f *originHandler) rejectHost(w http.ResponseWriter, r *http.Request) {
	f.warnHost.Do(func() {
		f.log.Warn("refused a request for another host, and will do so silently from now on; a proxy has to pass the Host header of the browser on, and url has to be what the browser uses",
			"host", truncate(r.Host), "want", strings.TrimPrefix(strings.TrimPrefix(f.origin, "https://"), "http://"))
	})
	http.Error(w, "this host is not served here", http.StatusMisdirectedRequest)
}

// truncate bounds what strangers can write into the log.
func truncate(s string) string { return s[:min(len(s), 100)] }

// pingInterval is how long one answer of the store counts: probing costs it
// nothing more, whoever probes.
const pingInterval = time.Second

// pingTimeout is how long the store may take.
const pingTimeout = 2 * time.Second

// readiness remembers whether the store answered.
type readiness struct {
	ping     func(context.Context) error
	draining atomic.Bool

	mu      sync.Mutex
	askedAt time.Time
	ok      bool
}

// setPing has f answer from now on.
func (r *readiness) setPing(f func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ping = f
}

func (r *readiness) check(ctx context.Context, log *slog.Logger) bool {
	if r.draining.Load() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.askedAt) < pingInterval {
		return r.ok
	}
	// The answer is for all who ask, so it outlives this request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	err := r.ping(ctx)
	if err != nil {
		log.Error("not ready", "err", err)
	}
	r.askedAt, r.ok = time.Now(), err == nil
	return r.ok
}
