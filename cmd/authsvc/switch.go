package main

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
)

// A handlerSwitch answers requests: before the store can be reached with "alive, not
// ready", then with one generation after the other.
type handlerSwitch struct {
	mu        sync.RWMutex // held while a request finds its generation
	current   *instance
	nearLimit func() bool // connections shall not be kept

	draining    atomic.Bool
	lastRequest atomic.Int64 // when the last request came while draining, in ns since 1970
}

// A instance is the engine under one configuration.
type instance struct {
	*originHandler
	settings *config.Settings
	service  *authsvc.Service
	requests sync.WaitGroup // that it answers
}

// ServeHTTP implements [http.Handler]. A client whose connection will not be
// kept is told with the answer, so that it sends nothing more into it.
func (s *handlerSwitch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	markRequest(r)
	if s.draining.Load() {
		s.lastRequest.Store(time.Now().UnixNano())
		w.Header().Set("Connection", "close")
	} else if s.nearLimit != nil && s.nearLimit() {
		w.Header().Set("Connection", "close")
	}
	g := s.acquire()
	if g == nil {
		serveStarting(w, r)
		return
	}
	defer g.requests.Done()
	g.ServeHTTP(w, r)
}

// acquire counts a request of the current generation; nil: there is none yet.
func (s *handlerSwitch) acquire() *instance {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.current != nil {
		s.current.requests.Add(1)
	}
	return s.current
}

// swap makes g the current generation and returns the one before, which gets
// no more requests.
func (s *handlerSwitch) swap(g *instance) (before *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.current = s.current, g
	return before
}

// instance returns the current one, nil before the store is open.
func (s *handlerSwitch) instance() *instance {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// serveStarting answers while the store is not open.
func serveStarting(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz":
		health(w, r, true)
	case "/readyz":
		health(w, r, false)
	default:
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "starting: the store is not open yet\n")
	}
}

// retire waits for the requests of a generation that gets no more, and closes
// it. What is not over when ctx ends is cut short.
func (g *instance) retire(ctx context.Context) error {
	done := make(chan struct{})
	go func() { g.requests.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return g.service.Close(ctx)
}
