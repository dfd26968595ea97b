package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// A postOffice implements Email.Send in these tests.
type postOffice struct {
	mu     sync.Mutex
	serve  func(ctx context.Context, n int) error // of the n-th attempt, from 1
	begun  []time.Time
	under  int
	most   int
	given  []string // reasons of email.given_up
	links  []string
	closed []time.Time
}

func (p *postOffice) send(ctx context.Context, m authsvc.Message) error {
	p.mu.Lock()
	p.begun, p.links = append(p.begun, time.Now()), append(p.links, m.Text)
	n := len(p.begun)
	p.under++
	p.most = max(p.most, p.under)
	p.mu.Unlock()
	err := p.serve(ctx, n)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.under--
	p.closed = append(p.closed, time.Now())
	return err
}

func (p *postOffice) audit(_ context.Context, e authsvc.AuditEvent) {
	if e.Name == "email.given_up" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.given = append(p.given, e.Provider+": "+e.Reason)
	}
}

func (p *postOffice) open(t *testing.T, store adapter.Adapter) *arena.World {
	t.Helper()
	return arena.EnterOffline(t, func(c *authsvc.Config) {
		c.Providers[0] = &authsvc.Email{From: "Acme <no-reply@app.test>", MaxAge: 10 * time.Minute, Send: p.send}
		c.Events.Audit = p.audit
		if store != nil {
			c.Adapter = store
		}
	})
}

// settle lets time pass in a bubble.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestMailAttempts checks what is retried, how often, until when, and what is recorded.
func TestMailAttempts(t *testing.T) {
	t.Parallel()
	busy := errors.New("450 come back later")
	unsure := fmt.Errorf("%w: connection lost", authsvc.ErrMailUnconfirmed)
	refused := fmt.Errorf("%w: 550 no such mailbox", authsvc.ErrMailRefused)
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, c := range map[string]struct {
		serve    func(ctx context.Context, n int) error
		attempts [2]int // at least, at most
		given    string
	}{
		"works":     {func(context.Context, int) error { return nil }, [2]int{1, 1}, ""},
		"greylists": {func(_ context.Context, n int) error { return map[bool]error{true: busy}[n < 4] }, [2]int{4, 4}, ""},
		"is always busy": {func(context.Context, int) error { return busy }, [2]int{6, 10},
			"email: its link has expired, or will expire before the next attempt"},
		"hangs": {func(ctx context.Context, _ int) error { return hang(ctx) }, [2]int{4, 9},
			"email: its link has expired, or will expire before the next attempt"},
		"hangs when the link ends": {func(ctx context.Context, n int) error {
			if n < 8 {
				return busy
			}
			return hang(ctx)
		}, [2]int{9, 9}, "email: its link has expired, or will expire before the next attempt"},
		"refuses": {func(context.Context, int) error { return refused }, [2]int{1, 1}, "email: it was refused permanently"},
		"refuses later": {func(_ context.Context, n int) error { return map[bool]error{true: busy, false: refused}[n < 3] }, [2]int{3, 3},
			"email: it was refused permanently"},
		"loses one answer":   {func(_ context.Context, n int) error { return map[bool]error{true: unsure}[n == 1] }, [2]int{2, 2}, ""},
		"loses every answer": {func(context.Context, int) error { return unsure }, [2]int{2, 2}, "email: it was sent at least twice and not confirmed"},
		"is busy, then loses answers": {func(_ context.Context, n int) error { return map[bool]error{true: busy, false: unsure}[n < 3] }, [2]int{3, 3},
			"email: it was sent at least twice and not confirmed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &postOffice{serve: c.serve}
				w := p.open(t, nil)
				begin := time.Now()
				w.Browser().Post("/api/auth/signin/email", "email", "new@app.test")
				if d := time.Since(begin); d > 500*time.Millisecond {
					t.Errorf("the answer took %v", d)
				}
				settle(time.Hour)
				if n := len(p.begun); n < c.attempts[0] || n > c.attempts[1] {
					t.Errorf("%d attempts", n)
				}
				for _, at := range p.closed {
					if at.Sub(begin) > 10*time.Minute {
						t.Errorf("an attempt continued for %v, past the link's end", at.Sub(begin))
					}
				}
				if got := fmt.Sprint(p.given); got != fmt.Sprint([]string{c.given}) && (c.given != "" || len(p.given) > 0) {
					t.Errorf("recorded %s", got)
				}
				if _, err := w.Store.ClaimMail(t.Context(), time.Now(), time.Now()); !errors.Is(err, adapter.ErrNotFound) {
					t.Errorf("still queued: %v", err)
				}
			})
		})
	}
}

// TestSlowMailServer checks that mails to a slow server delay no requests. While one
// worker is free, they delay no other mails either. There are few workers.
func TestSlowMailServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &postOffice{serve: func(ctx context.Context, n int) error {
			if n <= 3 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}
		w := p.open(t, nil)
		begin := time.Now()
		for i := range 50 {
			w.Browser().Post("/api/auth/signin/email", "email", fmt.Sprintf("u%d@app.test", i))
			synctest.Wait()
		}
		if d := time.Since(begin); d > 500*time.Millisecond {
			t.Errorf("50 requests took %v", d)
		}
		if n := len(p.begun); n != 50 {
			t.Errorf("%d of 50 mails were tried at once", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := &postOffice{serve: func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }}
		w := p.open(t, nil)
		for i := range 50 {
			w.Browser().Post("/api/auth/signin/email", "email", fmt.Sprintf("u%d@app.test", i))
		}
		settle(time.Hour)
		if p.most != 4 {
			t.Errorf("%d at a time", p.most)
		}
	})
}

// A mortalStore is the store of a replica that dies while it sends its first mail.
type mortalStore struct {
	adapter.Adapter
	unclaimed bool // the mail is stored as by a replica whose workers are busy
}

func (s mortalStore) PutToken(ctx context.Context, t adapter.VerificationToken, m adapter.Mail, most int) error {
	if s.unclaimed {
		m.Due, m.Attempts = time.Now(), 0
	}
	return s.Adapter.PutToken(ctx, t, m, most)
}

func (mortalStore) ClaimMail(context.Context, time.Time, time.Time) (adapter.Mail, error) {
	return adapter.Mail{}, adapter.ErrNotFound
}

func (mortalStore) DelayMail(context.Context, string, time.Time) error { return errors.New("dead") }
func (mortalStore) DeleteMail(context.Context, string) error           { return errors.New("dead") }

// TestMailAfterCrash checks that a link whose replica died before it had sent the mail
// is sent by the next one, and works.
func TestMailAfterCrash(t *testing.T) {
	t.Parallel()
	for name, unclaimed := range map[string]bool{"before the claim": true, "after the claim": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				dying := &postOffice{serve: func(context.Context, int) error { return errors.New("dead") }}
				w := dying.open(t, mortalStore{store, unclaimed})
				b := w.Browser()
				b.Post("/api/auth/signin/email", "email", "new@app.test")
				synctest.Wait()
				if len(dying.begun) != 1 {
					t.Fatalf("the dying replica tried %d mails", len(dying.begun))
				}
				p := &postOffice{serve: func(context.Context, int) error { return nil }}
				next := p.replica(t, w, store)
				settle(2 * time.Minute)
				if len(p.begun) != 1 {
					t.Fatalf("%d mails", len(p.begun))
				}
				b.H = next
				if b.Get(arena.Link(t, authsvc.Message{Text: p.links[0]})); b.Email() != "new@app.test" {
					t.Errorf("signed in as %q", b.Email())
				}
			})
		})
	}
}

// TestMailAfterClose checks that a mail whose service closes while the mail is stored is
// sent by the next service at once.
func TestMailAfterClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		none := &postOffice{serve: func(context.Context, int) error { return nil }}
		store := &closingStore{Adapter: memory.New()}
		w := none.open(t, store)
		store.close = func() { w.Service.Close(context.Background()) }
		w.Browser().Post("/api/auth/signin/email", "email", "new@app.test")
		synctest.Wait()
		p := &postOffice{serve: func(context.Context, int) error { return nil }}
		p.replica(t, w, store.Adapter)
		settle(6 * time.Second)
		if len(none.begun) != 0 || len(p.begun) != 1 {
			t.Errorf("the closed service sent %d mails, the next one %d", len(none.begun), len(p.begun))
		}
	})
}

// A closingStore closes its service when it has stored a mail.
type closingStore struct {
	adapter.Adapter
	close func()
}

func (s *closingStore) PutToken(ctx context.Context, t adapter.VerificationToken, m adapter.Mail, most int) error {
	err := s.Adapter.PutToken(ctx, t, m, most)
	s.close()
	return err
}

// replica is another service like w on a store.
func (p *postOffice) replica(t *testing.T, w *arena.World, store adapter.Adapter) *engine.Service {
	t.Helper()
	c := w.Config
	c.Adapter, c.Providers, c.Events.Audit = store, slices.Clone(c.Providers), p.audit
	email := *c.Providers[0].(*authsvc.Email)
	email.Send = p.send
	c.Providers[0] = &email
	s, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

// TestMailIsSentOnce checks that, without errors, only one of several workers in
// several replicas sends each mail.
func TestMailIsSentOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &postOffice{serve: func(context.Context, int) error { time.Sleep(time.Second); return nil }}
		store := memory.New()
		w := p.open(t, store)
		p.replica(t, w, store)
		for i := range 100 {
			w.Browser().Post("/api/auth/signin/email", "email", fmt.Sprintf("u%d@app.test", i))
		}
		settle(10 * time.Minute)
		seen := map[string]bool{}
		for _, text := range p.links {
			seen[text] = true
		}
		if len(p.links) != 100 || len(seen) != 100 {
			t.Errorf("%d mails, %d links", len(p.links), len(seen))
		}
	})
}

func TestMailRefusedPermanently(t *testing.T) {
	t.Parallel()
	tried := make(chan struct{}, 10)
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Providers = []authsvc.Provider{&authsvc.Email{From: "a@app.test", Send: func(context.Context, authsvc.Message) error {
			tried <- struct{}{}
			return errors.Join(authsvc.ErrMailRefused, errors.New("550 no such mailbox"))
		}}}
	})
	w.Browser().Post("/api/auth/signin/email", "email", "ada@app.test")
	<-tried
	gone := func() bool { // even when it would be due again
		_, err := w.Store.ClaimMail(t.Context(), time.Now().Add(time.Hour), time.Now().Add(2*time.Hour))
		return errors.Is(err, adapter.ErrNotFound)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if strings.Contains(w.Logs.String(), "mail given up") && gone() {
			return
		}
	}
	t.Errorf("the mail is still queued:\n%s", w.Logs)
}
