package main

import (
	"context"
	"fmt"
	"log/slog"

	goredis "github.com/redis/go-redis/v9"
)

// redisLogger has the Redis client, which logs through one variable for the
// whole program, say what it says in our log.
type redisLogger struct{ log *slog.Logger }

// Printf implements the client's logger. It is about connections; none of it
// holds a password.
func (r redisLogger) Printf(ctx context.Context, format string, v ...any) {
	r.log.DebugContext(ctx, "redis client", "said", fmt.Sprintf(format, v...))
}

func setRedisLogger(log *slog.Logger) { goredis.SetLogger(redisLogger{log}) }
