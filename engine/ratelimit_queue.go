package engine

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"authsvc/internal/backoff"
)

// Sign-ins past RateLimit.CredentialsPerAccount are queued: they wait for a
// turn and are then tried. If they were refused, any stranger could lock out
// the owner of an account.
const (
	turnEvery       = 5 * time.Second  // one turn per account, in all replicas
	firstTurnWait   = 2 * time.Second  // longest wait before the first try
	maxTurnWait     = 10 * time.Second // longest total wait, then 429
	maxQueuedLogins = 256              // in this process
	maxQueuedOfOne  = 32               // for one account
	turnRetryAfter  = turnEvery        // Retry-After when there was no turn
)

// A loginQueue holds the queued sign-ins of this process. When it is full, a
// random one is removed for each new one, so that nobody can occupy it.
type loginQueue struct {
	mu      sync.Mutex
	waiting []*queuedLogin
}

// A queuedLogin waits for a turn. left is closed when it is removed.
type queuedLogin struct {
	account, client string
	left            chan struct{}
}

// enter adds a sign-in. It returns nil if this client waits for the account
// already.
func (q *loginQueue) enter(account, client string) *queuedLogin {
	q.mu.Lock()
	defer q.mu.Unlock()
	var same []int
	for i, a := range q.waiting {
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
		q.remove(same[rand.IntN(len(same))])
	case len(q.waiting) >= maxQueuedLogins:
		q.remove(rand.IntN(len(q.waiting)))
	}
	a := &queuedLogin{account, client, make(chan struct{})}
	q.waiting = append(q.waiting, a)
	return a
}

func (q *loginQueue) remove(i int) {
	close(q.waiting[i].left)
	q.waiting = slices.Delete(q.waiting, i, i+1)
}

func (q *loginQueue) leave(a *queuedLogin) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, a); i >= 0 {
		q.remove(i)
	}
}

// waitForTurn waits for a turn at an account. Whoever asks first after one is
// due takes it, and all ask at random times: however many attempts a stranger
// makes, the owner's has its chance.
func (cr *credentialsRoom) waitForTurn(rq *request, account string) (wait time.Duration, ok bool) {
	place := cr.queue.enter(account, rq.clientKey())
	if place == nil {
		return turnRetryAfter, false
	}
	defer cr.queue.leave(place)
	end := rq.now.Add(maxTurnWait)
	for wait = backoff.Jitter(firstTurnWait); !rq.now.Add(wait).After(end); wait += rand.N(time.Second) {
		if !cr.sleep(rq, wait, place.left) {
			break
		}
		if wait, ok = cr.takeTurn(rq, account); ok {
			return 0, true
		}
	}
	return turnRetryAfter, false
}

// sleep waits for d and then updates rq.now. It returns false if the client
// left, the service was closed or left was closed before.
func (cr *credentialsRoom) sleep(rq *request, d time.Duration, left <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		rq.now = cr.fleet.now()
		return true
	case <-rq.ctx.Done():
	case <-cr.fleet.background.ctx.Done():
	case <-left:
	}
	return false
}

// takeTurn counts in the store, for all replicas. Unlike permit it does not
// count in this process first: the queue keeps the calls few.
func (cr *credentialsRoom) takeTurn(rq *request, account string) (time.Duration, bool) {
	l := cr.turn
	if wait, err := cr.limits.permitStored(rq.ctx, l, account, rq.now); err == nil {
		return wait, wait == 0
	}
	return l.allow(account, rq.now)
}
