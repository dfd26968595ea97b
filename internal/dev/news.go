package dev

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/text/plainlog"
)

// quiet drops log lines about normal operation, because tell reports them more briefly.
// It reports why a sign-in was refused to refused.
type quiet struct {
	slog.Handler
	refused func(request, cause string)
}

// Enabled implements [slog.Handler].
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// Handle implements [slog.Handler].
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "sign-in refused" {
		attrs := map[string]string{}
		r.Attrs(func(a slog.Attr) bool { attrs[a.Key] = a.Value.String(); return true })
		cause := attrs["cause"]
		if fix := attrs["fix"]; fix != "" {
			cause += "; " + fix
		}
		q.refused(attrs["request"], cause)
	}
	if r.Level < slog.LevelWarn || !q.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return q.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attrs), q.refused}
}

// WithGroup implements [slog.Handler].
func (q quiet) WithGroup(name string) slog.Handler {
	return quiet{q.Handler.WithGroup(name), q.refused}
}

// inLog is the reason of an event whose cause has no fixed text. The cause is in the
// log line that follows the event.
const inLog = "the log line of this request says why"

// refused prints an event that tell deferred to its log line, with the cause.
func (w *world) refused(request, cause string) {
	if v, ok := w.untold.LoadAndDelete(request); ok {
		w.print(v.(authsvc.AuditEvent), sentence(v.(authsvc.AuditEvent), cause+w.removed()))
	}
}

// tell prints a line about a sign-in or its result.
func (w *world) tell(ctx context.Context, e authsvc.AuditEvent) {
	line := ""
	switch e.Name {
	case "sign_in.succeeded":
		line = w.person(ctx, e.UserID) + " signed in with " + w.wayIn(e.Provider)
	case "sign_out.succeeded":
		line = w.person(ctx, e.UserID) + " signed out"
	case "email.requested":
		line = "a link was mailed: " + w.local + "/inbox"
	case "email.change_requested":
		line = "a change of address was requested; its mails: " + w.local + "/inbox"
	case "change.undone":
		line = "a change of " + w.person(ctx, e.UserID) + " was undone; its mails: " + w.local + "/inbox"
	case "notice.sent":
		line = "a notice was mailed: " + w.local + "/inbox"
	case "account.linked":
		line = w.person(ctx, e.UserID) + " added " + w.wayIn(e.Provider)
	case "service.started", "service.stopped":
		return
	default:
		if e.Outcome == authsvc.AuditSuccess {
			return
		}
		if e.Reason == inLog {
			w.untold.Store(e.RequestID, e)
			return
		}
		cause := e.Reason
		if about, count, found := strings.Cut(cause, " says why ("); found { // the line of that request is here
			cause = strings.Replace(about, "the log line of", "as in", 1) + " (" + count
		}
		line = sentence(e, cause+w.advice(ctx, e)+w.removed())
	}
	w.print(e, line)
}

// print prints a line about an event.
func (w *world) print(e authsvc.AuditEvent, line string) {
	fmt.Fprintf(w.Out, "%s  %s\n", e.Time.Local().Format(time.TimeOnly), plainlog.Text(line))
}

// advice returns what to do about an address that belongs to another user, or "". Only
// dev may say this: to others, it would tell how that user signs in.
func (w *world) advice(ctx context.Context, e authsvc.AuditEvent) string {
	if e.Name != "account.not_linked" {
		return ""
	}
	accounts, err := w.store.ListAccounts(ctx, e.UserID)
	if err != nil {
		w.Log.Warn("cannot read how a user signs in", "err", err)
		return ""
	}
	var ways []string
	for _, a := range accounts {
		if way := w.wayIn(a.Provider); !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	if ways == nil {
		ways = []string{w.wayIn("email")}
	}
	return fmt.Sprintf("; %s signs in with %s: sign in that way, then add %s at Your account, or choose another person",
		w.person(ctx, e.UserID), strings.Join(ways, " or "), w.wayIn(e.Provider))
}

// person returns the name of a user in a line.
func (w *world) person(ctx context.Context, id string) string {
	u, err := w.store.GetUser(ctx, id)
	switch {
	case err != nil:
		return "a user"
	case u.Email != "":
		return u.Email
	case u.Name != "":
		return u.Name
	}
	return id
}

// wayIn returns the name of a provider in a line.
func (w *world) wayIn(id string) string {
	switch id {
	case providerID:
		return providerName
	case "email":
		return "a mailed link"
	}
	return id
}
