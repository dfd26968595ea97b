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
	lateEvery     = 5 * time.Second  // one turn per account, in all replicas
	lateFirst     = 2 * time.Second  // longest wait before the first try
	latePatience  = 10 * time.Second // longest wait in all, then 429
	maxLate       = 256              // that wait in this process
	maxLateOfOne  = 32               // that wait for turns at one account
	lateRetryHint = lateEvery        // Retry-After of those who got no turn
)

// A waitingRoom holds the late attempts of this process. It is never closed to
// a newcomer: when it is full, one that waits is sent away by lot, so that
// nobody can keep others out by being there first.
type waitingRoom struct {
	mu      sync.Mutex
	waiting []*lateAttempt
}

// A lateAttempt waits for a turn. left is closed when it has to go.
type lateAttempt struct {
	account, client string
	left            chan struct{}
}

// enter returns a place, nil if this client waits for the account already.
func (w *waitingRoom) enter(account, client string) *lateAttempt {
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
	case len(same) >= maxLateOfOne:
		w.remove(same[rand.IntN(len(same))])
	case len(w.waiting) >= maxLate:
		w.remove(rand.IntN(len(w.waiting)))
	}
	a := &lateAttempt{account, client, make(chan struct{})}
	w.waiting = append(w.waiting, a)
	return a
}

func (w *waitingRoom) remove(i int) {
	close(w.waiting[i].left)
	w.waiting = slices.Delete(w.waiting, i, i+1)
}

func (w *waitingRoom) leave(a *lateAttempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.waiting, a); i >= 0 {
		w.remove(i)
	}
}

// permitLate waits for a turn at an account. Turns are taken by whoever asks
// next after one has come up, and everybody asks at moments of chance: however
// many attempts a stranger makes, the owner's is one of them.
func (rq *request) permitLate(account string) (wait time.Duration, ok bool) {
	place := rq.limits.room.enter(account, rq.clientKey())
	if place == nil {
		return lateRetryHint, false
	}
	defer rq.limits.room.leave(place)
	end := rq.now.Add(latePatience)
	for wait = lateFirst/2 + rand.N(lateFirst/2); !rq.now.Add(wait).After(end); wait += rand.N(time.Second) {
		if !rq.sleep(wait, place.left) {
			break
		}
		if wait, ok = rq.takeTurn(account); ok {
			return 0, true
		}
	}
	return lateRetryHint, false
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
	case <-rq.life.Done():
	case <-left:
	}
	return false
}

// takeTurn counts in the store, for all replicas. There is no count in this
// process before it: who asks here is few already.
func (rq *request) takeTurn(account string) (time.Duration, bool) {
	l := rq.limits.late
	if rq.adapter != nil {
		if wait, err := rq.permitStored(rq.ctx, l, account, rq.now); err == nil {
			return wait, wait == 0
		}
	}
	return l.allow(account, rq.now)
}
