package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"authsvc/adapter"
)

// UseOnce implements [adapter.Adapter].
func (a *Store) UseOnce(ctx context.Context, key string, expires time.Time) error {
	return a.do(ctx, func() error {
		if _, used := a.once[key]; used {
			return adapter.ErrConflict
		}
		a.once[key] = stored(expires)
		return nil
	})
}

// Revoke implements [adapter.Adapter].
func (a *Store) Revoke(ctx context.Context, list ...*adapter.Revocation) error {
	return a.do(ctx, func() error {
		for _, r := range list {
			a.revoke(r)
		}
		return nil
	})
}

// revoke merges r into the stored record and sets its Seq.
func (a *Store) revoke(r *adapter.Revocation) {
	a.seq = max(a.seq+1, r.NotBefore.UnixMicro())
	r.Seq = a.seq
	old := a.revocations[r.Key]
	a.revocations[r.Key] = adapter.Revocation{
		Key:       r.Key,
		UserID:    r.UserID,
		Seq:       r.Seq,
		NotBefore: later(old.NotBefore, stored(r.NotBefore)),
		Expires:   later(old.Expires, stored(r.Expires)),
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Revocations implements [adapter.Adapter].
func (a *Store) Revocations(ctx context.Context, after int64, limit int) (list []adapter.Revocation, next int64, err error) {
	err = a.do(ctx, func() error {
		for _, r := range a.revocations {
			if r.Seq > after {
				list = append(list, r)
			}
		}
		return nil
	})
	slices.SortFunc(list, func(x, y adapter.Revocation) int { return cmp.Compare(x.Seq, y.Seq) })
	list = list[:min(len(list), limit)]
	if len(list) == 0 {
		return nil, after, err
	}
	return list, list[len(list)-1].Seq, err
}

// Permit implements [adapter.Adapter].
func (a *Store) Permit(ctx context.Context, now time.Time, list ...adapter.Quota) (permitted int, wait time.Duration, err error) {
	err = a.do(ctx, func() error {
		for _, q := range list {
			if wait = a.permit(now, q); wait > 0 {
				return nil
			}
			permitted++
		}
		return nil
	})
	return permitted, wait, err
}

// permit counts an event, or returns how long until it would.
func (a *Store) permit(now time.Time, q adapter.Quota) (wait time.Duration) {
	paid := later(a.permits[q.Key], now)
	if most := now.Add(q.Burst + q.Interval); paid.After(most) {
		paid = most
		a.permits[q.Key] = most
	}
	if wait = paid.Sub(now) - q.Burst; wait > 0 {
		return wait
	}
	a.permits[q.Key] = paid.Add(q.Interval)
	return 0
}

// A lease belongs to its holder until a given time.
type lease struct {
	holder string
	until  time.Time
}

// Lease implements [adapter.Adapter].
func (a *Store) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	return a.do(ctx, func() error {
		if l, held := a.leases[name]; held && l.holder != holder && !l.until.Before(stored(now)) {
			return adapter.ErrConflict
		}
		a.leases[name] = lease{holder, stored(until)}
		return nil
	})
}

// Release implements [adapter.Adapter].
func (a *Store) Release(ctx context.Context, name, holder string) error {
	return a.do(ctx, func() error {
		if a.leases[name].holder == holder {
			delete(a.leases, name)
		}
		return nil
	})
}

// GetMeta implements [adapter.Adapter].
func (a *Store) GetMeta(ctx context.Context, key string) (value string, err error) {
	err = a.do(ctx, func() error {
		v, ok := a.meta[key]
		if !ok {
			return adapter.ErrNotFound
		}
		value = v
		return nil
	})
	return value, err
}

// PutMeta implements [adapter.Adapter].
func (a *Store) PutMeta(ctx context.Context, key, value string) (got string, err error) {
	err = a.do(ctx, func() error {
		if _, ok := a.meta[key]; !ok {
			a.meta[key] = value
		}
		got = a.meta[key]
		return nil
	})
	return got, err
}

// SetMeta implements [adapter.Adapter].
func (a *Store) SetMeta(ctx context.Context, key, value string) error {
	return a.do(ctx, func() error {
		a.meta[key] = value
		return nil
	})
}

// Sweep implements [adapter.Adapter].
func (a *Store) Sweep(ctx context.Context, now time.Time, limit int) (n int, err error) {
	now = stored(now)
	err = a.do(ctx, func() error {
		sweep(a.sessions, &n, limit, a.dropSession, func(s adapter.SessionRecord) bool { return s.Expires.Before(now) })
		sweep(a.tokens, &n, limit, drop(a.tokens), func(t adapter.VerificationToken) bool { return t.Expires.Before(now) })
		sweep(a.mails, &n, limit, drop(a.mails), func(m adapter.Mail) bool { return m.Expires.Before(now) })
		sweep(a.once, &n, limit, drop(a.once), func(expires time.Time) bool { return expires.Before(now) })
		sweep(a.revocations, &n, limit, drop(a.revocations), func(r adapter.Revocation) bool { return r.Expires.Before(now) })
		sweep(a.permits, &n, limit, drop(a.permits), func(paid time.Time) bool { return paid.Before(now) })
		sweep(a.leases, &n, limit, drop(a.leases), func(l lease) bool { return l.until.Before(now) })
		sweep(a.credentials, &n, limit, drop(a.credentials), func(c adapter.Credential) bool { return !c.Expires.IsZero() && c.Expires.Before(now) })
		return nil
	})
	return n, err
}

func drop[K comparable, T any](records map[K]T) func(K) {
	return func(key K) { delete(records, key) }
}

// sweep drops expired records and adds their number to n, which never exceeds limit.
func sweep[K comparable, T any](records map[K]T, n *int, limit int, drop func(K), expired func(T) bool) {
	for key, record := range records {
		if *n >= limit {
			return
		}
		if expired(record) {
			drop(key)
			*n++
		}
	}
}
