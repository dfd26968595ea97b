package authsvc

import (
	"context"
	"errors"
	"time"
)

// maxErrands bounds what runs beside requests on their behalf, in goroutines.
const maxErrands = 1000

// errNoErrand: the service is ending, or too much is under way.
var errNoErrand = errors.New("authsvc: the service is ending or too busy")

// errand runs what a request or a caller began and must not be cut short with
// it. Close waits for it: life ends then, and with it every wait, but not the
// call in hand. It reports whether run was taken on.
func (s *Service) errand(what string, run func(life context.Context)) bool {
	s.errands.Lock()
	defer s.errands.Unlock()
	if s.life.Err() != nil || s.running >= maxErrands {
		return false
	}
	s.running++
	s.working.Go(func() {
		defer func() {
			s.errands.Lock()
			defer s.errands.Unlock()
			s.running--
		}()
		defer s.recovered(what, func() {})
		run(s.life)
	})
	return true
}

// endErrands takes on no more of them and ends their waits.
func (s *Service) endErrands() {
	s.errands.Lock()
	defer s.errands.Unlock()
	s.stop()
}

// rest waits; false: life ended first.
func rest(life context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-life.Done():
		return false
	case <-timer.C:
		return true
	}
}

// inHand is a context for one call of an errand, which the end of the service
// does not cut short.
func inHand(life context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(life), d)
}
