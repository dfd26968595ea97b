package redis

import (
	"context"
	"errors"
	"time"

	"authsvc"
)

var proveBeside = again("prove_beside")

// mendTime is how long taking back a session may take when the call that
// stored it failed.
const mendTime = 2 * time.Second

// Beside returns a store that keeps users, accounts and meta in main, and
// sessions, links, mails, used keys, revocations, permits and leases in store.
// Audit events stay in main, if it keeps them. Closing both is for the caller.
//
// No step spans two stores. What holds nevertheless, also when the process
// dies in between:
//
//   - A session counts only while its user is in main. SignUp therefore
//     stores the session first and DeleteUser deletes the user first: the
//     step in main is the one that decides.
//   - CreateSession stores the session and then looks for the user, so one
//     that races with DeleteUser either sees that the user is gone, or is
//     seen and ended by it.
//   - ProveEmail ends what the user had in Redis before and after the step in
//     main: a session that slipped in between, by an account that main was
//     about to remove, is gone when ProveEmail returns. If it fails, the
//     address counts as proved or the next proof does all of it again. Of two
//     first proofs at once, the later may end the session of the earlier.
//   - Repeating a step that failed finishes it.
func Beside(main authsvc.Adapter, store *Store) authsvc.Adapter {
	b := &beside{main, store}
	if audit, ok := main.(authsvc.AuditLog); ok {
		return besideWithAudit{b, audit}
	}
	return b
}

type besideWithAudit struct {
	*beside
	authsvc.AuditLog // of main
}

type beside struct {
	authsvc.Adapter // main: what is not below
	store           *Store
}

// take back a session that was stored for a step that then failed.
func (b *beside) takeBack(ctx context.Context, token string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mendTime)
	defer cancel()
	_, _ = b.store.DeleteSession(ctx, token) // nobody was given it
}

// SignUp implements [authsvc.Adapter].
func (b *beside) SignUp(ctx context.Context, u authsvc.User, a *authsvc.Account, s *authsvc.SessionRecord) (authsvc.User, error) {
	if s == nil {
		return b.Adapter.SignUp(ctx, u, a, nil)
	}
	first := *s
	first.UserID = u.ID
	first, err := b.store.createSession(ctx, first, true)
	if err != nil {
		return authsvc.User{}, err
	}
	got, err := b.Adapter.SignUp(ctx, u, a, nil)
	if err != nil {
		b.takeBack(ctx, first.SessionToken)
		return authsvc.User{}, err
	}
	if got.ID != u.ID { // main gives its own ids
		b.takeBack(ctx, first.SessionToken)
		first.UserID = got.ID
		if first, err = b.store.createSession(ctx, first, true); err != nil {
			return authsvc.User{}, err
		}
	}
	*s = first
	return got, nil
}

// DeleteUser implements [authsvc.Adapter].
func (b *beside) DeleteUser(ctx context.Context, id string) error {
	err := b.Adapter.DeleteUser(ctx, id)
	if err != nil && !errors.Is(err, authsvc.ErrNotFound) {
		return err
	}
	if _, ended := b.store.EndSessions(ctx, id, nil); ended != nil {
		return ended
	}
	return err
}

// CreateSession implements [authsvc.Adapter].
func (b *beside) CreateSession(ctx context.Context, s authsvc.SessionRecord) (authsvc.SessionRecord, error) {
	s, err := b.store.createSession(ctx, s, true)
	if err != nil {
		return authsvc.SessionRecord{}, err
	}
	if _, err := b.GetUser(ctx, s.UserID); err != nil {
		b.takeBack(ctx, s.SessionToken)
		return authsvc.SessionRecord{}, err
	}
	return s, nil
}

// GetSession implements [authsvc.Adapter].
func (b *beside) GetSession(ctx context.Context, token, _ string) (authsvc.SessionRecord, authsvc.User, error) {
	s, _, err := b.store.getSession(ctx, token)
	if err != nil {
		return authsvc.SessionRecord{}, authsvc.User{}, err
	}
	u, err := b.GetUser(ctx, s.UserID)
	if err != nil {
		return authsvc.SessionRecord{}, authsvc.User{}, err
	}
	return s, u, nil
}

// ProveEmail implements [authsvc.Adapter].
func (b *beside) ProveEmail(ctx context.Context, p authsvc.Proof) (authsvc.User, []authsvc.Account, error) {
	u, err := b.GetUser(ctx, p.UserID)
	if err != nil {
		return authsvc.User{}, nil, err
	}
	first := u.EmailVerified.IsZero() && !p.Keep
	if first {
		if err := b.proveBeside(ctx, p); err != nil {
			return authsvc.User{}, nil, err
		}
	}
	inMain := p
	inMain.Revoke = nil
	u, removed, err := b.Adapter.ProveEmail(ctx, inMain)
	if err == nil && (first || len(removed) > 0) { // main has the last word on what is first
		err = b.proveBeside(ctx, p)
	}
	if err != nil {
		return authsvc.User{}, nil, err
	}
	return u, removed, nil
}

func (b *beside) proveBeside(ctx context.Context, p authsvc.Proof) error {
	args := append([]any{p.UserID, p.Email}, revocationFields(p.Revoke)...)
	return b.store.do(ctx, proveBeside, []string{b.store.key("sessions", p.UserID)}, args...)
}

// Sweep implements [authsvc.Adapter].
func (b *beside) Sweep(ctx context.Context, now time.Time, limit int) (int, error) {
	n, err := b.store.Sweep(ctx, now, limit)
	if err != nil {
		return n, err
	}
	rest, err := b.Adapter.Sweep(ctx, now, limit-n) // from before Redis was there
	return n + rest, err
}

// Ping implements [authsvc.Adapter].
func (b *beside) Ping(ctx context.Context) error {
	return errors.Join(b.Adapter.Ping(ctx), b.store.Ping(ctx))
}
