package seal

import (
	"strings"
	"testing"
)

// forge seals validly with k under any header.
func forge(k *key, header string) string {
	aad := []byte(b64.EncodeToString([]byte(header)))
	return join(aad, k.aead.Seal(nil, nil, []byte("x"), aad), k.header.enc)
}

// TestForeignHeaders seals every token with the right key, so that only the header
// decides.
func TestForeignHeaders(t *testing.T) {
	t.Parallel()
	r := ring(t, "s3cret")
	v4, v5 := r.NextAuthV4(""), r.AuthJSV5("c")
	kid, gcmKID := v5.keys[0].header.kid, v5.keys[1].header.kid
	long := strings.Repeat("k", maxHeader)
	fits := maxHeader - len(`{"alg":"dir","enc":"A256GCM","kid":""}`)
	tests := []struct {
		name   string
		sealer *Sealer
		key    *key
		header string
		ok     bool
	}{
		{"v4 as written", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM"}`, true},
		{"v4 other order", v4, &v4.keys[0], `{"enc":"A256GCM","alg":"dir"}`, true},
		{"v4 blanks", v4, &v4.keys[0], "{ \"alg\" : \"dir\",\n\"enc\":\"A256GCM\" }", true},
		{"v4 escapes", v4, &v4.keys[0], `{"\u0061lg":"dir","enc":"A256GCM"}`, true},
		{"v4 kid ignored", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","kid":"../../etc/passwd' OR 1=1"}`, true},
		{"v4 typ", v4, &v4.keys[0], `{"typ":"JWT","alg":"dir","enc":"A256GCM"}`, true},
		{"v5 as written", v5, &v5.keys[0], `{"alg":"dir","enc":"A256CBC-HS512","kid":"` + kid + `"}`, true},
		{"v5 other order", v5, &v5.keys[0], `{"kid":"` + kid + `","enc":"A256CBC-HS512","alg":"dir"}`, true},
		{"v5 no kid", v5, &v5.keys[0], `{"alg":"dir","enc":"A256CBC-HS512"}`, true},
		{"v5 gcm", v5, &v5.keys[1], `{"alg":"dir","enc":"A256GCM","kid":"` + gcmKID + `"}`, true},
		{"v5 gcm no kid", v5, &v5.keys[1], `{"alg":"dir","enc":"A256GCM"}`, true},

		{"v5 unknown kid", v5, &v5.keys[0], `{"alg":"dir","enc":"A256CBC-HS512","kid":"other"}`, false},
		{"v5 empty kid", v5, &v5.keys[0], `{"alg":"dir","enc":"A256CBC-HS512","kid":""}`, false},
		{"v5 kid of the other enc", v5, &v5.keys[0], `{"alg":"dir","enc":"A256CBC-HS512","kid":"` + gcmKID + `"}`, false},
		{"v5 cbc sealed, gcm said", v5, &v5.keys[0], `{"alg":"dir","enc":"A256GCM"}`, false},
		{"v5 gcm sealed, cbc said", v5, &v5.keys[1], `{"alg":"dir","enc":"A256CBC-HS512"}`, false},
		{"v4 cbc", v4, &v5.keys[0], `{"alg":"dir","enc":"A256CBC-HS512"}`, false},

		{"no alg", v4, &v4.keys[0], `{"enc":"A256GCM"}`, false},
		{"no enc", v4, &v4.keys[0], `{"alg":"dir"}`, false},
		{"upper case alg", v4, &v4.keys[0], `{"alg":"DIR","enc":"A256GCM"}`, false},
		{"upper case name", v4, &v4.keys[0], `{"ALG":"dir","enc":"A256GCM"}`, false},
		{"duplicate alg", v4, &v4.keys[0], `{"alg":"none","alg":"dir","enc":"A256GCM"}`, false},
		{"duplicate enc", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","enc":"A256GCM"}`, false},
		{"duplicate kid", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","kid":"a","kid":"b"}`, false},
		{"duplicate, escaped", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","\u0065nc":"A256GCM"}`, false},
		{"zip", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","zip":"DEF"}`, false},
		{"crit", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","crit":["exp"]}`, false},
		{"crit, a string", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","crit":"exp"}`, false},
		{"jku", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","jku":"https://evil.example/jwks"}`, false},
		{"jwk", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","jwk":{"kty":"oct","k":"AAAA"}}`, false},
		{"x5u", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","x5u":"https://evil.example/c"}`, false},
		{"x5c", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","x5c":["AAAA"]}`, false},
		{"cty", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","cty":"JWT"}`, false},
		{"other typ", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","typ":"at+jwt"}`, false},
		{"iteration bomb", v4, &v4.keys[0], `{"alg":"PBES2-HS512+A256KW","enc":"A256GCM","p2c":2147483648,"p2s":"AAAA"}`, false},
		{"unknown member", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","x":"y"}`, false},
		{"empty name", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","":"y"}`, false},
		{"number", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","kid":1}`, false},
		{"null", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","kid":null}`, false},
		{"list", v4, &v4.keys[0], `{"alg":["dir"],"enc":"A256GCM"}`, false},
		{"trailing comma", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM",}`, false},
		{"missing comma", v4, &v4.keys[0], `{"alg":"dir" "enc":"A256GCM"}`, false},
		{"trailing data", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM"}{}`, false},
		{"not an object", v4, &v4.keys[0], `["alg","dir"]`, false},
		{"a string", v4, &v4.keys[0], `"dir"`, false},
		{"empty object", v4, &v4.keys[0], `{}`, false},
		{"empty", v4, &v4.keys[0], ``, false},
		{"byte order mark", v4, &v4.keys[0], "\xef\xbb\xbf" + `{"alg":"dir","enc":"A256GCM"}`, false},
		{"not UTF-8", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","kid":"` + "\xff" + `"}`, false},
		{"nested deep", v4, &v4.keys[0], strings.Repeat("[", 500), false},
		{"too long", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","kid":"` + long + `"}`, false},
		{"long enough", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","kid":"` + long[:fits] + `"}`, true},
		{"one too long", v4, &v4.keys[0], `{"alg":"dir","enc":"A256GCM","kid":"` + long[:fits+1] + `"}`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			token := forge(test.key, test.header)
			if test.ok {
				wantOpen(t, test.sealer, token, "x", false)
			} else {
				wantRefused(t, test.sealer, token)
			}
		})
	}
}

// TestAlgorithmIsNotChosenByTheToken checks that only dir and the two encryptions are
// accepted, whatever the key.
func TestAlgorithmIsNotChosenByTheToken(t *testing.T) {
	t.Parallel()
	r := ring(t, "s3cret")
	algs := strings.Fields("none HS256 HS512 RS256 RSA1_5 RSA-OAEP RSA-OAEP-256 A128KW A192KW A256KW A128GCMKW A256GCMKW " +
		"ECDH-ES ECDH-ES+A128KW ECDH-ES+A256KW PBES2-HS256+A128KW PBES2-HS512+A256KW Dir")
	encs := strings.Fields("none A128GCM A192GCM A128CBC-HS256 A192CBC-HS384 A256CBC-HS256 XC20P a256gcm")
	for _, s := range []*Sealer{r.Sealer("p"), r.NextAuthV4(""), r.AuthJSV5("c")} {
		for i := range s.keys {
			k := &s.keys[i]
			kid := `,"kid":"` + k.header.kid + `"}`
			if k.header.kid == "" {
				kid = "}"
			}
			wantOpen(t, s, forge(k, `{"alg":"dir","enc":"`+k.header.enc.name+`"`+kid), "x", false)
			for _, alg := range algs {
				wantRefused(t, s, forge(k, `{"alg":"`+alg+`","enc":"`+k.header.enc.name+`"`+kid))
			}
			for _, enc := range encs {
				wantRefused(t, s, forge(k, `{"alg":"dir","enc":"`+enc+`"`+kid))
			}
		}
	}
}

// TestOwnHeaderIsExact checks that our own sealer accepts only its own headers.
func TestOwnHeaderIsExact(t *testing.T) {
	t.Parallel()
	s := ring(t, "new", "old").Sealer("p")
	newest, older := &s.keys[0], &s.keys[1]
	written := func(kid string) string { return `{"alg":"dir","enc":"A256GCM","kid":"` + kid + `"}` }

	wantOpen(t, s, forge(newest, written(newest.header.kid)), "x", false)
	wantOpen(t, s, forge(older, written(older.header.kid)), "x", true)
	for name, header := range map[string]string{
		"no kid":      `{"alg":"dir","enc":"A256GCM"}`,
		"unknown kid": written("AAAAAAAAAAAA"),
		"wrong kid":   written(older.header.kid),
		"other order": `{"enc":"A256GCM","alg":"dir","kid":"` + newest.header.kid + `"}`,
		"blank":       written(newest.header.kid) + " ",
		"typ":         `{"alg":"dir","enc":"A256GCM","kid":"` + newest.header.kid + `","typ":"JWT"}`,
		"empty":       ``,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, s, forge(newest, header))
		})
	}
}

// TestKIDConfusion checks that the old kid with the new key, and the reverse, open in
// no format that has kids.
func TestKIDConfusion(t *testing.T) {
	t.Parallel()
	r := ring(t, "new", "old")
	for _, s := range []*Sealer{r.Sealer("p"), r.AuthJSV5("c")} {
		for i := range s.keys {
			for j := range s.keys {
				said, used := &s.keys[i], &s.keys[j]
				header, err := b64.DecodeString(string(said.aad))
				if err != nil {
					t.Fatal(err)
				}
				token := forge(used, string(header))
				if i == j {
					wantOpen(t, s, token, "x", used.stale)
				} else {
					wantRefused(t, s, token)
				}
			}
		}
	}
}

// TestHeaderSelects checks that a token opens only with a key of its encryption and, if
// both have a kid, of its kid.
func TestHeaderSelects(t *testing.T) {
	t.Parallel()
	own := &key{header: header{enc: a256gcm, kid: "a", hasKID: true}}
	for name, c := range map[string]struct {
		h    header
		want bool
	}{
		"the same":           {header{enc: a256gcm, kid: "a", hasKID: true}, true},
		"no kid":             {header{enc: a256gcm}, true},
		"another kid":        {header{enc: a256gcm, kid: "b", hasKID: true}, false},
		"another encryption": {header{enc: a256cbcHS512, kid: "a", hasKID: true}, false},
		"both":               {header{enc: a256cbcHS512}, false},
	} {
		if got := c.h.selects(own); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
