package verify

import (
	"encoding/json"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// oidcClaim sets claims of the ID token from names and values; nil removes a claim.
func oidcClaim(pairs ...any) idp.Fault {
	return idp.Fault{IDToken: func(c map[string]any) {
		for i := 0; i+1 < len(pairs); i += 2 {
			name := pairs[i].(string)
			if c[name] = pairs[i+1]; pairs[i+1] == nil {
				delete(c, name)
			}
		}
	}}
}

// oidcChanged changes a claim that is a string.
func oidcChanged(name string, change func(string) string) idp.Fault {
	return idp.Fault{IDToken: func(c map[string]any) { c[name] = change(c[name].(string)) }}
}

func oidc01(t *T) {
	oidcCells(t, oidcWorld(t, nil), map[string]idp.Fault{
		"another host": oidcClaim("iss", "https://evil.test"), "missing": oidcClaim("iss", nil), "empty": oidcClaim("iss", ""),
		"number": oidcClaim("iss", 1), "slash": oidcChanged("iss", func(s string) string { return s + "/" }),
		"case": oidcChanged("iss", strings.ToUpper), "port": oidcChanged("iss", func(s string) string { return s + "0" }),
		"scheme":       oidcChanged("iss", func(s string) string { return "https" + strings.TrimPrefix(s, "http") }),
		"no scheme":    oidcChanged("iss", func(s string) string { return strings.TrimPrefix(s, "http://") }),
		"query":        oidcChanged("iss", func(s string) string { return s + "?" }),
		"another path": oidcChanged("iss", func(s string) string { return s + "/tenant" }),
		"list":         {IDToken: func(c map[string]any) { c["iss"] = []any{c["iss"]} }},
	}, nil)
}

func oidc02(t *T) {
	oidcCells(t, oidcWorld(t, nil), map[string]idp.Fault{
		"missing": oidcClaim("sub", nil), "empty": oidcClaim("sub", ""), "number": oidcClaim("sub", 7), "list": oidcClaim("sub", []string{"ada"}),
		"300 characters": oidcClaim("sub", strings.Repeat("s", 300)), "control character": oidcClaim("sub", "ada\x00"), "line": oidcClaim("sub", "ada\nx"),
		"boolean": oidcClaim("sub", true), "object": oidcClaim("sub", map[string]any{}),
	}, nil)
}

func oidc03(t *T) {
	oidcCells(t, oidcWorld(t, nil), map[string]idp.Fault{
		"other": oidcClaim("aud", "other"), "list of other": oidcClaim("aud", []string{"other"}), "missing": oidcClaim("aud", nil),
		"empty": oidcClaim("aud", ""), "empty list": oidcClaim("aud", []string{}), "case": oidcClaim("aud", "APP"), "prefix": oidcClaim("aud", "app2"),
		"blank": oidcClaim("aud", "app other"), "number": oidcClaim("aud", 1), "list of lists": oidcClaim("aud", []any{[]any{"app"}}),
		"object": oidcClaim("aud", map[string]any{"app": true}),
	}, map[string]idp.Fault{"list of ours": oidcClaim("aud", []string{"app"})})
}

func oidc04(t *T) {
	both := []string{"app", "other"}
	oidcCells(t, oidcWorld(t, nil), map[string]idp.Fault{
		"azp absent": oidcClaim("aud", both), "azp other": oidcClaim("aud", both, "azp", "other"), "azp number": oidcClaim("aud", both, "azp", 1),
		"azp other, one audience": oidcClaim("azp", "other"), "azp ours, others only": oidcClaim("aud", []string{"a", "b"}, "azp", "app"),
	}, map[string]idp.Fault{"azp ours": oidcClaim("aud", both, "azp", "app"), "azp ours, one audience": oidcClaim("azp", "app")})
}

func oidc05(t *T) {
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	oidcBubble(t, func(t *T) {
		oidcCells(t, oidcOffline(t, nil), map[string]idp.Fault{
			"missing": oidcClaim("iat", nil), "text": oidcClaim("iat", "now"), "a day and a second old": oidcClaim("iat", at(-24*time.Hour-time.Second)),
			"61 s to come": oidcClaim("iat", at(61*time.Second)), "negative": oidcClaim("iat", -1), "huge": oidcClaim("iat", 1e30),
		}, map[string]idp.Fault{"60 s to come": oidcClaim("iat", at(time.Minute)), "a day old": oidcClaim("iat", at(-24*time.Hour))})
	})
}

func oidc11(t *T) {
	w := oidcWorld(t, nil)
	other := arena.MustURL(t, w.Browser().Begin("op")).Query().Get("nonce")
	twice := func(claims map[string]any) string {
		mine, err := json.Marshal(claims)
		if err != nil {
			panic(err)
		}
		return oidcSign(map[string]any{"alg": "ES256", "kid": "twice", "typ": "JWT"}, json.RawMessage(`{"nonce":"x",`+string(mine[1:])), oidcES256())
	}
	once := func(claims map[string]any) string {
		return oidcSign(map[string]any{"alg": "ES256", "kid": "twice", "typ": "JWT"}, claims, oidcES256())
	}
	published := oidcPublish(oidcJWK(oidcES256(), "ES256", "twice"))
	refused := map[string]idp.Fault{
		"wrong": oidcClaim("nonce", "x"), "missing": oidcClaim("nonce", nil), "empty": oidcClaim("nonce", ""), "of another flow": oidcClaim("nonce", other),
		"case": oidcChanged("nonce", strings.ToUpper), "longer": oidcChanged("nonce", func(s string) string { return s + "A" }),
		"list":           {IDToken: func(c map[string]any) { c["nonce"] = []any{c["nonce"]} }},
		"list of two":    {IDToken: func(c map[string]any) { c["nonce"] = []any{c["nonce"], "x"} }},
		"member twice":   {RawIDToken: twice, JWKS: published},
		"of its own key": oidcClaim("nonce", nil, "Nonce", other),
	}
	// All keys are published from the first fetch on, because fetches are rare.
	for name, f := range refused {
		f.JWKS = published
		refused[name] = f
	}
	oidcCells(t, w, refused, map[string]idp.Fault{"member once": {RawIDToken: once, JWKS: published}})
}

func oidc12(t *T) {
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, nil)
		var yesterdays string
		// Without at_hash and with a long life, only the nonce can detect the replay.
		long := func(c map[string]any) { c["exp"] = time.Now().Add(48 * time.Hour).Unix(); delete(c, "at_hash") }
		oidcAccepted(t, w, "twin", idp.Fault{IDToken: long, TokenAnswer: func(a map[string]any) { yesterdays = a["id_token"].(string) }})
		time.Sleep(23 * time.Hour)
		oidcRefused(t, w, "replay", idp.Fault{TokenAnswer: func(a map[string]any) { a["id_token"] = yesterdays }})
		if !strings.Contains(w.Logs.String(), "nonce does not match this sign-in") {
			t.Errorf("refused for another reason\n%s", w.Logs)
		}
		oidcAccepted(t, w, "the same person again", idp.Fault{IDToken: long})
	})
}

func oidc13(t *T) {
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	oidcBubble(t, func(t *T) {
		oidcCells(t, oidcOffline(t, nil), map[string]idp.Fault{
			"-301 s": oidcClaim("exp", at(-301*time.Second)), "-61 s": oidcClaim("exp", at(-61*time.Second)), "-60 s": oidcClaim("exp", at(-60*time.Second)),
			"-120 s": oidcClaim("exp", at(-120*time.Second)), "missing": oidcClaim("exp", nil), "text": oidcClaim("exp", "never"), "zero": oidcClaim("exp", 0),
			"nbf +61 s": oidcClaim("nbf", at(61*time.Second)), "nbf +120 s": oidcClaim("nbf", at(120*time.Second)), "nbf text": oidcClaim("nbf", "now"),
		}, map[string]idp.Fault{
			"-59 s": oidcClaim("exp", at(-59*time.Second)), "-1 s": oidcClaim("exp", at(-time.Second)), "+1 s": oidcClaim("exp", at(time.Second)),
			"nbf +60 s": oidcClaim("nbf", at(time.Minute)), "nbf past": oidcClaim("nbf", at(-time.Hour)),
		})
		t.Figure("leeway 60 s")
	})
}

func oidc14(t *T) {
	w := oidcWorld(t, nil)
	session := t.Enter(func(c *authsvc.Config) { c.Session.Strategy = "jwt" })
	b := session.Browser()
	b.SignIn(session.OP, "ada")
	sealed := b.Cookies[session.SessionCookie()]
	if sealed == "" {
		t.Fatal("no session token")
	}
	typ := func(s any) idp.Fault { return idp.Fault{IDTokenHeader: func(h map[string]any) { h["typ"] = s }} }
	signed := func(typ string, more map[string]any) idp.Fault {
		return idp.Fault{RawIDToken: func(c map[string]any) string {
			for k, v := range more {
				c[k] = v
			}
			raw, err := w.OP.Sign(typ, c)
			if err != nil {
				panic(err)
			}
			return raw
		}}
	}
	logout := map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}
	oidcCells(t, w, map[string]idp.Fault{
		"access token": signed("at+jwt", map[string]any{"client_id": "app", "scope": "openid"}), "access token, full name": typ("application/at+jwt"),
		"logout token": signed("logout+jwt", map[string]any{"events": logout}), "logout token as JWT": signed("JWT", map[string]any{"events": logout}),
		"session token": {RawIDToken: func(map[string]any) string { return sealed }}, "DPoP proof": typ("dpop+jwt"), "type that is not text": typ(7),
		"client assertion": typ("client-authentication+jwt"), "garbage": {RawIDToken: func(map[string]any) string { return "a.b.c" }},
		"JSON serialisation": {RawIDToken: func(map[string]any) string { return `{"payload":"e30","signatures":[]}` }},
		"empty":              {RawIDToken: func(map[string]any) string { return "" }}, "no text": {TokenAnswer: func(a map[string]any) { a["id_token"] = 7 }},
		"missing": {TokenAnswer: func(a map[string]any) { delete(a, "id_token") }},
	}, map[string]idp.Fault{"JWT": typ("JWT"), "small letters": typ("jwt")})
}

func oidc17(t *T) {
	oidcCells(t, oidcWorld(t, nil), map[string]idp.Fault{
		"wrong": oidcClaim("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"), "empty": oidcClaim("at_hash", ""), "number": oidcClaim("at_hash", 1),
		"cut":                  oidcChanged("at_hash", func(s string) string { return s[:10] }),
		"access token swapped": {TokenAnswer: func(a map[string]any) { a["access_token"] = "of-another-answer" }},
	}, map[string]idp.Fault{"absent": oidcClaim("at_hash", nil)})
}
