package authsvc

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Times of the revocation list.
const (
	revokePoll    = 2 * time.Second
	revokeOverlap = time.Minute // other replicas' clocks and slow commits
	revokeStale   = 30 * time.Second
)

var errStaleRevocations = errors.New("revocations could not be read for 30 s; JWT sessions are not accepted until they can")

// revocations is this replica's copy of the revocation records: what makes a
// JWT session end before it expires.
type revocations struct {
	mu      sync.RWMutex
	records map[string]Revocation
	read    time.Time // last successful poll
	poll    bool      // there is a store to poll
	accept  bool      // go on when the copy is stale

	began time.Time // the latest start of a session here, in milliseconds
	cut   time.Time // the latest revocation here, in milliseconds
	cutAt time.Time // and when it was really made
}

// begin returns what to note as the start of a session that began at t, and
// revoke what to note as the time of a revocation that is made at t. Tokens
// and stores keep milliseconds; within one, this process still tells what came
// first. Across replicas a revocation wins the millisecond.
func (v *revocations) begin(t time.Time) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	start := t.Truncate(time.Millisecond)
	if !t.Before(v.cutAt) && !start.After(v.cut) {
		start = v.cut.Add(time.Millisecond)
	}
	if start.After(v.began) {
		v.began = start
	}
	return start
}

func (v *revocations) revoke(t time.Time) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := t.Truncate(time.Millisecond)
	if v.began.After(at) {
		at = v.began
	}
	if at.After(v.cut) {
		v.cut = at
	}
	if t.After(v.cutAt) {
		v.cutAt = t
	}
	return at
}

// apply adds a record at once, before the poll would.
func (v *revocations) apply(r Revocation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if old, ok := v.records[r.Key]; ok {
		if old.NotBefore.After(r.NotBefore) {
			r.NotBefore = old.NotBefore
		}
		if old.Expires.After(r.Expires) {
			r.Expires = old.Expires
		}
	}
	v.records[r.Key] = r
}

// covers reports whether a token is revoked.
func (v *revocations) covers(c *sessionClaims, now time.Time) (bool, error) {
	if !v.poll {
		return false, nil
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	if !v.accept && now.Sub(v.read) > revokeStale {
		return true, errStaleRevocations
	}
	if len(v.records) == 0 {
		return false, nil
	}
	if _, ok := v.records["sid:"+c.sid()]; ok && c.sid() != "" {
		return true, nil
	}
	if r, ok := v.records["nosid:"+c.Subject]; ok && c.SID == "" && !fromSeconds(c.AuthTime).After(r.NotBefore) {
		return true, nil
	}
	if r, ok := v.records[revokedBy(c.Provider, c.Subject)]; ok && !fromSeconds(c.AuthTime).After(r.NotBefore) {
		return true, nil
	}
	r, ok := v.records["user:"+c.Subject]
	return ok && !fromSeconds(c.AuthTime).After(r.NotBefore), nil
}

// revokedBy is the key that covers a user's sessions of one provider, whose id
// has no colon.
func revokedBy(provider, userID string) string { return "by:" + provider + ":" + userID }

// refresh reads what was written since the last poll.
func (v *revocations) refresh(ctx context.Context, a Adapter) error {
	v.mu.RLock()
	since := v.read
	v.mu.RUnlock()
	start := time.Now()
	if !since.IsZero() {
		since = since.Add(-revokeOverlap)
	}
	list, err := a.Revocations(ctx, since)
	if err != nil {
		return err
	}
	for _, r := range list {
		v.apply(r)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.read = start
	for key, r := range v.records {
		if r.Expires.Before(start) {
			delete(v.records, key)
		}
	}
	return nil
}

// pollRevocations keeps the copy fresh until ctx ends.
func (s *Service) pollRevocations(ctx context.Context) {
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(revokePoll):
		}
		err := s.revoked.refresh(ctx, s.adapter)
		if err != nil && !failed && ctx.Err() == nil {
			s.log.Error("revocations cannot be read", "err", err)
		}
		failed = err != nil
	}
}
