package main

import (
	"context"
	"log/slog"
)

// A currentLog logs as the current generation does, and as first before there is
// one. It takes no attributes and groups.
type currentLog struct {
	handlers *handlerSwitch
	initial  slog.Handler
}

func (f currentLog) handler() slog.Handler {
	if g := f.handlers.instance(); g != nil {
		return g.originHandler.log.Handler()
	}
	return f.initial
}

// Enabled implements [slog.Handler].
func (f currentLog) Enabled(ctx context.Context, l slog.Level) bool {
	return f.handler().Enabled(ctx, l)
}

// Handle implements [slog.Handler].
func (f currentLog) Handle(ctx context.Context, r slog.Record) error {
	return f.handler().Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (f currentLog) WithAttrs(attrs []slog.Attr) slog.Handler { return f.handler().WithAttrs(attrs) }

// WithGroup implements [slog.Handler].
func (f currentLog) WithGroup(name string) slog.Handler { return f.handler().WithGroup(name) }
