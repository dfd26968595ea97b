package sqladapter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"authsvc/adapter"
)

// UseOnce implements [adapter.Adapter].
func (a *Adapter) UseOnce(ctx context.Context, key string, expires time.Time) error {
	return a.write(ctx, "use once", func(ctx context.Context, r runner) error {
		_, err := r.exec(ctx, a.insertOnce, key, ms(expires))
		return err
	})
}

func scanRevocation(rev *adapter.Revocation) []any {
	return []any{textTo{&rev.Key}, textTo{&rev.UserID}, number{&rev.Seq}, millis{&rev.NotBefore}, millis{&rev.Expires}}
}

// Revoke implements [adapter.Adapter]. It locks the users, so that writes for their old
// epoch finish first.
func (a *Adapter) Revoke(ctx context.Context, list ...*adapter.Revocation) error {
	err := a.transact(ctx, "revoke", func(ctx context.Context, r runner) error {
		for _, rev := range list {
			if rev.UserID == "" {
				continue
			}
			if err := a.lockUserRow(ctx, r, rev.UserID); err != nil {
				return err
			}
		}
		return a.writeRevocations(ctx, r, list...)
	})
	if errors.Is(err, adapter.ErrNotFound) { // the user is not stored
		err = a.transact(ctx, "revoke", func(ctx context.Context, r runner) error { return a.writeRevocations(ctx, r, list...) })
	}
	return err
}

// maxLockTries bounds the attempts if a row is deleted between creating and locking it.
const maxLockTries = 20

// A lockable is a record that one step creates or changes. The step first creates the
// row if necessary and then locks it, so that two first writers do not collide.
type lockable struct{ ensure, lock *Statement }

// lock creates a row of values, whose first is the key, unless it exists. It then locks
// and scans the row. An existing row may be swept or released in between.
func (r runner) lock(ctx context.Context, l lockable, values []any, into ...any) (err error) {
	for range maxLockTries {
		if err := r.later(ctx, l.ensure, nil, values...); err != nil {
			return err
		}
		if err = r.row(ctx, l.lock, values[0]).Scan(into...); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return fmt.Errorf("the row was deleted by others %d times: %v", maxLockTries, err)
}

// writeRevocations merges records into the stored ones and numbers them. It must come
// last in a step, and it locks the sequence last of all: the holder of that lock waits
// only for the commit.
func (a *Adapter) writeRevocations(ctx context.Context, r runner, list ...*adapter.Revocation) error {
	merged := make([]adapter.Revocation, len(list))
	for i, rev := range list {
		old := &merged[i]
		values := []any{rev.Key, orNull(rev.UserID), 0, ms(rev.NotBefore), ms(rev.Expires)}
		if err := r.lock(ctx, a.revocation, values, scanRevocation(old)...); err != nil {
			return err
		}
		old.NotBefore, old.Expires = later(old.NotBefore, rev.NotBefore), later(old.Expires, rev.Expires)
	}
	for i, rev := range list {
		if err := r.execFound(ctx, a.raiseSequence, rev.NotBefore.UnixMicro(), rev.NotBefore.UnixMicro()); err != nil {
			return err
		}
		if err := r.row(ctx, a.lookSequence).Scan(number{&rev.Seq}); err != nil {
			return err
		}
		if err := r.execFound(ctx, a.updateRevocation, orNull(rev.UserID), rev.Seq, ms(merged[i].NotBefore), ms(merged[i].Expires), rev.Key); err != nil {
			return err
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Revocations implements [adapter.Adapter]. Numbers have the order of commits: if a
// number is visible, all lower ones are committed. An earlier snapshot may lack some of
// them (a snapshot of MariaDB is not taken at one moment), so the records are read in a
// snapshot that begins afterwards.
func (a *Adapter) Revocations(ctx context.Context, after int64, limit int) (list []adapter.Revocation, next int64, err error) {
	var latest int64
	err = a.read(ctx, "revocations", func(ctx context.Context, r runner) error {
		list, latest = nil, after
		if err := r.row(ctx, a.latestNumber).Scan(number{&latest}); err != nil || latest <= after {
			return err
		}
		return r.rows(ctx, a.listRevocations, []any{after, limit}, func(rows Rows) error {
			var rev adapter.Revocation
			if err := rows.Scan(scanRevocation(&rev)...); err != nil {
				return err
			}
			list = append(list, rev)
			return nil
		})
	})
	if err != nil {
		return nil, after, err
	}
	if len(list) == limit {
		latest = min(latest, list[limit-1].Seq)
	}
	for len(list) > 0 && list[len(list)-1].Seq > latest { // written after the query for latest
		list = list[:len(list)-1]
	}
	return list, max(after, latest), nil
}

// Lease implements [adapter.Adapter].
func (a *Adapter) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	return a.transact(ctx, "lease", func(ctx context.Context, r runner) error {
		var has string
		var expires time.Time
		if err := r.lock(ctx, a.lease, []any{name, holder, ms(until)}, textTo{&has}, millis{&expires}); err != nil {
			return err
		}
		if has != holder && !expires.Before(toMillis(now)) {
			return adapter.ErrConflict
		}
		return r.execFound(ctx, a.updateLease, holder, ms(until), name)
	})
}

// Release implements [adapter.Adapter].
func (a *Adapter) Release(ctx context.Context, name, holder string) error {
	return a.write(ctx, "release", func(ctx context.Context, r runner) error {
		_, err := r.exec(ctx, a.deleteLease, name, holder)
		return err
	})
}

// PutMeta implements [adapter.Adapter].
func (a *Adapter) PutMeta(ctx context.Context, key, value string) (string, error) {
	got, err := a.GetMeta(ctx, key)
	if !errors.Is(err, adapter.ErrNotFound) {
		return got, err
	}
	err = a.write(ctx, "put meta", func(ctx context.Context, r runner) error {
		_, err := r.exec(ctx, a.insertMeta, key, value)
		return err
	})
	if errors.Is(err, adapter.ErrConflict) { // another caller was first
		return a.GetMeta(ctx, key)
	}
	if err != nil {
		return "", err
	}
	return value, nil
}

// SetMeta implements [adapter.Adapter].
func (a *Adapter) SetMeta(ctx context.Context, key, value string) error {
	return a.transact(ctx, "set meta", func(ctx context.Context, r runner) error {
		n, err := r.exec(ctx, a.setMeta, value, key)
		if err != nil || n > 0 {
			return err
		}
		if err := r.later(ctx, a.ensureMeta, nil, key, value); err != nil {
			return err
		}
		_, err = r.exec(ctx, a.setMeta, value, key) // another caller may have created it
		return err
	})
}

// GetMeta implements [adapter.Adapter].
func (a *Adapter) GetMeta(ctx context.Context, key string) (value string, err error) {
	err = a.run(ctx, "get meta", func(ctx context.Context, r runner) error {
		return r.row(ctx, a.getMeta, key).Scan(textTo{&value})
	})
	return value, err
}

// Sweep implements [adapter.Adapter]. It runs one statement for each kind of record.
// After an error, earlier deletions stay and are counted.
func (a *Adapter) Sweep(ctx context.Context, now time.Time, limit int) (int, error) {
	swept := 0
	err := a.run(ctx, "sweep", func(ctx context.Context, r runner) error {
		for i, s := range a.sweeps {
			if swept >= limit {
				return nil
			}
			var before any = ms(now)
			if i < sharedSweeps {
				before = a.dialect.EncodeTime(toMillis(now))
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

// Clock returns the time of the database, if the dialect has Now.
func (a *Adapter) Clock(ctx context.Context) (now time.Time, err error) {
	err = a.read(ctx, "clock", func(ctx context.Context, r runner) error {
		return r.row(ctx, a.now).Scan(instant{&now, a.dialect.DecodeTime})
	})
	return now, err
}
