package main

import (
	"context"
	"log/slog"
)

// A follower logs as the current generation does, and as first before there is
// one. It takes no attributes and groups.
type follower struct {
	stage *stage
	first slog.Handler
}

func (f follower) handler() slog.Handler {
	if g := f.stage.generation(); g != nil {
		return g.front.log.Handler()
	}
	return f.first
}

// Enabled implements [slog.Handler].
func (f follower) Enabled(ctx context.Context, l slog.Level) bool { return f.handler().Enabled(ctx, l) }

// Handle implements [slog.Handler].
func (f follower) Handle(ctx context.Context, r slog.Record) error { return f.handler().Handle(ctx, r) }

// WithAttrs implements [slog.Handler].
func (f follower) WithAttrs(attrs []slog.Attr) slog.Handler { return f.handler().WithAttrs(attrs) }

// WithGroup implements [slog.Handler].
func (f follower) WithGroup(name string) slog.Handler { return f.handler().WithGroup(name) }
