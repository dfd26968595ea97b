package audit

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"authsvc"
)

// Times and sizes of the audit queue.
const (
	maxQueue      = 4096                   // events
	queueOpen     = maxQueue * 3 / 4       // length up to which refusals and failures are queued
	storeBatch    = 100                    // events per PutAudit
	storePause    = 500 * time.Millisecond // time for a batch to fill
	storeRetry    = 2 * time.Second        // wait after the first failure, then doubled
	storeRetryMax = time.Minute            // longest wait after a failure
	storeTimeout  = 5 * time.Second
)

// A queue writes audit events to the store in the background; requests never wait for
// it. Events that a crash loses or that a full queue drops are missing in the store, but
// are in the log.
type queue struct {
	store authsvc.AuditLog
	log   *slog.Logger
	keep  time.Duration
	queue chan authsvc.AuditRecord
	ended chan struct{} // closed by end: store the queued events, then stop
	done  chan struct{} // closed when run has returned
	end   func()

	mu         sync.Mutex
	lost       int // events dropped since the last log line about it
	dropLogged bool
}

func newQueue(store authsvc.AuditLog, log *slog.Logger, keep time.Duration) *queue {
	q := &queue{store: store, log: log, keep: keep, queue: make(chan authsvc.AuditRecord, maxQueue),
		ended: make(chan struct{}), done: make(chan struct{})}
	q.end = sync.OnceFunc(func() { close(q.ended) })
	return q
}

// add queues a record, or drops it if the queue is full. Part of the queue is reserved
// for successes, so that a flood of refusals does not hide sign-ins.
func (q *queue) add(r authsvc.AuditRecord) {
	if r.Outcome != authsvc.AuditSuccess && len(q.queue) >= queueOpen {
		q.dropped(1)
		return
	}
	select {
	case q.queue <- r:
	default:
		q.dropped(1)
	}
}

// dropped counts events that will not be stored. It logs only the first call.
func (q *queue) dropped(n int) {
	q.mu.Lock()
	q.lost += n
	first := !q.dropLogged
	q.dropLogged = true
	q.mu.Unlock()
	if first {
		q.log.Error("cannot store audit events; they are in the log, and their number is logged when storing works again")
	}
}

// recovered logs how many events were dropped, if any, and resets the count.
func (q *queue) recovered() {
	q.mu.Lock()
	n := q.lost
	q.lost, q.dropLogged = 0, false
	q.mu.Unlock()
	if n > 0 {
		q.log.Error("audit events are in the log, but were not stored", "events", n)
	}
}

// run stores batches until end is called and the queue is empty.
func (q *queue) run() {
	defer close(q.done)
	for {
		batch, more := q.gather()
		if len(batch) > 0 {
			q.put(batch)
		}
		if !more {
			q.recovered()
			return
		}
	}
}

// gather waits for a record, then up to storePause for more. more is false if end was
// called and this is the last batch.
func (q *queue) gather() (batch []authsvc.AuditRecord, more bool) {
	select {
	case r := <-q.queue:
		batch = append(batch, r)
	case <-q.ended:
		return q.remaining(nil)
	}
	timer := time.NewTimer(storePause)
	defer timer.Stop()
	for len(batch) < storeBatch {
		select {
		case r := <-q.queue:
			batch = append(batch, r)
		case <-timer.C:
			return batch, true
		case <-q.ended:
			return q.remaining(batch)
		}
	}
	return batch, true
}

// remaining adds queued records to batch without waiting. more is false if they all
// fit.
func (q *queue) remaining(batch []authsvc.AuditRecord) ([]authsvc.AuditRecord, bool) {
	for len(batch) < storeBatch {
		select {
		case r := <-q.queue:
			batch = append(batch, r)
		default:
			return batch, false
		}
	}
	return batch, true
}

// put stores a batch. It retries until end is called, then tries once more.
func (q *queue) put(batch []authsvc.AuditRecord) {
	for wait := storeRetry; ; wait = min(2*wait, storeRetryMax) {
		last := q.closed()
		err := q.write(batch)
		switch {
		case err == nil:
			q.recovered()
			return
		case last:
			q.log.Error("cannot store audit events at shutdown", "err", err)
			q.dropped(len(batch) + q.drain())
			return
		case wait == storeRetry:
			q.log.Error("cannot store audit events; will retry", "err", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-q.ended:
		}
		timer.Stop()
	}
}

// drain discards the queued records and returns their number.
func (q *queue) drain() (n int) {
	for {
		select {
		case <-q.queue:
			n++
		default:
			return n
		}
	}
}

func (q *queue) write(batch []authsvc.AuditRecord) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil { // in the store's code
			err = fmt.Errorf("panic: %.200v", v)
		}
	}()
	return q.store.PutAudit(ctx, batch)
}

func (q *queue) closed() bool {
	select {
	case <-q.ended:
		return true
	default:
		return false
	}
}

// SweepAudit deletes up to limit events that are older than AuditOptions.Keep, and
// returns their number.
func (au *Log) SweepAudit(ctx context.Context, now time.Time, limit int) (int, error) {
	if au.queue == nil || limit <= 0 {
		return 0, nil
	}
	return au.queue.store.SweepAudit(ctx, now.Add(-au.queue.keep), limit)
}
