package verify

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// The names in parentheses are the OpenID Foundation's conformance tests of relying
// parties: the current module without the prefix oidcc-client-test, and the older
// one.
var oidcChecks = checks{
	"01": {title: "wrong issuer (invalid-iss, rp-id_token-issuer-mismatch)", run: oidc01},
	"02": {title: "no usable sub (missing-sub, rp-id_token-sub)", run: oidc02},
	"03": {title: "wrong or missing audience (invalid-aud, missing-aud, rp-id_token-aud)", run: oidc03},
	"04": {title: "several audiences and azp", run: oidc04},
	"05": {title: "iat missing, old or in the future (missing-iat, rp-id_token-iat)", run: oidc05},
	"06": {title: "bad signature (invalid-sig-rs256, -hs256, -es256, rp-id_token-bad-sig-*)", run: oidc06},
	"07": {title: "unsigned token (idtoken-sig-none, rp-id_token-sig-none)", run: oidc07},
	"08": {title: "key confusion", run: oidc08},
	"09": {title: "valid signatures of all algorithms (idtoken-sig-rs256, rp-id_token-sig-*)", run: oidc09},
	"10": {title: "no kid (kid-absent-single-jwks, kid-absent-multiple-jwks)", run: oidc10},
	"11": {title: "wrong nonce (nonce-invalid, rp-nonce-invalid)", run: oidc11},
	"12": {title: "replay of an old ID token", run: oidc12},
	"13": {title: "expired or not yet valid: leeway of exactly 60 s", run: oidc13},
	"14": {title: "another kind of token", run: oidc14},
	"15": {title: "userinfo of another user (userinfo-invalid-sub, rp-userinfo-bad-sub-claim)", run: oidc15},
	"16": {title: "claims from userinfo (scope-userinfo-claims, userinfo-bearer-header)", run: oidc16},
	"17": {title: "at_hash (rp-id_token-bad-at_hash)", run: oidc17},
	"18": {title: "metadata of another issuer (discovery-issuer-mismatch, rp-discovery-issuer-not-matching-config)", run: oidc18},
	"19": {title: "hostile metadata (discovery-openid-config)", run: oidc19},
	"20": {title: "key rotation (signing-key-rotation, -just-before-signing, rp-key-rotation-op-sign-key)", run: oidc20},
	"21": {title: "hostile key set (discovery-jwks-uri-keys)", run: oidc21},
	"22": {title: "key that the token names or contains", run: oidc22},
	"23": {title: "authentication at the token endpoint (client-secret-basic, rp-token_endpoint-client_secret_basic)", run: oidc23},
	"24": {title: "auth_time and acr", run: oidc24},
	"25": {title: "issuer that contains a tenant", run: oidc25},
	"26": {title: "claims from elsewhere (aggregated-claims, distributed-claims, rp-claims-*)", run: oidc26},
	"27": {title: "signed userinfo (userinfo-signed, rp-userinfo-sig)", run: oidc27},
	"28": {title: "official suite", not: "the OpenID Foundation's suite is a service that these machines cannot reach; if a check is a copy of one of the suite's modules, it gives the name of the module"},
}

// oidcBubble runs f in a bubble, where waiting takes no real time.
func oidcBubble(t *T, f func(t *T)) {
	t.Helper()
	synctest.Test(t.T, func(inner *testing.T) {
		f(&T{T: inner, Mode: t.Mode, id: t.id, report: t.report, figures: t.figures})
	})
}

// oidcOffline is Enter for a bubble; it also reads the provider's userinfo.
func oidcOffline(t *T, tune func(*authsvc.Config)) *arena.World {
	t.Helper()
	return arena.EnterInMemory(t, t.inMode(oidcUserInfo(tune)))
}

// oidcWorld is Enter; it also reads the provider's userinfo.
func oidcWorld(t *T, tune func(*authsvc.Config)) *arena.World {
	t.Helper()
	return t.Enter(oidcUserInfo(tune))
}

func oidcUserInfo(tune func(*authsvc.Config)) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		oidcProvider(c).UserInfo.AddClaims = true
		if tune != nil {
			tune(c)
		}
	}
}

func oidcProvider(c *authsvc.Config) *authsvc.OAuth { return c.Providers[0].(*authsvc.OAuth) }

// oidcAt is oidcWorld with a provider of these options.
func oidcAt(t *T, o idp.Options, tune func(*authsvc.Config)) *arena.World {
	t.Helper()
	const secret = arena.ClientSecret + "-long-enough-for-an-hmac-of-512-bits-which-needs-64-bytes"
	o.Clients = []idp.Client{{ID: "app", Secret: secret, RedirectURIs: []string{arena.Origin + "/api/auth/callback/op"}}}
	op, err := idp.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	w := oidcWorld(t, func(c *authsvc.Config) {
		p := oidcProvider(c)
		p.Issuer, p.Client.Secret = op.Issuer(), secret
		if tune != nil {
			tune(c)
		}
	})
	w.OP = op
	return w
}

// oidcRefused signs in with a fault of the provider. The sign-in must end without
// effect and reveal no secret.
func oidcRefused(t *T, w *arena.World, name string, fault idp.Fault) {
	t.Helper()
	var access atomic.Value
	edit := fault.TokenAnswer
	fault.TokenAnswer = func(a map[string]any) {
		access.Store(a["access_token"])
		if edit != nil {
			edit(a)
		}
	}
	b := w.Browser()
	to := b.Begin("op")
	w.OP.SetFault(fault)
	defer w.OP.SetFault(idp.Fault{})
	back := b.Approve(w.OP, to, "ada")
	a := w.MustRefuseLate(t, func() *browser.Answer { return b.Get(back) })
	if !strings.Contains(a.Location(), "error=OAuthCallback") || b.Email() != "" {
		t.Errorf("%s: %d %s, %q", name, a.StatusCode, a.Location(), b.Email())
	}
	token, _ := access.Load().(string)
	oidcNoSecrets(t, w, name, oidcPages(b, a), token, back)
	if t.Failed() {
		t.Fatalf("%s\n%s", name, w.Logs)
	}
}

// oidcPages returns the text of all pages that a refusal leads to.
func oidcPages(b *arena.Browser, a *browser.Answer) string {
	text := a.Text
	for range 4 {
		if !strings.HasPrefix(a.Location(), b.Origin+"/api/auth/") {
			break
		}
		a = b.Get(a.Location())
		text += a.Location() + a.Text
	}
	return text
}

// oidcNoSecrets searches the pages and the log for secrets of the flow.
func oidcNoSecrets(t *T, w *arena.World, name, pages, access, back string) {
	t.Helper()
	q := arena.MustURL(t, back).Query()
	for what, secret := range map[string]string{"client secret": arena.ClientSecret, "access token": access, "code": q.Get("code"), "state": q.Get("state"), "token": "eyJhbGci"} {
		if secret == "" {
			continue
		}
		if strings.Contains(pages, secret) {
			t.Errorf("%s: the %s is on a page", name, what)
		}
		if strings.Contains(w.Logs.String(), secret) {
			t.Errorf("%s: the %s is in the log", name, what)
		}
	}
}

// oidcAccepted runs a sign-in that must succeed.
func oidcAccepted(t *T, w *arena.World, name string, fault idp.Fault) *arena.Browser {
	t.Helper()
	w.OP.SetFault(fault)
	defer w.OP.SetFault(idp.Fault{})
	b := w.Browser()
	if a := b.SignIn(w.OP, "ada"); a.Location() != arena.Origin || b.Email() != "ada@example.com" {
		t.Fatalf("%s: %d %s, %q\n%s", name, a.StatusCode, a.Location(), b.Email(), w.Logs)
	}
	return b
}

// oidcCells checks that sign-ins with some faults are refused and with others
// accepted, also without a fault.
func oidcCells(t *T, w *arena.World, refused, accepted map[string]idp.Fault) {
	t.Helper()
	asked := w.OP.Calls(idp.EndpointUserInfo)
	for name, fault := range refused {
		oidcRefused(t, w, name, fault)
	}
	if n := w.OP.Calls(idp.EndpointUserInfo) - asked; n != 0 {
		t.Errorf("userinfo is asked %d times after a refused ID token", n)
	}
	for name, fault := range accepted {
		oidcAccepted(t, w, name, fault)
	}
	oidcAccepted(t, w, "twin", idp.Fault{})
}
