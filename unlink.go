package authsvc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"authsvc/internal/oidc"
	"authsvc/internal/outbound"
)

// ErrLastAccount: without the account the user could not sign in any more.
var ErrLastAccount = errors.New("authsvc: the account is the user's last way to sign in")

// UnlinkAccount removes an account of a user and then, in the background,
// revokes its tokens where the provider takes that (RFC 7009). Sessions go on;
// EndSessions ends them. The user is told by mail ([NoticeOptions]). A sign-in by the account that is under way has either
// begun its session before, or ends without one.
//
// ErrNotFound: the user has no such account. ErrLastAccount: the user has no
// other account at a configured provider, no verified address while links are
// sent, and Callbacks.WaysIn knows of nothing else. What a credentials provider
// would let in only that callback knows; [EvenLast] does not ask.
func (s *Service) UnlinkAccount(ctx context.Context, userID, provider, providerAccountID string, options ...UnlinkOption) error {
	o := unlinkOptions{reason: "by the application"}
	o.record, o.notify = func(e AuditEvent) { s.record(ctx, e) }, func(n notice) { s.notify(ctx, n) }
	if actorOf(ctx) != "" {
		o.reason, o.record = "by an operator", func(e AuditEvent) { s.recordAtOnce(ctx, e) }
	}
	for _, option := range options {
		option(&o)
	}
	return s.unlink(ctx, userID, provider, providerAccountID, o)
}

// An UnlinkOption is one of [EvenLast].
type UnlinkOption func(*unlinkOptions)

type unlinkOptions struct {
	evenLast bool
	reason   string           // of audit events: who wants it
	record   func(AuditEvent) // writes them
	notify   func(notice)     // tells the user; nil: who wants it knows
}

// EvenLast removes an account even if it is the user's last way to sign in:
// there is no ErrLastAccount.
func EvenLast() UnlinkOption { return func(o *unlinkOptions) { o.evenLast = true } }

// unlink removes an account and records why that failed; afterUnlink records
// that it succeeded.
func (s *Service) unlink(ctx context.Context, userID, provider, id string, o unlinkOptions) error {
	err := s.unlinkUnlessLast(ctx, userID, provider, id, o)
	e := AuditEvent{Name: "account.unlink_failed", Provider: provider, UserID: userID, Reason: o.reason}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		e.Name, e.Reason = "account.unlink_refused", "the user has no such account"
	case errors.Is(err, ErrLastAccount):
		e.Name, e.Reason = "account.unlink_refused", "it is the last way to sign in"
	}
	o.record(e)
	return err
}

// maxUnlinks is how often a removal is tried that others of the same person overtake.
const maxUnlinks = 10

// unlinkUnlessLast removes an account while the person is as they were when their
// ways in were counted: two requests at once do not remove the last two accounts.
func (s *Service) unlinkUnlessLast(ctx context.Context, userID, provider, id string, o unlinkOptions) error {
	for try := 1; ; try++ {
		u, err := s.adapter.GetUser(ctx, userID)
		if err != nil {
			return err
		}
		all, err := s.adapter.ListAccounts(ctx, userID)
		if err != nil {
			return err
		}
		found, others := splitAccount(all, provider, id)
		if found == nil {
			return ErrNotFound
		}
		if !o.evenLast {
			if left, err := s.canSignIn(ctx, u, others); !left {
				return cmp.Or(err, ErrLastAccount)
			}
		}
		err = s.adapter.UnlinkAccount(ctx, provider, id, u.Epoch, s.revocation(keyAccount+userID, userID, s.now()))
		if err == nil {
			s.afterUnlink(ctx, u, *found, o)
		}
		if !errors.Is(err, ErrStale) || try == maxUnlinks {
			return err
		}
	}
}

func splitAccount(all []Account, provider, id string) (found *Account, others []Account) {
	for _, a := range all {
		if a.Provider == provider && a.ProviderAccountID == id {
			found = &a
		} else {
			others = append(others, a)
		}
	}
	return found, others
}

// canSignIn reports whether a user with these accounts can sign in, by a way that is
// known here or to the application. With an error that is not known.
func (s *Service) canSignIn(ctx context.Context, u User, accounts []Account) (bool, error) {
	if s.knowsWayIn(u, accounts) {
		return true, nil
	}
	n, err := s.waysIn(ctx, u)
	return err == nil && n > 0, err
}

// waysIn asks the application.
func (s *Service) waysIn(ctx context.Context, u User) (n int, err error) {
	if s.callbacks.WaysIn == nil {
		return 0, nil
	}
	defer s.recovered("waysIn callback", func() { n, err = 0, errors.New("waysIn callback panicked") })
	return s.callbacks.WaysIn(ctx, u)
}

// knowsWayIn reports whether an account is at a configured provider, or the address
// is proved while links are mailed.
func (s *Service) knowsWayIn(u User, accounts []Account) bool {
	for _, a := range accounts {
		if s.shownFlow(a.Provider) != nil {
			return true
		}
	}
	if u.Email == "" || u.EmailVerified.IsZero() {
		return false
	}
	for _, f := range s.flows {
		if in := f.info(); in.linkAge > 0 && !in.hidden {
			return true
		}
	}
	return false
}

// afterUnlink reports that an account was removed and revokes its tokens.
func (s *Service) afterUnlink(ctx context.Context, u User, stored Account, o unlinkOptions) {
	a, lost := s.tokens.open(stored)
	s.logLost(a, lost)
	o.record(AuditEvent{Name: "account.unlinked", Provider: a.Provider, UserID: u.ID, Reason: o.reason})
	if s.events.UnlinkAccount != nil {
		s.emit("unlinkAccount", func() { s.events.UnlinkAccount(ctx, u, a) })
	}
	s.revokeTokens(a)
	if o.notify != nil {
		o.notify(notice{what: "unlinked", user: u, name: s.providerName(a.Provider)})
	}
}

// revokeWaits are the pauses between the tries to revoke a token.
var revokeWaits = [...]time.Duration{time.Second, 5 * time.Second, 30 * time.Second}

// revokeTokens revokes the tokens of a removed account in the background, the
// refresh token first: it gives new access tokens, and many providers revoke the
// existing ones with it.
func (s *Service) revokeTokens(a Account) {
	keeper, able := s.flows[a.Provider].(tokenFlow)
	if !able || a.RefreshToken == "" && a.AccessToken == "" {
		return
	}
	taken := s.runTask("revocation of tokens", func(life context.Context) {
		for _, t := range [][2]string{{a.RefreshToken, "refresh_token"}, {a.AccessToken, "access_token"}} {
			if t[0] == "" || t[0] == refusedToken {
				continue
			}
			if err := s.revokeToken(life, keeper, a, t[0], t[1]); err != nil {
				s.log.Warn("a token of a removed account was not revoked", "provider", a.Provider, "user", a.UserID, "token", t[1], "cause", err)
			}
		}
	})
	if !taken {
		s.log.Warn("tokens of a removed account were not revoked", "provider", a.Provider, "user", a.UserID, "cause", errNoTask)
	}
}

// revokeToken revokes one token, and retries while the provider is unavailable.
func (s *Service) revokeToken(life context.Context, keeper tokenFlow, a Account, token, hint string) error {
	for try := 0; ; try++ {
		ctx, cancel := detached(life, refreshTimeout)
		err := keeper.revoke(ctx, s, a, token, hint)
		cancel()
		switch {
		case err == nil, errors.Is(err, oidc.ErrNoEndpoint):
			return nil
		case !errors.Is(err, outbound.ErrUnavailable), try == len(revokeWaits):
			return err
		case !sleep(life, revokeWaits[try]):
			return fmt.Errorf("the service ended: %w", err)
		}
	}
}
