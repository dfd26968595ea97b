package arena

import (
	"context"
	"net/http"
	"regexp"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
	"authsvc/internal/test/skewed"
)

// A Replica is a service on a world's store. In tests built by package skewed, its
// clock is wrong, each replica's by a different amount. Tests must therefore call it
// only by the methods of this type.
type Replica struct {
	service *engine.Service
	skew    time.Duration
}

// First returns the world's own service, which has the test's clock.
func (w *World) First() *Replica { return &Replica{w.Service, w.skew} }

// Operator returns an operator of the world.
func (w *World) Operator(t testing.TB) *engine.Operator {
	t.Helper()
	o, err := engine.NewOperator(w.Config)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Replica starts another service, which ends with t. If clocks are wrong, the second
// service's clock is wrong in the other direction, and the third one's is right.
func (w *World) Replica(t testing.TB) *Replica {
	t.Helper()
	w.replicas++
	r := &Replica{skew: []time.Duration{w.skew, -w.skew, 0}[w.replicas%3]}
	r.At(func(*engine.Service) {
		logged := len(w.Logs.String())
		var err error
		if r.service, err = engine.New(w.Config); err != nil {
			t.Fatal(err)
		}
		w.isOff(t, logged)
	})
	t.Cleanup(func() {
		r.At(func(s *engine.Service) {
			if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	})
	return r
}

// At runs f at the replica.
func (r *Replica) At(f func(s *engine.Service)) {
	skewed.At(r.skew, func() { f(r.service) })
}

// ServeHTTP implements [http.Handler].
func (r *Replica) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.At(func(s *engine.Service) { s.ServeHTTP(w, q) })
}

// Session calls [engine.Service.Session].
func (r *Replica) Session(q *http.Request) (got *authsvc.Session, err error) {
	r.At(func(s *engine.Service) { got, err = s.Session(q) })
	return got, err
}

// Now returns the time of the store's clock, to compare with stored times.
func (w *World) Now() (now time.Time) {
	skewed.At(0, func() { now = time.Now() })
	return now
}

// A clocked store has a correct clock: its server's, or else one that it gets here.
type clocked struct{ *Ledger }

// Now implements [adapter.Clock].
func (c clocked) Now(ctx context.Context) (now time.Time, err error) {
	if server, has := c.Behind.(adapter.Clock); has {
		return server.Now(ctx)
	}
	skewed.At(0, func() { now = time.Now() })
	return now, nil
}

var storeAhead = regexp.MustCompile(`level=WARN msg="the clock of this machine[^\n]* store_ahead=(\S+)`)

// isOff fails unless the service that just started has noticed that its clock is off,
// as this goroutine's is. It reads the log since logged.
func (w *World) isOff(t testing.TB, logged int) {
	t.Helper()
	by := skewed.Here()
	if w.Ledger == nil || by == 0 || w.Config.Logger != w.logger {
		return
	}
	m := storeAhead.FindStringSubmatch(w.Logs.String()[logged:])
	if m == nil {
		t.Fatalf("the clock is off by %v, and the service has not noticed\n%s", by, w.Logs)
	}
	if ahead, err := time.ParseDuration(m[1]); err != nil || (ahead+by).Abs() > time.Second {
		t.Fatalf("the clock is off by %v: store_ahead=%s, %v", by, m[1], err)
	}
}
