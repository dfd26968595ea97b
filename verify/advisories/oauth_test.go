package advisories

import (
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

var oauthAdvisories = []advisory{
	{"CVE-2023-27490", "the callback accepts a missing state, nonce or PKCE verifier", stripped},
	{"GHSA-x445-f3h2-j279 better-auth-8897", "the checks of one provider are used for another", crossed},
	{"CVE-2023-48228 CVE-2024-23647", "PKCE can be left out", alwaysPKCE},
	{"CVE-2026-31813 CVE-2026-55669", "an ID token of an attacker is accepted", foreignIDToken},
	{"CVE-2026-33322", "the attacker chooses the algorithm", algorithm},
	{"CVE-2020-26160", "an audience that is a list is not checked", audienceList},
	{"GHSA-wpfr-6297-9v57 CVE-2026-42560", "a user without an id of their own", noID},
	{"CVE-2026-33544", "concurrent sign-ins are mixed up", manyPeople},
	{"CVE-2026-55076 GHSA-g38m-r43w-p2q7", "email_verified that is not a boolean counts", coerced},
	{"CVE-2022-31107", "a mutable name identifies an account", mutableName},
	{"CVE-2024-38351 CVE-2026-44166 CVE-2026-35511", "an address alone links an account", preHijack},
	{"CVE-2026-9689", "a parameter twice", twice},
	{"CVE-2017-12159 CVE-2020-14302", "state can be reused", stateAgain},
	{"CVE-2022-31034 CVE-2025-66630", "state and verifier can be guessed", unguessable},
	{"CVE-2026-67437", "started sign-ins fill the memory of the server", startedOnly},
	{"CVE-2025-64717", "a removed provider still signs in", goneProvider},
}

func callback(t *testing.T, w *arena.World, b *arena.Browser) *url.URL {
	return arena.MustURL(t, b.Approve(w.OP, b.Begin("op"), "ada"))
}

func stripped(t *testing.T, w *arena.World) {
	client := clients(w)
	for _, name := range []string{"state", "code", "iss"} {
		b := client()
		u := callback(t, w, b)
		q := u.Query()
		q.Del(name)
		u.RawQuery = q.Encode()
		calls := w.TokenCalls()
		if b.Get(u.String()); b.Email() != "" || w.TokenCalls() != calls {
			t.Errorf("without %s: %q, %d token calls", name, b.Email(), w.TokenCalls()-calls)
		}
	}
	b := client()
	u := callback(t, w, b)
	other := client() // without the cookies that hold the nonce and the verifier
	calls := w.TokenCalls()
	if other.Get(u.String()); other.Email() != "" || w.TokenCalls() != calls {
		t.Errorf("without cookies: %q", other.Email())
	}
	if b.Get(u.String()); b.Email() == "" {
		t.Error("twin: no sign-in")
	}
}

func crossed(t *testing.T, _ *arena.World) {
	w := arena.Start(t, func(c *authsvc.Config) {
		second := *c.Providers[0].(*authsvc.OAuth)
		second.ID = "op2"
		c.Providers = append(c.Providers, &second)
	})
	b := clients(w)()
	u := arena.MustURL(t, b.Approve(w.OP, b.Begin("op2"), "ada"))
	calls := w.TokenCalls()
	if b.Get("/api/auth/callback/op?" + u.RawQuery); b.Email() != "" || w.TokenCalls() != calls {
		t.Errorf("crossed: %q", b.Email())
	}
	one, two := clients(w)(), clients(w)()
	mine, theirs := callback(t, w, one), callback(t, w, two)
	q := mine.Query()
	q.Set("state", theirs.Query().Get("state"))
	if one.Get("/api/auth/callback/op?" + q.Encode()); one.Email() != "" {
		t.Errorf("another valid state: %q", one.Email())
	}
	if two.Get(theirs.String()); two.Email() == "" {
		t.Error("twin: no sign-in")
	}
}

func alwaysPKCE(t *testing.T, w *arena.World) {
	w.OP.SetFault(idp.Fault{Discovery: func(m map[string]any) { delete(m, "code_challenge_methods_supported") }})
	q := arena.MustURL(t, clients(w)().Begin("op")).Query()
	if q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 {
		t.Errorf("code_challenge %q by %q", q.Get("code_challenge"), q.Get("code_challenge_method"))
	}
}

// lying signs in at a provider with each fault, which must fail, and without a fault.
func lying(t *testing.T, w *arena.World, faults map[string]idp.Fault) {
	t.Helper()
	client := clients(w)
	for name, f := range faults {
		w.OP.SetFault(f)
		b := client()
		if b.SignIn(w.OP, "ada"); b.Email() != "" {
			t.Errorf("%s: %q", name, b.Email())
		}
	}
	w.OP.SetFault(idp.Fault{})
	b := client()
	if b.SignIn(w.OP, "ada"); b.Email() != "ada@example.com" {
		t.Errorf("twin: %q", b.Email())
	}
}

func claimed(name string, value any) idp.Fault {
	return idp.Fault{IDToken: func(c map[string]any) {
		if value == nil {
			delete(c, name)
		} else {
			c[name] = value
		}
	}}
}

func foreignIDToken(t *testing.T, w *arena.World) {
	lying(t, w, map[string]idp.Fault{
		"another issuer": claimed("iss", "https://evil.test"), "another audience": claimed("aud", "evil"), "no audience": claimed("aud", nil),
		"expired": claimed("exp", 1), "no expiry": claimed("exp", nil), "no iat": claimed("iat", nil),
		"key of the attacker": {Signing: idp.SignUnknownKey, IDTokenHeader: func(h map[string]any) { h["jku"] = "https://evil.test/jwks" }},
	})
}

func algorithm(t *testing.T, w *arena.World) {
	lying(t, w, map[string]idp.Fault{"none": {Signing: idp.SignNone}, "HMAC with the public key": {Signing: idp.SignHMACPublicKey},
		"HMAC with the secret": {Signing: idp.SignHMACSecret}, "broken": {Signing: idp.SignCorrupt}})
}

func audienceList(t *testing.T, w *arena.World) {
	lying(t, w, map[string]idp.Fault{"of another": claimed("aud", []string{"evil"}), "empty": claimed("aud", []string{}), "numbers": claimed("aud", []int{1}),
		"two and no azp": claimed("aud", []string{"app", "evil"})})
}

func noID(t *testing.T, w *arena.World) {
	lying(t, w, map[string]idp.Fault{"missing": claimed("sub", nil), "empty": claimed("sub", ""), "number": claimed("sub", 0), "list": claimed("sub", []string{"ada"})})
	one, two := clients(w)(), clients(w)()
	one.SignIn(w.OP, "ada")
	two.SignIn(w.OP, "grace")
	if a, b := w.Person(t, one), w.Person(t, two); a == b || a == "" {
		t.Errorf("two people are %q and %q", a, b)
	}
}

func manyPeople(t *testing.T, w *arena.World) {
	people := []string{"ada", "grace", "alan"}
	client := clients(w)
	browsers := make([]*arena.Browser, 100)
	for i := range browsers {
		browsers[i] = client()
	}
	var wrong atomic.Int64
	arena.Together(len(browsers), func(i int) {
		who := people[i%len(people)]
		if browsers[i].SignIn(w.OP, who); !strings.HasPrefix(browsers[i].Email(), who+"@") {
			wrong.Add(1)
		}
	})
	if wrong.Load() != 0 {
		t.Errorf("%d of %d are another user", wrong.Load(), len(browsers))
	}
}

func coerced(t *testing.T, w *arena.World) {
	client := clients(w)
	for i, v := range []any{"false", "true", 0, 1, nil, "", []any{}, map[string]any{}, false} {
		p, err := w.OP.AddPerson(idp.Person{Name: "Somebody", Email: fmt.Sprintf("p%d@example.com", i), EmailVerified: true})
		if err != nil {
			t.Fatal(err)
		}
		w.OP.SetFault(claimed("email_verified", v))
		b := client()
		b.SignIn(w.OP, p.Sub)
		if u, err := w.Store.GetUser(t.Context(), w.Person(t, b)); err == nil && !u.EmailVerified.IsZero() {
			t.Errorf("email_verified %#v counts", v)
		}
	}
	w.OP.SetFault(idp.Fault{})
	b := client()
	b.SignIn(w.OP, "ada")
	if u, err := w.Store.GetUser(t.Context(), w.Person(t, b)); err != nil || u.EmailVerified.IsZero() {
		t.Errorf("twin: true does not count: %v", err)
	}
}

func mutableName(t *testing.T, w *arena.World) {
	client := clients(w)
	victim := client()
	victim.SignIn(w.OP, "ada")
	w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) {
		c["name"], c["preferred_username"], c["nickname"], c["email"], c["email_verified"] = "Ada Lovelace", "ada", "ada", "ada@example.com", true
	}})
	b := client()
	if a := b.SignIn(w.OP, "grace"); w.Person(t, b) != "" || !strings.Contains(a.Location(), "OAuthAccountNotLinked") {
		t.Errorf("grace with ada's names is %q, %s", w.Person(t, b), a.Location())
	}
	w.OP.SetFault(idp.Fault{IDToken: func(c map[string]any) { c["name"], c["preferred_username"] = "Changed", "changed" }})
	again := client()
	if again.SignIn(w.OP, "ada"); w.Person(t, again) != w.Person(t, victim) {
		t.Errorf("twin: ada with another name is %q", w.Person(t, again))
	}
}

func preHijack(t *testing.T, w *arena.World) {
	client := clients(w)
	owner := client()
	owner.SignInByMail(w, "ada@example.com")
	attacker := client()
	if a := attacker.SignIn(w.OP, "ada"); attacker.Email() != "" || !strings.Contains(a.Location(), "OAuthAccountNotLinked") {
		t.Errorf("linked by address: %q, %s", attacker.Email(), a.Location())
	}
	if owner.Email() != "ada@example.com" {
		t.Errorf("twin: the owner is %q", owner.Email())
	}
}

func twice(t *testing.T, w *arena.World) {
	client := clients(w)
	for _, name := range []string{"state", "code", "iss"} {
		b := client()
		u := callback(t, w, b)
		if b.Get(u.String() + "&" + name + "=" + url.QueryEscape(u.Query().Get(name))); b.Email() != "" {
			t.Errorf("%s twice: %q", name, b.Email())
		}
	}
	b := client()
	token := b.CSRF()
	if a := b.Form("/api/auth/signin/op", url.Values{"csrfToken": {token, token}}); a.StatusCode == 302 && strings.HasPrefix(a.Location(), w.OP.Issuer()) {
		t.Errorf("csrfToken twice: %s", a.Location())
	}
	if b.SignIn(w.OP, "ada"); b.Email() == "" {
		t.Error("twin: no sign-in")
	}
}

func stateAgain(t *testing.T, w *arena.World) {
	b := clients(w)()
	u := callback(t, w, b)
	kept := b.Clone()
	if b.Get(u.String()); b.Email() == "" {
		t.Fatal("twin: no sign-in")
	}
	calls := w.TokenCalls()
	if kept.Get(u.String()); kept.Email() != "" || w.TokenCalls() != calls {
		t.Errorf("a second time: %q", kept.Email())
	}
}

func unguessable(t *testing.T, w *arena.World) {
	seen := map[string]bool{}
	client := clients(w)
	for range 200 {
		q := arena.MustURL(t, client().Begin("op")).Query()
		for _, name := range []string{"state", "nonce", "code_challenge"} {
			v := q.Get(name)
			if len(v) < 22 || seen[v] {
				t.Fatalf("%s %q", name, v)
			}
			seen[v] = true
		}
	}
}

func startedOnly(t *testing.T, _ *arena.World) {
	w := arena.Enter(t, nil)
	for range 1000 {
		w.Browser().Begin("op")
	}
	if written := w.Ledger.Written(); len(written) != 0 {
		t.Errorf("1000 sign-ins that only begin write %d rows", len(written))
	}
}

func goneProvider(t *testing.T, w *arena.World) {
	b := clients(w)()
	u := callback(t, w, b)
	without := arena.Start(t, func(c *authsvc.Config) { c.Providers = c.Providers[1:] })
	moved := b.Clone()
	moved.H = without
	if a := moved.Get(u.String()); a.StatusCode != 404 || moved.Email() != "" {
		t.Errorf("%d %q", a.StatusCode, moved.Email())
	}
	if b.Get(u.String()); b.Email() == "" {
		t.Error("twin: no sign-in")
	}
}

var (
	noFault     = idp.Fault{}
	faultyToken = idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointToken: 500}}
)
