package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/protocol/outbound"
)

// UnlinkAccount implements [Service.UnlinkAccount].
func (vt *vault) UnlinkAccount(ctx context.Context, userID, provider, providerAccountID string, options *UnlinkOptions) error {
	o := unlinkOptions{reason: "by the application"}
	o.record, o.notify = func(e authsvc.AuditEvent) { vt.auditor.Record(ctx, e) }, func(n notice) { vt.mailing.notify(ctx, n) }
	if audit.ActorOf(ctx) != "" {
		o.reason, o.record = "by an operator", func(e authsvc.AuditEvent) { vt.auditor.RecordAtOnce(ctx, e) }
	}
	if options != nil {
		o.evenLast = options.EvenLast
	}
	return vt.unlink(ctx, userID, provider, providerAccountID, o)
}

// UnlinkOptions are the options of [People.UnlinkAccount].
type UnlinkOptions struct {
	// EvenLast removes the account even if it is the user's last way to sign in.
	// UnlinkAccount then does not return ErrLastAccount.
	EvenLast bool
}

type unlinkOptions struct {
	evenLast bool
	reason   string                   // of audit events: who asked for it
	record   func(authsvc.AuditEvent) // writes audit events
	notify   func(notice)             // tells the user; nil: the user asked for it
}

// unlink removes an account. If that fails, it records why; afterUnlink records
// success.
func (vt *vault) unlink(ctx context.Context, userID, provider, id string, o unlinkOptions) error {
	err := vt.unlinkUnlessLast(ctx, userID, provider, id, o)
	e := authsvc.AuditEvent{Name: "account.unlink_failed", Provider: provider, UserID: userID, Reason: o.reason}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, adapter.ErrNotFound):
		e.Name, e.Reason = "account.unlink_refused", "the user has no such account"
	case errors.Is(err, authsvc.ErrLastAccount):
		e.Name, e.Reason = "account.unlink_refused", "it is the last way to sign in"
	}
	o.record(e)
	return err
}

// maxUnlinks limits how often a removal is tried if other changes to the person
// overtake it.
const maxUnlinks = 10

// unlinkUnlessLast removes an account only if the person is unchanged since their ways
// in were counted. Two concurrent requests therefore do not remove the last two
// accounts.
func (vt *vault) unlinkUnlessLast(ctx context.Context, userID, provider, id string, o unlinkOptions) error {
	for try := 1; ; try++ {
		u, err := vt.Adapter.GetUser(ctx, userID)
		if err != nil {
			return err
		}
		all, err := vt.Adapter.ListAccounts(ctx, userID)
		if err != nil {
			return err
		}
		found, others := splitAccount(all, provider, id)
		none := error(nil)
		if found == nil { // the store is still asked: it finishes an interrupted removal
			found, none = &authsvc.Account{UserID: userID, Provider: provider, ProviderAccountID: id}, adapter.ErrNotFound
		}
		if !o.evenLast {
			if left, err := vt.canSignIn(ctx, u, others); !left {
				return cmp.Or(err, none, authsvc.ErrLastAccount)
			}
		}
		err = vt.Adapter.UnlinkAccount(ctx, provider, id, u.Epoch, vt.keeper.revocation(keyAccount+userID, userID, vt.fleet.Now()))
		if err == nil {
			vt.afterUnlink(ctx, u, *found, o)
		}
		if !errors.Is(err, adapter.ErrStale) || try == maxUnlinks {
			return err
		}
	}
}

func splitAccount(all []authsvc.Account, provider, id string) (found *authsvc.Account, others []authsvc.Account) {
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
// known here or to the application. If it returns an error, this is not known.
func (vt *vault) canSignIn(ctx context.Context, u authsvc.User, accounts []authsvc.Account) (bool, error) {
	if vt.knowsWayIn(u, accounts) {
		return true, nil
	}
	n, err := vt.waysIn(ctx, u)
	return err == nil && n > 0, err
}

// waysIn asks the application how many other ways in it knows.
func (vt *vault) waysIn(ctx context.Context, u authsvc.User) (n int, err error) {
	if vt.Callbacks.WaysIn == nil {
		return 0, nil
	}
	defer vt.fleet.Recovered("waysIn callback", func() { n, err = 0, errors.New("waysIn callback panicked") })
	return vt.Callbacks.WaysIn(ctx, u)
}

// knowsWayIn reports whether an account is at a configured provider, or the address is
// proved and sign-in links are mailed.
func (vt *vault) knowsWayIn(u authsvc.User, accounts []authsvc.Account) bool {
	for _, a := range accounts {
		if vt.site.shownFlow(a.Provider) != nil {
			return true
		}
	}
	if u.Email == "" || u.EmailVerified.IsZero() {
		return false
	}
	for _, f := range vt.site.flows {
		if in := f.info(); in.linkAge > 0 && !in.hidden {
			return true
		}
	}
	return false
}

// afterUnlink reports that an account was removed and revokes its tokens.
func (vt *vault) afterUnlink(ctx context.Context, u authsvc.User, stored authsvc.Account, o unlinkOptions) {
	a, lost := vt.tokens.open(stored)
	vt.logLost(a, lost)
	o.record(authsvc.AuditEvent{Name: "account.unlinked", Provider: a.Provider, UserID: u.ID, Reason: o.reason})
	if vt.Events.UnlinkAccount != nil {
		vt.fleet.Emit("unlinkAccount", func() { vt.Events.UnlinkAccount(ctx, u, a) })
	}
	vt.revokeTokens(a)
	if o.notify != nil {
		o.notify(notice{what: "unlinked", user: u, name: vt.site.providerName(a.Provider)})
	}
}

// revokeWaits are the pauses between the tries to revoke a token.
var revokeWaits = [...]time.Duration{time.Second, 5 * time.Second, 30 * time.Second}

// revokeTokens revokes the tokens of a removed account in the background. It starts
// with the refresh token, because that gives new access tokens and many providers
// revoke the existing ones with it.
func (vt *vault) revokeTokens(a authsvc.Account) {
	keeper, able := vt.site.flows[a.Provider].(tokenFlow)
	if !able || a.RefreshToken == "" && a.AccessToken == "" {
		return
	}
	taken := vt.fleet.RunTask("revocation of tokens", func(life context.Context) {
		for _, t := range [][2]string{{a.RefreshToken, "refresh_token"}, {a.AccessToken, "access_token"}} {
			if t[0] == "" || t[0] == refusedToken {
				continue
			}
			if err := vt.revokeToken(life, keeper, a, t[0], t[1]); err != nil {
				vt.Log.Warn("a token of a removed account was not revoked", "provider", a.Provider, "user", a.UserID, "token", t[1], "cause", err)
			}
		}
	})
	if !taken {
		vt.Log.Warn("tokens of a removed account were not revoked", "provider", a.Provider, "user", a.UserID, "cause", fleet.ErrNoTask)
	}
}

// revokeToken revokes one token, and retries while the provider is unavailable.
func (vt *vault) revokeToken(life context.Context, keeper tokenFlow, a authsvc.Account, token, hint string) error {
	for try := 0; ; try++ {
		ctx, cancel := fleet.Detached(life, refreshTimeout)
		err := keeper.revoke(ctx, a, token, hint)
		cancel()
		switch {
		case err == nil, errors.Is(err, oidc.ErrNoEndpoint):
			return nil
		case !errors.Is(err, outbound.ErrUnavailable), try == len(revokeWaits):
			return err
		case !fleet.Sleep(life, revokeWaits[try]):
			return fmt.Errorf("the service ended: %w", err)
		}
	}
}

// vaultEvents are the audit events of linked accounts and their tokens.
var vaultEvents = []audit.Kind{
	{Name: "account.unlinked", Outcome: authsvc.AuditSuccess, Meaning: "An account was removed by the application, by the person or by a first proof."},
	{Name: "account.unlink_refused", Outcome: authsvc.AuditRefused, Meaning: "An account was not removed: there is no such account, or it is the last way to sign in."},
	{Name: "account.unlink_failed", Outcome: authsvc.AuditFailed, Meaning: "An account could not be removed: the store failed, or another replica was changing it."},
	{Name: "token.refused", Outcome: authsvc.AuditRefused, Meaning: "A provider no longer accepts the refresh token of an account."},
	{Name: "token.refresh_failed", Outcome: authsvc.AuditFailed, Meaning: "Tokens of a provider could not be refreshed, or the new tokens could not be stored."},
	{Name: "token.misaddressed", Outcome: authsvc.AuditRefused, Meaning: "A refresh returned an ID token of another issuer or for another client."},
	{Name: "token.wrong_subject", Outcome: authsvc.AuditRefused, Meaning: "A refresh returned tokens of another user."},
}
