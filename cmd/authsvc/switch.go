package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"authsvc/cmd/authsvc/internal/config"
	"authsvc/engine"
)

// A handlerSwitch is a handler that can be replaced while it serves. Before the store
// is open, it reports that the service is alive but not ready. Then it passes requests
// to the current instance.
type handlerSwitch struct {
	mu        sync.RWMutex // held while a request gets its instance
	current   *instance
	nearLimit func() bool // if true, connections close after their request
	draining  atomic.Bool // the same, after a signal to stop
	// unopened answers people until there is an instance; see
	// [engine.Operator.ServeUnopened].
	unopened func(http.ResponseWriter, *http.Request) bool
}

// An instance is the engine with one configuration.
type instance struct {
	*originHandler
	settings *config.Settings
	service  *engine.Service
	requests sync.WaitGroup // in flight
}

// newInstance returns the instance of an engine that accepted its settings. It frees the
// places in them, which only mistakes need.
func newInstance(s *config.Settings, service *engine.Service) *instance {
	s.ForgetPlaces()
	return &instance{originHandler: newOriginHandler(service, s.Engine.Logger), settings: s, service: service}
}

// ServeHTTP implements [http.Handler]. It sends Connection: close if the connection
// will not be kept, so that the client does not reuse it.
func (s *handlerSwitch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() || s.nearLimit != nil && s.nearLimit() {
		w.Header().Set("Connection", "close")
	}
	in := s.acquire()
	if in == nil {
		s.serveStarting(w, r)
		return
	}
	defer in.requests.Done()
	in.ServeHTTP(w, r)
}

// acquire returns the current instance and counts a request for it. It returns nil
// before the store is open.
func (s *handlerSwitch) acquire() *instance {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.current != nil {
		s.current.requests.Add(1)
	}
	return s.current
}

// swap makes next the current instance. It returns the previous one, which gets no more
// requests.
func (s *handlerSwitch) swap(next *instance) (previous *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	previous, s.current, s.unopened = s.current, next, nil
	return previous
}

// instance returns the current instance, or nil before the store is open.
func (s *handlerSwitch) instance() *instance {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// serveStarting answers requests until the store is open.
func (s *handlerSwitch) serveStarting(w http.ResponseWriter, r *http.Request) {
	s.mu.RLock()
	unopened := s.unopened
	s.mu.RUnlock()
	switch {
	case r.URL.Path == "/healthz":
		health(w, r, true)
	case r.URL.Path == "/readyz":
		health(w, r, false)
	case unopened != nil && unopened(w, r):
	default:
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "starting: the store is not open yet\n")
	}
}

// pagesOf returns the handler for people until the store is open. The first request
// builds its pages.
func pagesOf(s *config.Settings) func(http.ResponseWriter, *http.Request) bool {
	own := *s // serve changes s once the store is open
	operator := sync.OnceValue(func() *engine.Operator {
		o, _ := prepareEngine(&own, addToConditions(&own)) // nil if the start is about to fail
		return o
	})
	return func(w http.ResponseWriter, r *http.Request) bool {
		o := operator()
		return o != nil && o.ServeUnopened(w, r)
	}
}

// retire waits for the requests of an instance that gets no more, and closes it. When
// ctx is done, it stops waiting.
func (in *instance) retire(ctx context.Context) error {
	defer time.AfterFunc(streamTime, in.service.EndStreams).Stop()
	done := make(chan struct{})
	go func() { in.requests.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return in.service.Close(ctx)
}

// A currentLog logs with the handler of the current instance, or with initial before
// there is one. It ignores attributes and groups.
type currentLog struct {
	handlers *handlerSwitch
	initial  slog.Handler
}

func (c currentLog) handler() slog.Handler {
	if in := c.handlers.instance(); in != nil {
		return in.log.Handler()
	}
	return c.initial
}

// Enabled implements [slog.Handler].
func (c currentLog) Enabled(ctx context.Context, l slog.Level) bool {
	return c.handler().Enabled(ctx, l)
}

// Handle implements [slog.Handler].
func (c currentLog) Handle(ctx context.Context, r slog.Record) error {
	return c.handler().Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (c currentLog) WithAttrs(attrs []slog.Attr) slog.Handler { return c.handler().WithAttrs(attrs) }

// WithGroup implements [slog.Handler].
func (c currentLog) WithGroup(name string) slog.Handler { return c.handler().WithGroup(name) }
