package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"authsvc/internal/sql/stores"
)

// A call is retried at most maxAttempts times, and not after maxElapsed. The pause
// between attempts starts at initialBackoff, doubles each time and has jitter.
const (
	maxAttempts    = 6
	initialBackoff = 20 * time.Millisecond
	maxElapsed     = 5 * time.Second
)

// A single command is not retried by the client.
type single struct{ *goredis.Cmd }

func (single) NoRetry() bool { return true }

// call sends a command and returns its answer. It retries if the server certainly did
// not run the command or, with repeat, if the answer was lost. If ctx is done, the
// error wraps ctx's error.
func (s *Store) call(ctx context.Context, name string, repeat bool, command func() *goredis.Cmd) (any, error) {
	return attempts(ctx, name, repeat, func() (any, error) { return s.send(ctx, command()) })
}

// attempts sends a command as call describes.
func attempts(ctx context.Context, name string, repeat bool, send func() (any, error)) (any, error) {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		answer, err := send()
		if err == nil {
			return answer, nil
		}
		if ended := contextError(ctx); ended != nil {
			return nil, fmt.Errorf("redis: %s: %w", name, ended)
		}
		if !(notExecuted(err) || repeat && outcomeUnknown(err)) || attempt == maxAttempts || time.Since(began) > maxElapsed {
			return nil, fmt.Errorf("redis: %s: %w", name, err)
		}
		d := initialBackoff << (attempt - 1)
		_ = stores.Wait(ctx, d/2+rand.N(d/2)) // the next attempt reports the end of ctx
	}
}

// send sends a command once. It returns when ctx is done, even while the server is
// silent; the client itself observes only deadlines.
func (s *Store) send(ctx context.Context, command *goredis.Cmd) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- s.client.Process(ctx, single{command}) }()
	select {
	case err := <-done:
		return command.Val(), err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// contextError returns the context's error. It does so even if the deadline has passed
// but its timer has not fired yet.
func contextError(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}
