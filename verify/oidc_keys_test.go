package verify

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// oidcSigned makes the provider sign ID tokens with another key.
func oidcSigned(alg string, key any, header map[string]any) idp.Fault {
	return idp.Fault{RawIDToken: func(claims map[string]any) string {
		delete(claims, "at_hash") // its hash depends on alg
		h := map[string]any{"typ": "JWT", "alg": alg}
		maps.Copy(h, header)
		return oidcSign(h, claims, key)
	}}
}

// oidcWith adds published keys to faults.
func oidcWith(publish func([]map[string]any) []map[string]any, faults map[string]idp.Fault) map[string]idp.Fault {
	for name, f := range faults {
		f.JWKS = publish
		faults[name] = f
	}
	return faults
}

func oidc06(t *T) {
	broken := map[string]idp.Fault{"one bit": {Signing: idp.SignCorrupt}, "unknown key": {Signing: idp.SignUnknownKey}}
	cut := func() idp.Fault {
		return idp.Fault{TokenAnswer: func(a map[string]any) {
			parts := strings.Split(a["id_token"].(string), ".")
			a["id_token"] = parts[0] + "." + parts[1] + "." + parts[2][:len(parts[2])/2]
		}}
	}
	changed := func(w *arena.World) idp.Fault {
		return idp.Fault{TokenAnswer: func(a map[string]any) {
			parts := strings.Split(a["id_token"].(string), ".")
			grace := map[string]any{"iss": w.OP.Issuer(), "aud": "app", "sub": "grace", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
			a["id_token"] = parts[0] + "." + oidcPart(grace) + "." + parts[2]
		}}
	}
	for name, o := range map[string]idp.Options{"es256": {Alg: "ES256"}, "rs256": {Key: oidcRSA()}} {
		t.Run(name, func(t *T) {
			w := oidcAt(t, o, nil)
			cells := maps.Clone(broken)
			cells["claims changed"], cells["cut"] = changed(w), cut()
			oidcCells(t, w, cells, nil)
		})
	}
	t.Run("hs256", func(t *T) {
		w := oidcAt(t, idp.Options{Alg: "ES256"}, func(c *authsvc.Config) { oidcProvider(c).SigningAlgs = []string{"HS256"} })
		good := idp.Fault{Signing: idp.SignHMACSecret}
		refused := map[string]idp.Fault{"claims changed": changed(w), "cut": cut(), "another secret": oidcSigned("HS256", []byte("another"), nil),
			"no secret": oidcSigned("HS256", []byte{}, nil), "asymmetric": {}}
		for name, f := range refused {
			if f.RawIDToken == nil && name != "asymmetric" {
				f.Signing = idp.SignHMACSecret
			}
			oidcRefused(t, w, name, f)
		}
		oidcAccepted(t, w, "twin", good)
	})
}

func oidc07(t *T) {
	none := func(alg string) idp.Fault {
		return idp.Fault{Signing: idp.SignNone, IDTokenHeader: func(h map[string]any) { h["alg"] = alg }}
	}
	cells := map[string]idp.Fault{"none": none("none"), "nOnE": none("nOnE"), "NONE": none("NONE"), "empty alg": none(""),
		"empty signature": none("ES256"), "empty RSA signature": none("RS256"), "empty MAC": none("HS256"), "blank alg": none(" none"),
		"no alg":         {Signing: idp.SignNone, IDTokenHeader: func(h map[string]any) { delete(h, "alg") }},
		"alg list":       {Signing: idp.SignNone, IDTokenHeader: func(h map[string]any) { h["alg"] = []string{"none", "ES256"} }},
		"two parts":      {TokenAnswer: func(a map[string]any) { s := a["id_token"].(string); a["id_token"] = s[:strings.LastIndex(s, ".")] }},
		"none, with kid": {Signing: idp.SignNone},
	}
	oidcCells(t, oidcWorld(t, nil), cells, nil)
}

func oidc08(t *T) {
	rsaKey := oidcRSA()
	w := oidcAt(t, idp.Options{Key: rsaKey}, nil)
	der := oidcMade(x509.MarshalPKIXPublicKey(rsaKey.Public()))
	set := oidcGet(t, w.OP.Issuer()+"/jwks")
	var parsed struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(set, &parsed); err != nil || len(parsed.Keys) != 1 {
		t.Fatalf("%v %s", err, set)
	}
	var jwk struct{ Kid string }
	if err := json.Unmarshal(parsed.Keys[0], &jwk); err != nil {
		t.Fatal(err)
	}
	kid := map[string]any{"kid": jwk.Kid}
	refused := map[string]idp.Fault{
		"HMAC with the PEM, by the provider": {Signing: idp.SignHMACPublicKey}, "HMAC with the client secret": {Signing: idp.SignHMACSecret},
		"ES256 key for RS256": oidcSigned("RS256", oidcES256(), map[string]any{"kid": "ec"}), "RSA key for ES256": oidcSigned("ES256", rsaKey, kid),
		"PS256 by a key for RS256": oidcSigned("PS256", rsaKey, kid), "RS512 by a key for RS256": oidcSigned("RS512", rsaKey, kid),
		"ES256 under the RSA kid": oidcSigned("ES256", oidcES256(), kid),
	}
	for name, secret := range map[string][]byte{"PEM": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), "DER": der, "JWK": parsed.Keys[0],
		"key set": set, "modulus": rsaKey.N.Bytes(), "PKCS 1": x509.MarshalPKCS1PublicKey(&rsaKey.PublicKey)} {
		for _, alg := range []string{"HS256", "HS512"} {
			refused[alg+" with the "+name] = oidcSigned(alg, secret, kid)
		}
	}
	publish := oidcPublish(oidcJWK(oidcES256(), "ES256", "ec"))
	oidcCells(t, w, oidcWith(publish, refused), nil)
	t.Run("algorithm of the configuration", func(t *T) {
		w := oidcAt(t, idp.Options{Key: rsaKey}, func(c *authsvc.Config) { oidcProvider(c).SigningAlgs = []string{"RS256"} })
		good := oidcSigned("ES256", oidcES256(), map[string]any{"kid": "ec"})
		good.JWKS = publish
		oidcCells(t, w, map[string]idp.Fault{"ES256 by a published key": good}, nil)
	})
}

// oidcGet fetches a document from a local provider.
func oidcGet(t *T, from string) []byte {
	t.Helper()
	res, err := http.Get(from)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func oidc09(t *T) {
	keys := map[string]any{"RS256": oidcRSA(), "RS384": oidcRSA(), "RS512": oidcRSA(), "PS256": oidcRSA(), "PS384": oidcRSA(), "PS512": oidcRSA(),
		"ES256": oidcES256(), "ES384": oidcES384(), "ES512": oidcES512(), "EdDSA": oidcEd()}
	var published []map[string]any
	good, bad := map[string]idp.Fault{}, map[string]idp.Fault{}
	for alg, key := range keys {
		published = append(published, oidcJWK(key, alg, alg))
		good[alg] = oidcSigned(alg, key, map[string]any{"kid": alg})
		f := oidcSigned(alg, key, map[string]any{"kid": alg})
		raw := f.RawIDToken
		f.RawIDToken = func(c map[string]any) string { s := raw(c); return flip(s, len(s)-10) }
		bad[alg+", one character"] = f
	}
	publish := oidcPublish(published...)
	oidcCells(t, oidcWorld(t, nil), oidcWith(publish, bad), oidcWith(publish, good))
	t.Figure("%d algorithms", len(keys))
}

func oidc10(t *T) {
	noKid := func(f idp.Fault) idp.Fault {
		f.IDTokenHeader = func(h map[string]any) { delete(h, "kid") }
		return f
	}
	cells := func() (refused, accepted map[string]idp.Fault) {
		return map[string]idp.Fault{"no kid, unknown key": noKid(idp.Fault{Signing: idp.SignUnknownKey}),
				"kid that is not there": {IDTokenHeader: func(h map[string]any) { h["kid"] = "x" }}, "no kid, corrupt": noKid(idp.Fault{Signing: idp.SignCorrupt})},
			map[string]idp.Fault{"no kid": noKid(idp.Fault{})}
	}
	one := oidcWorld(t, nil)
	refused, accepted := cells()
	oidcCells(t, one, refused, accepted)
	several := oidcWorld(t, nil)
	for range 3 {
		if err := several.OP.RotateKey(); err != nil {
			t.Fatal(err)
		}
	}
	refused, accepted = cells()
	oidcCells(t, several, refused, accepted)
}

func oidc20(t *T) {
	for name, before := range map[string]bool{"before the flow": true, "just before signing": false} {
		t.Run(name, func(t *T) {
			oidcBubble(t, func(t *T) {
				w := oidcOffline(t, nil)
				oidcAccepted(t, w, "first key", idp.Fault{})
				if n := w.OP.Calls(idp.EndpointJWKS); n != 1 {
					t.Errorf("%d fetches of keys for the first sign-in", n)
				}
				for round := 2; round < 5; round++ {
					b := w.Browser()
					if before {
						oidcRotate(t, w)
					}
					back := b.Approve(w.OP, b.Begin("op"), "ada")
					if !before {
						oidcRotate(t, w)
					}
					if a := b.Get(back); a.Location() != arena.Origin || b.Email() == "" {
						t.Fatalf("round %d: %s\n%s", round, a.Location(), w.Logs)
					}
					if n := w.OP.Calls(idp.EndpointJWKS); n != round {
						t.Errorf("%d fetches of keys after %d rotations", n, round-1)
					}
					time.Sleep(31 * time.Second) // key fetches are half a minute apart
				}
				oidcRefused(t, w, "twin: a key that is nowhere", idp.Fault{Signing: idp.SignUnknownKey, IDTokenHeader: func(h map[string]any) { h["kid"] = "new" }})
			})
		})
	}
}

func oidcRotate(t *T, w *arena.World) {
	t.Helper()
	if err := w.OP.RotateKey(); err != nil {
		t.Fatal(err)
	}
}

func oidc21(t *T) {
	strange := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i+1 < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	changed := func(key any, alg, kid string, pairs ...any) map[string]any {
		m := oidcJWK(key, alg, kid)
		maps.Copy(m, strange(pairs...))
		return m
	}
	offCurve := changed(oidcES256(), "ES256", "off", "y", oidcBase64(big.NewInt(1).FillBytes(make([]byte, 32))))
	one := &oidcWeakRSA{n: oidcRSA().N, e: big.NewInt(1), d: big.NewInt(1)}
	secret := []byte("0123456789abcdef0123456789abcdef")
	bad := []map[string]any{
		strange("kty", "AKP", "alg", "ML-DSA-44", "kid", "pq", "pub", "AA"), strange("kty", "OKP", "crv", "X448", "kid", "x448", "x", "AA"), strange(), strange("kty", 7),
		strange("kty", "oct", "k", oidcBase64(secret), "kid", "oct", "alg", "HS256"), changed(oidcES384(), "ES384", "enc", "use", "enc"),
		changed(oidcES512(), "ES512", "ops", "key_ops", []string{"encrypt"}), changed(oidcEd(), "EdDSA", "private", "d", oidcBase64(make([]byte, 32))),
		oidcJWK(oidcRSA512(), "RS256", "rsa512"), oidcJWK(one, "RS256", "e1"), offCurve,
		changed(oidcRSA(), "RS256", "even", "e", oidcBase64([]byte{4})), changed(oidcRSA(), "RS256", "huge", "n", oidcBase64(make([]byte, 4096))),
	}
	kid := func(s string) map[string]any { return map[string]any{"kid": s} }
	refused := map[string]idp.Fault{
		"oct": oidcSigned("HS256", secret, kid("oct")), "use enc": oidcSigned("ES384", oidcES384(), kid("enc")), "key_ops": oidcSigned("ES512", oidcES512(), kid("ops")),
		"private key published": oidcSigned("EdDSA", oidcEd(), kid("private")), "RSA 512": oidcSigned("RS256", oidcRSA512(), kid("rsa512")),
		"e = 1": oidcSigned("RS256", one, kid("e1")), "off the curve": oidcSigned("ES256", oidcES256(), kid("off")),
	}
	first := func(keys []map[string]any) []map[string]any {
		return append(append([]map[string]any{}, bad...), keys...)
	}
	oidcCells(t, oidcWorld(t, nil), oidcWith(first, refused), oidcWith(first, map[string]idp.Fault{"the good key, last": {}}))

	many := make([]map[string]any, 10_000)
	for i := range many {
		many[i] = strange("kty", "oct", "k", "AA")
	}
	twin := func(keys []map[string]any) []map[string]any { // another key with the same kid, listed first
		return append([]map[string]any{changed(oidcES256(), "ES256", keys[0]["kid"].(string))}, keys...)
	}
	real := func(keys []map[string]any) []map[string]any {
		for i := range many {
			keys = append(keys, changed(oidcES256(), "ES256", "k"+string(rune('a'+i%26)), "n", strings.Repeat("x", 200)))
		}
		return keys
	}
	w := oidcWorld(t, nil)
	oidcAccepted(t, w, "the same kid twice", idp.Fault{JWKS: twin})
	w = oidcWorld(t, nil)
	begin := time.Now()
	oidcAccepted(t, w, "10 000 useless keys", idp.Fault{JWKS: func(keys []map[string]any) []map[string]any { return append(many, keys...) }})
	if d := time.Since(begin); d > within(5*time.Second) {
		t.Errorf("10 000 useless keys take %v", d)
	}
	w = oidcWorld(t, nil)
	oidcRefused(t, w, "a key set over 1 MiB", idp.Fault{JWKS: real})
	if d := time.Since(begin); d > within(20*time.Second) {
		t.Errorf("hostile key sets take %v", d)
	}
}

func oidc22(t *T) {
	var visits atomic.Int64
	key := oidcES256()
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		w.Write(oidcMade(json.Marshal(map[string]any{"keys": []any{oidcJWK(key, "ES256", "evil")}})))
	}))
	defer evil.Close()
	w := oidcWorld(t, nil)
	refused := map[string]idp.Fault{}
	for name, header := range map[string]map[string]any{
		"jku": {"jku": evil.URL}, "jku and kid": {"jku": evil.URL, "kid": "evil"}, "x5u": {"x5u": evil.URL}, "jwk": {"jwk": oidcJWK(key, "ES256", "evil")},
		"x5c": {"x5c": []string{"AAAA"}}, "jku, critical": {"jku": evil.URL, "crit": []string{"jku"}}, "kid as address": {"kid": evil.URL},
		"kid as path": {"kid": "../../../../dev/null"}, "kid as SQL": {"kid": "' or 1=1 --"}, "x5t": {"x5t": "AAAA", "x5u": evil.URL},
	} {
		refused[name] = oidcSigned("ES256", key, header)
	}
	twin := map[string]idp.Fault{"good signature, with jku": {IDTokenHeader: func(h map[string]any) { h["jku"] = evil.URL }}}
	oidcCells(t, w, refused, twin)
	if n := visits.Load(); n != 0 {
		t.Errorf("the address in the token was fetched %d times", n)
	}
}
