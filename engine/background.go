package engine

import (
	"context"
	"errors"
	"time"

	"authsvc/adapter"
	"authsvc/internal/seal"
)

// startWorkers starts the background work that needs a store.
func (h *storeys) startWorkers() {
	h.auditor.Start()
	h.mailing.mails.workers.begin()
	for i := range mailWorkers {
		h.fleet.Go("the mail queue", func(life context.Context) { h.mailing.mails.run(life, time.Duration(i)*mailIdle/mailWorkers) })
	}
	h.fleet.Go("the mail queue", h.mailing.mails.runUnqueue)
	h.fleet.Go("the sweep", h.sweep)
	h.keeper.seen.on.Store(true)
	h.fleet.Go("the last use of sessions", h.keeper.touchSeen)
	h.follow()
}

// follow starts the background work that reading sessions depends on.
func (h *storeys) follow() {
	if h.keeper.revoked.enabled {
		h.fleet.Go("the revocations", h.keeper.pollRevocations)
	}
	if h.issuer.signing.enabled {
		h.fleet.Go("the signing keys", h.issuer.pollKeys)
	}
	if _, has := h.common.Adapter.(adapter.Clock); has {
		h.fleet.Go("the clock", h.fleet.PollClock)
	}
}

// Ready returns an error if the service cannot answer correctly: the store does not
// answer, the revocations of JWT sessions are not known, or the clock of this machine
// differs from the store's by more than 30 s.
func (s *Service) Ready(ctx context.Context) error {
	return errors.Join(s.common.Adapter.Ping(ctx), s.keeper.revoked.ready(), s.fleet.ClockReady())
}

// Close ends the background work and stores the queued audit events. It finishes work
// in progress. If ctx ends first, Close returns the error of ctx. Close does not wait
// for requests: stop the http.Server first. A mail that its server has not accepted 2 s
// before the deadline of ctx goes back to the queue, from which the next process sends
// it.
func (s *Service) Close(ctx context.Context) error {
	s.fleet.StopTasks()
	defer s.requeueMails(ctx)()
	defer s.closeIdle()
	s.gateRoom.streams.end()
	for _, closeIdle := range s.gateRoom.idle {
		defer closeIdle()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.fleet.Wait()
		s.auditor.Stop()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// requeueTime is how long before the deadline of Close a mail that is being sent goes
// back to the queue.
const requeueTime = 2 * time.Second

// requeueMails stops the sending of mails requeueTime before ctx ends, so that they go
// back to the queue. stop cancels this.
func (h *storeys) requeueMails(ctx context.Context) (stop func() bool) {
	if end, ok := ctx.Deadline(); ok {
		return time.AfterFunc(time.Until(end)-requeueTime, h.fleet.CancelSending).Stop
	}
	return context.AfterFunc(ctx, h.fleet.CancelSending)
}

// Times and sizes of the sweep.
const (
	sweepEvery = time.Minute
	sweepBatch = 500
	sweepPause = 50 * time.Millisecond
)

// sweepLease names the lease of the replica that sweeps.
const sweepLease = "sweep"

// sweep deletes expired records in small batches, then users whose grace period is
// over.
func (h *storeys) sweep(ctx context.Context) {
	replica := seal.UUIDv7()
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
		case errors.Is(err, adapter.ErrConflict): // another replica sweeps
		case err != nil && ctx.Err() == nil:
			h.common.Log.Error("cannot remove expired records", "err", err)
		case n == sweepBatch:
			wait = sweepPause
		case ctx.Err() == nil && h.accountRoom.deleteAllDue(ctx) == deletionBatch:
			wait = sweepPause
		}
	}
}

// sweepBatch deletes up to sweepBatch records under the lease. The lease lasts longer
// than the pause to the next sweep, so that another replica gets it only when this one
// is gone. If another replica has the lease, sweepBatch returns ErrConflict.
func (h *storeys) sweepBatch(ctx context.Context, replica string) (int, error) {
	now := h.fleet.Now()
	if err := h.common.Adapter.Lease(ctx, sweepLease, replica, now, now.Add(2*sweepEvery)); err != nil {
		return 0, err
	}
	n, err := h.common.Adapter.Sweep(ctx, now, sweepBatch)
	if err != nil {
		return n, err
	}
	old, err := h.auditor.SweepAudit(ctx, now, sweepBatch-n)
	return n + old, err
}

// endSweep releases the lease, so that another replica can continue at once.
func (h *storeys) endSweep(replica string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := h.common.Adapter.Release(ctx, sweepLease, replica); err != nil {
		h.common.Log.Debug("cannot release the lease of the sweep; it lapses by itself", "err", err)
	}
}
