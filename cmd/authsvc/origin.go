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

	"authsvc/engine"
	"authsvc/internal/protocol/weburl"
)

// An originHandler serves a whole origin. It passes requests to the engine, and answers
//
//	GET /healthz  200 as long as the process answers
//	GET /readyz   200 if [engine.Service.Ready] returns nil and the service is not stopping, else 503
//	GET /         redirects to the sign-in page
//	GET /favicon.ico  204: no icon, which browsers remember
//	GET /.well-known/oauth-authorization-server/PATH  the metadata of the issuer at PATH (RFC 8414 section 3.1)
//	any other path outside the engine's routes  404, in dev with the address of the sign-in page
//
// It refuses requests that name another host (RFC 9110 §7.4), in Host or, with
// [authsvc.Config.ForwardedHost], in X-Forwarded-Host, with three exceptions:
// the health paths, because probes address machines by IP; requests that
// [authsvc.Config.InternalHosts] allows; and gate checks by proxies. At the hosts of
// [authsvc.Config.Gate], every path except the health paths and the engine's routes
// belongs to the programs behind them.
type originHandler struct {
	origin   string // scheme://host[:port]
	base     string // base URL of the engine's routes
	service  http.Handler
	meant    func(*http.Request) *http.Request // reads the X-Forwarded-Host of trusted proxies
	log      *slog.Logger
	ready    *readiness
	internal func(host string) bool   // reports whether the engine also answers under this host
	gated    func(host string) int    // index of the host of the gate; below 0 if it is none
	checks   func(*http.Request) bool // reports whether a proxy asks the gate
	gate     http.Handler             // serves the programs behind the gate
	refuse   http.HandlerFunc         // refuses requests for other hosts
	advises  bool                     // requests outside the routes get advice; only in dev
	warnHost sync.Once                // logs only once why a host is refused
	warnPort sync.Once                // logs only once why a port is refused
}

func newOriginHandler(service *engine.Service, log *slog.Logger) *originHandler {
	base := service.BaseURL()
	h := &originHandler{origin: weburl.OriginOf(base), base: base, service: service, meant: service.Forwarded, internal: service.InternalHost, gated: service.GatedHost, checks: service.ChecksGate, gate: service.Guard(nil), refuse: service.RefuseHost, log: log, ready: &readiness{}}
	h.ready.setPing(service.Ready)
	return h
}

// setUnready makes the service unready, so that load balancers use other replicas.
func (h *originHandler) setUnready() { h.ready.draining.Store(true) }

// ServeHTTP implements [http.Handler].
func (h *originHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = h.meant(r)
	gated := h.gatedHandler(r)
	switch {
	case r.URL.Path == "/healthz":
		health(w, r, true)
	case r.URL.Path == "/readyz":
		health(w, r, h.ready.check(r.Context(), h.log))
	case h.internal(r.Host), h.checks(r):
		h.service.ServeHTTP(w, r) // refuses browser routes and every other path there
	case gated != nil:
		gated.ServeHTTP(w, r)
	case !h.matchesHost(r.Host):
		h.rejectHost(w, r)
	case r.URL.Path == "/favicon.ico" && isRead(r):
		w.Header().Set("Cache-Control", "public, max-age=86400")
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Path == "/" && isRead(r):
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, h.home(), http.StatusFound) // #nosec G710 -- the configured address
	case r.URL.Path == wellKnown+h.basePath():
		h.service.ServeHTTP(w, h.metadataRequest(r))
	case h.advises && h.outside(r.URL.Path):
		http.Error(w, "authsvc dev has nothing at this path; sign in at "+h.home(), http.StatusNotFound)
	default:
		h.service.ServeHTTP(w, r)
	}
}

// basePath returns the path of the engine's routes, such as /api/auth.
func (h *originHandler) basePath() string { return strings.TrimPrefix(h.base, h.origin) }

// outside reports whether a path is neither the base path nor below it.
func (h *originHandler) outside(path string) bool {
	return path != h.basePath() && !strings.HasPrefix(path, h.basePath()+"/")
}

// wellKnown is the path that RFC 8414 puts before the path of an issuer to name its
// metadata.
const wellKnown = "/.well-known/oauth-authorization-server"

// metadataRequest returns the request for the same document below the base.
func (h *originHandler) metadataRequest(r *http.Request) *http.Request {
	inner := r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = h.basePath()+"/.well-known/openid-configuration", ""
	return inner
}

// home returns the URL of the sign-in page. A user who comes here is at an origin
// without a front end, so sign-in returns to the same page.
func (h *originHandler) home() string {
	return weburl.WithQuery(h.base+"/signin", "callbackUrl", h.base+"/signin")
}

// matchesHost reports whether the host of a request is the host of the origin.
func (h *originHandler) matchesHost(host string) bool { return weburl.NamesHost(h.origin, host) }

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

// rejectHost refuses a request for another host. The usual cause is a proxy that
// replaces the Host header, so the log includes the fix.
func (h *originHandler) rejectHost(w http.ResponseWriter, r *http.Request) {
	if r.TLS == nil && strings.HasPrefix(h.origin, "https://") && strings.EqualFold(weburl.Hostname("http://"+r.Host), weburl.Hostname(h.origin)) {
		h.warnPort.Do(func() {
			h.log.Warn("refused a request that came by http for another port than that of url, and will refuse further ones silently; people must open url, and the proxy that provides https must pass on the Host header of the browser",
				"host", truncate(r.Host), "url", h.origin, "peer", r.RemoteAddr)
		})
	} else {
		h.warnHost.Do(func() {
			h.log.Warn("refused a request for another host, and will refuse further ones silently; a proxy must pass on the Host header of the browser, and url must be the address that the browser uses; "+
				"a proxy that cannot, but sets X-Forwarded-Host, needs forwarded_host: true and an entry in trusted_proxies, or one of proxy_keys",
				"host", truncate(r.Host), "want", strings.TrimPrefix(strings.TrimPrefix(h.origin, "https://"), "http://"),
				"x_forwarded_host", truncate(r.Header.Get("X-Forwarded-Host")), "peer", r.RemoteAddr)
		})
	}
	h.refuse(w, r)
}

// truncate limits the client input that gets into the log.
func truncate(s string) string { return s[:min(len(s), 100)] }

// pingInterval is how long an answer of the store is reused, so that many probes cost
// the store little.
const pingInterval = time.Second

// pingTimeout is how long the store may take to answer.
const pingTimeout = 2 * time.Second

// A readiness caches whether the store answers.
type readiness struct {
	ping     func(context.Context) error
	draining atomic.Bool

	mu      sync.Mutex
	askedAt time.Time
	ok      bool
}

// setPing replaces the function that asks the store.
func (r *readiness) setPing(ping func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ping = ping
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
	// The answer is reused, so it must not end with this request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	err := r.ping(ctx)
	if err != nil {
		log.Error("not ready", "err", err)
	}
	r.askedAt, r.ok = time.Now(), err == nil
	return r.ok
}
