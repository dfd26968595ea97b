package arena

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/adapter"
)

// A Ledger is an adapter that records the writes to the adapter behind it. A test can
// make its calls fail.
type Ledger struct {
	Behind adapter.Adapter

	// Around, if not nil, makes each store call, including the calls of the service's
	// own goroutines. It may measure the call. Set it before the first call.
	Around func(method string, call func() error)

	mu      sync.Mutex
	effects []string // "Method {arguments}" of writes by requests
	calls   []string // methods called by requests since fault was set
	fault   func(n int, method string) Failure
}

// Failure says how a call fails.
type Failure int

const (
	Works      Failure = iota
	FailBefore         // the call has no effect
	FailAfter          // the call takes effect, but its answer is lost
)

// ErrBroken is the error of failing calls.
var ErrBroken = errors.New("connection reset")

// background lists the methods that only the service's own goroutines call.
var background = map[string]bool{"ClaimMail": true, "DelayMail": true, "DeleteMail": true, "Sweep": true, "Revocations": true, "PutMeta": true, "Lease": true, "Release": true, "Permit": true,
	"TouchSessions": true, "GetMeta": true, "SetMeta": true, "Ping": true}

// NewLedger puts a ledger in front of a store.
func NewLedger(behind adapter.Adapter) *Ledger { return &Ledger{Behind: behind} }

// BreakAt makes calls fail as fault decides. Calls count from 1. If fault is nil, no
// call fails.
func (l *Ledger) BreakAt(fault func(n int, method string) Failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls, l.fault = nil, fault
}

// Called returns the methods that requests have called since BreakAt, in order.
func (l *Ledger) Called() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

// Written returns the writes of requests so far, as "Method {arguments}".
func (l *Ledger) Written() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.effects...)
}

// Lasting returns the effects that matter to users. It leaves out the single-use
// marks of sign-in attempts and links, which a refusal may write.
func (l *Ledger) Lasting() string {
	var list []string
	for _, e := range l.Written() {
		if !strings.HasPrefix(e, "UseOnce") && !strings.HasPrefix(e, "TakeToken") && !strings.HasPrefix(e, "VoidTokens") {
			list = append(list, e)
		}
	}
	return strings.Join(list, "\n")
}

// step runs one store call; write reports whether the call changes anything.
func step[T any](l *Ledger, method string, write bool, args any, call func() (T, error)) (T, error) {
	var none T
	how := l.judge(method)
	if how == FailBefore {
		return none, ErrBroken
	}
	v, err := around(l, method, call)
	if err == nil && write && !background[method] {
		l.mu.Lock()
		l.effects = append(l.effects, fmt.Sprintf("%s %+v", method, args))
		l.mu.Unlock()
	}
	if how == FailAfter {
		return none, ErrBroken
	}
	return v, err
}

func around[T any](l *Ledger, method string, call func() (T, error)) (v T, err error) {
	if l.Around == nil {
		return call()
	}
	l.Around(method, func() error {
		v, err = call()
		return err
	})
	return v, err
}

// judge decides how a call fails. A fault may panic.
func (l *Ledger) judge(method string) Failure {
	if background[method] { // these calls must not wait for a slow fault
		return Works
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls = append(l.calls, method); l.fault == nil {
		return Works
	}
	return l.fault(len(l.calls), method)
}

type nothing struct{}

func only(err error) (nothing, error) { return nothing{}, err }

func (l *Ledger) CreateUser(ctx context.Context, u authsvc.User, r *adapter.Revocation) (authsvc.User, error) {
	return step(l, "CreateUser", true, u, func() (authsvc.User, error) { return l.Behind.CreateUser(ctx, u, r) })
}

func (l *Ledger) GetUser(ctx context.Context, id string) (authsvc.User, error) {
	return step(l, "GetUser", false, id, func() (authsvc.User, error) { return l.Behind.GetUser(ctx, id) })
}

func (l *Ledger) GetUserByEmail(ctx context.Context, email string) (authsvc.User, error) {
	return step(l, "GetUserByEmail", false, email, func() (authsvc.User, error) { return l.Behind.GetUserByEmail(ctx, email) })
}

func (l *Ledger) GetUserByAccount(ctx context.Context, provider, id string) (authsvc.User, error) {
	return step(l, "GetUserByAccount", false, id, func() (authsvc.User, error) { return l.Behind.GetUserByAccount(ctx, provider, id) })
}

func (l *Ledger) UpdateUser(ctx context.Context, id string, c adapter.UserUpdate) (authsvc.User, error) {
	return step(l, "UpdateUser", true, id, func() (authsvc.User, error) { return l.Behind.UpdateUser(ctx, id, c) })
}

func (l *Ledger) DeleteUser(ctx context.Context, id string, r *adapter.Revocation) error {
	_, err := step(l, "DeleteUser", true, id, func() (nothing, error) { return only(l.Behind.DeleteUser(ctx, id, r)) })
	return err
}

func (l *Ledger) GetEpoch(ctx context.Context, userID string) (int64, error) {
	return step(l, "GetEpoch", false, userID, func() (int64, error) { return l.Behind.GetEpoch(ctx, userID) })
}

func (l *Ledger) LinkAccount(ctx context.Context, a authsvc.Account, epoch int64) (authsvc.Account, error) {
	return step(l, "LinkAccount", true, a, func() (authsvc.Account, error) { return l.Behind.LinkAccount(ctx, a, epoch) })
}

func (l *Ledger) RefreshAccount(ctx context.Context, a authsvc.Account, epoch int64) error {
	_, err := step(l, "RefreshAccount", true, a, func() (nothing, error) { return only(l.Behind.RefreshAccount(ctx, a, epoch)) })
	return err
}

func (l *Ledger) ReplaceTokens(ctx context.Context, a, was authsvc.Account) error {
	_, err := step(l, "ReplaceTokens", true, a, func() (nothing, error) { return only(l.Behind.ReplaceTokens(ctx, a, was)) })
	return err
}

func (l *Ledger) UnlinkAccount(ctx context.Context, provider, id string, epoch int64, r *adapter.Revocation) error {
	_, err := step(l, "UnlinkAccount", true, id, func() (nothing, error) { return only(l.Behind.UnlinkAccount(ctx, provider, id, epoch, r)) })
	return err
}

func (l *Ledger) ListAccounts(ctx context.Context, userID string) ([]authsvc.Account, error) {
	return step(l, "ListAccounts", false, userID, func() ([]authsvc.Account, error) { return l.Behind.ListAccounts(ctx, userID) })
}

func (l *Ledger) CreateSession(ctx context.Context, s adapter.SessionRecord) (adapter.SessionRecord, error) {
	return step(l, "CreateSession", true, s, func() (adapter.SessionRecord, error) { return l.Behind.CreateSession(ctx, s) })
}

func (l *Ledger) GetSession(ctx context.Context, token, digest string) (adapter.SessionRecord, authsvc.User, error) {
	type both struct {
		s adapter.SessionRecord
		u authsvc.User
	}
	v, err := step(l, "GetSession", false, token, func() (both, error) {
		s, u, err := l.Behind.GetSession(ctx, token, digest)
		return both{s, u}, err
	})
	return v.s, v.u, err
}

func (l *Ledger) UpdateSession(ctx context.Context, s adapter.SessionRecord) error {
	_, err := step(l, "UpdateSession", true, s, func() (nothing, error) { return only(l.Behind.UpdateSession(ctx, s)) })
	return err
}

func (l *Ledger) DeleteSession(ctx context.Context, token string) (adapter.SessionRecord, error) {
	return step(l, "DeleteSession", true, token, func() (adapter.SessionRecord, error) { return l.Behind.DeleteSession(ctx, token) })
}

func (l *Ledger) SignUp(ctx context.Context, u authsvc.User, a *authsvc.Account, s *adapter.SessionRecord, locale string, r *adapter.Revocation) (authsvc.User, error) {
	args := []any{u, a, s}
	if a != nil {
		args[1] = *a
	}
	if s != nil {
		args[2] = *s
	}
	return step(l, "SignUp", true, args, func() (authsvc.User, error) { return l.Behind.SignUp(ctx, u, a, s, locale, r) })
}

func (l *Ledger) ProveEmail(ctx context.Context, p adapter.Proof) (authsvc.User, []authsvc.Account, error) {
	type both struct {
		u authsvc.User
		a []authsvc.Account
	}
	v, err := step(l, "ProveEmail", true, p, func() (both, error) {
		u, a, err := l.Behind.ProveEmail(ctx, p)
		return both{u, a}, err
	})
	return v.u, v.a, err
}

func (l *Ledger) EndSessions(ctx context.Context, userID string, r *adapter.Revocation) (int, error) {
	return step(l, "EndSessions", true, userID, func() (int, error) { return l.Behind.EndSessions(ctx, userID, r) })
}

func (l *Ledger) PutToken(ctx context.Context, t adapter.VerificationToken, m adapter.Mail, maxQueued int) error {
	_, err := step(l, "PutToken", true, []any{t, m.ID, string(m.Payload)}, func() (nothing, error) { return only(l.Behind.PutToken(ctx, t, m, maxQueued)) })
	return err
}

func (l *Ledger) GetToken(ctx context.Context, identifier, token string) (adapter.VerificationToken, error) {
	return step(l, "GetToken", false, token, func() (adapter.VerificationToken, error) { return l.Behind.GetToken(ctx, identifier, token) })
}

func (l *Ledger) TakeToken(ctx context.Context, identifier, token string, now time.Time) (adapter.VerificationToken, authsvc.User, error) {
	type both struct {
		t adapter.VerificationToken
		u authsvc.User
	}
	v, err := step(l, "TakeToken", true, token, func() (both, error) {
		t, u, err := l.Behind.TakeToken(ctx, identifier, token, now)
		return both{t, u}, err
	})
	return v.t, v.u, err
}

func (l *Ledger) ClaimMail(ctx context.Context, now, retry time.Time) (adapter.Mail, error) {
	return step(l, "ClaimMail", true, nil, func() (adapter.Mail, error) { return l.Behind.ClaimMail(ctx, now, retry) })
}

func (l *Ledger) DelayMail(ctx context.Context, id string, due time.Time) error {
	_, err := step(l, "DelayMail", true, id, func() (nothing, error) { return only(l.Behind.DelayMail(ctx, id, due)) })
	return err
}

func (l *Ledger) DeleteMail(ctx context.Context, id string) error {
	_, err := step(l, "DeleteMail", true, id, func() (nothing, error) { return only(l.Behind.DeleteMail(ctx, id)) })
	return err
}

func (l *Ledger) UseOnce(ctx context.Context, key string, expires time.Time) error {
	_, err := step(l, "UseOnce", true, key, func() (nothing, error) { return only(l.Behind.UseOnce(ctx, key, expires)) })
	return err
}

func (l *Ledger) Revoke(ctx context.Context, list ...*adapter.Revocation) error {
	_, err := step(l, "Revoke", true, list, func() (nothing, error) { return only(l.Behind.Revoke(ctx, list...)) })
	return err
}

func (l *Ledger) Revocations(ctx context.Context, after int64, limit int) ([]adapter.Revocation, int64, error) {
	type both struct {
		list []adapter.Revocation
		next int64
	}
	v, err := step(l, "Revocations", false, after, func() (both, error) {
		list, next, err := l.Behind.Revocations(ctx, after, limit)
		return both{list, next}, err
	})
	return v.list, v.next, err
}

func (l *Ledger) PutMeta(ctx context.Context, key, value string) (string, error) {
	return step(l, "PutMeta", true, key, func() (string, error) { return l.Behind.PutMeta(ctx, key, value) })
}

func (l *Ledger) GetMeta(ctx context.Context, key string) (string, error) {
	return step(l, "GetMeta", false, key, func() (string, error) { return l.Behind.GetMeta(ctx, key) })
}

func (l *Ledger) SetMeta(ctx context.Context, key, value string) error {
	_, err := step(l, "SetMeta", true, key, func() (nothing, error) { return only(l.Behind.SetMeta(ctx, key, value)) })
	return err
}

func (l *Ledger) Sweep(ctx context.Context, now time.Time, limit int) (int, error) {
	return step(l, "Sweep", true, nil, func() (int, error) { return l.Behind.Sweep(ctx, now, limit) })
}

func (l *Ledger) Ping(ctx context.Context) error {
	_, err := step(l, "Ping", false, nil, func() (nothing, error) { return only(l.Behind.Ping(ctx)) })
	return err
}

// A StaleStore also fails calls that only the service itself makes.
type StaleStore struct {
	*Ledger
	Broken atomic.Bool
}

func (s *StaleStore) Revocations(ctx context.Context, after int64, limit int) ([]adapter.Revocation, int64, error) {
	if s.Broken.Load() {
		return nil, after, ErrBroken
	}
	return s.Ledger.Revocations(ctx, after, limit)
}

func (l *Ledger) ListUsers(ctx context.Context, after string, limit int) ([]authsvc.User, error) {
	return step(l, "ListUsers", false, nil, func() ([]authsvc.User, error) { return l.Behind.ListUsers(ctx, after, limit) })
}

func (l *Ledger) ListSessions(ctx context.Context, userID string) ([]adapter.SessionRecord, error) {
	return step(l, "ListSessions", false, nil, func() ([]adapter.SessionRecord, error) { return l.Behind.ListSessions(ctx, userID) })
}

func (l *Ledger) Permit(ctx context.Context, now time.Time, list ...adapter.Quota) (permitted int, wait time.Duration, err error) {
	permitted, err = step(l, "Permit", false, nil, func() (n int, err error) {
		n, wait, err = l.Behind.Permit(ctx, now, list...)
		return n, err
	})
	return permitted, wait, err
}

func (l *Ledger) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	_, err := step(l, "Lease", false, nil, func() (any, error) { return nil, l.Behind.Lease(ctx, name, holder, now, until) })
	return err
}

func (l *Ledger) Release(ctx context.Context, name, holder string) error {
	_, err := step(l, "Release", false, nil, func() (any, error) { return nil, l.Behind.Release(ctx, name, holder) })
	return err
}

func (l *Ledger) VoidTokens(ctx context.Context, identifier string) error {
	_, err := step(l, "VoidTokens", true, identifier, func() (nothing, error) { return only(l.Behind.VoidTokens(ctx, identifier)) })
	return err
}
