package main

import (
	"context"
	"io"
	"log/slog"

	"authsvc/internal/dev"
)

// runDev is `authsvc dev`. No configuration of serve reaches it.
func runDev(ctx context.Context, dir, host string, port int, stdout, stderr io.Writer) error {
	return dev.Run(ctx, dev.Options{
		Dir: dir, Host: host, Port: port, Out: stdout,
		Log: slog.New(slog.NewTextHandler(stderr, nil)),
	})
}
