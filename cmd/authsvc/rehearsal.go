package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
)

// A rehearsal is a store for finding out whether the engine would start: it
// writes nothing down, and the engine finds nothing to work on. With a key,
// the store seems to remember that value.
type rehearsal struct {
	authsvc.Adapter
	key, value string
}

// meet has the engine start over a store, and stops it.
func meet(ctx context.Context, s *config.Settings, a *rehearsal) error {
	return rehearse(ctx, s, a, func(*authsvc.Service) error { return nil })
}

// rehearse is meet with something to do in between, which may write.
func rehearse(ctx context.Context, s *config.Settings, a *rehearsal, do func(*authsvc.Service) error) error {
	c := s.Engine
	c.Adapter, c.Logger = a, slog.New(slog.DiscardHandler)
	service, err := authsvc.New(c)
	if err != nil {
		return s.Explain(err)
	}
	return errors.Join(do(service), service.Close(ctx))
}

// GetMeta implements [authsvc.Adapter].
func (r *rehearsal) GetMeta(ctx context.Context, key string) (string, error) {
	if r.key != "" && key == r.key {
		return r.value, nil
	}
	return r.Adapter.GetMeta(ctx, key)
}

// PutMeta implements [authsvc.Adapter].
func (r *rehearsal) PutMeta(ctx context.Context, key, value string) (string, error) {
	known, err := r.GetMeta(ctx, key)
	if errors.Is(err, authsvc.ErrNotFound) {
		return value, nil
	}
	return known, err
}

// ClaimMail implements [authsvc.Adapter].
func (*rehearsal) ClaimMail(context.Context, time.Time, time.Time) (authsvc.Mail, error) {
	return authsvc.Mail{}, authsvc.ErrNotFound
}

// Lease implements [authsvc.Adapter].
func (*rehearsal) Lease(context.Context, string, string, time.Time, time.Time) error {
	return authsvc.ErrConflict
}

// Release implements [authsvc.Adapter].
func (*rehearsal) Release(context.Context, string, string) error { return nil }

// PutAudit implements [authsvc.AuditLog], and so do the two below.
func (*rehearsal) PutAudit(context.Context, []authsvc.AuditRecord) error { return nil }

// ListAudit finds none.
func (*rehearsal) ListAudit(context.Context, time.Time, string, int) ([]authsvc.AuditRecord, error) {
	return nil, nil
}

// SweepAudit deletes none.
func (*rehearsal) SweepAudit(context.Context, time.Time, int) (int, error) { return 0, nil }

// Sweep implements [authsvc.Adapter].
func (*rehearsal) Sweep(context.Context, time.Time, int) (int, error) { return 0, nil }
