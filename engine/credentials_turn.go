package engine

import (
	"math/rand/v2"
	"time"

	"authsvc/engine/internal/limit"
	"authsvc/internal/sql/stores"
)

// Sign-ins beyond RateLimit.CredentialsPerAccount are queued: they wait for a turn and
// are then tried. If they were refused, any stranger could lock out the owner of an
// account.
const (
	turnEvery     = 5 * time.Second  // one turn per account, in all replicas
	firstTurnWait = 2 * time.Second  // longest wait before the first try
	maxTurnWait   = 10 * time.Second // longest total wait, then 429

	turnRetryAfter = turnEvery // Retry-After when there was no turn
)

// waitForTurn waits for a turn at an account. When a turn is due, the first request to
// ask takes it, and requests ask at random times. However many attempts a stranger
// makes, the owner's attempt has a chance.
func (cr *credentialsRoom) waitForTurn(rq *request, account string) (wait time.Duration, ok bool) {
	place := cr.queue.Enter(account, rq.clientKey())
	if place == nil {
		return turnRetryAfter, false
	}
	defer cr.queue.Leave(place)
	end := rq.now.Add(maxTurnWait)
	for wait = stores.Jitter(firstTurnWait); !rq.now.Add(wait).After(end); wait += rand.N(time.Second) {
		if !cr.sleep(rq, wait, place.Left) {
			break
		}
		if wait, ok = cr.takeTurn(rq, account); ok {
			return 0, true
		}
	}
	return turnRetryAfter, false
}

// sleep waits for d and then updates rq.now. It returns false if the client
// disconnects, the service closes or left is closed first.
func (cr *credentialsRoom) sleep(rq *request, d time.Duration, left <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		rq.now = cr.fleet.Now()
		return true
	case <-rq.ctx.Done():
	case <-cr.fleet.Life().Done():
	case <-left:
	}
	return false
}

// takeTurn takes a turn at an account if one is due; otherwise it returns how long to
// wait. The store counts the turns, for all replicas. Unlike permit, takeTurn does not
// count in this process first: the queue keeps the number of calls small.
func (cr *credentialsRoom) takeTurn(rq *request, account string) (time.Duration, bool) {
	l := cr.turn
	if n, wait, err := cr.limits.PermitStored(rq.ctx, rq.now, limit.Event{Limiter: l, Key: account}); err == nil {
		return wait, n == 1
	}
	return l.Allow(account, rq.now)
}
