package engine

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/plainlog"
	"authsvc/internal/text"
	"authsvc/internal/uuid"
)

// An auditKind describes the events of one name.
type auditKind struct {
	name    string
	outcome authsvc.AuditOutcome
	meaning string // one line of docs/audit.md
}

// know makes the events of a storey or room known.
func (au *auditor) know(kinds []auditKind) {
	for _, k := range kinds {
		au.outcomes[k.name] = k.outcome
	}
}

// outcomeOf is AuditFailed for what is not known; a test knows every name that is in use.
func (au *auditor) outcomeOf(name string) authsvc.AuditOutcome {
	if outcome, known := au.outcomes[name]; known {
		return outcome
	}
	return authsvc.AuditFailed
}

// Limits of the texts of an event, in bytes.
const (
	maxAuditText = 255
	maxAgent     = 200
)

// audit records the result of a request. Each request has at most one such
// event; note is for facts on the way. It reports whether the event was
// recorded, rather than counted as a repetition: then log lines about the same
// are to be written, too.
func (rq *request) audit(name string, code authsvc.ErrorCode, reason string) (recorded bool) {
	rq.audited = true
	rq.quiet = !rq.note(authsvc.AuditEvent{Name: name, Code: code, Reason: reason, UserID: rq.auditUser})
	return !rq.quiet
}

// note records an event with the client of the request. It reports what audit
// does.
func (rq *request) note(e authsvc.AuditEvent) (recorded bool) {
	if e.Provider == "" {
		e.Provider = rq.providerID()
	}
	if ip := rq.clientIP(); ip.IsValid() {
		e.ClientIP = ip.String()
	}
	e.RequestID, e.UserAgent = rq.requestID(), rq.r.UserAgent()
	return rq.auditor.recordLimited(rq.ctx, rq.networkKey(), e)
}

// record writes an audit event to the log, queues it for the store and calls
// Events.Audit.
func (au *auditor) record(ctx context.Context, e authsvc.AuditEvent) {
	e = au.announce(ctx, e)
	if au.auditQueue != nil {
		au.auditQueue.add(authsvc.AuditRecord{ID: uuid.V7(), AuditEvent: e})
	}
}

// recordAtOnce is record for what an operator does, also by a service that was
// only prepared, which stores no queued events: when it returns, the event is
// stored, or the log says why not.
func (au *auditor) recordAtOnce(ctx context.Context, e authsvc.AuditEvent) {
	e = au.announce(ctx, e)
	if au.auditQueue == nil {
		return
	}
	ctx, cancel := detached(ctx, auditTimeout)
	defer cancel()
	if err := au.auditQueue.store.PutAudit(ctx, []authsvc.AuditRecord{{ID: uuid.V7(), AuditEvent: e}}); err != nil {
		au.log.Error("an audit event that is in the log did not get into the store", "event", e.Name, "err", err)
	}
}

// actorKey is where a context has an actor.
type actorKey struct{}

// WithActor says who is behind calls of a Service with the context, when that is
// not the application on behalf of the user: audit events then have it as Actor,
// and are in the store when the call returns. An operator at the command line is
// "cli:" and the name of the account.
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

func actorOf(ctx context.Context) string {
	actor, _ := ctx.Value(actorKey{}).(string)
	return actor
}

// recordAct records what a method of Service did. more adds to the reason.
func (au *auditor) recordAct(ctx context.Context, e authsvc.AuditEvent, more ...string) {
	if actorOf(ctx) == "" {
		e.Reason = strings.Join(append(more, "by the application"), ", ")
		au.record(ctx, e)
		return
	}
	e.Reason = strings.Join(append(more, "by an operator"), ", ")
	au.recordAtOnce(ctx, e)
}

// announce completes an event, writes it to the log and calls Events.Audit.
func (au *auditor) announce(ctx context.Context, e authsvc.AuditEvent) authsvc.AuditEvent {
	if e.Actor == "" {
		e.Actor = actorOf(ctx)
	}
	e.Time, e.Outcome = au.fleet.now().UTC().Truncate(time.Millisecond), au.outcomeOf(e.Name)
	plain(&e)
	attrs := []slog.Attr{slog.String("event", e.Name), slog.String("outcome", string(e.Outcome)), slog.String("utc", e.Time.Format(text.TimeFormat))}
	for _, a := range [][2]string{{"code", string(e.Code)}, {"reason", e.Reason}, {"provider", e.Provider}, {"user", e.UserID}, {"actor", e.Actor},
		{"client", e.ClientIP}, {"agent", e.UserAgent}, {"request", e.RequestID}} {
		if a[1] != "" {
			attrs = append(attrs, slog.String(a[0], a[1]))
		}
	}
	au.log.LogAttrs(ctx, slog.LevelInfo, "audit", attrs...)
	if au.events.Audit != nil {
		au.fleet.emit("audit", func() { au.events.Audit(ctx, e) })
	}
	return e
}

// plain makes the texts of an event printable and bounds their length.
func plain(e *authsvc.AuditEvent) {
	for field, limit := range map[*string]int{&e.Reason: maxAuditText, &e.Provider: maxAuditText, &e.UserID: maxAuditText, &e.Actor: maxAuditText,
		&e.ClientIP: maxAuditText, &e.RequestID: maxAuditText, &e.UserAgent: maxAgent} {
		*field = text.Shortened(plainlog.Text(text.Shortened(*field, limit)), limit)
	}
	e.Code = authsvc.ErrorCode(text.Shortened(plainlog.Text(string(e.Code)), maxAuditText))
}

// auditRefusal records a refusal, or a failure if it is due to a fault.
func (rq *request) auditRefusal(e *authError) {
	if rq.audited {
		return
	}
	verb := ".refused"
	if failed(e) {
		verb = ".failed"
	}
	if rq.signsOut {
		rq.audit("sign_out.failed", e.Code, reason(e))
		return
	}
	rq.audit("sign_in"+verb, e.Code, reason(e))
}

// ConfigurationChanged records that the program has taken over another
// configuration or, with an error, that it could not. The error is not part of
// the event, since it may quote what is configured: log it.
func (s *Service) ConfigurationChanged(ctx context.Context, err error) {
	if err != nil {
		s.auditor.record(ctx, authsvc.AuditEvent{Name: "configuration.change_failed", Reason: "the log says why"})
		return
	}
	s.auditor.record(ctx, authsvc.AuditEvent{Name: "configuration.changed"})
}

// checkAudit checks AuditOptions. It also wraps the log, so that all lines of
// the engine are plain text.
func checkAudit(b *builder, s *auditor) {
	s.log = slog.New(plainlog.Handler(s.log.Handler()))
	o := b.config.Audit
	keep := o.Keep
	if keep == 0 {
		keep = 8760 * time.Hour
	}
	if keep < time.Hour {
		b.fail("Audit.Keep", "is under an hour", "use a duration such as 8760h")
	}
	if !o.Store {
		return
	}
	store, ok := s.adapter.(authsvc.AuditLog)
	if !ok {
		b.fail("Audit.Store", "is set, but there is no storage that keeps audit events", "set Adapter to one that is an AuditLog, or leave the events to the log")
		return
	}
	s.auditQueue = newAuditQueue(store, s.log, keep)
}
