package authsvc

import (
	"context"
	"sync"
	"time"
)

// refreshPause is how long a provider is not asked again after a failure.
const refreshPause = 10 * time.Second

// maxFlights bounds the refreshes and failures that are remembered.
const maxFlights = 10_000

// A flight is one refresh, under way or failed a moment ago.
type flight struct {
	done  chan struct{} // closed when token and err are set
	token string
	err   error
	until time.Time // err stands so long
}

// flights are the refreshes of this process by account; one a time each.
type flights struct {
	mu  sync.Mutex
	all map[string]*flight
}

// join returns the flight of an account; mine tells that the caller has to run
// it.
func (f *flights) join(key string, now time.Time) (fl *flight, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl := f.all[key]; fl != nil && (!fl.ended() || now.Before(fl.until)) {
		return fl, false
	}
	if len(f.all) >= maxFlights {
		f.forget(now)
	}
	fl = &flight{done: make(chan struct{})}
	if len(f.all) < maxFlights {
		f.all[key] = fl
	} // else it flies alone; the lease still makes it the only one
	return fl, true
}

func (f *flights) forget(now time.Time) {
	for key, fl := range f.all {
		if fl.ended() && !now.Before(fl.until) {
			delete(f.all, key)
		}
	}
}

// land ends a flight for those who wait; a failure stands for pause.
func (f *flights) land(key string, fl *flight, token string, err error, pause time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl.ended() {
		return
	}
	fl.token, fl.err, fl.until = token, err, time.Now().Add(pause)
	if err == nil || pause == 0 {
		f.drop(key, fl)
	}
	close(fl.done)
}

// clear lets the next caller begin anew.
func (f *flights) clear(key string, fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(key, fl)
}

func (f *flights) drop(key string, fl *flight) {
	if f.all[key] == fl {
		delete(f.all, key)
	}
}

func (fl *flight) ended() bool {
	select {
	case <-fl.done:
		return true
	default:
		return false
	}
}

// wait returns what came of the flight, or the end of ctx.
func (fl *flight) wait(ctx context.Context) (string, error) {
	select {
	case <-fl.done:
		return fl.token, fl.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
