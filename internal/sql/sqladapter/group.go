package sqladapter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// maxGroup is the maximum number of steps in one transaction.
const maxGroup = 64

// A group commits the steps of several callers in one transaction. It serves a database
// with one connection for writers whose commits wait for the disk: concurrent sign-ins
// then wait for a few disk writes instead of one each. Every step is a savepoint, so a
// step that fails undoes only itself. No caller gets a result before the commit.
type group struct {
	adapter *Adapter

	mu      sync.Mutex
	waiting []*groupStep
	leading bool // a caller runs steps or has been asked to
}

// A groupStep is the step of one caller.
type groupStep struct {
	do    queryFunc
	err   error
	panic any
	done  chan struct{} // closed when err and panic are final
	lead  chan struct{} // closed when its caller must run the next steps
}

// run runs one step and returns its error. If no other caller runs steps, this caller
// runs the waiting steps, including its own, and then hands over to the next.
func (g *group) run(ctx context.Context, f queryFunc) error {
	s := &groupStep{do: f, done: make(chan struct{}), lead: make(chan struct{})}
	if !g.enter(s) {
		select {
		case <-s.done:
			return s.result()
		case <-s.lead:
		case <-ctx.Done():
			if g.leave(s) {
				return uncommitted{ctx.Err()}
			}
			select { // the step is running, or its caller must lead
			case <-s.done:
				return s.result()
			case <-s.lead:
			}
		}
	}
	g.runWaiting(ctx)
	return s.result()
}

func (s *groupStep) result() error {
	if s.panic != nil {
		panic(s.panic)
	}
	return s.err
}

// enter adds a step to the queue and reports whether its caller leads.
func (g *group) enter(s *groupStep) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, s)
	lead := !g.leading
	g.leading = true
	return lead
}

// leave removes a step from the queue. It reports whether the step was queued and its
// caller does not lead.
func (g *group) leave(s *groupStep) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-s.lead:
		return false
	default:
	}
	i := slices.Index(g.waiting, s)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return true
}

// runWaiting runs the waiting steps. The caller's step is the first.
func (g *group) runWaiting(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	g.mu.Lock()
	n := min(len(g.waiting), maxGroup)
	steps := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	g.mu.Unlock()
	defer func() {
		if v := recover(); v != nil { // panic of the driver: the stored state is unknown
			for _, s := range steps {
				s.err = cmp.Or(s.err, fmt.Errorf("commit: panic: %v", v))
			}
			steps[0].panic = v
		}
		for _, s := range steps {
			close(s.done)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.leading = len(g.waiting) > 0; g.leading {
			close(g.waiting[0].lead)
		}
	}()
	g.adapter.commit(ctx, steps)
}

// commit runs steps in one transaction and sets their errors.
func (a *Adapter) commit(ctx context.Context, steps []*groupStep) {
	if len(steps) == 1 {
		a.commitAlone(ctx, steps[0])
		return
	}
	tx, err := a.writer.Begin(ctx)
	if err != nil {
		for _, s := range steps {
			s.err = uncommitted{fmt.Errorf("begin: %w", err)}
		}
		return
	}
	for _, s := range steps {
		if err := a.commitSavepoint(ctx, tx, s); err != nil {
			// The database has ended the transaction, and with it the earlier steps.
			// Run each step again on its own.
			tx.Rollback(ctx)
			for _, s := range steps {
				a.commitAlone(ctx, s)
			}
			return
		}
	}
	if err := tx.Commit(ctx); err != nil {
		tx.Rollback(ctx)
		refused := a.dialect.ForeignKey(err) // a deferred key: one step is to blame, and none is stored
		for _, s := range steps {
			switch {
			case s.err == nil && !refused:
				s.err = fmt.Errorf("commit: %w", err)
			case s.panic == nil:
				// The step may have failed because of a step that is not stored now,
				// such as one that took the same address.
				a.commitAlone(ctx, s)
			}
		}
	}
}

// commitSavepoint runs a step within a transaction. It returns only errors of the
// savepoint.
func (a *Adapter) commitSavepoint(ctx context.Context, tx Tx, s *groupStep) error {
	r := runner{tx: tx}
	if _, err := r.exec(ctx, a.savepoint); err != nil {
		return err
	}
	if s.err = s.call(ctx, r); s.err != nil || s.panic != nil {
		if s.err != nil {
			s.err = uncommitted{s.err}
		}
		if _, err := r.exec(ctx, a.rollbackTo); err != nil {
			return err
		}
	}
	_, err := r.exec(ctx, a.releaseSavepoint)
	return err
}

// commitAlone runs a step in its own transaction.
func (a *Adapter) commitAlone(ctx context.Context, s *groupStep) {
	s.panic = nil
	s.err = a.transactAlone(ctx, func(ctx context.Context, r runner) error { return s.call(ctx, r) })
}

// call runs the step. It stores a panic for the step's caller, because another caller
// may be running the step.
func (s *groupStep) call(ctx context.Context, r runner) (err error) {
	defer func() {
		if v := recover(); v != nil {
			s.panic, err = v, fmt.Errorf("panic: %v", v)
		}
	}()
	return s.do(ctx, r)
}
