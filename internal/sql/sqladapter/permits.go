package sqladapter

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"authsvc/adapter"
)

// maxQuotas is the maximum number of quotas that one statement counts.
const maxQuotas = 4

// takePermit counts an event under a key unless too much is paid. Then ON CONFLICT affects
// no row, and ON DUPLICATE KEY sets the last generated id to 1. The parameters are: the key;
// what a first event pays; the most that may be paid; now; what a first event pays; what
// another one adds.
func (b *builder) takePermit() *Statement {
	const insert = `INSERT INTO authsvc_permit (id, expires) VALUES (?, ?) `
	if b.dialect.OnDuplicateKey {
		return b.write(insert + `ON DUPLICATE KEY UPDATE expires = CASE WHEN expires > ? THEN expires + 0 * LAST_INSERT_ID(1) ` +
			`WHEN expires <= ? THEN ? ELSE expires + ? END`)
	}
	s := b.write(insert + `ON CONFLICT (id) DO UPDATE SET expires = CASE WHEN authsvc_permit.expires <= ? THEN ? ` +
		`ELSE authsvc_permit.expires + ? END WHERE authsvc_permit.expires <= ?`)
	s.order = []int{0, 1, 3, 4, 5, 2}
	return s
}

// permits counts an event under each of n keys, or none if too much is paid under one of
// them. The subqueries see that without an error. If another caller has paid since, the
// row would get a NULL, which its column refuses, and with it the statement. The
// parameters are: now; for each key the key, what a first event pays, and the most that
// may be paid.
func (b *builder) permits(n int) *Statement {
	first, added, conflict := `SELECT CAST(? AS TEXT) AS name, CAST(? AS BIGINT) AS paid`, `excluded.expires`, `ON CONFLICT (id) DO UPDATE SET expires = `
	if b.dialect.OnDuplicateKey {
		first, added, conflict = `SELECT ? AS name, ? AS paid`, `VALUES(expires)`, `ON DUPLICATE KEY UPDATE expires = `
	}
	var rows, free, spent []string
	var ofRows, ofFree []int
	for i := range n {
		rows = append(rows, first)
		first = `SELECT ?, ?`
		free = append(free, `NOT EXISTS (SELECT 1 FROM authsvc_permit p WHERE p.id = ? AND p.expires > ?)`)
		spent = append(spent, `authsvc_permit.id = ? AND authsvc_permit.expires > ?`)
		ofRows, ofFree = append(ofRows, 1+3*i, 2+3*i), append(ofFree, 1+3*i, 3+3*i)
	}
	s := b.write(`INSERT INTO authsvc_permit (id, expires) SELECT x.name, x.paid FROM (` + strings.Join(rows, ` UNION ALL `) + `) x ` +
		`WHERE ` + strings.Join(free, ` AND `) + ` ` + conflict + `CASE WHEN ` + strings.Join(spent, ` OR `) + ` THEN NULL ` +
		`WHEN authsvc_permit.expires <= ? THEN ` + added + ` ELSE authsvc_permit.expires + ` + added + ` - ? END`)
	s.order = slices.Concat(ofRows, ofFree, ofFree, []int{0, 0})
	return s
}

// Permit implements [adapter.Adapter]. If all quotas of several permit their event, one
// statement counts them. Otherwise it counts none of them, and each is counted on its own.
func (a *Adapter) Permit(ctx context.Context, now time.Time, list ...adapter.Quota) (permitted int, wait time.Duration, err error) {
	if a.takePermits[len(list)] != nil {
		all, err := a.permitAll(ctx, toMillis(now), list)
		if err != nil {
			return 0, 0, err
		}
		if all {
			return len(list), 0, nil
		}
	}
	for i, q := range list {
		if wait, err = a.permitOne(ctx, toMillis(now), q); err != nil || wait > 0 {
			return i, wait, err
		}
	}
	return len(list), 0, nil
}

// permitAll counts an event of every quota, or of none, and reports whether it did. It
// writes the keys in one order, so that callers wait for each other and do not deadlock.
func (a *Adapter) permitAll(ctx context.Context, at time.Time, list []adapter.Quota) (all bool, err error) {
	list = slices.SortedFunc(slices.Values(list), func(x, y adapter.Quota) int { return cmp.Compare(x.Key, y.Key) })
	args := []any{ms(at)}
	for _, q := range list {
		args = append(args, q.Key, ms(at.Add(q.Interval)), ms(at.Add(q.Burst)))
	}
	err = a.write(ctx, "permit", func(ctx context.Context, r runner) error {
		n, err := r.exec(ctx, a.takePermits[len(list)], args...)
		all = n > 0
		return err
	})
	if err != nil && a.dialect.NotNull(err) {
		return false, nil
	}
	return all, err
}

// permitOne counts an event of a quota, or returns how long until it would. One statement
// counts an event that is permitted. Only a refusal needs a second step, which finds out
// how long to wait.
func (a *Adapter) permitOne(ctx context.Context, at time.Time, q adapter.Quota) (wait time.Duration, err error) {
	permitted := false
	err = a.write(ctx, "permit", func(ctx context.Context, r runner) (err error) {
		permitted, err = a.countPermit(ctx, r, q.Key, ms(at), ms(at.Add(q.Interval)), ms(at.Add(q.Burst)), q.Interval.Milliseconds())
		return err
	})
	if err != nil || permitted {
		return 0, err
	}
	err = a.transact(ctx, "permit", func(ctx context.Context, r runner) error {
		var paid time.Time
		if err := r.lock(ctx, a.permit, []any{q.Key, ms(at)}, millis{&paid}); err != nil {
			return err
		}
		held := paid
		if most := at.Add(q.Burst + q.Interval); paid.After(most) {
			paid = most
		}
		paid = later(paid, at)
		if wait = paid.Sub(at) - q.Burst; wait > 0 {
			if paid.Equal(held) {
				return nil
			}
			return r.execFound(ctx, a.updatePermit, ms(paid), q.Key)
		}
		wait = 0
		return r.execFound(ctx, a.updatePermit, ms(paid.Add(q.Interval)), q.Key)
	})
	return wait, err
}

// countPermit counts an event of key unless more than most is paid, and reports whether it
// did. A first event pays until first.
func (a *Adapter) countPermit(ctx context.Context, r runner, key string, now, first, most, interval int64) (bool, error) {
	s := a.takePermit
	result, err := r.on(s).Exec(ctx, s, s.arguments([]any{key, first, most, now, first, interval}))
	if err != nil {
		return false, err
	}
	if a.dialect.OnDuplicateKey {
		refused, err := result.LastInsertId()
		return refused == 0, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}
