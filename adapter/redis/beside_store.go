package redis

import (
	"context"
	"errors"
	"time"

	"authsvc/adapter"
)

// Methods for records that are only in Redis.

// UpdateSession implements [adapter.Adapter].
func (b *beside) UpdateSession(ctx context.Context, s adapter.SessionRecord) error {
	return b.store.UpdateSession(ctx, s)
}

// DeleteSession implements [adapter.Adapter].
func (b *beside) DeleteSession(ctx context.Context, token string) (adapter.SessionRecord, error) {
	return b.store.DeleteSession(ctx, token)
}

// DeleteSessionOf implements [adapter.Adapter].
func (b *beside) DeleteSessionOf(ctx context.Context, userID, digest string) (adapter.SessionRecord, error) {
	return b.store.DeleteSessionOf(ctx, userID, digest)
}

// TouchSessions implements [adapter.Adapter].
func (b *beside) TouchSessions(ctx context.Context, seen []adapter.SessionSeen) error {
	return b.store.TouchSessions(ctx, seen)
}

// PutMail implements [adapter.Adapter].
func (b *beside) PutMail(ctx context.Context, m adapter.Mail, maxQueued int) error {
	return b.store.PutMail(ctx, m, maxQueued)
}

// PutToken implements [adapter.Adapter].
func (b *beside) PutToken(ctx context.Context, t adapter.VerificationToken, m adapter.Mail, maxQueued int) error {
	return b.store.PutToken(ctx, t, m, maxQueued)
}

// GetToken implements [adapter.Adapter].
func (b *beside) GetToken(ctx context.Context, identifier, token string) (adapter.VerificationToken, error) {
	return b.store.GetToken(ctx, identifier, token)
}

// TakeToken implements [adapter.Adapter]. Users are in main.
func (b *beside) TakeToken(ctx context.Context, identifier, token string, now time.Time) (adapter.VerificationToken, adapter.User, error) {
	t, _, err := b.store.TakeToken(ctx, identifier, token, now)
	if err != nil {
		return adapter.VerificationToken{}, adapter.User{}, err
	}
	u, err := b.GetUserByEmail(ctx, identifier)
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return t, adapter.User{}, nil
	case err != nil:
		return adapter.VerificationToken{}, adapter.User{}, err
	}
	return t, u, nil
}

// VoidTokens implements [adapter.Adapter].
func (b *beside) VoidTokens(ctx context.Context, identifier string) error {
	return b.store.VoidTokens(ctx, identifier)
}

// ClaimMail implements [adapter.Adapter].
func (b *beside) ClaimMail(ctx context.Context, now, retry time.Time) (adapter.Mail, error) {
	return b.store.ClaimMail(ctx, now, retry)
}

// DelayMail implements [adapter.Adapter].
func (b *beside) DelayMail(ctx context.Context, id string, due time.Time) error {
	return b.store.DelayMail(ctx, id, due)
}

// DeleteMail implements [adapter.Adapter].
func (b *beside) DeleteMail(ctx context.Context, id string) error {
	return b.store.DeleteMail(ctx, id)
}

// UseOnce implements [adapter.Adapter].
func (b *beside) UseOnce(ctx context.Context, key string, expires time.Time) error {
	return b.store.UseOnce(ctx, key, expires)
}

// Permit implements [adapter.Adapter].
func (b *beside) Permit(ctx context.Context, now time.Time, list ...adapter.Quota) (int, time.Duration, error) {
	return b.store.Permit(ctx, now, list...)
}

// Lease implements [adapter.Adapter].
func (b *beside) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	return b.store.Lease(ctx, name, holder, now, until)
}

// Release implements [adapter.Adapter].
func (b *beside) Release(ctx context.Context, name, holder string) error {
	return b.store.Release(ctx, name, holder)
}
