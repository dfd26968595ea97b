package redis

import (
	"context"
	"errors"
	"time"

	"authsvc/adapter"
)

// maxPayload is the size limit of a queued mail, in bytes.
const maxPayload = 64 << 10

var errPayload = errors.New("redis: mail payload exceeds 64 KiB")

var (
	tokenPut   = nonIdempotent("token_put")
	tokenGet   = idempotent("token_get")
	tokenTake  = nonIdempotent("token_take")
	tokenVoid  = idempotent("token_void")
	mailPut    = nonIdempotent("mail_put")
	mailClaim  = nonIdempotent("mail_claim")
	mailDelay  = idempotent("mail_delay")
	mailDelete = idempotent("mail_delete")
)

// PutToken implements [adapter.Adapter].
func (s *Store) PutToken(ctx context.Context, t adapter.VerificationToken, m adapter.Mail, maxQueued int) error {
	if len(m.Payload) > maxPayload {
		return errPayload
	}
	keys := []string{s.key("link", t.Token), s.key("mail", m.ID)}
	return s.do(ctx, tokenPut, keys, t.Token, t.Identifier, millis(t.Expires),
		m.ID, string(m.Payload), millis(m.Due), millis(m.Expires), m.Attempts, maxQueued)
}

// PutMail implements [adapter.Adapter].
func (s *Store) PutMail(ctx context.Context, m adapter.Mail, maxQueued int) error {
	if len(m.Payload) > maxPayload {
		return errPayload
	}
	return s.do(ctx, mailPut, []string{s.key("mail", m.ID)}, m.ID, string(m.Payload), millis(m.Due), millis(m.Expires), m.Attempts, maxQueued)
}

// GetToken implements [adapter.Adapter].
func (s *Store) GetToken(ctx context.Context, identifier, token string) (adapter.VerificationToken, error) {
	list, err := s.list(ctx, tokenGet, []string{s.key("link", token)}, identifier)
	if err != nil {
		return adapter.VerificationToken{}, err
	}
	return row{list}.link(), nil
}

// TakeToken implements [adapter.Adapter].
func (s *Store) TakeToken(ctx context.Context, identifier, token string, now time.Time) (adapter.VerificationToken, adapter.User, error) {
	list, err := s.list(ctx, tokenTake, []string{s.key("link", token), s.key("links", identifier), s.key("email", identifier)}, identifier, millis(now))
	if err != nil {
		return adapter.VerificationToken{}, adapter.User{}, err
	}
	return rowOf(list[0]).link(), rowOf(list[1]).user(), nil
}

// VoidTokens implements [adapter.Adapter].
func (s *Store) VoidTokens(ctx context.Context, identifier string) error {
	return s.do(ctx, tokenVoid, []string{s.key("links", identifier)}, identifier)
}

// ClaimMail implements [adapter.Adapter].
func (s *Store) ClaimMail(ctx context.Context, now, retry time.Time) (adapter.Mail, error) {
	list, err := s.list(ctx, mailClaim, []string{s.tag + "queue"}, millis(now), millis(retry))
	if err != nil {
		return adapter.Mail{}, err
	}
	return row{list}.mail(), nil
}

// DelayMail implements [adapter.Adapter].
func (s *Store) DelayMail(ctx context.Context, id string, due time.Time) error {
	return s.do(ctx, mailDelay, []string{s.key("mail", id)}, id, millis(due))
}

// DeleteMail implements [adapter.Adapter].
func (s *Store) DeleteMail(ctx context.Context, id string) error {
	return s.do(ctx, mailDelete, []string{s.key("mail", id)}, id)
}
