package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"authsvc"
)

// PutAudit implements [authsvc.AuditLog].
func (a *Store) PutAudit(ctx context.Context, list []authsvc.AuditRecord) error {
	return a.do(ctx, func() error {
		for _, r := range list {
			if _, there := a.audit[r.ID]; !there {
				r.Time = stored(r.Time)
				a.audit[r.ID] = r
			}
		}
		return nil
	})
}

// ListAudit implements [authsvc.AuditLog].
func (a *Store) ListAudit(ctx context.Context, q authsvc.AuditQuery) (list []authsvc.AuditRecord, err error) {
	since := stored(q.Since)
	err = a.do(ctx, func() error {
		list = a.audits(func(r authsvc.AuditRecord) bool {
			return (q.UserID == "" || r.UserID == q.UserID) && (r.Time.After(since) || r.Time.Equal(since) && r.ID > q.After)
		})
		return nil
	})
	if q.Limit <= 0 {
		return nil, err
	}
	return list[:min(len(list), q.Limit)], err
}

// audits returns the records that wanted selects, ordered by time, then id.
func (a *Store) audits(wanted func(authsvc.AuditRecord) bool) (list []authsvc.AuditRecord) {
	for _, r := range a.audit {
		if wanted(r) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(x, y authsvc.AuditRecord) int {
		return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.ID, y.ID))
	})
	return list
}

// SweepAudit implements [authsvc.AuditLog].
func (a *Store) SweepAudit(ctx context.Context, before time.Time, limit int) (n int, err error) {
	before = stored(before)
	err = a.do(ctx, func() error {
		old := a.audits(func(r authsvc.AuditRecord) bool { return r.Time.Before(before) })
		for _, r := range old[:min(len(old), max(limit, 0))] {
			delete(a.audit, r.ID)
			n++
		}
		return nil
	})
	return n, err
}
