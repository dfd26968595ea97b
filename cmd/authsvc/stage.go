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

// A stage answers requests: before the store can be reached with "alive, not
// ready", then with one generation after the other.
type stage struct {
	mu      sync.RWMutex // held while a request finds its generation
	current *generation
	crowded func() bool // connections shall not be kept

	draining atomic.Bool
	asked    atomic.Int64 // when the last request came while draining, in ns since 1970
}

// A generation is the engine under one configuration.
type generation struct {
	*front
	settings *config.Settings
	service  *authsvc.Service
	requests sync.WaitGroup // that it answers
}

// ServeHTTP implements [http.Handler]. A client whose connection will not be
// kept is told with the answer, so that it sends nothing more into it.
func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first(r)
	if s.draining.Load() {
		s.asked.Store(time.Now().UnixNano())
		w.Header().Set("Connection", "close")
	} else if s.crowded != nil && s.crowded() {
		w.Header().Set("Connection", "close")
	}
	g := s.enter()
	if g == nil {
		opening(w, r)
		return
	}
	defer g.requests.Done()
	g.ServeHTTP(w, r)
}

// enter counts a request of the current generation; nil: there is none yet.
func (s *stage) enter() *generation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.current != nil {
		s.current.requests.Add(1)
	}
	return s.current
}

// show makes g the current generation and returns the one before, which gets
// no more requests.
func (s *stage) show(g *generation) (before *generation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.current = s.current, g
	return before
}

// generation returns the current one, nil before the store is open.
func (s *stage) generation() *generation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// opening answers while the store is not open.
func opening(w http.ResponseWriter, r *http.Request) {
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
func (g *generation) retire(ctx context.Context) error {
	done := make(chan struct{})
	go func() { g.requests.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return g.service.Close(ctx)
}
