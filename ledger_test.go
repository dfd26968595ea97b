package authsvc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
)

// A ledger is an adapter that writes down what takes effect in the one behind
// it, and that can be made to fail.
type ledger struct {
	behind authsvc.Adapter

	mu      sync.Mutex
	effects []string // "Method {arguments}" of the writes of requests
	calls   int      // of requests, since fault was set
	fault   func(n int, method string) failure
}

// failure says how a call fails.
type failure int

const (
	works      failure = iota
	failBefore         // nothing happens
	failAfter          // it happens, but the answer is lost
)

var errBroken = errors.New("connection reset")

// background are the methods that only the service's own goroutines call.
var background = map[string]bool{"ClaimMail": true, "DelayMail": true, "DeleteMail": true, "Sweep": true, "Revocations": true, "PutMeta": true, "Lease": true, "Release": true, "Permit": true}

func newLedger(behind authsvc.Adapter) *ledger { return &ledger{behind: behind} }

// breakAt makes calls fail as fault says, counted from 1; nil mends.
func (l *ledger) breakAt(fault func(n int, method string) failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls, l.fault = 0, fault
}

func (l *ledger) written() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.effects...)
}

// lasting are the effects that matter to people: not the single-use marks of
// attempts and links, which a refusal may leave.
func (l *ledger) lasting() string {
	var list []string
	for _, e := range l.written() {
		if !strings.HasPrefix(e, "UseOnce") && !strings.HasPrefix(e, "TakeToken") && !strings.HasPrefix(e, "VoidTokens") {
			list = append(list, e)
		}
	}
	return strings.Join(list, "\n")
}

// step runs one call of the store; write tells whether it changes anything.
func step[T any](l *ledger, method string, write bool, args any, call func() (T, error)) (T, error) {
	var none T
	how := works
	if !background[method] {
		l.mu.Lock()
		l.calls++
		if l.fault != nil {
			how = l.fault(l.calls, method)
		}
		l.mu.Unlock()
	}
	if how == failBefore {
		return none, errBroken
	}
	v, err := call()
	if err == nil && write && !background[method] {
		l.mu.Lock()
		l.effects = append(l.effects, fmt.Sprintf("%s %+v", method, args))
		l.mu.Unlock()
	}
	if how == failAfter {
		return none, errBroken
	}
	return v, err
}

type nothing struct{}

func only(err error) (nothing, error) { return nothing{}, err }

func (l *ledger) CreateUser(ctx context.Context, u authsvc.User) (authsvc.User, error) {
	return step(l, "CreateUser", true, u, func() (authsvc.User, error) { return l.behind.CreateUser(ctx, u) })
}

func (l *ledger) GetUser(ctx context.Context, id string) (authsvc.User, error) {
	return step(l, "GetUser", false, id, func() (authsvc.User, error) { return l.behind.GetUser(ctx, id) })
}

func (l *ledger) GetUserByEmail(ctx context.Context, email string) (authsvc.User, error) {
	return step(l, "GetUserByEmail", false, email, func() (authsvc.User, error) { return l.behind.GetUserByEmail(ctx, email) })
}

func (l *ledger) GetUserByAccount(ctx context.Context, provider, id string) (authsvc.User, error) {
	return step(l, "GetUserByAccount", false, id, func() (authsvc.User, error) { return l.behind.GetUserByAccount(ctx, provider, id) })
}

func (l *ledger) UpdateUser(ctx context.Context, id string, c authsvc.UserUpdate) (authsvc.User, error) {
	return step(l, "UpdateUser", true, id, func() (authsvc.User, error) { return l.behind.UpdateUser(ctx, id, c) })
}

func (l *ledger) DeleteUser(ctx context.Context, id string) error {
	_, err := step(l, "DeleteUser", true, id, func() (nothing, error) { return only(l.behind.DeleteUser(ctx, id)) })
	return err
}

func (l *ledger) LinkAccount(ctx context.Context, a authsvc.Account) (authsvc.Account, error) {
	return step(l, "LinkAccount", true, a, func() (authsvc.Account, error) { return l.behind.LinkAccount(ctx, a) })
}

func (l *ledger) RefreshAccount(ctx context.Context, a authsvc.Account) error {
	_, err := step(l, "RefreshAccount", true, a, func() (nothing, error) { return only(l.behind.RefreshAccount(ctx, a)) })
	return err
}

func (l *ledger) UnlinkAccount(ctx context.Context, provider, id string) error {
	_, err := step(l, "UnlinkAccount", true, id, func() (nothing, error) { return only(l.behind.UnlinkAccount(ctx, provider, id)) })
	return err
}

func (l *ledger) ListAccounts(ctx context.Context, userID string) ([]authsvc.Account, error) {
	return step(l, "ListAccounts", false, userID, func() ([]authsvc.Account, error) { return l.behind.ListAccounts(ctx, userID) })
}

func (l *ledger) CreateSession(ctx context.Context, s authsvc.SessionRecord) (authsvc.SessionRecord, error) {
	return step(l, "CreateSession", true, s, func() (authsvc.SessionRecord, error) { return l.behind.CreateSession(ctx, s) })
}

func (l *ledger) GetSession(ctx context.Context, token, digest string) (authsvc.SessionRecord, authsvc.User, error) {
	type both struct {
		s authsvc.SessionRecord
		u authsvc.User
	}
	v, err := step(l, "GetSession", false, token, func() (both, error) {
		s, u, err := l.behind.GetSession(ctx, token, digest)
		return both{s, u}, err
	})
	return v.s, v.u, err
}

func (l *ledger) UpdateSession(ctx context.Context, s authsvc.SessionRecord) error {
	_, err := step(l, "UpdateSession", true, s, func() (nothing, error) { return only(l.behind.UpdateSession(ctx, s)) })
	return err
}

func (l *ledger) DeleteSession(ctx context.Context, token string) (authsvc.SessionRecord, error) {
	return step(l, "DeleteSession", true, token, func() (authsvc.SessionRecord, error) { return l.behind.DeleteSession(ctx, token) })
}

func (l *ledger) SignUp(ctx context.Context, u authsvc.User, a *authsvc.Account, s *authsvc.SessionRecord) (authsvc.User, error) {
	args := []any{u, a, s}
	if a != nil {
		args[1] = *a
	}
	if s != nil {
		args[2] = *s
	}
	return step(l, "SignUp", true, args, func() (authsvc.User, error) { return l.behind.SignUp(ctx, u, a, s) })
}

func (l *ledger) ProveEmail(ctx context.Context, p authsvc.Proof) (authsvc.User, []authsvc.Account, error) {
	type both struct {
		u authsvc.User
		a []authsvc.Account
	}
	v, err := step(l, "ProveEmail", true, p, func() (both, error) {
		u, a, err := l.behind.ProveEmail(ctx, p)
		return both{u, a}, err
	})
	return v.u, v.a, err
}

func (l *ledger) EndSessions(ctx context.Context, userID string, r *authsvc.Revocation) (int, error) {
	return step(l, "EndSessions", true, userID, func() (int, error) { return l.behind.EndSessions(ctx, userID, r) })
}

func (l *ledger) PutToken(ctx context.Context, t authsvc.VerificationToken, m authsvc.Mail, maxQueued int) error {
	_, err := step(l, "PutToken", true, []any{t, m.ID, string(m.Payload)}, func() (nothing, error) { return only(l.behind.PutToken(ctx, t, m, maxQueued)) })
	return err
}

func (l *ledger) VoidTokens(ctx context.Context, identifier string) error {
	_, err := step(l, "VoidTokens", true, identifier, func() (nothing, error) { return only(l.behind.VoidTokens(ctx, identifier)) })
	return err
}

func (l *ledger) TakeToken(ctx context.Context, identifier, token string) (authsvc.VerificationToken, error) {
	return step(l, "TakeToken", true, token, func() (authsvc.VerificationToken, error) { return l.behind.TakeToken(ctx, identifier, token) })
}

func (l *ledger) ClaimMail(ctx context.Context, now, retry time.Time) (authsvc.Mail, error) {
	return l.behind.ClaimMail(ctx, now, retry)
}

func (l *ledger) DelayMail(ctx context.Context, id string, due time.Time) error {
	return l.behind.DelayMail(ctx, id, due)
}

func (l *ledger) DeleteMail(ctx context.Context, id string) error {
	return l.behind.DeleteMail(ctx, id)
}

func (l *ledger) UseOnce(ctx context.Context, key string, expires time.Time) error {
	_, err := step(l, "UseOnce", true, key, func() (nothing, error) { return only(l.behind.UseOnce(ctx, key, expires)) })
	return err
}

func (l *ledger) Revoke(ctx context.Context, r authsvc.Revocation) error {
	_, err := step(l, "Revoke", true, r, func() (nothing, error) { return only(l.behind.Revoke(ctx, r)) })
	return err
}

func (l *ledger) Revocations(ctx context.Context, since time.Time) ([]authsvc.Revocation, error) {
	return l.behind.Revocations(ctx, since)
}

func (l *ledger) PutMeta(ctx context.Context, key, value string) (string, error) {
	return l.behind.PutMeta(ctx, key, value)
}

func (l *ledger) GetMeta(ctx context.Context, key string) (string, error) {
	return l.behind.GetMeta(ctx, key)
}

func (l *ledger) SetMeta(ctx context.Context, key, value string) error {
	return l.behind.SetMeta(ctx, key, value)
}

func (l *ledger) Sweep(ctx context.Context, now time.Time, limit int) (int, error) {
	return l.behind.Sweep(ctx, now, limit)
}

func (l *ledger) Ping(ctx context.Context) error { return l.behind.Ping(ctx) }

// A staleStore also fails the calls that only the service itself makes.
type staleStore struct {
	*ledger
	broken atomic.Bool
}

func (s *staleStore) Revocations(ctx context.Context, since time.Time) ([]authsvc.Revocation, error) {
	if s.broken.Load() {
		return nil, errBroken
	}
	return s.ledger.Revocations(ctx, since)
}

func (l *ledger) ListUsers(ctx context.Context, after string, limit int) ([]authsvc.User, error) {
	return step(l, "ListUsers", false, nil, func() ([]authsvc.User, error) { return l.behind.ListUsers(ctx, after, limit) })
}

func (l *ledger) ListSessions(ctx context.Context, userID string) ([]authsvc.SessionRecord, error) {
	return step(l, "ListSessions", false, nil, func() ([]authsvc.SessionRecord, error) { return l.behind.ListSessions(ctx, userID) })
}

func (l *ledger) Permit(ctx context.Context, key string, now time.Time, interval, burst time.Duration) (time.Duration, error) {
	return step(l, "Permit", false, nil, func() (time.Duration, error) { return l.behind.Permit(ctx, key, now, interval, burst) })
}

func (l *ledger) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	_, err := step(l, "Lease", false, nil, func() (any, error) { return nil, l.behind.Lease(ctx, name, holder, now, until) })
	return err
}

func (l *ledger) Release(ctx context.Context, name, holder string) error {
	_, err := step(l, "Release", false, nil, func() (any, error) { return nil, l.behind.Release(ctx, name, holder) })
	return err
}
