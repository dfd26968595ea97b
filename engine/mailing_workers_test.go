package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc/adapter"
	"authsvc/adapter/memory"
)

// TestHandedMailsDelayNoOthers checks that a steady flow of mails that are handed to
// workers does not keep a mail in the queue.
func TestHandedMailsDelayNoOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &postOffice{serve: func(_ context.Context, n int) error { return map[bool]error{true: errors.New("450 later")}[n == 1] }}
		w := p.open(t, nil)
		for i := range 120 {
			w.Browser().Post("/api/auth/signin/email", "email", fmt.Sprintf("u%d@app.test", i))
			settle(250 * time.Millisecond)
		}
		var tried []time.Duration
		for i, text := range p.links {
			if strings.Contains(text, "u0%40app.test") {
				tried = append(tried, p.begun[i].Sub(p.begun[0]))
			}
		}
		if len(tried) != 2 || tried[1] > 15*time.Second {
			t.Errorf("the first mail was tried after %v", tried)
		}
	})
}

// A panickingStore panics when a mail is removed from the queue, the first times.
type panickingStore struct {
	adapter.Adapter
	left atomic.Int32
}

func (s *panickingStore) DeleteMail(ctx context.Context, id string) error {
	if s.left.Add(-1) >= 0 {
		panic("a store")
	}
	return s.Adapter.DeleteMail(ctx, id)
}

// TestMailAfterPanic checks that mails are sent at once although the store has panicked
// in every worker.
func TestMailAfterPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &postOffice{serve: func(context.Context, int) error { return nil }}
		store := &panickingStore{Adapter: memory.New()}
		store.left.Store(8)
		w := p.open(t, store)
		for i := range 8 {
			w.Browser().Post("/api/auth/signin/email", "email", fmt.Sprintf("u%d@app.test", i))
			settle(2 * time.Second)
		}
		settle(20 * time.Minute)
		if n := store.left.Load(); n > 0 {
			t.Fatalf("%d panics did not happen", n)
		}
		for i := range 8 {
			before, begin := len(p.begun), time.Now()
			w.Browser().Post("/api/auth/signin/email", "email", fmt.Sprintf("late%d@app.test", i))
			synctest.Wait()
			if len(p.begun) != before+1 || !p.begun[before].Equal(begin) {
				t.Errorf("mail %d was not sent at once", i)
			}
		}
	})
}

// A slowQueueStore takes long to store a mail.
type slowQueueStore struct {
	adapter.Adapter
	takes time.Duration
}

func (s slowQueueStore) PutToken(ctx context.Context, t adapter.VerificationToken, m adapter.Mail, most int) error {
	err := s.Adapter.PutToken(ctx, t, m, most)
	time.Sleep(s.takes)
	return err
}

// TestMailOfSlowStore checks that one process at a time sends a mail, however long the
// store took to store it.
func TestMailOfSlowStore(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{70 * time.Second, 2 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			p := &postOffice{serve: func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }}
			store := memory.New()
			w := p.open(t, slowQueueStore{store, takes})
			p.replica(t, w, store)
			settle(300 * time.Millisecond) // after that replica looked into the queue
			w.Browser().Post("/api/auth/signin/email", "email", "new@app.test")
			settle(5 * time.Minute)
			if p.most != 1 {
				t.Errorf("the store took %v, and %d processes sent the mail at a time", takes, p.most)
			}
		})
	}
}
