package redis

import (
	"context"

	"authsvc/adapter"
	"authsvc/internal/seal"
)

var (
	signUp      = nonIdempotent("sign_up")
	proveEmail  = nonIdempotent("prove_email")
	sessionsEnd = nonIdempotent("session_end")
)

// SignUp implements [adapter.Adapter]. An earlier user left nothing but revocations,
// because only DeleteUser removes users.
func (s *Store) SignUp(ctx context.Context, u adapter.User, a *adapter.Account, rec *adapter.SessionRecord, locale string, r *adapter.Revocation) (adapter.User, error) {
	var firstAccount adapter.Account
	var firstSession adapter.SessionRecord
	if a != nil {
		firstAccount = *a
		firstAccount.UserID = u.ID
	}
	if rec != nil {
		if rec.Digest == "" {
			return adapter.User{}, errNoDigest
		}
		firstSession = storedSession(*rec)
		firstSession.UserID = u.ID
	}
	args := append(userFields(u), a != nil)
	args = append(args, accountFields(firstAccount)...)
	args = append(append(args, sessionFields(firstSession)...), locale)
	if seal.IsUUID(u.ID) {
		r = nil
	}
	if r != nil {
		r.CoverUser(u.ID)
	}
	args = append(args, revocationFields(r)...)
	list, err := s.list(ctx, signUp, []string{s.key("user", u.ID)}, args...)
	if err != nil {
		return adapter.User{}, err
	}
	u = row{list}.user()
	if r != nil {
		r.Seq = u.SessionEpoch
	}
	if a != nil {
		*a = firstAccount
	}
	if rec != nil {
		*rec = firstSession
	}
	return u, nil
}

// ProveEmail implements [adapter.Adapter].
func (s *Store) ProveEmail(ctx context.Context, p adapter.Proof) (adapter.User, []adapter.Account, error) {
	args := append([]any{p.UserID, p.Email, p.Epoch, optional(p.At), p.Keep}, revocationFields(p.Revoke)...)
	args = append(args, p.Pending)
	list, err := s.list(ctx, proveEmail, []string{s.key("user", p.UserID)}, args...)
	if err != nil {
		return adapter.User{}, nil, err
	}
	if p.Revoke != nil {
		p.Revoke.Seq = rowOf(list[2]).number(0)
	}
	return rowOf(list[0]).user(), accounts(rowOf(list[1]).fields), nil
}

// EndSessions implements [adapter.Adapter].
func (s *Store) EndSessions(ctx context.Context, userID string, r *adapter.Revocation) (int, error) {
	args := append([]any{userID}, revocationFields(r)...)
	list, err := s.list(ctx, sessionsEnd, []string{s.key("sessions", userID)}, args...)
	r.Seq = row{list}.number(1)
	return int(row{list}.number(0)), err
}
