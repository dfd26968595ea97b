package main

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/cmd/authsvc/internal/metrics"
	"authsvc/internal/protocol/weburl"
	"authsvc/stats"
)

// adminMode is the file mode of the admin.listen socket.
const adminMode = 0o660

// serveAdmin serves GET /metrics at admin.listen until close is called. The public
// address does not serve metrics. The endpoint answers from the start; it includes the
// engine's counts once there is an engine.
func (srv *server) serveAdmin(ctx context.Context, c config.Admin) (close func() error, err error) {
	if c.Listen == "" {
		return func() error { return nil }, nil
	}
	listener, err := listenAdmin(ctx, c.Listen)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", metrics.ContentType)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(srv.metrics())
	})
	admin := &http.Server{Handler: forPrograms(c, mux), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 8 << 10}
	go func() { _ = admin.Serve(listener) }() // close ends it
	srv.log.Info("metrics are served", "listen", c.Listen, "path", "/metrics")
	return admin.Close, nil
}

// listenAdmin listens on an address, or on a socket to which the user and the group of
// the process may connect.
func listenAdmin(ctx context.Context, addr string) (net.Listener, error) {
	const setting = "admin.listen (AUTHSVC_ADMIN_LISTEN)"
	path, isSocket := strings.CutPrefix(addr, "unix:")
	if !isSocket {
		return listen(ctx, addr, setting)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("%s is in use by another program: stop it, or set %s", addr, setting)
		}
		if err := os.Remove(path); err != nil { // left by a process that was killed
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	if err := os.Chmod(path, adminMode); err != nil { // #nosec G302 -- the group is to read metrics
		_ = l.Close()
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return l, nil
}

// forPrograms refuses requests that a page of another site can make a browser send to
// this machine: requests with an Origin or Sec-Fetch-Site header and, unless other
// machines may ask, requests that name another host (DNS rebinding).
func forPrograms(c config.Admin, h http.Handler) http.Handler {
	anyHost := c.AllowRemote || strings.HasPrefix(c.Listen, "unix:")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" || !anyHost && !weburl.Loopback(strings.Trim(host, "[]")) {
			http.Error(w, "misdirected", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// metrics returns all metrics. Their labels are fixed words and names from the
// configuration.
func (srv *server) metrics() []byte {
	var t metrics.Text
	in := srv.instance()
	compat := authsvc.CompatNone
	if in != nil && in.settings.Engine.Compat != "" {
		compat = in.settings.Engine.Compat
	}
	b := readBuild()
	t.Family("authsvc_build_info", metrics.Gauge, "Build information of the program, and its compat mode.", []string{"compat", "goversion", "revision", "version"},
		metrics.Sample{Labels: []string{string(compat), runtime.Version(), b.revision, b.version}, Value: 1})
	if in != nil {
		writeStats(&t, in.service.Stats())
	}
	metrics.Runtime(&t)
	metrics.Process(&t)
	return t.Bytes()
}

// writeStats writes the engine's counts.
func writeStats(t *metrics.Text, s stats.Stats) {
	var decisions, open, closed, issued, ages, requests, signIns, events []metrics.Sample
	for k, n := range s.Requests {
		requests = append(requests, metrics.Sample{Labels: []string{k.Route, k.Method, strconv.Itoa(k.Status)}, Value: float64(n)})
	}
	for provider, counts := range s.SignIns {
		for outcome, n := range counts {
			signIns = append(signIns, metrics.Sample{Labels: []string{provider, string(outcome)}, Value: float64(n)})
		}
	}
	for outcome, counts := range s.AuditEvents {
		for event, n := range counts {
			events = append(events, metrics.Sample{Labels: []string{event, string(outcome)}, Value: float64(n)})
		}
	}
	for host, g := range s.Gate {
		for d, n := range g.Decisions {
			decisions = append(decisions, metrics.Sample{Labels: []string{host, string(d)}, Value: float64(n)})
		}
		for why, n := range g.StreamsClosed {
			closed = append(closed, metrics.Sample{Labels: []string{host, string(why)}, Value: float64(n)})
		}
		if host != "" {
			open = append(open, metrics.Sample{Labels: []string{host}, Value: float64(g.OpenStreams)})
		}
	}
	for id, n := range s.TokensIssued {
		issued = append(issued, metrics.Sample{Labels: []string{id}, Value: float64(n)})
	}
	for alg, age := range s.SigningKeyAge {
		ages = append(ages, metrics.Sample{Labels: []string{string(alg)}, Value: age.Seconds()})
	}
	t.Family("authsvc_audit_events_total", metrics.Counter, "Audit events, including repeated refusals that were not recorded.", []string{"event", "outcome"}, events...)
	t.Family("authsvc_gate_decisions_total", metrics.Counter, "Requests for programs behind the gate, by decision.", []string{"host", "decision"}, decisions...)
	t.Family("authsvc_gate_open_streams", metrics.Gauge, "Requests that the gate let pass and that are in progress.", []string{"host"}, open...)
	t.Family("authsvc_gate_streams_closed_total", metrics.Counter, "Requests that the gate ended while they were in progress.", []string{"host", "reason"}, closed...)
	t.Family("authsvc_http_requests_total", metrics.Counter, "Answered requests.", []string{"route", "method", "code"}, requests...)
	t.Family("authsvc_sign_ins_total", metrics.Counter, "Results of sign-ins.", []string{"provider", "outcome"}, signIns...)
	t.Family("authsvc_signing_key_age_seconds", metrics.Gauge, "How long the current signing key has been signing.", []string{"alg"}, ages...)
	t.Family("authsvc_tokens_issued_total", metrics.Counter, "Tokens issued.", []string{"audience"}, issued...)
}
