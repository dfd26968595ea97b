package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"authsvc/internal/sql/stores"
)

// How a call is repeated: after a pause that doubles from initialBackoff and has
// jitter, at most maxAttempts times, and not once maxElapsed has passed.
const (
	maxAttempts    = 6
	initialBackoff = 20 * time.Millisecond
	maxElapsed     = 5 * time.Second
)

// A single command is not repeated by the client.
type single struct{ *goredis.Cmd }

func (single) NoRetry() bool { return true }

// call sends a command and returns its answer. It tries again when the server
// certainly did not run it, or, with repeat, when the answer was lost. After the end
// of the context, the error wraps that of the context.
func (s *Store) call(ctx context.Context, name string, repeat bool, command func() *goredis.Cmd) (any, error) {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		answer, err := s.send(ctx, command())
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

// send sends a command once. It returns when the context ends, even while the server
// is silent; the client itself only observes deadlines.
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

// contextError returns the error of the context, also in the moment when its
// deadline has passed but its timer has not fired.
func contextError(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}
