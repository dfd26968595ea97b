package authsvc

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Attempts past credentials_per_account are late: they wait for a turn and are
// then judged. A refusal would be a lock that any stranger can hold shut.
const (
	turnEvery       = 5 * time.Second  // one turn per account, in all replicas
	firstTurnWait   = 2 * time.Second  // longest wait before the first try
	maxTurnWait     = 10 * time.Second // longest wait in all, then 429
	maxQueuedLogins = 256              // that wait in this process
	maxQueuedOfOne  = 32               // that wait for turns at one account
	turnRetryAfter  = turnEvery        // Retry-After of those who got no turn
)

// A loginQueue holds the late attempts of this process. It is never closed to
// a newcomer: when it is full, one that waits is sent away by lot, so that
// nobody can keep others out by being there first.
type loginQueue struct {
	mu      sync.Mutex
	waiting []*queuedLogin
}

// A queuedLogin waits for a turn. left is closed when it has to go.
type queuedLogin struct {
	account, client string
	left            chan struct{}
}

// enter returns a place, nil if this client waits for the account already.
func (w *loginQueue) enter(account, client string) *queuedLogin {
	w.mu.Lock()
	defer w.mu.Unlock()
	var same []int
	for i, a := range w.waiting {
		if a.account != account {
			continue
		}
		if a.client == client {
			return nil
		}
		same = append(same, i)
	}
	switch {
	case len(same) >= maxQueuedOfOne:
		w.remove(same[rand.IntN(len(same))])
	case len(w.waiting) >= maxQueuedLogins:
		w.remove(rand.IntN(len(w.waiting)))
	}
	a := &queuedLogin{account, client, make(chan struct{})}
	w.waiting = append(w.waiting, a)
	return a
}

func (w *loginQueue) remove(i int) {
	close(w.waiting[i].left)
	w.waiting = slices.Delete(w.waiting, i, i+1)
}

func (w *loginQueue) leave(a *queuedLogin) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.waiting, a); i >= 0 {
		w.remove(i)
	}
}

// waitForTurn waits for a turn at an account. Turns are taken by whoever asks
// next after one has come up, and everybody asks at moments of chance: however
// many attempts a stranger makes, the owner's is one of them.
func (rq *request) waitForTurn(account string) (wait time.Duration, ok bool) {
	place := rq.limits.queue.enter(account, rq.clientKey())
	if place == nil {
		return turnRetryAfter, false
	}
	defer rq.limits.queue.leave(place)
	end := rq.now.Add(maxTurnWait)
	for wait = firstTurnWait/2 + rand.N(firstTurnWait/2); !rq.now.Add(wait).After(end); wait += rand.N(time.Second) {
		if !rq.sleep(wait, place.left) {
			break
		}
		if wait, ok = rq.takeTurn(account); ok {
			return 0, true
		}
	}
	return turnRetryAfter, false
}

// sleep reports whether the time passed before the client left, the service
// was closed or the place was lost. The request then goes on in the present.
func (rq *request) sleep(d time.Duration, left <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		rq.now = rq.Service.now()
		return true
	case <-rq.ctx.Done():
	case <-rq.background.ctx.Done():
	case <-left:
	}
	return false
}

// takeTurn counts in the store, for all replicas. There is no count in this
// process before it: who asks here is few already.
func (rq *request) takeTurn(account string) (time.Duration, bool) {
	l := rq.limits.turn
	if wait, err := rq.permitStored(rq.ctx, l, account, rq.now); err == nil {
		return wait, wait == 0
	}
	return l.allow(account, rq.now)
}
