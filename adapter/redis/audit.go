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

// ListAudit implements [authsvc.AuditLog].
func (s *Store) ListAudit(ctx context.Context, since time.Time, after string, limit int) ([]authsvc.AuditRecord, error) {
	texts, err := s.list(ctx, auditList, s.audits(), millis(since), after, limit)
	if err != nil {
		return nil, err
	}
	var list []authsvc.AuditRecord
	for _, text := range texts {
		whole, _ := text.(string)
		_, object, _ := strings.Cut(whole, "\n")
		var r authsvc.AuditRecord
		if err := json.Unmarshal([]byte(object), &r); err != nil {
			return nil, fmt.Errorf("redis: audit_list: a record is not JSON: %w", err)
		}
		list = append(list, r)
	}
	return list, nil
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
