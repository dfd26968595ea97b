package sqladapter

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// A line lets writers of a database with one connection for them go in the
// order in which they came: [database/sql] hands a connection that becomes free
// to any of those who wait, and the unlucky wait for seconds. The nil line has
// room for all.
type line struct{ *semaphore.Weighted }

func newLine(d *Dialect) *line {
	if !d.OneWriter {
		return nil
	}
	return &line{semaphore.NewWeighted(1)}
}

// A turn is a place in the line, taken at most once.
type turn struct {
	*line
	held bool
}

func (l *line) turn() *turn { return &turn{line: l} }

// take waits. If ctx ends first there is no turn, and what follows fails by
// ctx as well.
func (t *turn) take(ctx context.Context) {
	if t.line != nil && !t.held {
		t.held = t.Acquire(ctx, 1) == nil
	}
}

func (t *turn) done() {
	if t.held {
		t.held = false
		t.Release(1)
	}
}
