package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"authsvc"
	"authsvc/engine/internal/audit"
	"authsvc/internal/text/plainlog"
)

// audit records the result of a request. Each request has at most one such event; use
// note for other facts. audit reports whether the event was recorded. If not, it was
// counted as a repetition, and the caller must not write log lines about it either.
// Pass the cause that those lines have, because only results with the same reason and
// cause are repetitions.
func (rq *request) audit(name string, code authsvc.ErrorCode, reason string, cause ...error) (recorded bool) {
	rq.audited = true
	rq.quiet = !rq.note(authsvc.AuditEvent{Name: name, Code: code, Reason: reason, UserID: rq.auditUser}, cause...)
	return !rq.quiet
}

// note records an event with the client of the request. It returns what audit returns.
func (rq *request) note(e authsvc.AuditEvent, cause ...error) (recorded bool) {
	if e.Provider == "" {
		e.Provider = rq.providerID()
	}
	if ip := rq.clientIP(); ip.IsValid() {
		e.ClientIP = ip.String()
	}
	if e.Actor == "" {
		e.Actor = rq.auditActor
	}
	e.RequestID, e.UserAgent = rq.requestID(), rq.r.UserAgent()
	return rq.auditor.RecordLimited(rq.ctx, rq.networkKey(), e, errors.Join(cause...))
}

// auditRefusal records a refusal, or a failure if a fault caused it.
func (rq *request) auditRefusal(e *authError) {
	if rq.audited {
		return
	}
	verb := ".refused"
	if failed(e) {
		verb = ".failed"
	}
	if rq.signsOut {
		rq.audit("sign_out.failed", e.Code, reason(e), e.Err)
		return
	}
	rq.audit("sign_in"+verb, e.Code, reason(e), e.Err)
}

// WithActor returns a context that says who calls methods of a Service, if this is not
// the application on behalf of the user. Audit events then have actor as Actor, and are
// stored when the call returns. An operator at the command line is "cli:" and the name
// of the operating system's user, such as "cli:root".
func WithActor(ctx context.Context, actor string) context.Context { return audit.WithActor(ctx, actor) }

// AuditNames returns the names of all audit events, in the order of docs/audit.md.
func AuditNames() (names []string) {
	for _, k := range allEvents() {
		names = append(names, k.Name)
	}
	return names
}

// checkAudit checks AuditOptions. It also wraps the log, so that all lines of the
// engine are plain text.
func checkAudit(b *builder, s *audit.Log) {
	s.Log = slog.New(plainlog.Handler(s.Log.Handler()))
	o := b.config.Audit
	keep := o.Keep
	if keep == 0 {
		keep = 8760 * time.Hour
	}
	if keep < time.Hour {
		b.fail("Audit.Keep", "must be at least 1h", "use a duration such as 8760h")
	}
	if !o.Store {
		return
	}
	store, ok := s.Adapter.(authsvc.AuditLog)
	if !ok {
		b.fail("Audit.Store", "is set, but the storage cannot keep audit events", "set Adapter to an AuditLog, or use only the log").Code = "audit_without_storage"
		return
	}
	s.KeepIn(store, keep)
}
