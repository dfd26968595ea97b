// Package audit records what happened: to the log, to Events.Audit and, if it is to
// be kept, to the store. It knows no HTTP.
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

// A Kind describes the events of one name.
type Kind struct {
	Name    string
	Outcome authsvc.AuditOutcome
	Meaning string // one line of docs/audit.md
}

// A Log records audit events: it writes them to the log of the program, tells
// Events.Audit of them and, if they are to be kept, stores them.
type Log struct {
	*fleet.Given
	fleet      *fleet.Fleet
	queue      *queue                          // nil: audit events are not stored
	repeats    *repeats                        // of audit events about refusals
	stopLogged sync.Once                       // service.stopped is recorded
	outcomes   map[string]authsvc.AuditOutcome // by the names of events
}

// New makes an auditor that knows no events; see Know.
func New(g *fleet.Given, fl *fleet.Fleet) *Log {
	return &Log{Given: g, fleet: fl, outcomes: map[string]authsvc.AuditOutcome{}, repeats: newRepeats(false)}
}

// Know adds the events of a table. Call it before anything is recorded.
func (au *Log) Know(table []Kind) {
	for _, k := range table {
		au.outcomes[k.Name] = k.Outcome
	}
}

// KeepIn has events stored, for as long as keep.
func (au *Log) KeepIn(store authsvc.AuditLog, keep time.Duration) {
	au.queue = newQueue(store, au.Log, keep)
}

// Store returns where events are stored, nil if they are not.
func (au *Log) Store() authsvc.AuditLog {
	if au.queue == nil {
		return nil
	}
	return au.queue.store
}

// RecordEach ends the counting of repetitions: each event is recorded.
func (au *Log) RecordEach() { au.repeats = newRepeats(true) }

// Start begins to store events in the background, until stop.
func (au *Log) Start() {
	if au.queue != nil {
		go au.queue.run()
	}
}

// Stop records the end of the service, if it began and nothing follows it, and
// stores the queued events. It is called after everything that may record.
func (au *Log) Stop() {
	au.flushRepeats()
	au.stopLogged.Do(func() { au.Record(context.Background(), authsvc.AuditEvent{Name: "service.stopped"}) })
	if au.queue != nil {
		au.queue.end()
		<-au.queue.done
	}
}

// LeaveOut keeps stop from recording the end of the service: another one follows it, or
// it never began.
func (au *Log) LeaveOut() { au.stopLogged.Do(func() {}) }

// outcomeOf is AuditFailed for what is not known; a test knows every name that is in use.
func (au *Log) outcomeOf(name string) authsvc.AuditOutcome {
	if outcome, known := au.outcomes[name]; known {
		return outcome
	}
	return authsvc.AuditFailed
}

// Limits of the texts of an event, in bytes.
const (
	MaxAuditText = 255
	MaxAgent     = 200
)

// Record writes an audit event to the log, queues it for the store and calls
// Events.Audit.
func (au *Log) Record(ctx context.Context, e authsvc.AuditEvent) {
	e = au.announce(ctx, e)
	if au.queue != nil {
		au.queue.add(authsvc.AuditRecord{ID: seal.UUIDv7(), AuditEvent: e})
	}
}

// RecordAtOnce is record for what an operator does, also by a service that was
// only prepared, which stores no queued events: when it returns, the event is
// stored, or the log says why not.
func (au *Log) RecordAtOnce(ctx context.Context, e authsvc.AuditEvent) {
	e = au.announce(ctx, e)
	if au.queue == nil {
		return
	}
	ctx, cancel := fleet.Detached(ctx, storeTimeout)
	defer cancel()
	if err := au.queue.store.PutAudit(ctx, []authsvc.AuditRecord{{ID: seal.UUIDv7(), AuditEvent: e}}); err != nil {
		au.Log.Error("an audit event that is in the log did not get into the store", "event", e.Name, "err", err)
	}
}

// actorKey is where a context has an actor.
type actorKey struct{}

// WithActor returns a context whose events have the actor.
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// ActorOf returns the actor of a context, "" for none.
func ActorOf(ctx context.Context) string {
	actor, _ := ctx.Value(actorKey{}).(string)
	return actor
}

// RecordAct records what a method of Service did. more adds to the reason.
func (au *Log) RecordAct(ctx context.Context, e authsvc.AuditEvent, more ...string) {
	if ActorOf(ctx) == "" {
		e.Reason = strings.Join(append(more, "by the application"), ", ")
		au.Record(ctx, e)
		return
	}
	e.Reason = strings.Join(append(more, "by an operator"), ", ")
	au.RecordAtOnce(ctx, e)
}

// announce completes an event, writes it to the log and calls Events.Audit.
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

// AsRecorded is a text as events have it: printable, and not too long.
func AsRecorded(s string) string { return PlainText(s, MaxAuditText) }

// PlainText makes a text printable and at most limit bytes long.
func PlainText(s string, limit int) string {
	return text.Shortened(plainlog.Text(text.Shortened(s, limit)), limit)
}

// plain makes the texts of an event printable and bounds their length.
func plain(e *authsvc.AuditEvent) {
	for field, limit := range map[*string]int{&e.Reason: MaxAuditText, &e.Provider: MaxAuditText, &e.UserID: MaxAuditText, &e.Actor: MaxAuditText,
		&e.ClientIP: MaxAuditText, &e.RequestID: MaxAuditText, &e.UserAgent: MaxAgent} {
		*field = PlainText(*field, limit)
	}
	e.Code = authsvc.ErrorCode(text.Shortened(plainlog.Text(string(e.Code)), MaxAuditText))
}
