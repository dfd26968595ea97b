package redis

import (
	"context"
	"errors"
	"slices"
	"time"

	"authsvc"
	"authsvc/adapter"
)

// undoTimeout is how long removing a session may take after the call that stored it
// failed.
const undoTimeout = 2 * time.Second

// Beside returns an adapter that keeps users with their epochs, people with their
// credentials, accounts, revocations and meta values in main. Sessions, links, mails,
// used keys, permits and leases are in store. It implements [authsvc.AuditLog] or
// [adapter.Clock] if main does. The caller must close both.
//
// No step spans both stores; the step in main decides. A session in Redis carries the
// epoch of its user in main. It is valid only while that user exists and no revocation
// of all its sessions has a later epoch. This gives the following guarantees, even if
// the process dies between two steps:
//
//   - SignUp stores the session first; it becomes valid when the user is in main. If
//     main assigns the id or writes a revocation of the id's earlier user, SignUp stores
//     the session again, under the new id and epoch.
//   - CreateSession stores the session, then compares the epoch. If it overlaps a
//     revocation, the session is either older and ended by it, or is removed again;
//     the call then returns ErrStale.
//   - DeleteUser, EndSessions and the first proof of an address have ended all
//     earlier sessions as soon as main has done its step. Removing them from Redis
//     afterwards is only clean-up. If that fails, the call returns the error;
//     repeating the call finishes the clean-up.
//   - ProveEmail voids the other links of the address before the step in main, and
//     again after it. A link requested in between may survive if the process dies
//     at that moment.
//   - If the Redis data is lost, sessions and links are lost, but no revocation:
//     people who were signed out stay signed out.
//
// Revocations that an earlier version kept in Redis come first in the log, and apply to
// tokens without an epoch.
func Beside(main adapter.Adapter, store *Store) adapter.Adapter {
	b := &beside{main, store}
	audit, keeps := main.(authsvc.AuditLog)
	clock, has := main.(adapter.Clock)
	switch {
	case keeps && has:
		return struct {
			*beside
			authsvc.AuditLog
			adapter.Clock
		}{b, audit, clock}
	case keeps:
		return struct {
			*beside
			authsvc.AuditLog
		}{b, audit}
	case has:
		return struct {
			*beside
			adapter.Clock
		}{b, clock}
	}
	return b
}

type beside struct {
	adapter.Adapter // main; used for all methods that are not overridden
	store           *Store
}

// UserColumns implements [adapter.UserColumns]. Users are in main.
func (b *beside) UserColumns() []string {
	if columns, ok := b.Adapter.(adapter.UserColumns); ok {
		return columns.UserColumns()
	}
	return nil
}

// removeSession removes a session after the step it was stored for failed.
func (b *beside) removeSession(ctx context.Context, s adapter.SessionRecord) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	_, _ = b.store.DeleteSessionOf(ctx, s.UserID, s.Digest) // no client has received it
}

// sessionValid reports whether s is valid for u, a user of main: no revocation has
// ended it.
func sessionValid(s adapter.SessionRecord, u adapter.User) bool { return s.Epoch >= u.SessionEpoch }

// SignUp implements [adapter.Adapter].
func (b *beside) SignUp(ctx context.Context, u adapter.User, a *adapter.Account, s *adapter.SessionRecord, locale string, r *adapter.Revocation) (adapter.User, error) {
	if s == nil {
		return b.Adapter.SignUp(ctx, u, a, nil, locale, r)
	}
	epoch, err := b.GetEpoch(ctx, u.ID) // of an earlier user with that id
	if err != nil {
		return adapter.User{}, err
	}
	first := *s
	first.UserID, first.Epoch = u.ID, epoch
	first, err = b.store.createSession(ctx, first, true)
	if err != nil {
		return adapter.User{}, err
	}
	got, err := b.Adapter.SignUp(ctx, u, a, nil, locale, r)
	if err != nil {
		b.removeSession(ctx, first)
		return adapter.User{}, err
	}
	if got.ID != u.ID || got.Epoch > epoch { // main assigns its own ids, or wrote r
		b.removeSession(ctx, first)
		// The current epoch would be wrong: a later revocation may have raised it.
		first.UserID, first.Epoch = got.ID, got.Epoch
		if first, err = b.store.createSession(ctx, first, true); err != nil {
			return adapter.User{}, err
		}
	}
	*s = first
	return got, nil
}

// DeleteUser implements [adapter.Adapter].
func (b *beside) DeleteUser(ctx context.Context, id string, r *adapter.Revocation) error {
	err := b.Adapter.DeleteUser(ctx, id, r)
	if err != nil && !errors.Is(err, adapter.ErrNotFound) {
		return err
	}
	if _, ended := b.store.endSessionsBefore(ctx, id, r.Seq); ended != nil {
		return ended
	}
	return err
}

// EndSessions implements [adapter.Adapter].
func (b *beside) EndSessions(ctx context.Context, userID string, r *adapter.Revocation) (int, error) {
	if _, err := b.Adapter.EndSessions(ctx, userID, r); err != nil {
		return 0, err
	}
	return b.store.endSessionsBefore(ctx, userID, r.Seq)
}

// CreateSession implements [adapter.Adapter].
func (b *beside) CreateSession(ctx context.Context, s adapter.SessionRecord) (adapter.SessionRecord, error) {
	s, err := b.store.createSession(ctx, s, true)
	if err != nil {
		return adapter.SessionRecord{}, err
	}
	u, err := b.GetUser(ctx, s.UserID)
	if err == nil && u.Epoch != s.Epoch {
		err = adapter.ErrStale
	}
	if err != nil {
		b.removeSession(ctx, s)
		return adapter.SessionRecord{}, err
	}
	return s, nil
}

// GetSession implements [adapter.Adapter].
func (b *beside) GetSession(ctx context.Context, token, _ string) (adapter.SessionRecord, adapter.User, error) {
	s, _, err := b.store.getSession(ctx, token)
	if err != nil {
		return adapter.SessionRecord{}, adapter.User{}, err
	}
	u, err := b.GetUser(ctx, s.UserID)
	if err == nil && !sessionValid(s, u) {
		err = adapter.ErrNotFound
	}
	if err != nil {
		return adapter.SessionRecord{}, adapter.User{}, err
	}
	return s, u, nil
}

// ListSessions implements [adapter.Adapter].
func (b *beside) ListSessions(ctx context.Context, userID string) ([]adapter.SessionRecord, error) {
	list, err := b.store.ListSessions(ctx, userID)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	u, err := b.GetUser(ctx, userID)
	if errors.Is(err, adapter.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(s adapter.SessionRecord) bool { return !sessionValid(s, u) }), nil
}

// ProveEmail implements [adapter.Adapter].
func (b *beside) ProveEmail(ctx context.Context, p adapter.Proof) (adapter.User, []adapter.Account, error) {
	u, err := b.GetUser(ctx, p.UserID)
	if err != nil {
		return adapter.User{}, nil, err
	}
	first := u.EmailVerified.IsZero() && !p.Keep && u.Email == p.Email && u.Epoch == p.Epoch
	if first {
		if err := b.store.VoidTokens(ctx, p.Email); err != nil {
			return adapter.User{}, nil, err
		}
	}
	u, removed, err := b.Adapter.ProveEmail(ctx, p)
	if err == nil && !p.Keep && p.Revoke.Seq > 0 { // main decides which proof is the first
		err = b.removeUnproved(ctx, p)
	}
	if err != nil {
		return adapter.User{}, nil, err
	}
	return u, removed, nil
}

// removeUnproved removes the sessions and links that a first proof has ended from
// Redis.
func (b *beside) removeUnproved(ctx context.Context, p adapter.Proof) error {
	if _, err := b.store.endSessionsBefore(ctx, p.UserID, p.Revoke.Seq); err != nil {
		return err
	}
	return b.store.VoidTokens(ctx, p.Email)
}

// Revocations implements [adapter.Adapter]. Revocations that are still in Redis have
// negative cursors and come before main's. They have no Seq, because Redis numbers mean
// nothing in main. Tokens that carry an epoch are newer than all of them.
func (b *beside) Revocations(ctx context.Context, after int64, limit int) (list []adapter.Revocation, next int64, err error) {
	if after > 0 {
		return b.Adapter.Revocations(ctx, after, limit)
	}
	list, next, err = b.store.Revocations(ctx, -after, limit)
	if err != nil {
		return nil, after, err
	}
	if len(list) > 0 {
		for i := range list {
			list[i].Seq = 0
		}
		return list, -next, nil
	}
	list, next, err = b.Adapter.Revocations(ctx, 0, limit)
	if next == 0 {
		next = after
	}
	return list, next, err
}

// Sweep implements [adapter.Adapter].
func (b *beside) Sweep(ctx context.Context, now time.Time, limit int) (int, error) {
	n, err := b.store.Sweep(ctx, now, limit)
	if err != nil {
		return n, err
	}
	rest, err := b.Adapter.Sweep(ctx, now, limit-n) // from before session.store was set
	return n + rest, err
}

// Ping implements [adapter.Adapter].
func (b *beside) Ping(ctx context.Context) error {
	return errors.Join(b.Adapter.Ping(ctx), b.store.Ping(ctx))
}
