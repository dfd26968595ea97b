package verify

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc"
	"authsvc/adapter"
	"authsvc/bearer"
	"authsvc/engine"
	"authsvc/internal/seal"
	"authsvc/internal/seal/signingkeys"
	"authsvc/internal/test/arena"
)

// tokenKey returns the key of an algorithm, as an attacker with the store and the
// secret would have it. Tokens can then have a valid signature and be wrong in
// everything else.
func tokenKey(t *T, store adapter.Adapter, alg string) *signingkeys.Key {
	t.Helper()
	record, err := store.GetMeta(t.Context(), "signing-keys")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := seal.NewRing(arena.Secret)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := ring.Box("signing keys").Open(record, "signing-keys")
	if err != nil {
		t.Fatal(err)
	}
	set, err := signingkeys.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return set.Signing(alg, time.Now())
}

func token04(t *T) {
	w, ada := tokenWorld(t, "jwt")
	v := tokenVerifier(t, w, tokenAPI)
	good := tokenFor(t, ada, tokenAPI)
	parts := strings.Split(good, ".")
	key, other := tokenKey(t, w.Store, signingkeys.ES256), tokenKey(t, w.Store, signingkeys.EdDSA)
	mine, err := signingkeys.Generate(signingkeys.ES256, time.Now(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	with := func(change map[string]any) []byte {
		c := map[string]any{"iss": arena.Origin + "/api/auth", "aud": tokenAPI, "sub": "eve", "iat": now, "exp": now + 300}
		for name, value := range change {
			if c[name] = value; value == nil {
				delete(c, name)
			}
		}
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	sign := func(k *signingkeys.Key, typ string, payload []byte) string {
		raw, err := k.Sign(typ, payload)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	change := func(value map[string]any) string { return sign(key, "JWT", with(value)) }
	header := func(h string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(h)) + "." + parts[1] + "." + parts[2]
	}
	public := ada.Get("/api/auth/jwks").Text
	for name, c := range map[string]struct {
		raw  string
		want error
	}{
		"twin":                         {good, nil},
		"twin, signed here":            {change(nil), nil},
		"aud":                          {change(map[string]any{"aud": tokenOther}), bearer.ErrAudience},
		"aud, a list":                  {change(map[string]any{"aud": []string{tokenAPI, tokenOther}}), bearer.ErrAudience},
		"no aud":                       {change(map[string]any{"aud": nil}), bearer.ErrAudience},
		"iss":                          {change(map[string]any{"iss": arena.Origin}), bearer.ErrIssuer},
		"no iss":                       {change(map[string]any{"iss": nil}), bearer.ErrIssuer},
		"exp":                          {change(map[string]any{"exp": now - 61}), bearer.ErrExpired},
		"no exp":                       {change(map[string]any{"exp": nil}), bearer.ErrMalformed},
		"nbf":                          {change(map[string]any{"nbf": now + 90}), bearer.ErrNotYet},
		"iat":                          {change(map[string]any{"iat": now + 90}), bearer.ErrNotYet},
		"no sub":                       {change(map[string]any{"sub": nil}), bearer.ErrMalformed},
		"typ of a logout token":        {sign(key, "logout+jwt", with(nil)), bearer.ErrMalformed},
		"typ of an event":              {sign(key, "secevent+jwt", with(nil)), bearer.ErrMalformed},
		"sub twice":                    {sign(key, "JWT", []byte(strings.TrimSuffix(string(with(nil)), "}")+`,"sub":"ada"}`)), bearer.ErrMalformed},
		"exp twice":                    {sign(key, "JWT", []byte(strings.TrimSuffix(string(with(nil)), "}")+`,"exp":9999999999}`)), bearer.ErrMalformed},
		"an unknown key":               {sign(mine, "JWT", with(nil)), bearer.ErrSignature},
		"kid of another key":           {header(`{"alg":"ES256","kid":"` + other.ID + `","typ":"JWT"}`), bearer.ErrSignature},
		"no kid":                       {header(`{"alg":"ES256","typ":"JWT"}`), bearer.ErrMalformed},
		"alg of another key":           {header(`{"alg":"EdDSA","kid":"` + key.ID + `","typ":"JWT"}`), bearer.ErrSignature},
		"alg none":                     {header(`{"alg":"none","kid":"` + key.ID + `","typ":"JWT"}`), bearer.ErrMalformed},
		"alg HS256, with a public key": {hmacToken(t, public, key.ID, with(nil)), bearer.ErrMalformed},
		"payload":                      {parts[0] + "." + base64.RawURLEncoding.EncodeToString(with(nil)) + "." + parts[2], bearer.ErrSignature},
		"no signature":                 {parts[0] + "." + parts[1] + ".", bearer.ErrSignature},
		"one bit of the signature":     {parts[0] + "." + parts[1] + "." + flip(parts[2], 5), bearer.ErrSignature},
	} {
		switch got, err := v.Verify(t.Context(), c.raw); {
		case c.want == nil && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != nil && (!errors.Is(err, c.want) || got != nil):
			t.Errorf("%s: %+v, %v; want %v", name, got, err, c.want)
		}
	}
}

// hmacToken is signed with the public key as an HMAC key.
func hmacToken(t *T, public, kid string, payload []byte) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(public)}, (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", kid))
	if err != nil {
		t.Fatal(err)
	}
	jws, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// tokenBubble runs a world in a bubble without a network, with tokens that last 15
// minutes.
func tokenBubble(t *T, run func(t *T, w *arena.World), tune func(*authsvc.Config)) {
	t.Helper()
	synctest.Test(t.T, func(bubble *testing.T) {
		inner := &T{T: bubble, Mode: t.Mode, id: t.id, report: t.report, figures: t.figures}
		run(inner, inner.EnterOffline(func(c *authsvc.Config) {
			c.Tokens.Audiences = []authsvc.Audience{{ID: tokenAPI, TTL: 15 * time.Minute}}
			tune(c)
		}))
	})
}

func token07(t *T) {
	t.Strategies(func(t *T, strategy string) {
		tokenBubble(t, func(t *T, w *arena.World) {
			v := tokenVerifier(t, w, tokenAPI)
			ada, bob := w.Browser(), w.Browser()
			ada.Login("ada")
			bob.Login("bob")
			time.Sleep(110 * time.Minute) // extended once on the way; ten minutes are left
			ada.Session()
			last := tokenFor(t, bob, tokenAPI)
			time.Sleep(65 * time.Minute)
			raw := tokenFor(t, ada, tokenAPI)
			if token, err := v.Verify(t.Context(), raw); err != nil || token.Expires.After(token.AuthTime.Add(3*time.Hour)) || token.Expires.Sub(token.Issued) > 5*time.Minute {
				t.Errorf("%+v, %v", token, err)
			}
			if _, err := v.Verify(t.Context(), last); !errors.Is(err, bearer.ErrExpired) {
				t.Errorf("an hour later: %v", err)
			}
			time.Sleep(6*time.Minute + time.Second) // and the leeway
			if _, err := v.Verify(t.Context(), raw); !errors.Is(err, bearer.ErrExpired) {
				t.Errorf("after the session: %v", err)
			}
			if a := ada.Post("/api/auth/token", "audience", tokenAPI); a.StatusCode != http.StatusUnauthorized {
				t.Errorf("after the session: %d %s", a.StatusCode, a.Text)
			}
			for name, end := range map[string]func(b *arena.Browser){
				"sign-out":    func(b *arena.Browser) { b.Clone().Post("/api/auth/signout") },
				"EndSessions": func(*arena.Browser) { endAll(t, w) },
			} {
				b := w.Browser()
				b.Login("ada")
				tokenFor(t, b, tokenAPI)
				time.Sleep(time.Second)
				end(b)
				if a := b.Post("/api/auth/token", "audience", tokenAPI); a.StatusCode != http.StatusUnauthorized {
					t.Errorf("%s: %d %s", name, a.StatusCode, a.Text)
				}
			}
		}, func(c *authsvc.Config) {
			c.Session = authsvc.SessionOptions{Strategy: authsvc.Strategy(strategy), MaxAge: 2 * time.Hour, UpdateAge: 10 * time.Minute, AbsoluteMaxAge: 3 * time.Hour}
		})
	})
}

func endAll(t *T, w *arena.World) {
	t.Helper()
	if err := w.EndSessions(t.Context(), "ada-id"); err != nil {
		t.Error(err)
	}
}

// A tokenBalancer sends each request to the next replica.
type tokenBalancer struct {
	replicas []http.Handler
	next     atomic.Int64
}

func (b *tokenBalancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.replicas[int(b.next.Add(1))%len(b.replicas)].ServeHTTP(w, r)
}

// token09 uses three replicas of a store and a program that verifies tokens, while
// keys are rotated immediately, as scheduled, and immediately again.
func token09(t *T) {
	perSecond := t.Scale("verifications in each of 400 seconds", 10, 50, 250)
	tokenBubble(t, func(t *T, w *arena.World) {
		others := []*arena.Replica{w.Replica(t), w.Replica(t)}
		b := &tokenBalancer{replicas: []http.Handler{w.First(), others[0], others[1]}}
		v := tokenVerifier(t, b, tokenAPI)
		ada := w.Browser()
		ada.H = b
		ada.Login("ada")
		form := url.Values{"csrfToken": {ada.CSRF()}, "audience": {tokenAPI}}
		done, kids := 0, map[string]bool{}
		load := func(seconds int) {
			for range seconds {
				for range perSecond {
					var answer struct {
						AccessToken string `json:"access_token"`
					}
					a := ada.Form("/api/auth/token", form)
					if err := json.Unmarshal([]byte(a.Text), &answer); err != nil {
						t.Fatalf("%d %s", a.StatusCode, a.Text)
					}
					if _, err := v.Verify(t.Context(), answer.AccessToken); err != nil {
						t.Errorf("after %d: %v", done, err)
					}
					done++
					kids[strings.Split(answer.AccessToken, ".")[0]] = true
				}
				time.Sleep(time.Second)
			}
		}
		load(30)
		for i, atOnce := range []bool{true, false, true} {
			others[i%2].At(func(s *engine.Service) {
				if made, err := s.RotateKeys(t.Context(), atOnce); err != nil || len(made) != 1 {
					t.Fatal(made, err)
				}
			})
			if !atOnce {
				time.Sleep(24*time.Hour - time.Minute)
			}
			load(120)
		}
		load(10)
		if len(kids) != 4 {
			t.Errorf("%d keys signed", len(kids))
		}
		t.Figure("%d verifications over 3 rotations at 3 replicas, 0 failed", done)
	}, func(c *authsvc.Config) { c.Session.Strategy = "jwt" })
}
