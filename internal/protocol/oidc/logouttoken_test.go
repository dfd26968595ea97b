package oidc

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

const event = "http://schemas.openid.net/event/backchannel-logout"

// logoutClaims returns the claims of a valid logout token.
func (o *provider) logoutClaims() map[string]any {
	now := time.Now().Unix()
	return map[string]any{"iss": o.URL, "aud": testClient, "sub": "user-1", "iat": now, "exp": now + 120, "jti": "j1",
		"events": map[string]any{event: map[string]any{}}}
}

func TestVerifyLogoutToken(t *testing.T) {
	t.Parallel()
	o := newProvider(t)
	now := time.Now().Unix()
	for name, c := range map[string]struct {
		set    map[string]any // nil removes
		header map[string]any
		err    string
	}{
		"good":               {},
		"by sid too":         {set: map[string]any{"sid": "s"}},
		"by sid only":        {set: map[string]any{"sid": "s", "sub": nil}},
		"several audiences":  {set: map[string]any{"aud": []string{"other", testClient}, "azp": testClient}},
		"typ":                {header: map[string]any{"typ": "logout+jwt"}},
		"long typ":           {header: map[string]any{"typ": "application/logout+jwt"}},
		"typ of an at":       {header: map[string]any{"typ": "at+jwt"}, err: "another kind"},
		"typ of a dpop":      {header: map[string]any{"typ": "dpop+jwt"}, err: "another kind"},
		"typ is a number":    {header: map[string]any{"typ": 1}, err: "another kind"},
		"issuer":             {set: map[string]any{"iss": "https://evil.test"}, err: "iss"},
		"no issuer":          {set: map[string]any{"iss": nil}, err: "iss"},
		"audience":           {set: map[string]any{"aud": "other"}, err: "aud"},
		"no audience":        {set: map[string]any{"aud": nil}, err: "aud"},
		"no iat":             {set: map[string]any{"iat": nil}, err: "iat"},
		"iat to come":        {set: map[string]any{"iat": now + 600}, err: "future"},
		"iat long ago":       {set: map[string]any{"iat": now - 90000}, err: "too long ago"},
		"no exp":             {set: map[string]any{"exp": nil}, err: "exp"},
		"expired":            {set: map[string]any{"exp": now - 61}, err: "expired"},
		"within leeway":      {set: map[string]any{"exp": now - 30}},
		"not yet":            {set: map[string]any{"nbf": now + 600}, err: "not valid yet"},
		"no jti":             {set: map[string]any{"jti": nil}, err: "jti is missing"},
		"empty jti":          {set: map[string]any{"jti": ""}, err: "jti is missing"},
		"jti is a number":    {set: map[string]any{"jti": 7}, err: "jti is not a string"},
		"huge jti":           {set: map[string]any{"jti": strings.Repeat("j", 5000)}, err: "jti"},
		"no events":          {set: map[string]any{"events": nil}, err: "events"},
		"an ID token":        {set: map[string]any{"events": nil, "nonce": "n"}, err: "events"},
		"other event":        {set: map[string]any{"events": map[string]any{event + "x": map[string]any{}}}, err: "events"},
		"event by case":      {set: map[string]any{"events": map[string]any{strings.ToUpper(event): map[string]any{}}}, err: "events"},
		"event is a text":    {set: map[string]any{"events": map[string]any{event: "{}"}}, err: "events"},
		"event is null":      {set: map[string]any{"events": map[string]any{event: nil}}, err: "events"},
		"events is a list":   {set: map[string]any{"events": []string{event}}, err: "events"},
		"events is a text":   {set: map[string]any{"events": event}, err: "events"},
		"event among others": {set: map[string]any{"events": map[string]any{event: map[string]any{}, "x": 1}}},
		"nonce":              {set: map[string]any{"nonce": "n"}, err: "nonce"},
		"null nonce":         {set: map[string]any{"nonce": "null"}, err: "nonce"},
		"neither sub nor":    {set: map[string]any{"sub": nil}, err: "both"},
		"empty sub":          {set: map[string]any{"sub": ""}, err: "sub"},
		"sub is a number":    {set: map[string]any{"sub": 7}, err: "sub"},
		"sid is a number":    {set: map[string]any{"sid": 7}, err: "sid"},
		"critical extension": {header: map[string]any{"crit": []string{"x"}, "x": 1}, err: "extensions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claims := o.logoutClaims()
			for k, v := range c.set {
				if claims[k] = v; v == nil {
					delete(claims, k)
				}
			}
			if name == "null nonce" {
				claims["nonce"] = nil
			}
			got, err := o.client(t).VerifyLogoutToken(t.Context(), o.signer.sign(t, claims, c.header))
			wantError(t, err, c.err)
			if err == nil && (got.ID != "j1" || got.Subject == "" && got.SessionID == "" || !got.Until.After(time.Now())) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestVerifyLogoutTokenSignature(t *testing.T) {
	t.Parallel()
	o := newProvider(t)
	claims := o.logoutClaims()
	good := o.signer.sign(t, claims, nil)
	stranger := newSigner("key-1")
	parts := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"logout+jwt"}`)) + "." + parts[1] + "."
	hmac := &signer{alg: jose.HS256, key: []byte(testSecret)}
	changed := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"other"}`))
	for name, c := range map[string]struct{ raw, err string }{
		"good": {good, ""}, "empty": {"", "compact"}, "two parts": {parts[0] + "." + parts[1], "compact"},
		"none": {none, "algorithm"}, "client secret": {hmac.sign(t, claims, nil), "algorithm"},
		"stranger": {stranger.sign(t, claims, nil), "signature"}, "other claims": {parts[0] + "." + changed + "." + parts[2], "signature"},
		"own key": {stranger.sign(t, claims, map[string]any{"jku": "https://evil.test/k"}), "signature"},
		"huge":    {strings.Repeat("a", 70<<10), "large"},
	} {
		_, err := o.client(t).VerifyLogoutToken(t.Context(), c.raw)
		t.Run(name, func(t *testing.T) { wantError(t, err, c.err) })
	}
	if _, err := o.client(t).VerifyIDToken(t.Context(), good, IDTokenCheck{}); err == nil {
		t.Error("a logout token passes for an ID token")
	}
}

// TestLogoutTokenUntil checks that a token is remembered at least until it expires.
func TestLogoutTokenUntil(t *testing.T) {
	t.Parallel()
	o := newProvider(t)
	now := time.Now()
	for name, c := range map[string]struct{ exp, least, most time.Duration }{
		"short": {2 * time.Minute, 3 * time.Minute, 5 * time.Minute},
		"years": {1000 * 24 * time.Hour, 24 * time.Hour, 25 * time.Hour},
	} {
		claims := o.logoutClaims()
		claims["exp"] = now.Add(c.exp).Unix()
		got, err := o.client(t).VerifyLogoutToken(t.Context(), o.signer.sign(t, claims, nil))
		if err != nil {
			t.Fatal(err)
		}
		if d := got.Until.Sub(now); d < c.least || d > c.most {
			t.Errorf("%s: remembered for %v", name, d)
		}
	}
}
