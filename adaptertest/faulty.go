package adaptertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"authsvc/adapter"
)

// ErrFault is the error of a call that a [Fault] failed.
var ErrFault = errors.New("adaptertest: injected fault")

// A Fault is an adapter whose calls can be made to fail. Calls of all methods are
// counted together, from 1. To test a program against every failure, run it with
// FailBefore(n) and FailAfter(n) for n = 1, 2, … until a run makes fewer than n calls.
type Fault struct {
	next adapter.Adapter

	mu            sync.Mutex
	calls         []string
	before, after int
	away          bool
	methods       []string
}

var _ adapter.Adapter = (*Fault)(nil)

// Faulty wraps an adapter. No call fails until FailBefore or FailAfter is called.
func Faulty(a adapter.Adapter) *Fault { return &Fault{next: a} }

// FailBefore restarts the count, ends FailAll and makes the n-th call fail with [ErrFault] without
// any effect, like a store that cannot be reached. 0: no call fails.
func (f *Fault) FailBefore(n int) { f.reset(n, 0) }

// FailAfter restarts the count, ends FailAll and makes the n-th call fail with [ErrFault] after it
// took effect, like a connection that breaks before the answer. 0: no call fails.
func (f *Fault) FailAfter(n int) { f.reset(0, n) }

// FailAll makes every call of these methods fail with [ErrFault] from now on, or every
// call if methods is empty. Unlike the fault of FailBefore, a background call cannot
// use it up.
func (f *Fault) FailAll(methods ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away, f.methods = true, methods
}

func (f *Fault) reset(before, after int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after, f.away, f.calls = before, after, false, nil
}

// Calls returns the names of the methods called since the count started, including
// failed calls.
func (f *Fault) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

// do counts a call, and fails it if a fault is set for it.
func (f *Fault) do(method string, call func() error) error {
	f.mu.Lock()
	f.calls = append(f.calls, method)
	n, before, after := len(f.calls), f.before, f.after
	away := f.away && (len(f.methods) == 0 || slices.Contains(f.methods, method))
	f.mu.Unlock()
	if n == before || away {
		return ErrFault
	}
	err := call()
	if n == after {
		return ErrFault
	}
	return err
}

// ask is like do for a method with a result. The result is empty after a fault.
func ask[T any](f *Fault, method string, call func() (T, error)) (result T, err error) {
	err = f.do(method, func() (err error) {
		result, err = call()
		return err
	})
	if errors.Is(err, ErrFault) {
		var none T
		return none, err
	}
	return result, err
}

// pair holds the results of a method with two results.
type pair[A, B any] struct {
	a A
	b B
}

func both[A, B any](a A, b B, err error) (pair[A, B], error) { return pair[A, B]{a, b}, err }

// CreateUser implements [adapter.Adapter].
func (f *Fault) CreateUser(ctx context.Context, u adapter.User, r *adapter.Revocation) (adapter.User, error) {
	return ask(f, "CreateUser", func() (adapter.User, error) { return f.next.CreateUser(ctx, u, r) })
}

// GetUser implements [adapter.Adapter].
func (f *Fault) GetUser(ctx context.Context, id string) (adapter.User, error) {
	return ask(f, "GetUser", func() (adapter.User, error) { return f.next.GetUser(ctx, id) })
}

// GetUserByEmail implements [adapter.Adapter].
func (f *Fault) GetUserByEmail(ctx context.Context, email string) (adapter.User, error) {
	return ask(f, "GetUserByEmail", func() (adapter.User, error) { return f.next.GetUserByEmail(ctx, email) })
}

// GetUserByAccount implements [adapter.Adapter].
func (f *Fault) GetUserByAccount(ctx context.Context, provider, providerAccountID string) (adapter.User, error) {
	return ask(f, "GetUserByAccount", func() (adapter.User, error) { return f.next.GetUserByAccount(ctx, provider, providerAccountID) })
}

// UpdateUser implements [adapter.Adapter].
func (f *Fault) UpdateUser(ctx context.Context, id string, change adapter.UserUpdate) (adapter.User, error) {
	return ask(f, "UpdateUser", func() (adapter.User, error) { return f.next.UpdateUser(ctx, id, change) })
}

// DeleteUser implements [adapter.Adapter].
func (f *Fault) DeleteUser(ctx context.Context, id string, r *adapter.Revocation) error {
	return f.do("DeleteUser", func() error { return f.next.DeleteUser(ctx, id, r) })
}

// GetEpoch implements [adapter.Adapter].
func (f *Fault) GetEpoch(ctx context.Context, userID string) (int64, error) {
	return ask(f, "GetEpoch", func() (int64, error) { return f.next.GetEpoch(ctx, userID) })
}

// LinkAccount implements [adapter.Adapter].
func (f *Fault) LinkAccount(ctx context.Context, a adapter.Account, epoch int64) (adapter.Account, error) {
	return ask(f, "LinkAccount", func() (adapter.Account, error) { return f.next.LinkAccount(ctx, a, epoch) })
}

// RefreshAccount implements [adapter.Adapter].
func (f *Fault) RefreshAccount(ctx context.Context, a adapter.Account, epoch int64) error {
	return f.do("RefreshAccount", func() error { return f.next.RefreshAccount(ctx, a, epoch) })
}

// ReplaceTokens implements [adapter.Adapter].
func (f *Fault) ReplaceTokens(ctx context.Context, a, was adapter.Account) error {
	return f.do("ReplaceTokens", func() error { return f.next.ReplaceTokens(ctx, a, was) })
}

// UnlinkAccount implements [adapter.Adapter].
func (f *Fault) UnlinkAccount(ctx context.Context, provider, providerAccountID string, epoch int64, r *adapter.Revocation) error {
	return f.do("UnlinkAccount", func() error { return f.next.UnlinkAccount(ctx, provider, providerAccountID, epoch, r) })
}

// ListAccounts implements [adapter.Adapter].
func (f *Fault) ListAccounts(ctx context.Context, userID string) ([]adapter.Account, error) {
	return ask(f, "ListAccounts", func() ([]adapter.Account, error) { return f.next.ListAccounts(ctx, userID) })
}

// CreateSession implements [adapter.Adapter].
func (f *Fault) CreateSession(ctx context.Context, s adapter.SessionRecord) (adapter.SessionRecord, error) {
	return ask(f, "CreateSession", func() (adapter.SessionRecord, error) { return f.next.CreateSession(ctx, s) })
}

// GetSession implements [adapter.Adapter].
func (f *Fault) GetSession(ctx context.Context, token, digest string) (adapter.SessionRecord, adapter.User, error) {
	got, err := ask(f, "GetSession", func() (pair[adapter.SessionRecord, adapter.User], error) {
		return both(f.next.GetSession(ctx, token, digest))
	})
	return got.a, got.b, err
}

// UpdateSession implements [adapter.Adapter].
func (f *Fault) UpdateSession(ctx context.Context, s adapter.SessionRecord) error {
	return f.do("UpdateSession", func() error { return f.next.UpdateSession(ctx, s) })
}

// DeleteSession implements [adapter.Adapter].
func (f *Fault) DeleteSession(ctx context.Context, token string) (adapter.SessionRecord, error) {
	return ask(f, "DeleteSession", func() (adapter.SessionRecord, error) { return f.next.DeleteSession(ctx, token) })
}

// SignUp implements [adapter.Adapter].
func (f *Fault) SignUp(ctx context.Context, u adapter.User, a *adapter.Account, s *adapter.SessionRecord, locale string, r *adapter.Revocation) (adapter.User, error) {
	return ask(f, "SignUp", func() (adapter.User, error) { return f.next.SignUp(ctx, u, a, s, locale, r) })
}

// ProveEmail implements [adapter.Adapter].
func (f *Fault) ProveEmail(ctx context.Context, p adapter.Proof) (adapter.User, []adapter.Account, error) {
	got, err := ask(f, "ProveEmail", func() (pair[adapter.User, []adapter.Account], error) { return both(f.next.ProveEmail(ctx, p)) })
	return got.a, got.b, err
}

// EndSessions implements [adapter.Adapter].
func (f *Fault) EndSessions(ctx context.Context, userID string, r *adapter.Revocation) (int, error) {
	return ask(f, "EndSessions", func() (int, error) { return f.next.EndSessions(ctx, userID, r) })
}

// PutToken implements [adapter.Adapter].
func (f *Fault) PutToken(ctx context.Context, t adapter.VerificationToken, m adapter.Mail, maxQueued int) error {
	return f.do("PutToken", func() error { return f.next.PutToken(ctx, t, m, maxQueued) })
}

// GetToken implements [adapter.Adapter].
func (f *Fault) GetToken(ctx context.Context, identifier, token string) (adapter.VerificationToken, error) {
	return ask(f, "GetToken", func() (adapter.VerificationToken, error) { return f.next.GetToken(ctx, identifier, token) })
}

// TakeToken implements [adapter.Adapter].
func (f *Fault) TakeToken(ctx context.Context, identifier, token string, now time.Time) (adapter.VerificationToken, adapter.User, error) {
	got, err := ask(f, "TakeToken", func() (pair[adapter.VerificationToken, adapter.User], error) {
		return both(f.next.TakeToken(ctx, identifier, token, now))
	})
	return got.a, got.b, err
}

// VoidTokens implements [adapter.Adapter].
func (f *Fault) VoidTokens(ctx context.Context, identifier string) error {
	return f.do("VoidTokens", func() error { return f.next.VoidTokens(ctx, identifier) })
}

// ClaimMail implements [adapter.Adapter].
func (f *Fault) ClaimMail(ctx context.Context, now, retry time.Time) (adapter.Mail, error) {
	return ask(f, "ClaimMail", func() (adapter.Mail, error) { return f.next.ClaimMail(ctx, now, retry) })
}

// DelayMail implements [adapter.Adapter].
func (f *Fault) DelayMail(ctx context.Context, id string, due time.Time) error {
	return f.do("DelayMail", func() error { return f.next.DelayMail(ctx, id, due) })
}

// DeleteMail implements [adapter.Adapter].
func (f *Fault) DeleteMail(ctx context.Context, id string) error {
	return f.do("DeleteMail", func() error { return f.next.DeleteMail(ctx, id) })
}

// UseOnce implements [adapter.Adapter].
func (f *Fault) UseOnce(ctx context.Context, key string, expires time.Time) error {
	return f.do("UseOnce", func() error { return f.next.UseOnce(ctx, key, expires) })
}

// Revoke implements [adapter.Adapter].
func (f *Fault) Revoke(ctx context.Context, list ...*adapter.Revocation) error {
	return f.do("Revoke", func() error { return f.next.Revoke(ctx, list...) })
}

// Revocations implements [adapter.Adapter].
func (f *Fault) Revocations(ctx context.Context, after int64, limit int) ([]adapter.Revocation, int64, error) {
	got, err := ask(f, "Revocations", func() (pair[[]adapter.Revocation, int64], error) { return both(f.next.Revocations(ctx, after, limit)) })
	return got.a, got.b, err
}

// ListUsers implements [adapter.Adapter].
func (f *Fault) ListUsers(ctx context.Context, after string, limit int) ([]adapter.User, error) {
	return ask(f, "ListUsers", func() ([]adapter.User, error) { return f.next.ListUsers(ctx, after, limit) })
}

// ListSessions implements [adapter.Adapter].
func (f *Fault) ListSessions(ctx context.Context, userID string) ([]adapter.SessionRecord, error) {
	return ask(f, "ListSessions", func() ([]adapter.SessionRecord, error) { return f.next.ListSessions(ctx, userID) })
}

// SearchUsers implements [adapter.Adapter].
func (f *Fault) SearchUsers(ctx context.Context, q adapter.UserQuery) ([]adapter.User, error) {
	return ask(f, "SearchUsers", func() ([]adapter.User, error) { return f.next.SearchUsers(ctx, q) })
}

// DeleteSessionOf implements [adapter.Adapter].
func (f *Fault) DeleteSessionOf(ctx context.Context, userID, digest string) (adapter.SessionRecord, error) {
	return ask(f, "DeleteSessionOf", func() (adapter.SessionRecord, error) { return f.next.DeleteSessionOf(ctx, userID, digest) })
}

// TouchSessions implements [adapter.Adapter].
func (f *Fault) TouchSessions(ctx context.Context, seen []adapter.SessionSeen) error {
	return f.do("TouchSessions", func() error { return f.next.TouchSessions(ctx, seen) })
}

// PutMail implements [adapter.Adapter].
func (f *Fault) PutMail(ctx context.Context, m adapter.Mail, maxQueued int) error {
	return f.do("PutMail", func() error { return f.next.PutMail(ctx, m, maxQueued) })
}

// Permit implements [adapter.Adapter].
func (f *Fault) Permit(ctx context.Context, now time.Time, list ...adapter.Quota) (permitted int, wait time.Duration, err error) {
	permitted, err = ask(f, "Permit", func() (n int, err error) {
		n, wait, err = f.next.Permit(ctx, now, list...)
		return n, err
	})
	return permitted, wait, err
}

// Lease implements [adapter.Adapter].
func (f *Fault) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	return f.do("Lease", func() error { return f.next.Lease(ctx, name, holder, now, until) })
}

// Release implements [adapter.Adapter].
func (f *Fault) Release(ctx context.Context, name, holder string) error {
	return f.do("Release", func() error { return f.next.Release(ctx, name, holder) })
}

// GetMeta implements [adapter.Adapter].
func (f *Fault) GetMeta(ctx context.Context, key string) (string, error) {
	return ask(f, "GetMeta", func() (string, error) { return f.next.GetMeta(ctx, key) })
}

// PutMeta implements [adapter.Adapter].
func (f *Fault) PutMeta(ctx context.Context, key, value string) (string, error) {
	return ask(f, "PutMeta", func() (string, error) { return f.next.PutMeta(ctx, key, value) })
}

// SetMeta implements [adapter.Adapter].
func (f *Fault) SetMeta(ctx context.Context, key, value string) error {
	return f.do("SetMeta", func() error { return f.next.SetMeta(ctx, key, value) })
}

// Sweep implements [adapter.Adapter].
func (f *Fault) Sweep(ctx context.Context, now time.Time, limit int) (int, error) {
	return ask(f, "Sweep", func() (int, error) { return f.next.Sweep(ctx, now, limit) })
}

// Ping implements [adapter.Adapter].
func (f *Fault) Ping(ctx context.Context) error {
	return f.do("Ping", func() error { return f.next.Ping(ctx) })
}

// Unwrap implements [Unwrapper]. Calls of an audit log behind the Fault are not counted
// and never fail.
func (f *Fault) Unwrap() adapter.Adapter { return f.next }
