package main

import (
	"context"
	"fmt"
	"log/slog"

	goredis "github.com/redis/go-redis/v9"
)

// redisLog has the Redis client, which logs through one variable for the
// whole program, say what it says in our log.
type redisLog struct{ log *slog.Logger }

// Printf implements the client's logger. It is about connections; none of it
// holds a password.
func (r redisLog) Printf(ctx context.Context, format string, v ...any) {
	r.log.DebugContext(ctx, "redis client", "said", fmt.Sprintf(format, v...))
}

func logRedis(log *slog.Logger) { goredis.SetLogger(redisLog{log}) }
