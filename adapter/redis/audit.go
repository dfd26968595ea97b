package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"authsvc"
)

// maxAudit is the number of audit events that a Redis keeps: the latest ones, about 40
// MB.
const maxAudit = 100_000

var (
	auditPut   = idempotent("audit_put")
	auditList  = idempotent("audit_list")
	auditSweep = nonIdempotent("audit_sweep")
)

func (s *Store) audits() []string { return []string{s.tag + "audit"} }

// PutAudit implements [authsvc.AuditLog]. It stores the text of a record, which begins
// with its id, as a member of a sorted set.
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

// ListAudit implements [authsvc.AuditLog]. It searches for the events of one user page
// by page, so that no step blocks the server for long.
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
		// Only the user field can match: inside other text, quotes are escaped.
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

// auditPageSize is the number of events in one page of a search for a user's events.
const auditPageSize = 500

// auditPage returns the events of one page whose text contains part, and the last event
// of the page. It reports whether there may be more pages.
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

// SweepAudit implements [authsvc.AuditLog]. It takes several steps if many events are
// old.
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
