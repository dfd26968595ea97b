package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"authsvc"
	"authsvc/internal/uuid"
)

// background is the work of a service outside of requests.
type background struct {
	start         func(context.Context)
	ctx           context.Context // stop ends it
	stop          context.CancelFunc
	sending       context.Context // of mails being sent, which outlive ctx; cancelSending ends it
	cancelSending context.CancelFunc
	workers       sync.WaitGroup
	stopLogged    sync.Once // service.stopped is recorded

	mu      sync.Mutex // guards running, and the start of tasks against stop
	running int        // number of tasks
}

// startWorkers starts the background work that needs a store.
func (h *storeys) startWorkers(ctx context.Context) {
	if h.auditor.auditQueue != nil {
		go h.auditor.auditQueue.run()
	}
	for i := range mailWorkers {
		h.fleet.background.workers.Go(func() { h.mailing.mails.run(ctx, time.Duration(i)*mailIdle/mailWorkers) })
	}
	h.mailing.mails.waiting.share(1)
	h.fleet.background.workers.Go(func() { h.mailing.mails.runWaiting(ctx) })
	h.fleet.background.workers.Go(func() { h.mailing.mails.runUnqueue(ctx) })
	h.fleet.background.workers.Go(func() { h.sweep(ctx) })
	h.keeper.seen.on.Store(true)
	h.fleet.background.workers.Go(func() { h.keeper.touchSeen(ctx) })
	h.follow(ctx)
}

// follow starts what the reading of sessions needs.
func (h *storeys) follow(ctx context.Context) {
	if h.keeper.revoked.enabled {
		h.fleet.background.workers.Go(func() { h.keeper.pollRevocations(ctx) })
	}
	if h.issuer.signing.enabled {
		h.fleet.background.workers.Go(func() { h.issuer.pollKeys(ctx) })
	}
	if _, has := h.adapter.(authsvc.Clock); has {
		h.fleet.background.workers.Go(func() { h.fleet.pollClock(ctx) })
	}
}

// Follow lets a service that Prepare made read sessions (Session), until Close:
// it checks the store as CheckStore does, reads the revocations of JWT sessions,
// and goes on to do so every two seconds. It writes nothing. ctx is for the start
// alone; package reader is for programs that need no more than this.
func (s *Service) Follow(ctx context.Context) error {
	if err := s.CheckStore(ctx); err != nil {
		return err
	}
	s.fleet.background.stopLogged.Do(func() {}) // nothing has begun that could be recorded
	s.keeper.startRevocations(ctx)
	s.follow(s.fleet.background.ctx)
	return nil
}

// Close ends the background work and stores the queued audit events. Work in
// progress is finished, unless ctx ends first: then Close returns its error.
// Close does not wait for requests: stop the http.Server first. A mail that its
// server has not accepted 2 s before the deadline of ctx goes back to the
// queue, from which the next process sends it.
func (s *Service) Close(ctx context.Context) error {
	s.fleet.stopTasks()
	defer s.requeueMails(ctx)()
	defer s.closeIdle()
	s.gateRoom.streams.end()
	for _, closeIdle := range s.gateRoom.idle {
		defer closeIdle()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.fleet.background.workers.Wait()
		s.finishAudit()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// requeueTime is how long before the deadline of Close mails that are being sent
// go back to the queue.
const requeueTime = 2 * time.Second

// requeueMails stops the sending of mails requeueTime before ctx ends, so that
// they go back to the queue, unless stop is called.
func (h *storeys) requeueMails(ctx context.Context) (stop func() bool) {
	if end, ok := ctx.Deadline(); ok {
		return time.AfterFunc(time.Until(end)-requeueTime, h.fleet.background.cancelSending).Stop
	}
	return context.AfterFunc(ctx, h.fleet.background.cancelSending)
}

// finishAudit records the end and stores the queued audit events. It is called
// after everything that may record.
func (h *storeys) finishAudit() {
	h.auditor.flushRepeats()
	h.fleet.background.stopLogged.Do(func() { h.auditor.record(context.Background(), authsvc.AuditEvent{Name: "service.stopped"}) })
	if h.auditor.auditQueue != nil {
		h.auditor.auditQueue.end()
		<-h.auditor.auditQueue.done
	}
}

// Times of the sweep.
const (
	sweepEvery = time.Minute
	sweepBatch = 500
	sweepPause = 50 * time.Millisecond
)

// sweepLease is the lease of the replica that sweeps.
const sweepLease = "sweep"

// sweep deletes expired records in small batches, then users whose grace is over.
func (h *storeys) sweep(ctx context.Context) {
	replica := uuid.V7()
	defer h.endSweep(replica)
	wait := sweepEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = sweepEvery
		n, err := h.sweepBatch(ctx, replica)
		switch {
		case errors.Is(err, authsvc.ErrConflict): // another replica does it
		case err != nil && ctx.Err() == nil:
			h.log.Error("expired records could not be removed", "err", err)
		case n == sweepBatch:
			wait = sweepPause
		case ctx.Err() == nil && h.accountRoom.deleteAllDue(ctx) == deletionBatch:
			wait = sweepPause
		}
	}
}

// sweepBatch deletes up to sweepBatch records under the lease. It takes that for
// longer than the pause to the next sweep, so that another replica gets it only
// when this one is gone. ErrConflict: another replica has it.
func (h *storeys) sweepBatch(ctx context.Context, replica string) (int, error) {
	now := h.fleet.now()
	if err := h.adapter.Lease(ctx, sweepLease, replica, now, now.Add(2*sweepEvery)); err != nil {
		return 0, err
	}
	n, err := h.adapter.Sweep(ctx, now, sweepBatch)
	if err != nil {
		return n, err
	}
	old, err := h.auditor.sweepAudit(ctx, now, sweepBatch-n)
	return n + old, err
}

// endSweep releases the lease, so that another replica can go on at once.
func (h *storeys) endSweep(replica string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := h.adapter.Release(ctx, sweepLease, replica); err != nil {
		h.log.Debug("the lease of the sweep lapses by itself", "err", err)
	}
}

// maxTasks bounds the goroutines of runTask.
const maxTasks = 1000

// errNoTask: runTask returned false.
var errNoTask = errors.New("authsvc: the service is ending or too busy")

// runTask runs work of a request that must not end with it, in the background.
// Close cancels life and waits for run to return: its waits end with life, its
// calls use detached. It reports false, and does not run, if the service is
// ending or maxTasks run already.
func (fl *fleet) runTask(what string, run func(life context.Context)) bool {
	fl.background.mu.Lock()
	defer fl.background.mu.Unlock()
	if fl.background.ctx.Err() != nil || fl.background.running >= maxTasks {
		return false
	}
	fl.background.running++
	fl.background.workers.Go(func() {
		defer func() {
			fl.background.mu.Lock()
			defer fl.background.mu.Unlock()
			fl.background.running--
		}()
		defer fl.recovered(what, func() {})
		run(fl.background.ctx)
	})
	return true
}

// stopTasks refuses new tasks and cancels their context.
func (fl *fleet) stopTasks() {
	fl.background.mu.Lock()
	defer fl.background.mu.Unlock()
	fl.background.stop()
}

// sleep waits for d. It returns false if life ended first.
func sleep(life context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-life.Done():
		return false
	case <-timer.C:
		return true
	}
}

// detached returns a context with timeout d for one call of a task, which the
// end of the service does not cancel.
func detached(life context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(life), d)
}
