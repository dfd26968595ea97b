package authsvc

import (
	"context"
	"errors"
	"sync"
	"time"

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
func (s *Service) startWorkers(ctx context.Context) {
	if s.auditQueue != nil {
		go s.auditQueue.run()
	}
	for i := range mailWorkers {
		s.background.workers.Go(func() { s.mails.run(ctx, time.Duration(i)*mailIdle/mailWorkers) })
	}
	s.mails.waiting.share(1)
	s.background.workers.Go(func() { s.mails.runWaiting(ctx) })
	s.background.workers.Go(func() { s.mails.runUnqueue(ctx) })
	s.background.workers.Go(func() { s.sweep(ctx) })
	s.seen.on.Store(true)
	s.background.workers.Go(func() { s.touchSeen(ctx) })
	s.follow(ctx)
}

// follow starts what the reading of sessions needs.
func (s *Service) follow(ctx context.Context) {
	if s.revoked.enabled {
		s.background.workers.Go(func() { s.pollRevocations(ctx) })
	}
	if s.signing.enabled {
		s.background.workers.Go(func() { s.pollKeys(ctx) })
	}
	if _, has := s.adapter.(Clock); has {
		s.background.workers.Go(func() { s.pollClock(ctx) })
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
	s.background.stopLogged.Do(func() {}) // nothing has begun that could be recorded
	s.startRevocations(ctx)
	s.follow(s.background.ctx)
	return nil
}

// Close ends the background work and stores the queued audit events. Work in
// progress is finished, unless ctx ends first: then Close returns its error.
// Close does not wait for requests: stop the http.Server first. A mail that its
// server has not accepted 2 s before the deadline of ctx goes back to the
// queue, from which the next process sends it.
func (s *Service) Close(ctx context.Context) error {
	s.stopTasks()
	defer s.requeueMails(ctx)()
	defer s.closeIdle()
	s.gate.streams.end()
	for _, closeIdle := range s.gate.idle {
		defer closeIdle()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.background.workers.Wait()
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
func (s *Service) requeueMails(ctx context.Context) (stop func() bool) {
	if end, ok := ctx.Deadline(); ok {
		return time.AfterFunc(time.Until(end)-requeueTime, s.background.cancelSending).Stop
	}
	return context.AfterFunc(ctx, s.background.cancelSending)
}

// finishAudit records the end and stores the queued audit events. It is called
// after everything that may record.
func (s *Service) finishAudit() {
	s.flushRepeats()
	s.background.stopLogged.Do(func() { s.record(context.Background(), AuditEvent{Name: "service.stopped"}) })
	if s.auditQueue != nil {
		s.auditQueue.end()
		<-s.auditQueue.done
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
func (s *Service) sweep(ctx context.Context) {
	replica := uuid.V7()
	defer s.endSweep(replica)
	wait := sweepEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = sweepEvery
		n, err := s.sweepBatch(ctx, replica)
		switch {
		case errors.Is(err, ErrConflict): // another replica does it
		case err != nil && ctx.Err() == nil:
			s.log.Error("expired records could not be removed", "err", err)
		case n == sweepBatch:
			wait = sweepPause
		case ctx.Err() == nil && s.deleteAllDue(ctx) == deletionBatch:
			wait = sweepPause
		}
	}
}

// sweepBatch deletes up to sweepBatch records under the lease. It takes that for
// longer than the pause to the next sweep, so that another replica gets it only
// when this one is gone. ErrConflict: another replica has it.
func (s *Service) sweepBatch(ctx context.Context, replica string) (int, error) {
	now := s.now()
	if err := s.adapter.Lease(ctx, sweepLease, replica, now, now.Add(2*sweepEvery)); err != nil {
		return 0, err
	}
	n, err := s.adapter.Sweep(ctx, now, sweepBatch)
	if err != nil {
		return n, err
	}
	old, err := s.sweepAudit(ctx, now, sweepBatch-n)
	return n + old, err
}

// endSweep releases the lease, so that another replica can go on at once.
func (s *Service) endSweep(replica string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.adapter.Release(ctx, sweepLease, replica); err != nil {
		s.log.Debug("the lease of the sweep lapses by itself", "err", err)
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
func (s *Service) runTask(what string, run func(life context.Context)) bool {
	s.background.mu.Lock()
	defer s.background.mu.Unlock()
	if s.background.ctx.Err() != nil || s.background.running >= maxTasks {
		return false
	}
	s.background.running++
	s.background.workers.Go(func() {
		defer func() {
			s.background.mu.Lock()
			defer s.background.mu.Unlock()
			s.background.running--
		}()
		defer s.recovered(what, func() {})
		run(s.background.ctx)
	})
	return true
}

// stopTasks refuses new tasks and cancels their context.
func (s *Service) stopTasks() {
	s.background.mu.Lock()
	defer s.background.mu.Unlock()
	s.background.stop()
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
