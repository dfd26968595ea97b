//go:build !race

package counts_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"authsvc/internal/test/arena"
)

// A leanClient is a browser that serves one person at a time, with the first person's
// CSRF token.
type leanClient struct {
	service http.Handler
	answer  leanAnswer
	csrf    string // the cookie, NAME=VALUE
	form    string // contains the token
	cookies []string
	address string
}

// A leanAnswer keeps only the header.
type leanAnswer struct {
	header  http.Header
	written int
	body    []byte // kept if not nil
}

func (a *leanAnswer) Header() http.Header { return a.header }
func (a *leanAnswer) WriteHeader(int)     {}

func (a *leanAnswer) Write(p []byte) (int, error) {
	a.written += len(p)
	if a.body != nil {
		a.body = append(a.body, p...)
	}
	return len(p), nil
}

func (c *leanClient) start(t testing.TB, service http.Handler) {
	t.Helper()
	c.service, c.answer.header, c.answer.body = service, http.Header{}, []byte{}
	c.person(0)
	c.do(http.MethodGet, "/api/auth/csrf", "")
	var token struct{ CSRFToken string }
	if err := json.Unmarshal(c.answer.body, &token); err != nil || len(c.cookies) != 1 {
		t.Fatalf("csrf: %s, %q", c.answer.body, c.cookies)
	}
	c.csrf, c.form, c.answer.body = c.cookies[0], "csrfToken="+token.CSRFToken, nil
}

// person switches to another person, with a different address in 198.18.0.0/15.
func (c *leanClient) person(n int) {
	c.cookies = c.cookies[:0]
	if c.csrf != "" {
		c.cookies = append(c.cookies, c.csrf)
	}
	c.address = "198.18." + strconv.Itoa(n/200) + "." + strconv.Itoa(n%200) + ":4711"
}

// request returns a request for a path, or for an address of the service.
func (c *leanClient) request(method, target, form string) *http.Request {
	target = strings.TrimPrefix(target, arena.Origin)
	path, query, _ := strings.Cut(target, "?")
	header := http.Header{"Cookie": {strings.Join(c.cookies, "; ")}, "Accept-Language": {"en"}, "Sec-Fetch-Site": {"same-origin"}}
	r := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Host: strings.TrimPrefix(arena.Origin, "https://"), RequestURI: target,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Body: http.NoBody, RemoteAddr: c.address}
	if form != "" {
		header["Content-Type"] = []string{"application/x-www-form-urlencoded"}
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(form)), int64(len(form))
	}
	return r
}

// do sends a request, stores the cookies of the answer, and returns the redirect
// target.
func (c *leanClient) do(method, target, form string) string {
	clear(c.answer.header)
	c.service.ServeHTTP(&c.answer, c.request(method, target, form))
	for _, line := range c.answer.header["Set-Cookie"] {
		pair, _, _ := strings.Cut(line, ";")
		name, value, _ := strings.Cut(pair, "=")
		i := c.find(name)
		switch {
		case i < 0 && value != "":
			c.cookies = append(c.cookies, pair)
		case i >= 0 && value != "":
			c.cookies[i] = pair
		case i >= 0:
			c.cookies = append(c.cookies[:i], c.cookies[i+1:]...)
		}
	}
	return c.answer.header.Get("Location")
}

func (c *leanClient) has(name string) bool { return c.find(name) >= 0 }

// find returns the index of a cookie, or -1.
func (c *leanClient) find(name string) int {
	for i, pair := range c.cookies {
		if len(pair) > len(name) && pair[len(name)] == '=' && pair[:len(name)] == name {
			return i
		}
	}
	return -1
}

const leanIssuer = "https://op.test"

// A leanProvider is an OpenID provider for one person at a time, without a network
// and with few allocations.
type leanProvider struct {
	key     *ecdsa.PrivateKey
	answers map[string]string // fixed answers, by path
	header  http.Header
	signed  string // encoded header of ID tokens
	idToken string // the next ID token
}

func newLeanProvider(t testing.TB) *leanProvider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	return &leanProvider{key: key, header: http.Header{"Content-Type": {"application/json"}}, signed: b64([]byte(`{"alg":"ES256","kid":"1"}`)), answers: map[string]string{
		"/.well-known/openid-configuration": fmt.Sprintf(`{"issuer":%[1]q,"authorization_endpoint":"%[1]s/authorize","token_endpoint":"%[1]s/token","jwks_uri":"%[1]s/jwks",`+
			`"response_types_supported":["code"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"],"code_challenge_methods_supported":["S256"]}`, leanIssuer),
		"/jwks": fmt.Sprintf(`{"keys":[{"kty":"EC","crv":"P-256","kid":"1","alg":"ES256","use":"sig","x":%q,"y":%q}]}`, b64(public[1:33]), b64(public[33:])),
	}}
}

// approve signs a person in and returns the browser's next address.
func (p *leanProvider) approve(t testing.TB, n int, authorize string) string {
	u, err := url.Parse(authorize)
	if err != nil || !strings.HasPrefix(authorize, leanIssuer) {
		t.Fatalf("the sign-in of person %d leads to %q", n, authorize)
	}
	q, now, b64 := u.Query(), time.Now().Unix(), base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"iss":%q,"aud":"app","sub":"sub-%05d","nonce":%q,"iat":%d,"exp":%d,"name":"Ada Lovelace","email":"oidc%05d@example.com","email_verified":true}`,
		leanIssuer, n, q.Get("nonce"), now, now+300, n)
	input := p.signed + "." + b64([]byte(claims))
	digest := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	var signature [64]byte
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	p.idToken = input + "." + b64(signature[:])
	return "/api/auth/callback/op?code=a&state=" + url.QueryEscape(q.Get("state"))
}

// RoundTrip implements [http.RoundTripper].
func (p *leanProvider) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := http.StatusOK, p.answers[r.URL.Path]
	switch {
	case r.URL.Path == "/token":
		body = `{"access_token":"at","token_type":"Bearer","expires_in":3600,"id_token":"` + p.idToken + `"}`
	case body == "":
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Header: p.header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}
