package redis

import (
	"context"
	"time"

	"authsvc/adapter"
)

// batch is the number of records that one step of Sweep, SweepAudit or TouchSessions
// handles. Redis runs nothing else meanwhile.
const batch = 200

var (
	useOnce = nonIdempotent("use_once")
	permit  = nonIdempotent("permit")
	lease   = idempotent("lease")
	release = idempotent("release")
	metaGet = idempotent("meta_get")
	metaPut = idempotent("meta_put")
	metaSet = idempotent("meta_set")
	sweep   = nonIdempotent("sweep")
)

// UseOnce implements [adapter.Adapter].
func (s *Store) UseOnce(ctx context.Context, key string, expires time.Time) error {
	return s.do(ctx, useOnce, []string{s.key("once", key)}, key, millis(expires))
}

// Permit implements [adapter.Adapter]. It counts in microseconds.
func (s *Store) Permit(ctx context.Context, now time.Time, list ...adapter.Quota) (permitted int, wait time.Duration, err error) {
	var keys []string
	args := []any{now.UnixMicro()}
	for _, q := range list {
		keys = append(keys, s.key("permit", q.Key))
		args = append(args, q.Key, q.Interval.Microseconds(), q.Burst.Microseconds())
	}
	answer, err := s.list(ctx, permit, keys, args...)
	if err != nil {
		return 0, 0, err
	}
	return int(row{answer}.number(0)), time.Duration(row{answer}.number(1)) * time.Microsecond, nil
}

// Lease implements [adapter.Adapter].
func (s *Store) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	return s.do(ctx, lease, []string{s.key("lease", name)}, name, holder, millis(now), millis(until))
}

// Release implements [adapter.Adapter].
func (s *Store) Release(ctx context.Context, name, holder string) error {
	return s.do(ctx, release, []string{s.key("lease", name)}, name, holder)
}

// GetMeta implements [adapter.Adapter].
func (s *Store) GetMeta(ctx context.Context, key string) (string, error) {
	return s.meta(ctx, metaGet, key)
}

// PutMeta implements [adapter.Adapter].
func (s *Store) PutMeta(ctx context.Context, key, value string) (string, error) {
	return s.meta(ctx, metaPut, key, value)
}

// meta runs a step that returns the meta value of a key.
func (s *Store) meta(ctx context.Context, st *step, key string, args ...any) (string, error) {
	list, err := s.list(ctx, st, []string{s.key("meta", key)}, args...)
	return row{list}.text(0), err
}

// SetMeta implements [adapter.Adapter].
func (s *Store) SetMeta(ctx context.Context, key, value string) error {
	return s.do(ctx, metaSet, []string{s.key("meta", key)}, value)
}

// Sweep implements [adapter.Adapter]. It takes several steps if there is much to
// delete.
func (s *Store) Sweep(ctx context.Context, now time.Time, limit int) (int, error) {
	total := 0
	for total < limit {
		size := min(limit-total, batch)
		n, err := s.count(ctx, sweep, []string{s.tag + "schema"}, millis(now), size)
		total += int(n)
		if err != nil || int(n) < size {
			return total, err
		}
	}
	return total, nil
}
