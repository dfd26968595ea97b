package servertest

import (
	"context"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
)

var redisKind = kind{
	name: "Redis", variable: "AUTHSVC_TEST_REDIS_URL", port: "6379",
	fallback: []string{"redis://127.0.0.1:6379/0"},
	ping:     pingRedis,
}

func pingRedis(ctx context.Context, server string) error {
	o, err := redis.ParseURL(server)
	if err != nil {
		return err
	}
	// The client logs a line for each failed connection.
	conn, err := new(net.Dialer).DialContext(ctx, o.Network, o.Addr)
	if err != nil {
		return err
	}
	conn.Close()
	// One try is enough: a caller that waits for a server pings again.
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	client := redis.NewClient(o)
	defer client.Close()
	return client.Ping(ctx).Err()
}

// Redis returns the URL of a server and a key prefix unique to the test. Keys with
// the prefix are deleted when t ends. It uses the server of AUTHSVC_TEST_REDIS_URL,
// or else the one on the default port. If there is neither, it skips t.
func Redis(t testing.TB) (url, keyPrefix string) {
	t.Helper()
	url = redisKind.server(t)
	keyPrefix = newName() + ":"
	t.Cleanup(func() {
		if err := deleteKeys(url, keyPrefix+"*"); err != nil {
			t.Errorf("Redis: delete keys: %v", discreet(url, err))
		}
	})
	return url, keyPrefix
}

// deleteKeys scans the whole database. It may miss keys added meanwhile.
func deleteKeys(server, pattern string) error {
	o, err := redis.ParseURL(server)
	if err != nil {
		return err
	}
	client := redis.NewClient(o)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	keys := client.Scan(ctx, 0, pattern, 1000).Iterator()
	for keys.Next(ctx) {
		if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
			return err
		}
	}
	return keys.Err()
}
