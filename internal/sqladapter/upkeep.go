package sqladapter

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"authsvc"
)

// UseOnce implements [authsvc.Adapter].
func (a *Adapter) UseOnce(ctx context.Context, key string, expires time.Time) error {
	return a.run(ctx, "use once", func(ctx context.Context, r runner) error {
		_, err := r.exec(ctx, a.insertOnce, key, ms(expires))
		return err
	})
}

func scanRevocation(rev *authsvc.Revocation) []any {
	return []any{text{&rev.Key}, millis{&rev.NotBefore}, millis{&rev.Written}, millis{&rev.Expires}}
}

// Revoke implements [authsvc.Adapter].
func (a *Adapter) Revoke(ctx context.Context, rev authsvc.Revocation) error {
	return a.step(ctx, "revoke", func(ctx context.Context, r runner) error { return a.writeRevocation(ctx, r, &rev) })
}

// writeRevocation merges rev, which may be nil, into the stored record. As
// with all records that are made or changed in one step, the row is made
// first if need be, and then held: so two first writers do not collide.
func (a *Adapter) writeRevocation(ctx context.Context, r runner, rev *authsvc.Revocation) error {
	if rev == nil {
		return nil
	}
	_, err := r.exec(ctx, a.ensureRevocation, rev.Key, ms(rev.NotBefore), ms(rev.Written), ms(rev.Expires))
	if err != nil {
		return err
	}
	var old authsvc.Revocation
	if err := r.row(ctx, a.lockRevocation, rev.Key).Scan(scanRevocation(&old)...); err != nil {
		return err
	}
	return r.must(ctx, a.updateRevocation, ms(later(old.NotBefore, rev.NotBefore)), ms(rev.Written),
		ms(later(old.Expires, rev.Expires)), rev.Key)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Revocations implements [authsvc.Adapter].
func (a *Adapter) Revocations(ctx context.Context, since time.Time) (list []authsvc.Revocation, err error) {
	err = a.run(ctx, "revocations", func(ctx context.Context, r runner) error {
		return r.rows(ctx, a.listRevocations, []any{ms(since)}, func(rows *sql.Rows) error {
			var rev authsvc.Revocation
			if err := rows.Scan(scanRevocation(&rev)...); err != nil {
				return err
			}
			list = append(list, rev)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Permit implements [authsvc.Adapter].
func (a *Adapter) Permit(ctx context.Context, key string, now time.Time, interval, burst time.Duration) (wait time.Duration, err error) {
	err = a.step(ctx, "permit", func(ctx context.Context, r runner) error {
		if _, err := r.exec(ctx, a.ensurePermit, key, ms(now)); err != nil {
			return err
		}
		var paid time.Time
		if err := r.row(ctx, a.lockPermit, key).Scan(millis{&paid}); err != nil {
			return err
		}
		paid = later(paid, stored(now))
		if wait = paid.Sub(stored(now)) - burst; wait > 0 {
			return nil
		}
		wait = 0
		return r.must(ctx, a.updatePermit, ms(paid.Add(interval)), key)
	})
	return wait, err
}

// Lease implements [authsvc.Adapter].
func (a *Adapter) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	return a.step(ctx, "lease", func(ctx context.Context, r runner) error {
		if _, err := r.exec(ctx, a.ensureLease, name, holder, ms(until)); err != nil {
			return err
		}
		var has string
		var expires time.Time
		if err := r.row(ctx, a.lockLease, name).Scan(text{&has}, millis{&expires}); err != nil {
			return err
		}
		if has != holder && !expires.Before(stored(now)) {
			return authsvc.ErrConflict
		}
		return r.must(ctx, a.updateLease, holder, ms(until), name)
	})
}

// Release implements [authsvc.Adapter].
func (a *Adapter) Release(ctx context.Context, name, holder string) error {
	return a.run(ctx, "release", func(ctx context.Context, r runner) error {
		_, err := r.exec(ctx, a.deleteLease, name, holder)
		return err
	})
}

// PutMeta implements [authsvc.Adapter].
func (a *Adapter) PutMeta(ctx context.Context, key, value string) (string, error) {
	got, err := a.GetMeta(ctx, key)
	if !errors.Is(err, authsvc.ErrNotFound) {
		return got, err
	}
	err = a.run(ctx, "put meta", func(ctx context.Context, r runner) error {
		_, err := r.exec(ctx, a.insertMeta, key, value)
		return err
	})
	if errors.Is(err, authsvc.ErrConflict) { // somebody else was first
		return a.GetMeta(ctx, key)
	}
	if err != nil {
		return "", err
	}
	return value, nil
}

// SetMeta implements [authsvc.Adapter].
func (a *Adapter) SetMeta(ctx context.Context, key, value string) error {
	return a.step(ctx, "set meta", func(ctx context.Context, r runner) error {
		n, err := r.exec(ctx, a.setMeta, value, key)
		if err != nil || n > 0 {
			return err
		}
		if _, err := r.exec(ctx, a.ensureMeta, key, value); err != nil {
			return err
		}
		_, err = r.exec(ctx, a.setMeta, value, key) // somebody else may have made it
		return err
	})
}

// GetMeta implements [authsvc.Adapter].
func (a *Adapter) GetMeta(ctx context.Context, key string) (value string, err error) {
	err = a.run(ctx, "get meta", func(ctx context.Context, r runner) error {
		return r.row(ctx, a.getMeta, key).Scan(text{&value})
	})
	return value, err
}

// Sweep implements [authsvc.Adapter]. Each kind of record is one statement;
// what was deleted before an error stays deleted and is counted.
func (a *Adapter) Sweep(ctx context.Context, now time.Time, limit int) (int, error) {
	swept := 0
	err := a.run(ctx, "sweep", func(ctx context.Context, r runner) error {
		for i, s := range a.sweeps {
			if swept >= limit {
				return nil
			}
			var before any = ms(now)
			if i < sharedSweeps {
				before = a.dialect.EncodeTime(stored(now))
			}
			n, err := r.exec(ctx, s, before, before, limit-swept)
			if err != nil {
				return err
			}
			swept += n
		}
		return nil
	})
	return swept, err
}

// Ping implements [authsvc.Adapter].
func (a *Adapter) Ping(ctx context.Context) error {
	return a.run(ctx, "ping", func(ctx context.Context, r runner) error {
		var one int
		return r.row(ctx, a.ping).Scan(&one)
	})
}
