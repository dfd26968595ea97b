package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// TestClose: nothing continues after Close.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine of the bubble is left
		for _, strategy := range []string{"database", "jwt"} {
			w := arena.EnterOffline(t, func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
			w.Browser().Post("/api/auth/signin/email", "email", "ada@app.test")
			if err := w.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestCloseRequeuesMails: a mail server that hangs delays Close only for its time
// limit, and the next process sends the mail at once. A server that is only slow
// accepts the mail during that time.
func TestCloseRequeuesMails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slow time.Duration
		took time.Duration
		sent int // by the next process
	}{
		"hangs":   {time.Hour, 13 * time.Second, 1},
		"is slow": {10 * time.Second, 10 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				p := &postOffice{serve: func(ctx context.Context, _ int) error {
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(c.slow):
						return nil
					}
				}}
				w := p.open(t, store)
				w.Browser().Post("/api/auth/signin/email", "email", "ada@app.test")
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				begun := time.Now()
				if err := w.Close(ctx); err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took != c.took || len(p.begun) != 1 {
					t.Errorf("%d mails in hand, Close took %v", len(p.begun), took)
				}
				next := &postOffice{serve: func(context.Context, int) error { return nil }}
				again := w.Config
				again.Adapter, again.Providers = store, []authsvc.Provider{&authsvc.Email{From: "Acme <no-reply@app.test>", Send: next.send}}
				service, err := engine.New(again)
				if err != nil {
					t.Fatal(err)
				}
				settle(time.Second)
				if err := service.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if len(next.begun) != c.sent {
					t.Errorf("the next process sent %d mails", len(next.begun))
				}
			})
		})
	}
}
