package redis

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"authsvc/adapter"
	"authsvc/internal/test/quiet"
)

// pipelines counts pipelines and their commands.
type pipelines struct{ sent, commands atomic.Int32 }

func (*pipelines) DialHook(next goredis.DialHook) goredis.DialHook          { return next }
func (*pipelines) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook { return next }
func (p *pipelines) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, commands []goredis.Cmder) error {
		p.sent.Add(1)
		p.commands.Add(int32(len(commands)))
		return next(ctx, commands)
	}
}

// readUser reads a user and checks the answer.
func readUser(ctx context.Context, s *Store, id string, want error) error {
	u, err := s.GetUser(ctx, id)
	if !errors.Is(err, want) || err == nil && u.ID != id {
		return fmt.Errorf("%s: got %q, %w", id, u.ID, err)
	}
	return nil
}

// TestReadsShareAPipeline checks that reads that wait are sent together, that each
// caller gets its own answer or error, and that callers may leave.
func TestReadsShareAPipeline(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		want := map[string]error{}
		for i := range 8 {
			id := fmt.Sprint(i)
			if want[id] = adapter.ErrNotFound; i%2 == 0 {
				want[id] = nil
				if _, err := s.CreateUser(t.Context(), adapter.User{ID: id}, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		// The server has forgotten the script: each read sends it after the first answer.
		if err := s.client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		var sent pipelines
		s.client.AddHook(&sent)
		s.reads.flying, s.reads.began = maxPipelines, time.Now().Add(time.Hour) // all are in flight
		results := make(chan error)
		for id, err := range want {
			go func() { results <- readUser(t.Context(), s, id, err) }()
		}
		gone, leave := context.WithCancel(t.Context())
		go func() { results <- readUser(gone, s, "0", context.Canceled) }()
		waiting(t, s, len(want)+1)
		leave()
		if err := <-results; err != nil {
			t.Error("a caller that leaves:", err)
		}
		s.reads.fly(s.client) // ends with one fewer in flight, so that the next reads are sent
		if n, commands := sent.sent.Load(), sent.commands.Load(); n != 1 || int(commands) != len(want) {
			t.Errorf("%d commands in %d pipelines, want %d in 1", commands, n, len(want))
		}
		for range want {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
	})
}

// waiting waits until n reads wait.
func waiting(t *testing.T, s *Store, n int) {
	t.Helper()
	for end := time.Now().Add(quiet.Limit(10 * time.Second)); ; time.Sleep(time.Millisecond) {
		s.reads.mu.Lock()
		got := len(s.reads.waiting)
		s.reads.mu.Unlock()
		if got == n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d reads wait, want %d", got, n)
		}
	}
}

// TestSlowPipeline checks that a read does not wait for pipelines that stay without an
// answer, and that it waits before.
func TestSlowPipeline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flying int
		age    time.Duration
		sent   bool
	}{
		"none in flight":       {0, 0, true},
		"one in flight":        {maxPipelines - 1, 0, true},
		"all in flight":        {maxPipelines, 0, false},
		"all, for a long time": {maxPipelines, patience + time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1"})
				if err := client.Close(); err != nil { // a pipeline then fails at once
					t.Fatal(err)
				}
				g := gatherer{flying: c.flying, began: time.Now()}
				time.Sleep(c.age)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := g.send(ctx, client, goredis.NewCmd(ctx, "ping"))
				if sent := errors.Is(err, goredis.ErrClosed); sent != c.sent || !sent && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("sent: %v, want %v (%v)", sent, c.sent, err)
				}
				synctest.Wait()
				if g.flying != c.flying {
					t.Errorf("%d are in flight afterwards, want %d", g.flying, c.flying)
				}
			})
		})
	}
}
