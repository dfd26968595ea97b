package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/oidc"
)

// Timeouts and tries of a refresh.
const (
	refreshTimeout = 25 * time.Second // metadata and the token request
	storeTries     = 4                // tries before callers get errNotStored
	storePause     = 100 * time.Millisecond
	storeRetry     = 5 * time.Second // between later tries
	storeGiveUp    = 10 * time.Minute
)

var (
	errNotStored = errors.New("authsvc: cannot store the new tokens yet; will retry")
	errReplaced  = errors.New("the tokens were replaced by a sign-in meanwhile")
)

// A refresh renews the tokens of one account under a lease of the account. It continues
// when its callers leave: a provider that rotates refresh tokens has already used up
// the old one.
type refresh struct {
	svc    *vault
	key    string
	call   *refreshCall
	old    authsvc.Account // as read under the lease
	stored authsvc.Account // the same account as stored
}

// refreshAccessToken joins or starts the refresh of an account.
func (vt *vault) refreshAccessToken(ctx context.Context, a authsvc.Account) (string, error) {
	key := fleet.NameOf("refresh", a.Provider, a.ProviderAccountID)
	call, mine := vt.refreshes.join(key, time.Now())
	if mine {
		r := &refresh{svc: vt, key: key, call: call, old: a}
		if !vt.fleet.RunTask("refresh of tokens", r.run) {
			r.finish("", fleet.ErrNoTask, 0)
		}
	}
	return call.wait(ctx)
}

func (r *refresh) finish(token string, err error, pause time.Duration) {
	r.svc.refreshes.finish(r.key, r.call, token, err, pause)
}

// run waits for the lease, reads the account again and asks the provider.
func (r *refresh) run(life context.Context) {
	defer r.finish("", errors.New("authsvc: the refresh failed unexpectedly"), refreshPause) // after a panic
	release, err := r.svc.fleet.Lease(life, r.key)
	if err != nil {
		if !errors.Is(err, authsvc.ErrBusy) {
			r.svc.Log.Warn("cannot start to refresh tokens", "provider", r.old.Provider, "user", r.old.UserID, "cause", err)
		}
		r.finish("", err, 0)
		return
	}
	defer release()
	ctx, cancel := fleet.Detached(life, refreshTimeout)
	defer cancel()
	r.old, r.stored, err = r.svc.account(ctx, r.old.UserID, r.old.Provider, r.old.ProviderAccountID)
	switch {
	case err != nil:
		r.finish("", err, 0)
		return
	case fresh(&r.old, r.svc.fleet.Now().Add(tokenMargin)): // another replica was faster
		r.finish(r.old.AccessToken, nil, 0)
		return
	}
	if err := r.svc.checkRefreshable(&r.old); err != nil {
		r.finish("", err, 0)
		return
	}
	renewed, err := r.svc.site.flows[r.old.Provider].(tokenFlow).refresh(ctx, r.old)
	switch {
	case err == nil:
		r.store(life, renewed)
	case oidc.IsInvalidGrant(err), errors.Is(err, authsvc.ErrTokenRefused):
		r.refused(life, err)
	case errors.Is(err, authsvc.ErrNoToken):
		r.finish("", err, 0)
	default:
		r.svc.Log.Warn("cannot refresh tokens", "provider", r.old.Provider, "user", r.old.UserID, "cause", err)
		switch {
		case errors.Is(err, errWrongSubject):
			r.audit(ctx, "token.wrong_subject", "a refresh returned tokens of another user")
		case errors.Is(err, oidc.ErrMisaddressed):
			r.audit(ctx, "token.misaddressed", "a refresh returned an ID token of another issuer or client")
		default:
			r.audit(ctx, "token.refresh_failed", "the provider returned no new tokens")
		}
		r.finish("", fmt.Errorf("authsvc: cannot refresh the tokens of %s: %w", r.old.Provider, err), refreshPause)
	}
}

// audit records the result of the refresh.
func (r *refresh) audit(ctx context.Context, name, reason string) {
	r.svc.auditor.Record(ctx, authsvc.AuditEvent{Name: name, Provider: r.old.Provider, UserID: r.old.UserID, Reason: reason})
}

// store stores new tokens. If that fails, it retries and keeps the lease, so that the
// used refresh token is not presented again. After storeTries, callers get
// errNotStored.
func (r *refresh) store(life context.Context, renewed authsvc.Account) {
	began := time.Now()
	for try, wait := 1, storePause; ; try++ {
		err := r.replace(life, renewed)
		if r.ended(renewed, err) {
			r.svc.refreshes.clear(r.key, r.call)
			return
		}
		if try == storeTries {
			wait = storeRetry
			r.svc.Log.Error("cannot store refreshed tokens; will retry", "provider", r.old.Provider, "user", r.old.UserID, "err", err)
			r.finish("", errNotStored, storeGiveUp+time.Minute)
		}
		last := !fleet.Sleep(life, wait)
		if last { // the service is closing: one more try
			err = r.replace(life, renewed)
		}
		if last && r.ended(renewed, err) {
			return
		}
		if last || time.Since(began) > storeGiveUp {
			r.svc.Log.Error("refreshed tokens are lost; if the provider rotates refresh tokens, the user must sign in again",
				"provider", r.old.Provider, "user", r.old.UserID, "err", err)
			r.audit(life, "token.refresh_failed", "the new tokens could not be stored")
			r.finish("", errNotStored, 0)
			r.svc.refreshes.clear(r.key, r.call)
			return
		}
		if try < storeTries {
			wait *= 3
		}
	}
}

// ended finishes the call and returns true, unless the store must be tried again.
func (r *refresh) ended(renewed authsvc.Account, err error) bool {
	switch {
	case err == nil:
		r.finish(renewed.AccessToken, nil, 0)
	case errors.Is(err, adapter.ErrNotFound): // unlinked meanwhile: the new tokens must not stay valid
		r.svc.revokeTokens(renewed)
		r.finish("", adapter.ErrNotFound, 0)
	case errors.Is(err, errReplaced):
		r.finish("", authsvc.ErrBusy, 0)
	default:
		return false
	}
	return true
}

// replace writes the tokens of the account, unless a sign-in or another program has
// replaced the tokens that the refresh began with. It returns ErrStale if they were
// sealed again twice.
func (r *refresh) replace(life context.Context, renewed authsvc.Account) error {
	ctx, cancel := fleet.Detached(life, storeTimeout)
	defer cancel()
	err := r.svc.Adapter.ReplaceTokens(ctx, r.svc.tokens.forStorage(renewed), r.stored)
	if !errors.Is(err, adapter.ErrStale) {
		return err
	}
	now, stored, err := r.svc.account(ctx, r.old.UserID, r.old.Provider, r.old.ProviderAccountID)
	switch {
	case err != nil:
		return err
	case now.SameTokens(r.old): // sealed again meanwhile
		r.stored = stored
		return r.svc.Adapter.ReplaceTokens(ctx, r.svc.tokens.forStorage(renewed), stored)
	case now.SameTokens(renewed):
		return nil // an earlier write succeeded, but its answer was lost
	}
	return errReplaced
}

// refused marks the stored tokens, so that the provider is not asked again before the
// next sign-in. It also reports the refusal.
func (r *refresh) refused(life context.Context, cause error) {
	marked := r.old
	marked.AccessToken, marked.RefreshToken, marked.ExpiresAt = "", refusedToken, 0
	if err := r.replace(life, marked); err != nil {
		if errors.Is(err, errReplaced) { // the stored tokens are not the refused ones
			r.finish("", authsvc.ErrBusy, 0)
			return
		}
		r.svc.Log.Error("cannot mark refused tokens", "provider", r.old.Provider, "user", r.old.UserID, "err", err)
		r.audit(life, "token.refused", "the refresh token is expired, revoked or was used before; it could not be marked")
		r.finish("", authsvc.ErrTokenRefused, refreshPause)
		return
	}
	r.svc.Log.Warn("the provider refused a refresh token", "provider", r.old.Provider, "user", r.old.UserID, "cause", cause)
	ctx, cancel := fleet.Detached(life, loginTimeout)
	defer cancel()
	r.audit(ctx, "token.refused", "the refresh token is expired, revoked or was used before")
	if watch := r.svc.Events.TokenRefused; watch != nil {
		a := r.old
		a.AccessToken, a.RefreshToken, a.IDToken = "", "", ""
		r.svc.fleet.Emit("tokenRefused", func() { watch(ctx, a) })
	}
	r.finish("", authsvc.ErrTokenRefused, 0)
}

// refreshPause is how long after a failure the provider is not asked again.
const refreshPause = 10 * time.Second

// maxRefreshCalls limits the refreshes and failures that are remembered.
const maxRefreshCalls = 10_000

// A refreshCall is a refresh that is in progress or failed a moment ago.
type refreshCall struct {
	done  chan struct{} // closed when token and err are set
	token string
	err   error
	until time.Time // err is returned until then
}

// refreshCalls holds the refreshes of this process, at most one at a time for each
// account.
type refreshCalls struct {
	mu  sync.Mutex
	all map[string]*refreshCall
}

// join returns the refresh for key that is in progress or has failed a moment ago. If
// there is none, it returns a new one, and mine is true: the caller must run it.
func (c *refreshCalls) join(key string, now time.Time) (call *refreshCall, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.all[key]; call != nil && (!call.ended() || now.Before(call.until)) {
		return call, false
	}
	if len(c.all) >= maxRefreshCalls {
		c.forget(now)
	}
	call = &refreshCall{done: make(chan struct{})}
	if len(c.all) < maxRefreshCalls {
		c.all[key] = call
	} // otherwise it is not shared, but the lease still lets only one run
	return call, true
}

func (c *refreshCalls) forget(now time.Time) {
	for key, call := range c.all {
		if call.ended() && !now.Before(call.until) {
			delete(c.all, key)
		}
	}
}

// finish gives the result to the waiting callers. If it is an error, later callers get
// it until pause is over.
func (c *refreshCalls) finish(key string, call *refreshCall, token string, err error, pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.ended() {
		return
	}
	call.token, call.err, call.until = token, err, time.Now().Add(pause)
	if err == nil || pause == 0 {
		c.drop(key, call)
	}
	close(call.done)
}

// clear lets the next caller start a new call.
func (c *refreshCalls) clear(key string, call *refreshCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key, call)
}

func (c *refreshCalls) drop(key string, call *refreshCall) {
	if c.all[key] == call {
		delete(c.all, key)
	}
}

func (c *refreshCall) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// wait returns the result of the call, or the error of ctx.
func (c *refreshCall) wait(ctx context.Context) (string, error) {
	select {
	case <-c.done:
		return c.token, c.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

var errWrongSubject = errors.New("the response is about another user")
