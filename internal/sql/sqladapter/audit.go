package sqladapter

import (
	"context"
	"time"

	"authsvc"
)

type auditStatements struct {
	insertAudit, listAudit, listAuditOf, sweepAudit *Statement
}

const auditColumns = `id, occurred, name, outcome, code, reason, provider, user_id, client, agent, request, actor`

func buildAudit(b *builder) auditStatements {
	return auditStatements{
		insertAudit: b.write(b.dialect.insertMissing(`authsvc_audit`, auditColumns, `?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?`)),
		// Every database can use the index for the first condition.
		listAudit: b.read(`SELECT ` + auditColumns + ` FROM authsvc_audit WHERE occurred >= ? AND (occurred > ? OR id > ?) ` +
			`ORDER BY occurred, id LIMIT ?`),
		listAuditOf: b.read(`SELECT ` + auditColumns + ` FROM authsvc_audit WHERE user_id = ? AND occurred >= ? AND (occurred > ? OR id > ?) ` +
			`ORDER BY occurred, id LIMIT ?`),
		sweepAudit: b.sweep(`authsvc_audit`, `id`, `occurred`),
	}
}

func scanAudit(r *authsvc.AuditRecord) []any {
	return []any{textTo{&r.ID}, millis{&r.Time}, textTo{&r.Name}, textTo{(*string)(&r.Outcome)}, textTo{(*string)(&r.Code)}, textTo{&r.Reason},
		textTo{&r.Provider}, textTo{&r.UserID}, textTo{&r.ClientIP}, textTo{&r.UserAgent}, textTo{&r.RequestID}, textTo{&r.Actor}}
}

// PutAudit implements [authsvc.AuditLog].
func (a *Adapter) PutAudit(ctx context.Context, list []authsvc.AuditRecord) error {
	return a.transact(ctx, "put audit", func(ctx context.Context, r runner) error {
		for _, e := range list {
			if err := r.later(ctx, a.insertAudit, nil, e.ID, ms(e.Time), e.Name, string(e.Outcome), string(e.Code), e.Reason,
				e.Provider, e.UserID, e.ClientIP, e.UserAgent, e.RequestID, e.Actor); err != nil {
				return err
			}
		}
		return nil
	})
}

// ListAudit implements [authsvc.AuditLog].
func (a *Adapter) ListAudit(ctx context.Context, q authsvc.AuditQuery) (list []authsvc.AuditRecord, err error) {
	statement, args := a.listAudit, []any{ms(q.Since), ms(q.Since), q.After, max(q.Limit, 0)}
	if q.UserID != "" {
		statement, args = a.listAuditOf, append([]any{q.UserID}, args...)
	}
	err = a.read(ctx, "list audit", func(ctx context.Context, r runner) error {
		list = nil
		return r.rows(ctx, statement, args, func(rows Rows) error {
			var e authsvc.AuditRecord
			if err := rows.Scan(scanAudit(&e)...); err != nil {
				return err
			}
			list = append(list, e)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// SweepAudit implements [authsvc.AuditLog].
func (a *Adapter) SweepAudit(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = a.run(ctx, "sweep audit", func(ctx context.Context, r runner) error {
		n, err = r.exec(ctx, a.sweepAudit, ms(before), ms(before), limit)
		return err
	})
	return n, err
}
