package authsvc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"authsvc/internal/oidc"
)

// Times of a refresh.
const (
	refreshTimeout = 25 * time.Second // metadata and the token request
	storeTimeout   = 5 * time.Second  // one call of the store
	storeTries     = 4                // before callers are told
	storePause     = 100 * time.Millisecond
	storeRetry     = 5 * time.Second // between the tries after that
	storeGiveUp    = 10 * time.Minute
)

var (
	errNotStored = errors.New("authsvc: new tokens came but cannot be stored now; it is tried again")
	errReplaced  = errors.New("the tokens were replaced by a sign-in meanwhile")
)

// A refresh is one renewal of an account's tokens, held by the lease of the
// account. It goes on when those who wait for it leave: a provider that rotates
// refresh tokens has spent the old one.
type refresh struct {
	*Service
	key    string
	fl     *flight
	old    Account // as it was when the lease was ours
	stored Account // the same as the store has it
}

// refreshed joins or starts the refresh of an account.
func (s *Service) refreshed(ctx context.Context, a Account) (string, error) {
	key := nameOf("refresh", a.Provider, a.ProviderAccountID)
	fl, mine := s.flights.join(key, time.Now())
	if mine {
		r := &refresh{Service: s, key: key, fl: fl, old: a}
		if !s.errand("refresh of tokens", r.run) {
			r.land("", errNoErrand, 0)
		}
	}
	return fl.wait(ctx)
}

func (r *refresh) land(token string, err error, pause time.Duration) {
	r.flights.land(r.key, r.fl, token, err, pause)
}

// run waits for the lease, looks again, and asks the provider.
func (r *refresh) run(life context.Context) {
	defer r.land("", errors.New("authsvc: the refresh failed unexpectedly"), refreshPause) // after a panic
	release, err := r.lease(life, r.key)
	if err != nil {
		if !errors.Is(err, ErrBusy) {
			r.log.Warn("a refresh of tokens could not begin", "provider", r.old.Provider, "user", r.old.UserID, "cause", err)
		}
		r.land("", err, 0)
		return
	}
	defer release()
	ctx, cancel := inHand(life, refreshTimeout)
	defer cancel()
	r.old, r.stored, err = r.account(ctx, r.old.UserID, r.old.Provider, r.old.ProviderAccountID)
	switch {
	case err != nil:
		r.land("", err, 0)
		return
	case fresh(&r.old, r.now().Add(tokenMargin)): // another replica was faster
		r.land(r.old.AccessToken, nil, 0)
		return
	}
	if err := r.renewable(&r.old); err != nil {
		r.land("", err, 0)
		return
	}
	renewed, err := r.flows[r.old.Provider].(tokenKeeper).refresh(ctx, r.Service, r.old)
	switch {
	case err == nil:
		r.keep(life, renewed)
	case oidc.IsInvalidGrant(err), errors.Is(err, ErrTokenRefused):
		r.refused(life, err)
	case errors.Is(err, ErrNoToken):
		r.land("", err, 0)
	default:
		r.log.Warn("tokens could not be refreshed", "provider", r.old.Provider, "user", r.old.UserID, "cause", err)
		switch {
		case errors.Is(err, errWrongSubject):
			r.tell(ctx, "token.wrong_subject", "a refresh was answered with tokens of somebody else")
		case errors.Is(err, oidc.ErrMisaddressed):
			r.tell(ctx, "token.misaddressed", "a refresh was answered with an ID token of another issuer or client")
		default:
			r.tell(ctx, "token.refresh_failed", "the provider did not give new ones")
		}
		r.land("", fmt.Errorf("authsvc: tokens of %s could not be refreshed: %w", r.old.Provider, err), refreshPause)
	}
}

// tell records what came of the refresh.
func (r *refresh) tell(ctx context.Context, name, reason string) {
	r.record(ctx, AuditEvent{Name: name, Provider: r.old.Provider, UserID: r.old.UserID, Reason: reason})
}

// keep stores new tokens. While that fails it goes on trying, with the lease
// held so that nobody presents the spent refresh token, but callers are told
// after some tries.
func (r *refresh) keep(life context.Context, renewed Account) {
	began := time.Now()
	for try, wait := 1, storePause; ; try++ {
		err := r.replace(life, renewed)
		if r.ended(renewed, err) {
			r.flights.clear(r.key, r.fl)
			return
		}
		if try == storeTries {
			wait = storeRetry
			r.log.Error("refreshed tokens cannot be stored; it is tried again", "provider", r.old.Provider, "user", r.old.UserID, "err", err)
			r.land("", errNotStored, storeGiveUp+time.Minute)
		}
		last := !rest(life, wait)
		if last { // the service ends: one more try
			err = r.replace(life, renewed)
		}
		if last && r.ended(renewed, err) {
			return
		}
		if last || time.Since(began) > storeGiveUp {
			r.log.Error("refreshed tokens are lost; if the provider rotates refresh tokens, the person has to sign in again",
				"provider", r.old.Provider, "user", r.old.UserID, "err", err)
			r.tell(life, "token.refresh_failed", "new ones came and could not be stored")
			r.land("", errNotStored, 0)
			r.flights.clear(r.key, r.fl)
			return
		}
		if try < storeTries {
			wait *= 3
		}
	}
}

// ended ends the flight unless the store has to be asked again.
func (r *refresh) ended(renewed Account, err error) bool {
	switch {
	case err == nil:
		r.land(renewed.AccessToken, nil, 0)
	case errors.Is(err, ErrNotFound): // unlinked meanwhile: nobody is to have these
		r.revokeTokens(renewed)
		r.land("", ErrNotFound, 0)
	case errors.Is(err, errReplaced):
		r.land("", ErrBusy, 0)
	default:
		return false
	}
	return true
}

// replace writes the tokens of the account, unless a sign-in or another program
// has replaced those that the refresh began with. ErrStale: they were sealed
// anew, twice.
func (r *refresh) replace(life context.Context, renewed Account) error {
	ctx, cancel := inHand(life, storeTimeout)
	defer cancel()
	err := r.adapter.ReplaceTokens(ctx, r.vault.keep(renewed), r.stored)
	if !errors.Is(err, ErrStale) {
		return err
	}
	now, stored, err := r.account(ctx, r.old.UserID, r.old.Provider, r.old.ProviderAccountID)
	switch {
	case err != nil:
		return err
	case now.SameTokens(r.old): // sealed anew meanwhile
		r.stored = stored
		return r.adapter.ReplaceTokens(ctx, r.vault.keep(renewed), stored)
	case now.SameTokens(renewed):
		return nil // a write whose answer was lost
	}
	return errReplaced
}

// refused marks the stored tokens, so that the provider is not asked again
// before the next sign-in, and tells.
func (r *refresh) refused(life context.Context, cause error) {
	marked := r.old
	marked.AccessToken, marked.RefreshToken, marked.ExpiresAt = "", refusedToken, 0
	if err := r.replace(life, marked); err != nil {
		if errors.Is(err, errReplaced) { // what was refused is not what is stored
			r.land("", ErrBusy, 0)
			return
		}
		r.log.Error("refused tokens could not be marked", "provider", r.old.Provider, "user", r.old.UserID, "err", err)
		r.tell(life, "token.refused", "the refresh token is expired, revoked or was used before; it could not be marked")
		r.land("", ErrTokenRefused, refreshPause)
		return
	}
	r.log.Warn("the provider refused a refresh token", "provider", r.old.Provider, "user", r.old.UserID, "cause", cause)
	ctx, cancel := inHand(life, loginTimeout)
	defer cancel()
	r.tell(ctx, "token.refused", "the refresh token is expired, revoked or was used before")
	r.emit("tokenRefused", func() {
		a := r.old
		a.AccessToken, a.RefreshToken, a.IDToken = "", "", ""
		r.events.TokenRefused(ctx, a)
	}, r.events.TokenRefused != nil)
	r.land("", ErrTokenRefused, 0)
}
