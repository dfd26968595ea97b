// Package audit writes audit events to the program's log, passes them to Events.Audit
// and, if configured, stores them. It does not depend on HTTP.
package audit

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"authsvc"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal"
	"authsvc/internal/text"
	"authsvc/internal/text/plainlog"
)

// A Kind describes the audit events of one name.
type Kind struct {
	Name    string
	Outcome authsvc.AuditOutcome
	Meaning string // one line of docs/audit.md
	SignIn  bool   // it is the result of a sign-in if it has a provider
}

// A Log records audit events: it writes them to the program's log, calls Events.Audit
// and, if configured, stores them.
type Log struct {
	*fleet.Common
	fleet      *fleet.Fleet
	queue      *queue          // nil: audit events are not stored
	repeats    *repeats        // counts repeated refusals and failures
	stopLogged sync.Once       // records service.stopped at most once
	kinds      map[string]Kind // by event name
	counts     *counts
}

// New returns a Log that knows no events yet; see Know.
func New(g *fleet.Common, fl *fleet.Fleet) *Log {
	return &Log{Common: g, fleet: fl, kinds: map[string]Kind{}, repeats: newRepeats(false), counts: &counts{}}
}

// Know adds the events of a table. Call it before recording any event.
func (au *Log) Know(table []Kind) {
	for _, k := range table {
		au.kinds[k.Name] = k
	}
}

// KeepIn makes the log store its events in store, and delete them after keep.
func (au *Log) KeepIn(store authsvc.AuditLog, keep time.Duration) {
	au.queue = newQueue(store, au.Log, keep)
}

// Store returns the store of the events, nil if they are not stored.
func (au *Log) Store() authsvc.AuditLog {
	if au.queue == nil {
		return nil
	}
	return au.queue.store
}

// RecordEach stops the counting of repetitions: every event is then recorded.
func (au *Log) RecordEach() { au.repeats = newRepeats(true) }

// Start starts storing events in the background, until Stop.
func (au *Log) Start() {
	if au.queue != nil {
		go au.queue.run()
	}
}

// Stop records service.stopped, unless LeaveOut was called, and stores the queued
// events. Call it after everything else that records events.
func (au *Log) Stop() {
	au.flushRepeats()
	au.stopLogged.Do(func() { au.Record(context.Background(), authsvc.AuditEvent{Name: "service.stopped"}) })
	if au.queue != nil {
		au.queue.end()
		<-au.queue.done
	}
}

// LeaveOut keeps Stop from recording service.stopped: another service takes over, or
// this one never started.
func (au *Log) LeaveOut() { au.stopLogged.Do(func() {}) }

// outcomeOf returns the outcome of an event, AuditFailed if its name is not known. A
// test checks that every name in use is known.
func (au *Log) outcomeOf(name string) authsvc.AuditOutcome {
	if kind, known := au.kinds[name]; known {
		return kind.Outcome
	}
	return authsvc.AuditFailed
}

// Longest texts of an event, in bytes.
const (
	MaxAuditText = 255
	MaxAgent     = 200
)

// Record writes an audit event to the program's log, calls Events.Audit and queues the
// event for the store.
func (au *Log) Record(ctx context.Context, e authsvc.AuditEvent) {
	au.count(e)
	au.record(ctx, e)
}

// record is Record for an event that is already counted.
func (au *Log) record(ctx context.Context, e authsvc.AuditEvent) {
	e = au.announce(ctx, e)
	if au.queue != nil {
		au.queue.add(authsvc.AuditRecord{ID: seal.UUIDv7(), AuditEvent: e})
	}
}

// RecordAtOnce records an event without the queue: when it returns, the event is
// stored, or the log says why not. It is for what an operator does, also with a service
// that was only prepared and therefore stores no queued events.
func (au *Log) RecordAtOnce(ctx context.Context, e authsvc.AuditEvent) {
	au.count(e)
	e = au.announce(ctx, e)
	if au.queue == nil {
		return
	}
	ctx, cancel := fleet.Detached(ctx, storeTimeout)
	defer cancel()
	if err := au.queue.store.PutAudit(ctx, []authsvc.AuditRecord{{ID: seal.UUIDv7(), AuditEvent: e}}); err != nil {
		au.Log.Error("an audit event is in the log, but was not stored", "event", e.Name, "err", err)
	}
}

// actorKey is the context key of an actor.
type actorKey struct{}

// WithActor returns a context whose events have the actor.
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// ActorOf returns the actor of a context, "" if it has none.
func ActorOf(ctx context.Context) string {
	actor, _ := ctx.Value(actorKey{}).(string)
	return actor
}

// RecordAct records a call of a method of Service. The reason of the event consists of
// more and the caller: an operator if ctx has an actor, else the application.
func (au *Log) RecordAct(ctx context.Context, e authsvc.AuditEvent, more ...string) {
	if ActorOf(ctx) == "" {
		e.Reason = strings.Join(append(more, "by the application"), ", ")
		au.Record(ctx, e)
		return
	}
	e.Reason = strings.Join(append(more, "by an operator"), ", ")
	au.RecordAtOnce(ctx, e)
}

// announce completes an event, writes it to the program's log and calls Events.Audit.
func (au *Log) announce(ctx context.Context, e authsvc.AuditEvent) authsvc.AuditEvent {
	if e.Actor == "" {
		e.Actor = ActorOf(ctx)
	}
	e.Time, e.Outcome = au.fleet.Now().UTC().Truncate(time.Millisecond), au.outcomeOf(e.Name)
	plain(&e)
	attrs := []slog.Attr{slog.String("event", e.Name), slog.String("outcome", string(e.Outcome)), slog.String("utc", e.Time.Format(text.TimeFormat))}
	for _, a := range [][2]string{{"code", string(e.Code)}, {"reason", e.Reason}, {"provider", e.Provider}, {"user", e.UserID}, {"actor", e.Actor},
		{"client", e.ClientIP}, {"agent", e.UserAgent}, {"request", e.RequestID}} {
		if a[1] != "" {
			attrs = append(attrs, slog.String(a[0], a[1]))
		}
	}
	au.Log.LogAttrs(ctx, slog.LevelInfo, "audit", attrs...)
	if au.Events.Audit != nil {
		au.fleet.Emit("audit", func() { au.Events.Audit(ctx, e) })
	}
	return e
}

// AsRecorded returns s as events contain it: printable and not too long.
func AsRecorded(s string) string { return PlainText(s, MaxAuditText) }

// PlainText makes s printable and at most limit bytes long.
func PlainText(s string, limit int) string {
	return text.Shortened(plainlog.Text(text.Shortened(s, limit)), limit)
}

// plain makes the texts of an event printable and limits their length.
func plain(e *authsvc.AuditEvent) {
	for field, limit := range map[*string]int{&e.Reason: MaxAuditText, &e.Provider: MaxAuditText, &e.UserID: MaxAuditText, &e.Actor: MaxAuditText,
		&e.ClientIP: MaxAuditText, &e.RequestID: MaxAuditText, &e.UserAgent: MaxAgent} {
		*field = PlainText(*field, limit)
	}
	e.Code = authsvc.ErrorCode(text.Shortened(plainlog.Text(string(e.Code)), MaxAuditText))
}
