package counts_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/test/arena"
)

// A tally is a store that runs one call at a time, as for one client with one
// connection, and adds up the cost of a flow's calls. It does not count calls that
// only the clock causes, such as polls for mail or revocations.
type tally struct {
	*arena.Ledger
	meter func() figures // totals so far; nil: a call counts as a statement

	mu     sync.Mutex // held during a call
	sum    figures
	calls  []string        // the counted calls, for messages
	queued map[string]bool // mails not sent yet
}

func newTally(store adapter.Adapter, meter func() figures) *tally {
	t := &tally{Ledger: arena.NewLedger(store), meter: meter, queued: map[string]bool{}}
	t.Around = func(method string, call func() error) { _ = t.count(method, polls[method], call) }
	return t
}

// polls lists the calls that only the clock causes. ClaimMail is one too if it finds
// nothing: the scheduler decides how many workers look for more mail after one was
// sent.
var polls = map[string]bool{"Revocations": true, "Sweep": true, "TouchSessions": true, "GetMeta": true, "PutMeta": true, "SetMeta": true, "Ping": true,
	"SearchUsers": true} // by the sweep

// count runs a call, and adds its cost unless it is a poll.
func (t *tally) count(method string, poll bool, call func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	cost := figures{statements: 1}
	var before figures
	if t.meter != nil {
		before = t.meter()
	}
	err := call()
	if t.meter != nil {
		cost = t.meter().plus(before, -1)
	}
	if poll || method == "ClaimMail" && errors.Is(err, adapter.ErrNotFound) {
		return err
	}
	t.sum = t.sum.plus(cost, 1)
	t.calls = append(t.calls, fmt.Sprintf("%s %d/%d", method, cost.statements, cost.trips))
	return err
}

// begin resets the counts.
func (t *tally) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum, t.calls = figures{}, nil
}

// end returns the counts.
func (t *tally) end() (figures, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum, strings.Join(t.calls, ", ")
}

// sent waits until the mail queue is empty.
func (t *tally) sent(tb testing.TB) {
	tb.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		t.mu.Lock()
		left := len(t.queued)
		t.mu.Unlock()
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("%d mails were not sent", left)
		}
	}
}

func (t *tally) put(m adapter.Mail) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.mailBytes += len(m.Payload)
	t.queued[m.ID] = true
}

func (t *tally) PutToken(ctx context.Context, v adapter.VerificationToken, m adapter.Mail, maxQueued int) error {
	t.put(m)
	return t.Ledger.PutToken(ctx, v, m, maxQueued)
}

func (t *tally) PutMail(ctx context.Context, m adapter.Mail, maxQueued int) error {
	t.put(m)
	return t.Ledger.PutMail(ctx, m, maxQueued)
}

func (t *tally) DeleteMail(ctx context.Context, id string) error {
	err := t.Ledger.DeleteMail(ctx, id)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.queued, id)
	return err
}

// Closing the service interrupts its polls. A command in progress would then be
// answered during the next call.

func (t *tally) ClaimMail(ctx context.Context, now, retry time.Time) (adapter.Mail, error) {
	return t.Ledger.ClaimMail(context.WithoutCancel(ctx), now, retry)
}

func (t *tally) Revocations(ctx context.Context, after int64, limit int) ([]adapter.Revocation, int64, error) {
	return t.Ledger.Revocations(context.WithoutCancel(ctx), after, limit)
}

// The clock takes the lease of the sweep; closing the service returns it.

func (t *tally) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	if name != "sweep" {
		return t.Ledger.Lease(ctx, name, holder, now, until)
	}
	return t.count("Lease", true, func() error { return t.Behind.Lease(ctx, name, holder, now, until) })
}

func (t *tally) Release(ctx context.Context, name, holder string) error {
	if name != "sweep" {
		return t.Ledger.Release(ctx, name, holder)
	}
	return t.count("Release", true, func() error { return t.Behind.Release(ctx, name, holder) })
}
