package engine

import (
	"context"
	"sync/atomic"

	"authsvc/adapter"
)

// workers counts the workers of a mail queue that are free. A request that stores a
// mail can reserve one and hand the mail over in memory. The mail is stored as claimed,
// so no worker looks for it. If this process dies, another one sends the mail after
// mailLease.
type workers struct {
	free   chan struct{}     // a token for each worker that is not reserved
	handed chan adapter.Mail // for reserved workers
	missed *atomic.Bool      // a worker could not look into the queue
}

func newWorkers() workers {
	return workers{make(chan struct{}, mailWorkers), make(chan adapter.Mail, mailWorkers), new(atomic.Bool)}
}

// begin makes all workers free. Until then, none can be reserved.
func (w *workers) begin() {
	for range mailWorkers {
		w.free <- struct{}{}
	}
}

func (w *workers) reserve() bool {
	select {
	case <-w.free:
		return true
	default:
		return false
	}
}

// reserveToClaim is reserve for a worker that is about to look into the queue. If it
// returns false, a later release wakes a worker.
func (w *workers) reserveToClaim() bool {
	if w.reserve() {
		return true
	}
	w.missed.Store(true)
	return w.reserve() // one may have been released before missed was set
}

// release ends a reservation. It wakes a worker if one could not look into the queue.
func (q *mailQueue) release() {
	q.workers.free <- struct{}{}
	if q.workers.missed.Swap(false) {
		q.wake()
	}
}

// A claim is a mail that this process claims while it stores it, for a worker that is
// reserved for it. If no worker was free, nothing is claimed.
type claim struct {
	queue    *mailQueue
	reserved bool
}

// claimFirst claims a mail that is about to be stored, if a worker is free. The caller
// must store it and then call send, or else cancel.
func (q *mailQueue) claimFirst(m *adapter.Mail) claim {
	c := claim{q, q.workers.reserve()}
	if c.reserved {
		m.Due, m.Attempts = q.svc.fleet.Now().Add(mailLease), 1
	}
	return c
}

// send makes a worker send the mail, which is stored. A later cancel does nothing.
func (c *claim) send(m adapter.Mail) {
	if !c.reserved {
		c.queue.wake()
		return
	}
	c.reserved = false
	c.queue.workers.handed <- m
	if life := c.queue.svc.fleet.Life(); life.Err() != nil {
		c.queue.returnHanded(life)
	}
}

// cancel releases the worker.
func (c *claim) cancel() {
	if c.reserved {
		c.queue.release()
	}
	c.reserved = false
}

// returnHanded makes the mails that no worker will take due at once, for other
// processes. The service is ending.
func (q *mailQueue) returnHanded(ctx context.Context) {
	for {
		select {
		case m := <-q.workers.handed:
			q.release()
			q.delay(ctx, m, q.svc.fleet.Now())
		default:
			return
		}
	}
}
