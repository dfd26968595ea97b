package dev

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"authsvc"
	"authsvc/internal/plainlog"
)

// quiet is a log without what goes as it should: tell says that in fewer words.
type quiet struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

// WithAttrs implements [slog.Handler].
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup implements [slog.Handler].
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// tell prints a line about a sign-in, or what became of it.
func (w *world) tell(ctx context.Context, e authsvc.AuditEvent) {
	line := ""
	switch e.Name {
	case "sign_in.succeeded":
		line = w.person(ctx, e.UserID) + " signed in with " + w.wayIn(e.Provider)
	case "sign_out.succeeded":
		line = w.person(ctx, e.UserID) + " signed out"
	case "email.requested":
		line = "a link was mailed: " + w.local + "/inbox"
	case "account.linked":
		line = w.person(ctx, e.UserID) + " added " + w.wayIn(e.Provider)
	case "service.started", "service.stopped":
		return
	default:
		if e.Outcome == authsvc.AuditSuccess {
			return
		}
		line = string(e.Name) + ": " + e.Reason
	}
	fmt.Fprintf(w.Out, "%s  %s\n", e.Time.Local().Format(time.TimeOnly), plainlog.Text(line))
}

// person is what a user is called in a line.
func (w *world) person(ctx context.Context, id string) string {
	u, err := w.store.GetUser(ctx, id)
	switch {
	case err != nil:
		return "somebody"
	case u.Email != "":
		return u.Email
	case u.Name != "":
		return u.Name
	}
	return id
}

// wayIn is what a provider is called in a line.
func (w *world) wayIn(id string) string {
	switch id {
	case providerID:
		return providerName
	case "email":
		return "a mailed link"
	}
	return id
}
