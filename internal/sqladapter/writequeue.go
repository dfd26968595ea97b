package sqladapter

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// A writeQueue lets writers of a database that has one connection for them go
// in the order in which they came: [database/sql] hands a connection that
// becomes free to any of those who wait, and the unlucky wait for seconds. The
// nil queue lets everybody through.
type writeQueue struct{ *semaphore.Weighted }

func newWriteQueue(d *Dialect) *writeQueue {
	if !d.OneWriter {
		return nil
	}
	return &writeQueue{semaphore.NewWeighted(1)}
}

// A slot is a place in the queue, acquired at most once.
type slot struct {
	queue *writeQueue
	held  bool
}

func (q *writeQueue) slot() *slot { return &slot{queue: q} }

// acquire waits. If ctx ends first the slot is not held, and what follows
// fails by ctx as well.
func (s *slot) acquire(ctx context.Context) {
	if s.queue != nil && !s.held {
		s.held = s.queue.Acquire(ctx, 1) == nil
	}
}

func (s *slot) release() {
	if s.held {
		s.held = false
		s.queue.Release(1)
	}
}
