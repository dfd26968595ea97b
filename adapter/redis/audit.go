package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"authsvc"
)

// maxAudit is how many audit events a Redis keeps, the latest: about 40 MB.
const maxAudit = 100_000

var (
	auditPut   = idempotent("audit_put")
	auditList  = idempotent("audit_list")
	auditSweep = nonIdempotent("audit_sweep")
)

func (s *Store) audits() []string { return []string{s.tag + "audit"} }

// PutAudit implements [authsvc.AuditLog]. The text of a record is a member of a
// sorted set, and begins with the id.
func (s *Store) PutAudit(ctx context.Context, list []authsvc.AuditRecord) error {
	args := []any{maxAudit}
	for _, r := range list {
		r.Time = stored(r.Time)
		text, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("redis: audit_put: %w", err)
		}
		args = append(args, millis(r.Time), r.ID+"\n"+string(text))
	}
	return s.do(ctx, auditPut, s.audits(), args...)
}

// ListAudit implements [authsvc.AuditLog]. The events of one user are looked for
// page by page, so that no step holds the server up.
func (s *Store) ListAudit(ctx context.Context, q authsvc.AuditQuery) (list []authsvc.AuditRecord, err error) {
	if q.UserID == "" {
		list, _, err = s.auditPage(ctx, q, "")
		return list, err
	}
	user, err := json.Marshal(q.UserID)
	if err != nil {
		return nil, err
	}
	page := authsvc.AuditQuery{Since: q.Since, After: q.After, Limit: auditPageSize}
	for more := true; more && len(list) < q.Limit; {
		var found []authsvc.AuditRecord
		// No text of a record has these bytes: a quote in one is escaped.
		if found, more, err = s.auditPage(ctx, page, `"user":`+string(user)); err != nil {
			return nil, err
		}
		for _, r := range found {
			page.Since, page.After = r.Time, r.ID
			if r.UserID == q.UserID && len(list) < q.Limit {
				list = append(list, r)
			}
		}
	}
	return list, nil
}

// auditPageSize is how many events are read at a time when those of one user are
// looked for.
const auditPageSize = 500

// auditPage returns the events of a page whose text has part, and the last one,
// and reports whether there may be more pages.
func (s *Store) auditPage(ctx context.Context, q authsvc.AuditQuery, part string) (list []authsvc.AuditRecord, more bool, err error) {
	texts, err := s.list(ctx, auditList, s.audits(), millis(q.Since), q.After, q.Limit)
	if err != nil {
		return nil, false, err
	}
	for i, text := range texts {
		whole, _ := text.(string)
		_, object, _ := strings.Cut(whole, "\n")
		if i < len(texts)-1 && !strings.Contains(object, part) {
			continue
		}
		var r authsvc.AuditRecord
		if err := json.Unmarshal([]byte(object), &r); err != nil {
			return nil, false, fmt.Errorf("redis: audit_list: a record is not JSON: %w", err)
		}
		list = append(list, r)
	}
	return list, len(texts) == q.Limit, nil
}

// SweepAudit implements [authsvc.AuditLog], in several steps if there is much
// to do.
func (s *Store) SweepAudit(ctx context.Context, before time.Time, limit int) (total int, err error) {
	for total < limit {
		size := min(limit-total, batch)
		n, err := s.count(ctx, auditSweep, s.audits(), millis(before), size)
		total += int(n)
		if err != nil || int(n) < size {
			return total, err
		}
	}
	return total, nil
}
