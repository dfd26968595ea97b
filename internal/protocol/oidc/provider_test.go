package oidc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

const (
	testClient = "client-1"
	testSecret = "a secret of 32 bytes and a bit more"
	testNonce  = "nonce-1"
)

// rsaKey is shared because generating a key takes long.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func ecKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

func edKey() ed25519.PrivateKey {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

// signer is a key of the fake provider.
type signer struct {
	alg jose.SignatureAlgorithm
	kid string
	key any // private key or secret
}

func newSigner(kid string) *signer { return &signer{jose.ES256, kid, ecKey()} }

// public returns the key's entry in the key set.
func (s *signer) public() map[string]any {
	private, ok := s.key.(crypto.Signer)
	if !ok {
		panic("no public part")
	}
	raw, err := json.Marshal(jose.JSONWebKey{Key: private.Public(), KeyID: s.kid, Use: "sig"})
	if err != nil {
		panic(err)
	}
	var entry map[string]any
	if err := json.Unmarshal(raw, &entry); err != nil {
		panic(err)
	}
	return entry
}

// sign makes a compact JWT; payload is a map or a raw string.
func (s *signer) sign(t testing.TB, payload any, header map[string]any) string {
	t.Helper()
	opts := (&jose.SignerOptions{}).WithType("JWT")
	if s.kid != "" {
		opts = opts.WithHeader("kid", s.kid)
	}
	for name, v := range header {
		opts = opts.WithHeader(jose.HeaderKey(name), v)
	}
	sg, err := jose.NewSigner(jose.SigningKey{Algorithm: s.alg, Key: s.key}, opts)
	if err != nil {
		t.Fatal(err)
	}
	raw, ok := payload.(string)
	if !ok {
		b, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(b)
	}
	jws, err := sg.Sign([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	compact, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

// provider is a fake identity provider on a loopback listener.
type provider struct {
	*httptest.Server
	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
	hits     map[string]int
	last     map[string]*http.Request // with the body in Form
	signer   *signer
	keys     []any
}

func newProvider(t testing.TB) *provider {
	t.Helper()
	o := &provider{handlers: map[string]http.HandlerFunc{}, hits: map[string]int{}, last: map[string]*http.Request{}}
	o.signer = newSigner("key-1")
	o.keys = []any{o.signer.public()}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	o.on("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, o.document()) })
	o.on("/jwks", func(w http.ResponseWriter, _ *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		writeJSON(w, map[string]any{"keys": o.keys})
	})
	return o
}

func (o *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Form, _ = url.ParseQuery(string(body))
	o.mu.Lock()
	o.hits[r.URL.Path]++
	o.last[r.URL.Path] = r
	h := o.handlers[r.URL.Path]
	o.mu.Unlock()
	if h == nil {
		http.NotFound(w, r)
		return
	}
	h(w, r)
}

func (o *provider) on(path string, h http.HandlerFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handlers[path] = h
}

func (o *provider) count(path string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hits[path]
}

func (o *provider) request(path string) *http.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[path]
}

// rotate replaces the provider's key.
func (o *provider) rotate(kid string) {
	s := newSigner(kid)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.signer, o.keys = s, []any{s.public()}
}

func (o *provider) document() map[string]any {
	return map[string]any{
		"issuer":                 o.URL,
		"authorization_endpoint": o.URL + "/authorize",
		"token_endpoint":         o.URL + "/token",
		"userinfo_endpoint":      o.URL + "/userinfo",
		"jwks_uri":               o.URL + "/jwks",
	}
}

// claims returns the claims of a valid ID token.
func (o *provider) claims() map[string]any {
	now := time.Now().Unix()
	return map[string]any{
		"iss": o.URL, "sub": "user-1", "aud": testClient, "nonce": testNonce,
		"iat": now, "exp": now + 300,
	}
}

// client returns an OpenID client of o, with the configuration changed by mods.
func (o *provider) client(t testing.TB, mods ...func(*Config)) *Client {
	t.Helper()
	c := Config{Issuer: o.URL, ClientID: testClient, ClientSecret: testSecret, OpenID: true}
	for _, mod := range mods {
		mod(&c)
	}
	client, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.outbound.CloseIdleConnections)
	return client
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

// reply always gives the same answer.
func reply(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// wantError checks that err contains what or, if what is empty, that err is nil.
func wantError(t *testing.T, err error, what string) {
	t.Helper()
	switch {
	case what == "" && err != nil:
		t.Fatalf("unexpected error: %v", err)
	case what != "" && err == nil:
		t.Fatalf("no error, want one about %q", what)
	case what != "" && !strings.Contains(err.Error(), what):
		t.Fatalf("error %q, want one about %q", err, what)
	}
}

// roundTrip is a transport in memory, for tests of time.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func response(status int, v any) *http.Response {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return &http.Response{
		StatusCode: status,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(string(body))),
	}
}

// offline returns a client whose provider answers in memory, so that time can be faked.
func offline(t *testing.T, s *signer, c Config, hits map[string]int) *Client {
	t.Helper()
	base := "https://idp.example"
	if c.Issuer == "" {
		c.Issuer = base
	}
	c.ClientID, c.ClientSecret, c.OpenID = testClient, testSecret, true
	c.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		hits[r.URL.Path]++
		if r.URL.Path == "/jwks" {
			return response(200, map[string]any{"keys": []any{s.public()}}), nil
		}
		return response(200, map[string]any{
			"issuer": c.Issuer, "authorization_endpoint": base + "/a", "token_endpoint": base + "/t", "jwks_uri": base + "/jwks",
		}), nil
	})}
	client, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func mustURL(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
