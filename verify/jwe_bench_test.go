package verify

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	josecipher "github.com/go-jose/go-jose/v4/cipher"

	"authsvc"
	"authsvc/internal/test/arena"
)

// A jweBench seals and opens session tokens of a world with keys that it derives
// itself. It makes tokens that only the holder of the secret could send, and
// double-checks the service's own tokens.
type jweBench struct {
	w      *arena.World
	key    []byte
	header string // of the service's own tokens, encoded
	enc    string
	kids   []string // of the service's keys; none in NextAuth.js v4
}

func newJWEBench(t *T, w *arena.World) *jweBench {
	t.Helper()
	b := w.Browser()
	b.Login("ada")
	header, _, ok := strings.Cut(b.Cookies[w.SessionCookie()], ".")
	if !ok {
		t.Fatalf("no JWE: %q\n%s", b.Cookies[w.SessionCookie()], w.Logs)
	}
	k := &jweBench{w: w, header: header, enc: "A256GCM", key: jweKey(t, t.Mode, w.Config.Secrets[0], w.SessionCookie())}
	if t.Mode == modeV5 {
		k.enc = "A256CBC-HS512"
	}
	if kid, ok := jweHeader(header)["kid"]; ok {
		k.kids = []string{kid}
	}
	return k
}

// jweHeader parses a protected header as the service and NextAuth.js write it: each
// member is a text and occurs once. It returns nil for any other header.
func jweHeader(segment string) map[string]string {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(segment)
	if err != nil || len(raw) > 512 || !utf8.Valid(raw) {
		return nil
	}
	var texts map[string]*string
	if json.Unmarshal(raw, &texts) != nil || bytes.Count(raw, []byte(`":`)) != len(texts) { // a member occurs twice
		return nil
	}
	all := map[string]string{}
	for name, v := range texts {
		if v == nil {
			return nil
		}
		all[name] = *v
	}
	for name, v := range all {
		known := map[string][]string{"alg": {"dir"}, "enc": {"A256GCM", "A256CBC-HS512"}, "kid": {v}, "typ": {"JWT"}}
		if !slices.Contains(known[name], v) {
			return nil
		}
	}
	if all["alg"] == "" || all["enc"] == "" {
		return nil
	}
	return all
}

// elsewhere reports whether another replica may have the key of a token: the token is
// well-formed and names a key that this service does not have.
func (k *jweBench) elsewhere(token string) bool {
	parts := strings.Split(token, ".")
	kid, named := jweHeader(parts[0])["kid"]
	return len(parts) == 5 && named && len(k.kids) > 0 && !slices.Contains(k.kids, kid)
}

// jweKey derives the key of session tokens: authsvc's own, for a purpose with origin
// and cookie, or the key of NextAuth.js v4 or Auth.js v5.
func jweKey(t *T, mode, secret, cookie string) []byte {
	t.Helper()
	salt, info, size := "", "authsvc/v1 session "+arena.Origin+" "+cookie, 32
	switch mode {
	case modeV4:
		info = "NextAuth.js Generated Encryption Key"
	case modeV5:
		salt, info, size = cookie, "Auth.js Generated Encryption Key ("+cookie+")", 64
	}
	key, err := hkdf.Key(sha256.New, []byte(secret), []byte(salt), info, size)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (k *jweBench) aead(t *T) cipher.AEAD {
	t.Helper()
	var a cipher.AEAD
	var err error
	if len(k.key) == 64 {
		a, err = josecipher.NewCBCHMAC(k.key, aes.NewCipher)
	} else {
		var block cipher.Block
		if block, err = aes.NewCipher(k.key); err == nil {
			a, err = cipher.NewGCM(block)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// seal makes a token with the service's own header.
func (k *jweBench) seal(t *T, plaintext string) string {
	t.Helper()
	return k.sealUnder(t, k.header, []byte(plaintext))
}

// sealAs makes a token with any header that is otherwise authentic.
func (k *jweBench) sealAs(t *T, header string, plaintext []byte) string {
	t.Helper()
	return k.sealUnder(t, jweB64(header), plaintext)
}

func (k *jweBench) sealUnder(t *T, header string, plaintext []byte) string {
	t.Helper()
	a := k.aead(t)
	iv := make([]byte, a.NonceSize())
	rand.Read(iv)
	sealed := a.Seal(nil, iv, plaintext, []byte(header))
	tag := len(k.key) / 2 // 16 bytes of GCM, 32 of HMAC-SHA-512
	body := len(sealed) - tag
	return strings.Join([]string{header, "", jweB64(string(iv)), jweB64(string(sealed[:body])), jweB64(string(sealed[body:]))}, ".")
}

// open returns the claims of a token of the service.
func (k *jweBench) open(t *T, token string) []byte {
	t.Helper()
	p := strings.Split(token, ".")
	if len(p) != 5 {
		t.Fatalf("token of %d parts", len(p))
	}
	plain, err := k.aead(t).Open(nil, jweRaw(t, p[2]), append(jweRaw(t, p[3]), jweRaw(t, p[4])...), []byte(p[0]))
	if err != nil {
		t.Fatalf("a token of the service does not open: %v", err)
	}
	return plain
}

// token returns a token of ada that is valid for an hour.
func (k *jweBench) token(t *T) string {
	t.Helper()
	return k.seal(t, jweAda())
}

func jweAda() string {
	return `{"sub":"ada-id","email":"ada@app.test","name":"Ada",` + jweTimes(0, time.Hour) + `}`
}

// refused checks that a token is not a session, and that its cookie stays only if
// another replica may have its key.
func (k *jweBench) refused(t *T, what, token string) {
	t.Helper()
	if k.elsewhere(token) {
		sessionLeft(t, k.w, what, token)
		return
	}
	sessionSignedOut(t, k.w, what, token)
}

// good checks that a token is ada's session.
func (k *jweBench) good(t *T, what, token string) {
	t.Helper()
	if a := sessionRaw(k.w, k.w.SessionCookie()+"="+token); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "ada@app.test") {
		t.Errorf("twin: %s: %d %s", what, a.StatusCode, a.Text)
	}
}

// foreign checks a token with another program's claims. Where other programs make
// tokens, it must be ada's session without these claims; elsewhere, it must not be a
// session.
func (k *jweBench) foreign(t *T, what, token string) {
	t.Helper()
	if t.Mode == modeNone {
		k.refused(t, what, token)
		return
	}
	b := k.w.Browser()
	b.Cookies[k.w.SessionCookie()] = token
	a := b.Clone().Get("/api/auth/session")
	var s struct {
		User map[string]any `json:"user"`
	}
	if json.Unmarshal([]byte(a.Text), &s) != nil || len(s.User) != 3 || k.w.Person(t, b) != "ada-id" {
		t.Errorf("%s, of another program: %d %s", what, a.StatusCode, a.Text)
	}
	for name, v := range s.User {
		if v != nil && v != "ada@app.test" {
			t.Errorf("%s, of another program: %s is %v", what, name, v)
		}
	}
}

// cost returns the least time and allocation of n GET session requests with a token.
func (k *jweBench) cost(token string, n int) (time.Duration, uint64) {
	least, bytes := time.Hour, uint64(1<<62)
	for range n {
		r := httptest.NewRequest("GET", arena.Origin+"/api/auth/session", nil)
		r.Header["Cookie"] = []string{k.w.SessionCookie() + "=" + token}
		rec := httptest.NewRecorder()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		k.w.ServeHTTP(rec, r)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		least, bytes = min(least, took), min(bytes, after.TotalAlloc-before.TotalAlloc)
	}
	return least, bytes
}

// jweWorld returns the bench of a world with strategy jwt.
func jweWorld(t *T, tune func(*authsvc.Config)) *jweBench {
	t.Helper()
	return newJWEBench(t, t.EnterOffline(func(c *authsvc.Config) {
		c.Session.Strategy = "jwt"
		if tune != nil {
			tune(c)
		}
	}))
}

func jweB64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func jweRaw(t *T, s string) []byte {
	t.Helper()
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return raw
}

// jweTimes returns iat and exp, relative to now.
func jweTimes(iat, exp time.Duration) string {
	now := time.Now()
	return fmt.Sprintf(`"iat":%d,"exp":%d`, now.Add(iat).Unix(), now.Add(exp).Unix())
}

// members returns the members of the service's own header, without the braces and the
// named member.
func (k *jweBench) members(t *T, without string) string {
	t.Helper()
	var list []string
	for _, m := range strings.Split(strings.Trim(string(jweRaw(t, k.header)), "{}"), ",") {
		if !strings.HasPrefix(m, `"`+without+`"`) {
			list = append(list, m)
		}
	}
	return strings.Join(list, ",")
}
