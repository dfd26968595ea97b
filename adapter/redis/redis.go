// Package redis keeps the records of authsvc in Redis or Valkey, version 6.2 or later.
// [Store] keeps all records there. [Beside] keeps only short-lived records there, and
// users in another store.
package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/text"
)

// Options configures Open.
type Options struct {
	// Prefix is the start of every key, so that several services can share a server. It
	// may contain letters, digits and "._:-". Default: authsvc.
	Prefix string
}

// A Store is an [adapter.Adapter] backed by one Redis database. Any number of processes
// may share it.
//
// Every step is one Lua script, which Redis runs as a whole and on its own. All keys
// have the hash tag {prefix}. In a Redis Cluster they therefore share one slot, and the
// store uses one of its nodes. Depending on its configuration, Redis may lose
// acknowledged writes in a crash or a failover; see [Store.Warnings].
//
// Redis deletes expiring records a day after their expiry, in case no sweep runs. The
// engine checks the expiry itself.
type Store struct {
	client   goredis.UniversalClient
	reads    gatherer
	tag      string // "{prefix}:", the start of every key
	warnings []string
}

var (
	_ adapter.Adapter  = (*Store)(nil)
	_ authsvc.AuditLog = (*Store)(nil)
	_ adapter.Clock    = (*Store)(nil)
)

var prefixes = text.LazyRegexp(`^[A-Za-z0-9._:-]+$`)

// Open connects to a server. The URL is redis://user:password@host:port/database,
// rediss:// for TLS, or unix:///path?db=number. Open refuses a server that is too old,
// may evict records, or has records of a newer schema. [Unreachable] reports whether
// retrying later may help. ctx applies only to opening, not to the lifetime of the
// store.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	if o.Prefix == "" {
		o.Prefix = "authsvc"
	}
	if !prefixes.MatchString(o.Prefix) {
		return nil, errors.New(`redis: the prefix may contain only letters, digits and "._:-"`)
	}
	options, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	s := &Store{client: goredis.NewClient(options), tag: "{" + o.Prefix + "}:"}
	if err := s.checkServer(ctx, options); err != nil {
		s.Close()
		return nil, fmt.Errorf("redis: %s: %w", options.Addr, err)
	}
	return s, nil
}

// checkServer refuses an unsuitable server. If the server is part of a cluster, it
// switches to a cluster client.
func (s *Store) checkServer(ctx context.Context, options *goredis.Options) error {
	info, err := s.info(ctx)
	if err != nil {
		return withRemedy(err)
	}
	if info["cluster_enabled"] == "1" {
		if err := s.joinCluster(options); err != nil {
			return err
		}
	}
	if err := s.check(ctx, info); err != nil {
		return err
	}
	return withRemedy(s.checkSchema(ctx))
}

var errCluster = errors.New("a Redis Cluster has only database 0: leave it out of the URL")

func (s *Store) joinCluster(options *goredis.Options) error {
	if options.DB != 0 {
		return errCluster
	}
	if err := s.client.Close(); err != nil {
		return err
	}
	s.client = goredis.NewClusterClient(clusterOptions(options))
	return nil
}

// Warnings lists the ways in which the server may lose acknowledged writes, as far as
// the server reveals its configuration.
func (s *Store) Warnings() []string { return s.warnings }

// Close closes all connections. Calls in flight fail.
func (s *Store) Close() error { return s.client.Close() }

// Ping implements [adapter.Adapter].
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.call(ctx, "ping", true, func() *goredis.Cmd { return goredis.NewCmd(ctx, "ping") })
	return err
}

// key returns the Redis key of a record; see script/records.lua.
func (s *Store) key(kind, name string) string { return s.tag + kind + ":" + name }

// pair joins two names unambiguously; unpair splits them again.
func pair(a, b string) string { return fmt.Sprintf("%d:%s%s", len(a), a, b) }

func unpair(name string) (a, b string, whole bool) {
	length, both, _ := strings.Cut(name, ":")
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n > len(both) {
		return "", "", false
	}
	return both[:n], both[n:], true
}
