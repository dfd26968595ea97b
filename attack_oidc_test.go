package authsvc_test

import (
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/idp"
)

// claim sets, or with nil removes, a claim of the ID token.
func claim(name string, v any) idp.Fault {
	return idp.Fault{IDToken: func(c map[string]any) {
		if v == nil {
			delete(c, name)
		} else {
			c[name] = v
		}
	}}
}

func TestAttackIDToken(t *testing.T) {
	t.Parallel()
	now := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	var lastToken string
	for name, fault := range map[string]idp.Fault{
		"oidc-01 issuer host":             claim("iss", "https://evil.test"),
		"oidc-01 issuer missing":          claim("iss", nil),
		"oidc-01 issuer slash":            {IDToken: func(c map[string]any) { c["iss"] = c["iss"].(string) + "/" }},
		"oidc-01 issuer case":             {IDToken: func(c map[string]any) { c["iss"] = strings.ToUpper(c["iss"].(string)) }},
		"oidc-02 sub missing":             claim("sub", nil),
		"oidc-02 sub empty":               claim("sub", ""),
		"oidc-02 sub long":                claim("sub", strings.Repeat("s", 300)),
		"oidc-02 sub number":              claim("sub", 7),
		"oidc-03 aud other":               claim("aud", "other"),
		"oidc-03 aud list":                claim("aud", []string{"other"}),
		"oidc-03 aud missing":             claim("aud", nil),
		"oidc-03 aud empty":               claim("aud", []string{}),
		"oidc-04 two audiences, no azp":   claim("aud", []string{"app", "other"}),
		"oidc-04 azp of another":          claim("azp", "other"),
		"oidc-05 iat missing":             claim("iat", nil),
		"oidc-05 iat of yesterday":        claim("iat", now(-24*time.Hour)),
		"oidc-05 iat to come":             claim("iat", now(10*time.Minute)),
		"oidc-06 bad signature":           {Signing: idp.SignCorrupt},
		"oidc-06 unknown key":             {Signing: idp.SignUnknownKey},
		"oidc-07 none":                    {Signing: idp.SignNone},
		"oidc-07 nOnE":                    {Signing: idp.SignNone, IDTokenHeader: func(h map[string]any) { h["alg"] = "nOnE" }},
		"oidc-07 garbage":                 {RawIDToken: func(map[string]any) string { return "a.b.c" }},
		"oidc-08 HMAC over public key":    {Signing: idp.SignHMACPublicKey},
		"oidc-08 HMAC over client secret": {Signing: idp.SignHMACSecret},
		"oidc-11 nonce wrong":             claim("nonce", "x"),
		"oidc-11 nonce missing":           claim("nonce", nil),
		"oidc-11 nonce list":              claim("nonce", []string{"x", "y"}),
		"oidc-13 expired":                 claim("exp", now(-301*time.Second)),
		"oidc-13 exp missing":             claim("exp", nil),
		"oidc-13 not yet":                 claim("nbf", now(10*time.Minute)),
		"oidc-14 access token":            {IDTokenHeader: func(h map[string]any) { h["typ"] = "at+jwt" }},
		"oidc-14 logout token":            {IDTokenHeader: func(h map[string]any) { h["typ"] = "logout+jwt" }},
		"oidc-17 at_hash":                 claim("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"),
		"oidc-22 embedded key":            {Signing: idp.SignUnknownKey, IDTokenHeader: func(h map[string]any) { h["jku"] = "https://evil.test/jwks"; delete(h, "kid") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := enter(t, nil)
			b := w.browser()
			w.op.SetFault(fault)
			w.mustRefuseLate(t, func() *answer { return b.get(b.approve(w.op, b.begin("op"), "ada")) })
			w.op.SetFault(idp.Fault{})
			if a := b.signIn(w.op, "ada"); a.location() != origin {
				t.Errorf("twin: %s\n%s", a.location(), w.logs)
			}
		})
	}
	t.Run("oidc-12 replay", func(t *testing.T) {
		t.Parallel()
		w := enter(t, nil)
		w.op.SetFault(idp.Fault{TokenAnswer: func(a map[string]any) { lastToken = a["id_token"].(string) }})
		first := w.browser()
		if first.signIn(w.op, "ada"); first.email() == "" {
			t.Fatal("twin: no sign-in")
		}
		w.op.SetFault(idp.Fault{TokenAnswer: func(a map[string]any) { a["id_token"] = lastToken }})
		b := w.browser()
		w.mustRefuseLate(t, func() *answer { return b.get(b.approve(w.op, b.begin("op"), "ada")) })
	})
}

func TestAttackUserInfo(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(map[string]any){
		"other":   func(c map[string]any) { c["sub"] = "grace" },
		"missing": func(c map[string]any) { delete(c, "sub") },
		"case":    func(c map[string]any) { c["sub"] = "ADA" },
	} {
		t.Run("oidc-15 userinfo sub "+name, func(t *testing.T) {
			t.Parallel()
			w := enter(t, func(c *authsvc.Config) { c.Providers[0].(*authsvc.OAuth).UserInfoClaims = true })
			w.op.SetFault(idp.Fault{UserInfo: edit})
			b := w.browser()
			w.mustRefuseLate(t, func() *answer { return b.get(b.approve(w.op, b.begin("op"), "ada")) })
			w.op.SetFault(idp.Fault{})
			if a := b.signIn(w.op, "ada"); a.location() != origin || b.email() != "ada@example.com" {
				t.Errorf("oidc-16 twin: %s", a.location())
			}
		})
	}
	for name, edit := range map[string]func(map[string]any){
		"issuer":                 func(m map[string]any) { m["issuer"] = "https://evil.test" },
		"slash":                  func(m map[string]any) { m["issuer"] = m["issuer"].(string) + "/" },
		"oidc-19 http endpoint":  func(m map[string]any) { m["token_endpoint"] = "http://evil.test/token" },
		"oidc-19 file":           func(m map[string]any) { m["jwks_uri"] = "file:///etc/passwd" },
		"oidc-19 no endpoint":    func(m map[string]any) { delete(m, "authorization_endpoint") },
		"oidc-19 huge":           func(m map[string]any) { m["x"] = strings.Repeat("x", 2<<20) },
		"oidc-19 javascript url": func(m map[string]any) { m["authorization_endpoint"] = "javascript:alert(1)" },
	} {
		t.Run("oidc-18 discovery "+name, func(t *testing.T) {
			t.Parallel()
			w := enter(t, nil)
			w.op.SetFault(idp.Fault{Discovery: edit})
			b := w.browser()
			a := w.mustRefuse(t, func() *answer { return b.post("/api/auth/signin/op") })
			if !strings.Contains(a.location(), "error=OAuthSignin") {
				t.Errorf("%s", a.location())
			}
			if b.login("ada"); strings.Contains(b.get("/api/auth/providers").body, "error") {
				t.Error("twin: other providers suffer")
			}
		})
	}
}
