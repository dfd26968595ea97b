package verify

import (
	"bytes"
	"compress/flate"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	jweSecretOnly = "its key is derived from the secret alone, so deployments with the same secret accept each other's tokens"
	jweCookieOnly = "its key is derived from the secret and the cookie name, not from the URL"
	jweNoKID      = "its tokens do not name a key, so the secrets are tried in order"
)

var jweChecks = checks{
	"01": {title: "purpose confusion", run: jwe01},
	"02": {title: "algorithm choice by attacker", run: jwe02},
	"03": {title: "JWS instead of JWE", run: jwe03},
	"04": {title: "tampering and oracles", run: jwe04, alone: true},
	"05": {title: "decompression bomb", run: jwe05, alone: true},
	"06": {title: "iteration bomb", run: jwe06, alone: true},
	"07": {title: "separator flood", run: jwe07, alone: true},
	"08": {title: "header injection", run: jwe08},
	"09": {title: "time claims", run: jwe09},
	"10": {title: "cross-deployment reuse", run: jwe10, except: map[string]string{modeV4: jweSecretOnly, modeV5: jweCookieOnly}},
	"11": {title: "secret rotation", run: jwe11},
	"12": {title: "kid confusion", run: jwe12, alone: true, except: map[string]string{modeV4: jweNoKID}},
	"13": {title: "IV reuse", run: jwe13},
	"14": {title: "weak or default secret", run: jwe14},
	"15": {title: "one key for all", run: jwe15},
	"16": {title: "claim type confusion", run: jwe16},
	"17": {title: "garbage load", run: jwe17, alone: true},
	"18": {title: "interoperation", run: jwe18},
	"19": {title: "encoding malleability", run: jwe19},
	"20": {title: "readable PII", run: jwe20},
}

// jweAlgorithms and jweEncryptions list all of RFC 7518 §4.1 and §5.1, and some
// unknown values.
var (
	jweAlgorithms = []string{"none", "RSA1_5", "RSA-OAEP", "RSA-OAEP-256", "A128KW", "A192KW", "A256KW", "A128GCMKW", "A192GCMKW", "A256GCMKW",
		"PBES2-HS256+A128KW", "PBES2-HS384+A192KW", "PBES2-HS512+A256KW", "ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A192KW", "ECDH-ES+A256KW",
		"HS256", "RS256", "DIR", "", "dir"}
	jweEncryptions = []string{"A128CBC-HS256", "A192CBC-HS384", "A256CBC-HS512", "A128GCM", "A192GCM", "A256GCM", "none", "", "a256gcm", "A256CBC+HS512", "XC20P"}
)

// jwe02 writes every pair into the header of an otherwise authentic token. go-jose
// also makes real tokens of other algorithms, with the keys that an attacker might
// know or the service has.
func jwe02(t *T) {
	k := jweWorld(t, nil)
	k.good(t, "the token as it is", k.token(t))
	cells := 0
	for _, alg := range jweAlgorithms {
		for _, enc := range jweEncryptions {
			if alg == "dir" && (enc == k.enc || t.Mode == modeV5 && enc == "A256GCM") {
				continue
			}
			cells++
			header := fmt.Sprintf(`{"alg":%q,"enc":%q}`, alg, enc)
			k.refused(t, header, k.sealAs(t, header, []byte(jweAda())))
			withKID := fmt.Sprintf(`{"alg":%q,"enc":%q,%s}`, alg, enc, `"kid":"x"`)
			k.refused(t, withKID, k.sealAs(t, withKID, []byte(jweAda())))
		}
	}
	made := 0
	for what, recipient := range jweRecipients(t, k) {
		for _, enc := range []jose.ContentEncryption{jose.A128CBC_HS256, jose.A256CBC_HS512, jose.A128GCM, jose.A256GCM} {
			encrypter, err := jose.NewEncrypter(enc, recipient, nil)
			if err != nil {
				continue // dir, whose key must have the right size
			}
			object, err := encrypter.Encrypt([]byte(jweAda()))
			if err != nil {
				t.Fatal(err)
			}
			token, err := object.CompactSerialize()
			if err != nil {
				t.Fatal(err)
			}
			made++
			k.refused(t, what+" "+string(enc), token)
		}
	}
	if made < 40 {
		t.Errorf("twin: only %d tokens were made", made)
	}
	t.Figure("%d headers, %d tokens of other algorithms", cells*2, made)
}

func jweRecipients(t *T, k *jweBench) map[string]jose.Recipient {
	t.Helper()
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	e, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key := k.key[:32]
	return map[string]jose.Recipient{
		"RSA1_5": {Algorithm: jose.RSA1_5, Key: &r.PublicKey}, "RSA-OAEP": {Algorithm: jose.RSA_OAEP, Key: &r.PublicKey}, "RSA-OAEP-256": {Algorithm: jose.RSA_OAEP_256, Key: &r.PublicKey},
		"A128KW": {Algorithm: jose.A128KW, Key: key[:16]}, "A256KW": {Algorithm: jose.A256KW, Key: key}, "A256GCMKW": {Algorithm: jose.A256GCMKW, Key: key},
		"PBES2":   {Algorithm: jose.PBES2_HS256_A128KW, Key: []byte(k.w.Config.Secrets[0]), PBES2Count: 1000},
		"ECDH-ES": {Algorithm: jose.ECDH_ES, Key: &e.PublicKey}, "ECDH-ES+A256KW": {Algorithm: jose.ECDH_ES_A256KW, Key: &e.PublicKey},
		"dir, half the key": {Algorithm: jose.DIRECT, Key: key[:16]}, "dir, the secret": {Algorithm: jose.DIRECT, Key: []byte(k.w.Config.Secrets[0])[:32]},
		"dir, zeros": {Algorithm: jose.DIRECT, Key: make([]byte, 32)},
	}
}

func jwe03(t *T) {
	k := jweWorld(t, nil)
	claims := jweB64(jweAda())
	for _, header := range []string{`{"alg":"none"}`, `{"alg":"none","typ":"JWT"}`, `{"alg":"NONE"}`, `{}`} {
		for _, signature := range []string{"", ".", ".AAAA", "...", "....."} {
			k.refused(t, "unsigned "+header+signature, jweB64(header)+"."+claims+signature)
		}
	}
	guesses := map[string][]byte{"secret": []byte(k.w.Config.Secrets[0]), "derived": k.key, "word": []byte("secret"), "empty": {}, "header": []byte(k.header)}
	for what, key := range guesses {
		jws := jweSign(key, `{"alg":"HS256","typ":"JWT"}`, jweAda())
		k.refused(t, "HS256 with "+what, jws)
		k.refused(t, "nested, HS256 with "+what, k.seal(t, jws))
		if t.Mode != modeNone { // its own headers are compared as a whole
			k.refused(t, "nested, with cty", k.sealAs(t, `{`+k.members(t, "")+`,"cty":"JWT"}`, []byte(jws)))
		}
		k.refused(t, "JWE in a JWS", jweSign(key, `{"alg":"HS256","cty":"JWT"}`, k.token(t)))
		p := strings.Split(jws, ".")
		k.refused(t, "five parts of a JWS", p[0]+".."+p[1]+"."+p[1]+"."+p[2])
	}
	k.refused(t, "JSON serialization", `{"protected":"`+k.header+`","payload":"`+claims+`"}`)
	k.refused(t, "nested JWE", k.seal(t, k.token(t)))
	k.good(t, "a token", k.token(t))
}

func jweSign(key []byte, header, payload string) string {
	text := jweB64(header) + "." + jweB64(payload)
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return text + "." + jweB64(string(h.Sum(nil)))
}

// jwe05 sends tokens that inflate to a thousand times their size, the maximum of
// DEFLATE. 10 GB would need more than a token's length.
func jwe05(t *T) {
	k := jweWorld(t, nil)
	var small bytes.Buffer
	z, err := flate.NewWriter(&small, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 10<<20)
	z.Write([]byte(jweAda()))
	z.Write(bytes.ReplaceAll(zeros, []byte{0}, []byte(" ")))
	z.Close()
	size, most := 0, uint64(0)
	for _, value := range []string{`"DEF"`, `"def"`, `"GZIP"`, `true`, `null`, `""`} {
		token := k.sealAs(t, `{`+k.members(t, "")+`,"zip":`+value+`}`, small.Bytes())
		k.refused(t, "zip "+value, token)
		_, usual := k.cost(strings.Repeat("A", len(token)), 5)
		_, bomb := k.cost(token, 5)
		if measures() && bomb > usual+64<<10 {
			t.Errorf("zip %s: %d bytes allocated, %d for any other token", value, bomb, usual)
		}
		size, most = len(token), max(most, bomb)
	}
	t.Figure("a token of %d KiB that holds %d MiB: at most %d bytes allocated", size>>10, len(zeros)>>20, most)
	k.refused(t, "deflated without saying so", k.seal(t, small.String()))
	k.good(t, "a token", k.token(t))
}

func jwe06(t *T) {
	k := jweWorld(t, nil)
	worst := time.Duration(0)
	for _, alg := range []string{"PBES2-HS256+A128KW", "PBES2-HS384+A192KW", "PBES2-HS512+A256KW"} {
		for _, count := range []string{"2147483647", "2147483648", "4294967296", "9223372036854775807", "1e300", "-1"} {
			header := fmt.Sprintf(`{"alg":%q,"enc":%q,"p2c":%s,"p2s":"AAAAAAAAAAAAAAAA"}`, alg, k.enc, count)
			token := strings.Replace(k.sealAs(t, header, []byte(jweAda())), "..", "."+jweB64(strings.Repeat("k", 40))+".", 1)
			k.refused(t, header, token)
			took, _ := k.cost(token, 10)
			worst = max(worst, took)
		}
	}
	if measures() && worst > time.Millisecond {
		t.Errorf("a refusal takes %v", worst)
	}
	k.good(t, "a token", k.token(t))
	t.Figure("%v at most", worst)
}

func jwe07(t *T) {
	k := jweWorld(t, nil)
	_, usual := k.cost("a.b.c.d.e", 5)
	most := uint64(0)
	for what, token := range map[string]string{
		"1 MB of dots": strings.Repeat(".", 1<<20), "dots to the limit": strings.Repeat(".", 24<<10), "1 MB of parts": strings.Repeat("a.", 1<<19),
		"header and dots": k.header + strings.Repeat(".", 1<<20), "one part of 1 MB": strings.Repeat("a", 1<<20),
	} {
		k.refused(t, what, token)
		took, n := k.cost(token, 5)
		if measures() && (n > usual+8<<10 || took > 20*time.Millisecond) {
			t.Errorf("%s: %d bytes allocated in %v, %d for a short one", what, n, took, usual)
		}
		most = max(most, n)
	}
	t.Figure("at most %d bytes allocated, %d for a short token", most, usual)
	k.good(t, "a token", k.token(t))
}

// jwe08 adds each header member to a valid token, as anyone could, and under the
// service's own key, so that only the member decides.
func jwe08(t *T) {
	var calls atomic.Int64
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer evil.Close()
	k := jweWorld(t, nil)
	k.good(t, "a token", k.token(t))
	own := jweB64(string(k.key))
	for _, member := range []string{
		`"jku":"` + evil.URL + `/jwks"`, `"x5u":"` + evil.URL + `/cert"`, `"jwk":{"kty":"oct","k":"` + own + `"}`, `"jwk":{}`, `"x5c":["` + own + `"]`, `"x5t":"` + own + `"`,
		`"x5t#S256":"x"`, `"crit":["exp"]`, `"crit":[]`, `"crit":"exp"`, `"b64":false,"crit":["b64"]`, `"epk":{"kty":"EC"}`, `"apu":"AA"`, `"iv":"AA"`, `"tag":"AA"`, `"cty":"JWT"`,
		`"typ":7`, `"typ":"at+jwt"`, `"x":"y"`, `"":""`, `"alg":"dir"`, `"enc":"` + k.enc + `"`, `"\u0061lg":"none"`, `"aLg":"none"`, `"x":"` + strings.Repeat("x", 1<<20) + `"`,
		`"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), `"__proto__":{"alg":"none"}`,
	} {
		for _, header := range []string{`{` + k.members(t, "") + `,` + member + `}`, `{` + member + `,` + k.members(t, "") + `}`} {
			k.refused(t, fmt.Sprintf("%.80s", header), k.sealAs(t, header, []byte(jweAda())))
			_, rest, _ := strings.Cut(k.token(t), ".")
			k.refused(t, fmt.Sprintf("spliced %.80s", header), jweB64(header)+"."+rest)
		}
	}
	jwe08KIDs(t, k)
	for what, header := range map[string]string{"1 MB": strings.Repeat("A", 1<<20), "no JSON": jweB64("alg: dir"), "array": jweB64(`["dir"]`), "null": jweB64("null"), "two objects": jweB64(`{}{}`),
		"BOM": jweB64("\ufeff{" + k.members(t, "") + "}"), "not UTF-8": jweB64("{\"alg\":\"dir\",\"enc\":\"" + k.enc + "\",\"kid\":\"\xff\"}"), "empty": ""} {
		k.refused(t, what, k.sealUnder(t, header, []byte(jweAda())))
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls to what the header names", n)
	}
}

// jwe08KIDs checks kid. In NextAuth.js v4 it has no meaning and is not read, so only
// tokens that are not authentic are refused.
func jwe08KIDs(t *T, k *jweBench) {
	for _, kid := range []string{`"../../../etc/passwd"`, `"/dev/null"`, `"x' OR '1'='1"`, `"'; DROP TABLE \"User\"; --"`, `"|sleep 9"`, `""`, `7`, `null`, `["a"]`, `"` + strings.Repeat("k", 4000) + `"`} {
		header := `{` + k.members(t, "kid") + `,"kid":` + kid + `}`
		_, rest, _ := strings.Cut(k.token(t), ".")
		k.refused(t, "spliced "+kid, jweB64(header)+"."+rest)
		short := kid[0] == '"' && len(kid) < 400
		if t.Mode == modeV4 && short {
			k.good(t, "kid "+kid, k.sealAs(t, header, []byte(jweAda())))
			continue
		}
		k.refused(t, "kid "+kid, k.sealAs(t, header, []byte(jweAda())))
		k.refused(t, "kid "+kid+" and a key without content", (&jweBench{w: k.w, key: make([]byte, len(k.key))}).sealAs(t, header, []byte(jweAda())))
	}
}

func jwe19(t *T) {
	k := jweWorld(t, nil)
	// The token needs both characters that base64 spells in two ways.
	var token string
	for !strings.Contains(token, "-") || !strings.Contains(token, "_") {
		token = k.token(t)
	}
	k.good(t, "the token", token)
	tried := 0
	refused := func(what, other string) {
		tried++
		k.refused(t, what, other)
	}
	refused("+ for -", strings.ReplaceAll(token, "-", "+"))
	refused("/ for _", strings.ReplaceAll(token, "_", "/"))
	refused("%2E for .", strings.ReplaceAll(token, ".", "%2E"))
	refused("quotes", `"`+token+`"`)
	for _, c := range []string{"=", "==", "%3D", " ", "\t", "\n", "\r\n", "\v", "\u00a0", "\u2028", "\x00", "%20", "."} {
		at := []int{1, len(token) / 2, len(token) - 1}
		for i := range token {
			if token[i] == '.' {
				at = append(at, i, i+1)
			}
		}
		if strings.Trim(c, " \t") != "" { // blanks around a cookie value are not part of it
			at = append(at, 0, len(token))
		}
		for _, i := range at {
			refused(fmt.Sprintf("%q at %d", c, i), token[:i]+c+token[i:])
		}
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for p, part := range strings.Split(token, ".") {
		for _, c := range alphabet {
			parts := strings.Split(token, ".")
			if part == "" || part[len(part)-1] == byte(c) {
				continue
			}
			parts[p] = part[:len(part)-1] + string(c)
			refused(fmt.Sprintf("last character of part %d is %c", p, c), strings.Join(parts, "."))
		}
	}
	t.Figure("%d spellings", tried)
}

func jwe20(t *T) {
	w := t.Enter(sessionStrategy("jwt"))
	b := w.Browser()
	seen := 0
	look := func() {
		for name, v := range b.Cookies {
			seen++
			readable := v
			for _, part := range strings.Split(v, ".") {
				readable += "\n" + string(jweMaybe(part))
			}
			for _, person := range []string{"ada@", "ada-id", "Lovelace", "example.com", "someone", `"sub"`, `"email"`, `"name"`} {
				if strings.Contains(readable, person) {
					t.Errorf("%s shows %s: %q", name, person, readable)
				}
			}
			if first, _, _ := strings.Cut(v, "."); strings.Count(v, ".") == 4 && !jwe20Header.Match(jweMaybe(first)) {
				t.Errorf("%s has the header %s", name, jweMaybe(first))
			}
		}
	}
	b.Begin("op")
	b.Post("/api/auth/signin/email", "email", "someone@app.test")
	look()
	b.SignIn(w.OP, "ada")
	if user, _ := b.Session()["user"].(map[string]any); user["name"] != "Ada Lovelace" {
		t.Errorf("twin: signed in as %v", user)
	}
	look()
	delete(b.Cookies, w.SessionCookie())
	b.Login("ada")
	look()
	if strings.Count(b.Cookies[w.SessionCookie()], ".") != 4 || b.Email() == "" {
		t.Error("twin: no token")
	}
	t.Figure("%d cookies", seen)
}
