package main

import (
	"context"
	"net/http"
	"net/http/pprof"
	"runtime"
	"time"
)

// Sampling rates of the block and mutex profiles.
const (
	blockProfileRate     = 10_000 // one event per this many nanoseconds of waiting
	mutexProfileFraction = 100    // one of this many contentions
)

// serveDebug serves the profiles of package pprof on a local address until close is
// called. The public address never serves them. If addr is "", it serves nothing.
func (srv *server) serveDebug(ctx context.Context, addr string) (close func() error, err error) {
	if addr == "" {
		return func() error { return nil }, nil
	}
	listener, err := listen(ctx, addr, "debug.listen (AUTHSVC_DEBUG_LISTEN)")
	if err != nil {
		return nil, err
	}
	runtime.SetBlockProfileRate(blockProfileRate)
	runtime.SetMutexProfileFraction(mutexProfileFraction)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	debug := &http.Server{Handler: sameHost(listener.Addr().String(), mux), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = debug.Serve(listener) }() // close ends it
	srv.log.Info("profiles are served", "url", "http://"+listener.Addr().String()+"/debug/pprof/")
	return debug.Close, nil
}

// sameHost refuses requests that a page of another site makes a browser send to a local
// address: under the name of another host (DNS rebinding), or to this host by a script,
// an image or a link.
func sameHost(addr string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		if r.Host != addr || r.Header.Get("Origin") != "" || site != "" && site != "none" && site != "same-origin" {
			http.Error(w, "misdirected", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}
