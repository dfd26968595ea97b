package verify

import (
	"errors"
	"slices"
	"testing"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

const (
	accountIntent = "a plain sign-in while signed in counts as intent to link, as in NextAuth.js"
	accountProof  = "first_proof defaults to keep, as in NextAuth.js: earlier accounts and sessions remain; strict can be set"
)

var accountChecks = checks{
	"01": {title: "classic-federated merge", run: account01},
	"02": {title: "email_verified ignored", run: account02},
	"03": {title: "nOAuth", run: account03},
	"04": {title: "same sub, two issuers", run: account04},
	"05": {title: "sub equality", run: account05},
	"06": {title: "linking without intent", run: account06, except: map[string]string{modeV4: accountIntent, modeV5: accountIntent}},
	"07": {title: "identity of another user", run: account07},
	"08": {title: "unexpired session (pre-hijack)", run: account08, except: map[string]string{modeV4: accountProof, modeV5: accountProof}},
	"09": {title: "Trojan identifier", run: account09, except: map[string]string{modeV4: accountProof, modeV5: accountProof}},
	"10": {title: "unexpired email change", run: account10},
	"11": {title: "non-verifying provider", run: account11},
	"12": {title: "dangerous linking default", run: account12},
	"13": {title: "address change at the provider", run: account13},
	"14": {title: "veto and hooks", run: account14},
	"15": {title: "hostile profile", run: account15},
	"16": {title: "last method removed", run: account16},
	"17": {title: "deletion", run: account17},
	"18": {title: "stale unverified accounts", not: "unverified users are not pruned"},
	"20": {title: "another user's records, through the account page", run: account20},
	"21": {title: "changes without a fresh proof", run: account21},
	"22": {title: "a proof by another person", run: account22},
	"19": {title: "silent changes: the owner is notified and can undo them", run: account19},
}

// accountWorld has a provider "op2" in addition to "op". An attacker runs its server,
// which has an ada with the address and the sub of the honest one. "plain" is the
// honest server without OpenID; it verifies no address.
func accountWorld(t *T, tune func(*authsvc.Config)) (w *arena.World, evil *idp.Server) {
	t.Helper()
	evil, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: "evil-secret", RedirectURIs: []string{arena.Origin + "/api/auth/callback/op2", arena.Origin + "/api/auth/callback/op"}}},
		People: []idp.Person{{Sub: "ada", Name: "Not Ada", Email: "ada@example.com", EmailVerified: true}, {Sub: "grace", Name: "Not Grace", Email: "mine@evil.test", EmailVerified: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { evil.Close() })
	w = t.Enter(func(c *authsvc.Config) {
		op := c.Providers[0].(*authsvc.OAuth)
		o, p := *op, *op
		o.ID, o.Issuer, o.Client.Secret = "op2", evil.Issuer(), "evil-secret"
		p.ID, p.OpenID, p.Issuer = "plain", false, ""
		p.Endpoints.Authorization, p.Endpoints.Token, p.Endpoints.UserInfo = op.Issuer+"/oauth2/authorize", op.Issuer+"/oauth2/token", op.Issuer+"/oauth2/user"
		p.Fields = authsvc.Fields{ID: "id", Image: "avatar_url"}
		c.Providers = append(c.Providers, &o, &p)
		if tune != nil {
			tune(c)
		}
	})
	return w, evil
}

// accountVia signs in at a provider as one of its people.
func accountVia(b *arena.Browser, op *idp.Server, provider, sub string, fields ...string) *browser.Answer {
	b.T.Helper()
	return b.Get(b.Approve(op, b.Begin(provider, fields...), sub))
}

// accountRefused calls accountVia and checks that the sign-in is refused at the end.
func accountRefused(t *T, w *arena.World, b *arena.Browser, op *idp.Server, provider, sub string, fields ...string) *browser.Answer {
	t.Helper()
	back := b.Approve(op, b.Begin(provider, fields...), sub)
	return w.MustRefuseLate(t, func() *browser.Answer { return b.Get(back) })
}

// accountOwner returns the id of the user with an account, or "".
func accountOwner(t testing.TB, w *arena.World, provider, sub string) string {
	t.Helper()
	u, err := w.Store.GetUserByAccount(t.Context(), provider, sub)
	if err != nil && !errors.Is(err, adapter.ErrNotFound) {
		t.Fatal(err)
	}
	return u.ID
}

// accountHas reports whether a user has an account at a provider.
func accountHas(t testing.TB, w *arena.World, userID, provider string) bool {
	t.Helper()
	list, err := w.Store.ListAccounts(t.Context(), userID)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(list, func(a authsvc.Account) bool { return a.Provider == provider })
}

func accountClaim(name string, v any) idp.Fault {
	return idp.Fault{IDToken: func(c map[string]any) {
		if c[name] = v; v == nil {
			delete(c, name)
		}
	}}
}

// accountLinking makes "op" link by address.
func accountLinking(c *authsvc.Config) { c.Providers[0].(*authsvc.OAuth).LinkVerifiedEmail = true }
