package authsvc

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// An AuditRecord is a stored AuditEvent.
type AuditRecord struct {
	ID string `json:"id"` // UUIDv7, unique
	AuditEvent
}

// An AuditLog is what an Adapter may be beside, to keep audit events for
// Config.Audit.Store. All adapters of this module are. What an Adapter is asked
// for holds here too; package adaptertest judges it.
type AuditLog interface {
	// PutAudit stores records. A record that is stored already is left as it
	// is: after an error the same records may come again.
	PutAudit(ctx context.Context, list []AuditRecord) error
	// ListAudit returns at most limit records, ordered by time, then id: those
	// of the time since whose id is greater than after, and all of later times.
	// A page shorter than limit is the last.
	ListAudit(ctx context.Context, since time.Time, after string, limit int) ([]AuditRecord, error)
	// SweepAudit deletes at most limit records of before the given time, the
	// oldest first, and returns how many.
	SweepAudit(ctx context.Context, before time.Time, limit int) (int, error)
}

// Times and sizes of the way into the store.
const (
	maxAuditQueue  = 4096                   // events that may wait
	auditQueueOpen = maxAuditQueue * 3 / 4  // up to which refusals and failures are let in
	auditBatch     = 100                    // stored in one step
	auditPause     = 500 * time.Millisecond // to gather a batch
	auditRetry     = 2 * time.Second        // after a failure, doubled
	auditRetryMax  = time.Minute            // longest wait after a failure
	auditTimeout   = 5 * time.Second
)

// A auditQueue takes audit events to the store, beside requests, which never wait
// for it. What is queued is lost in a crash, and what does not fit into the
// queue is lost at once; both are in the log.
type auditQueue struct {
	store AuditLog
	log   *slog.Logger
	keep  time.Duration
	queue chan AuditRecord
	ended chan struct{} // closed by end: store what is queued
	done  chan struct{} // closed when that was done
	end   func()

	mu         sync.Mutex
	lost       int // since the last line about it
	dropLogged bool
}

func newAuditQueue(store AuditLog, log *slog.Logger, keep time.Duration) *auditQueue {
	t := &auditQueue{store: store, log: log, keep: keep, queue: make(chan AuditRecord, maxAuditQueue),
		ended: make(chan struct{}), done: make(chan struct{})}
	t.end = sync.OnceFunc(func() { close(t.ended) })
	return t
}

// add queues a record or, if the queue is full, counts that it is lost. A part
// is for successes: however much is refused, it stays known who came in.
func (t *auditQueue) add(r AuditRecord) {
	if r.Outcome != AuditSuccess && len(t.queue) >= auditQueueOpen {
		t.dropped(1)
		return
	}
	select {
	case t.queue <- r:
	default:
		t.dropped(1)
	}
}

// dropped counts events that the store will not have, and says so once.
func (t *auditQueue) dropped(n int) {
	t.mu.Lock()
	t.lost += n
	tell := !t.dropLogged
	t.dropLogged = true
	t.mu.Unlock()
	if tell {
		t.log.Error("audit events do not get into the store; they are in the log, and how many there were is said when it works again")
	}
}

// recovered says how many were lost, now that it works again.
func (t *auditQueue) recovered() {
	t.mu.Lock()
	n := t.lost
	t.lost, t.dropLogged = 0, false
	t.mu.Unlock()
	if n > 0 {
		t.log.Error("audit events that are in the log did not get into the store", "events", n)
	}
}

// run stores batches until end was called and the queue is empty.
func (t *auditQueue) run() {
	defer close(t.done)
	for {
		batch, more := t.gather()
		if len(batch) > 0 {
			t.put(batch)
		}
		if !more {
			t.recovered()
			return
		}
	}
}

// gather waits for a record and then, for a moment, for more of them. more is
// false when end was called and this is the last.
func (t *auditQueue) gather() (batch []AuditRecord, more bool) {
	select {
	case r := <-t.queue:
		batch = append(batch, r)
	case <-t.ended:
		return t.remaining(nil)
	}
	timer := time.NewTimer(auditPause)
	defer timer.Stop()
	for len(batch) < auditBatch {
		select {
		case r := <-t.queue:
			batch = append(batch, r)
		case <-timer.C:
			return batch, true
		case <-t.ended:
			return t.remaining(batch)
		}
	}
	return batch, true
}

// remaining takes what is queued, without waiting.
func (t *auditQueue) remaining(batch []AuditRecord) ([]AuditRecord, bool) {
	for len(batch) < auditBatch {
		select {
		case r := <-t.queue:
			batch = append(batch, r)
		default:
			return batch, false
		}
	}
	return batch, true
}

// put stores a batch, and tries again until the end: then once more.
func (t *auditQueue) put(batch []AuditRecord) {
	for wait := auditRetry; ; wait = min(2*wait, auditRetryMax) {
		last := t.closed()
		err := t.write(batch)
		switch {
		case err == nil:
			t.recovered()
			return
		case last:
			t.log.Error("audit events could not be stored at the end", "err", err)
			t.dropped(len(batch) + t.drain())
			return
		case wait == auditRetry:
			t.log.Error("audit events could not be stored; it is tried again", "err", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-t.ended:
		}
		timer.Stop()
	}
}

// drain gives up what is queued and counts it.
func (t *auditQueue) drain() (n int) {
	for {
		select {
		case <-t.queue:
			n++
		default:
			return n
		}
	}
}

func (t *auditQueue) write(batch []AuditRecord) error {
	ctx, cancel := context.WithTimeout(context.Background(), auditTimeout)
	defer cancel()
	return t.store.PutAudit(ctx, batch)
}

func (t *auditQueue) closed() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// sweepAudit deletes what was kept for long enough.
func (s *Service) sweepAudit(ctx context.Context, now time.Time, limit int) (int, error) {
	if s.auditQueue == nil || limit <= 0 {
		return 0, nil
	}
	return s.auditQueue.store.SweepAudit(ctx, now.Add(-s.auditQueue.keep), limit)
}
