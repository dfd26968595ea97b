package provider_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Client data that the emulated provider knows, and values that it issues.
const (
	clientID     = "client-7"
	clientSecret = "s3cret/of+the client, long enough for HS256"
	codeGiven    = "the-c0de.of~one-sign_in"
	tokenGiven   = "access-token.of_the-test"
	origin       = "https://app.example.com"
)

// An emulator stands for one provider during one sign-in. It is the engine's transport:
// it serves the provider's own URLs, accepts only requests in the recording, and
// reports everything else as a test error.
type emulator struct {
	t    *testing.T
	rec  *recording
	back string // our callback URL
	fail *fault // the fault to inject, if any

	// later is set when the person is signed in, with the refresh token given.
	later   bool
	refresh string

	bad http.RoundTripper // serves badHost

	mu      sync.Mutex
	asked   url.Values     // the authorization request
	called  map[string]int // number of calls, by "METHOD URL"
	idToken string
	access  string

	callback string              // OAuth 1: the URL to which the person returns
	nonces   map[string]bool     // OAuth 1: the nonces received
	issued   []string            // OAuth 1: request tokens, the last one for the current sign-in
	asserted []map[string]string // OpenID 2.0: the assertions
}

// A fault replaces the response of a step.
type fault struct {
	step        string // request token, token or call
	status      int
	contentType string
	body        string
	broken      bool // breaks the connection
}

func newEmulator(t *testing.T, rec *recording, back string) *emulator {
	return &emulator{t: t, rec: rec, back: back, called: map[string]int{}, nonces: map[string]bool{}}
}

// RoundTrip implements [http.RoundTripper].
func (e *emulator) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == badHost {
		return e.bad.RoundTrip(r)
	}
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.URL.Scheme != "https" || r.UserAgent() == "" || r.URL.User != nil || r.URL.Fragment != "" {
		e.t.Errorf("%s %s: no https, no User-Agent, or more than an address", r.Method, r.URL)
	}
	step, answer := e.answer(r, body)
	if answer == nil {
		e.t.Errorf("unexpected %s %s", r.Method, r.URL)
		answer = &reply{status: http.StatusNotFound}
	}
	if e.fail != nil && e.fail.step == step {
		if e.fail.broken {
			return nil, &url.Error{Op: r.Method, URL: r.URL.String(), Err: errors.New("connection reset")}
		}
		answer = &reply{status: e.fail.status, contentType: e.fail.contentType, body: []byte(e.fail.body)}
	}
	return answer.response(r), nil
}

// A reply is a response before its conversion to net/http.
type reply struct {
	status      int
	contentType string
	body        []byte
}

func (a *reply) response(r *http.Request) *http.Response {
	h := http.Header{}
	if a.contentType != "" {
		h.Set("Content-Type", a.contentType)
	}
	return &http.Response{Status: http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r}
}

// answer dispatches by URL. It returns nil if nothing is there.
func (e *emulator) answer(r *http.Request, body []byte) (step string, a *reply) {
	plain := *r.URL
	plain.RawQuery = ""
	if e.rec.Token.Encoding != "query" && strings.Contains(r.URL.RawQuery, url.QueryEscape(clientSecret)) {
		e.t.Errorf("%s %s: the client secret is in an address", r.Method, &plain)
	}
	if e.later {
		return e.laterAnswer(r, body)
	}
	switch method := r.Method + " "; {
	case r.URL.String() == e.discoveryURL():
		return "discovery", e.public(r, e.rec.Discovery)
	case r.URL.String() == e.jwksURL():
		return "jwks", e.public(r, keySet())
	case e.rec.Protocol == "oauth1" && method+r.URL.String() == "POST "+e.rec.RequestToken.URL:
		return "request token", e.requestToken(r, body)
	case e.rec.Protocol == "oauth1" && method+r.URL.String() == "POST "+e.rec.Token.URL:
		return "token", e.accessToken(r, body)
	case e.rec.Protocol == "openid2" && method+r.URL.String() == "POST "+e.rec.Token.URL:
		return "token", e.verification(r, body)
	case method+r.URL.String() == e.tokenMethod()+" "+e.rec.Token.URL,
		e.rec.Token.Encoding == "query" && method+plain.String() == e.tokenMethod()+" "+e.rec.Token.URL:
		return "token", e.tokens(r, body)
	}
	for name, c := range e.rec.Calls {
		if e.matches(r, name, c) {
			return "call", e.call(r, name, c, body)
		}
	}
	return "", nil
}

func (e *emulator) discoveryURL() string {
	issuer, _ := e.rec.Discovery["issuer"].(string)
	if issuer == "" || e.rec.DiscoveryURL != "" {
		return e.rec.DiscoveryURL
	}
	return strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
}

func (e *emulator) jwksURL() string {
	if announced, ok := e.rec.Discovery["jwks_uri"].(string); ok && e.rec.JWKSURL == "" {
		return announced
	}
	return e.rec.JWKSURL
}

func (e *emulator) tokenMethod() string {
	switch {
	case e.rec.Token.Method != "":
		return e.rec.Token.Method
	case e.rec.Token.Encoding == "query":
		return http.MethodGet
	}
	return http.MethodPost
}

// public answers requests that need no authorization.
func (e *emulator) public(r *http.Request, v any) *reply {
	if r.Method != http.MethodGet || r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
		e.t.Errorf("%s %s: more than a plain GET", r.Method, r.URL)
	}
	return e.json(v)
}

func (e *emulator) json(v any) *reply {
	raw, err := json.Marshal(v)
	if err != nil {
		e.t.Error(err)
	}
	return &reply{http.StatusOK, "application/json; charset=utf-8", e.fill(raw)}
}

// tokens checks the token request and answers it. A code is valid once.
func (e *emulator) tokens(r *http.Request, body []byte) *reply {
	s := e.rec.Token
	e.called["token"]++
	if e.asked == nil || e.called["token"] > 1 {
		e.t.Error("a token request without an authorization, or a second one")
	}
	e.header(r, "the token request", s.Headers)
	want := map[string]string{"grant_type": "authorization_code", "code": codeGiven, "redirect_uri": e.back}
	if e.rec.Authorize.PKCE {
		want["code_verifier"] = anything
	}
	id, secret, basic := r.BasicAuth()
	switch s.Auth {
	case "", "client_secret_basic":
		if !basic || id != url.QueryEscape(clientID) || secret != url.QueryEscape(clientSecret) {
			e.t.Error("token request: no HTTP Basic authentication, or a wrong one (RFC 6749 §2.3.1)")
		}
	case "client_secret_post":
		want["client_id"], want["client_secret"] = clientID, clientSecret
	case "none":
		want["client_id"] = clientID
	default:
		e.t.Errorf("recording: token.auth %q", s.Auth)
	}
	if s.Auth != "" && s.Auth != "client_secret_basic" && r.Header.Get("Authorization") != "" {
		e.t.Error("token request: an Authorization header")
	}
	got := e.params(r, s.Encoding, body)
	e.compare("token request", e.expected(want, s.Params, s.Drop), got)
	if e.rec.Authorize.PKCE && digest(got["code_verifier"]) != e.asked.Get("code_challenge") {
		e.t.Error("token request: the verifier is not that of the challenge")
	}
	return e.tokenAnswer()
}

func (e *emulator) tokenAnswer() *reply {
	s := e.rec.Token
	if s.Answer != nil {
		return e.reply(s.Status, s.ContentType, s.Answer)
	}
	standard := map[string]any{"access_token": "{{access_token}}", "token_type": "Bearer", "expires_in": 3600}
	if e.rec.IDToken != nil {
		standard["id_token"] = "{{id_token}}"
	}
	return e.json(standard)
}

// params returns the parameters of a request. None may occur twice.
func (e *emulator) params(r *http.Request, encoding string, body []byte) map[string]string {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	got := map[string]string{}
	switch encoding {
	case "json":
		if err := json.Unmarshal(body, &got); err != nil || kind != "application/json" {
			e.t.Errorf("%s: no JSON object of texts (%s): %v", r.URL.Path, kind, err)
		}
		return got
	case "query":
		if len(body) > 0 {
			e.t.Errorf("%s: a body", r.URL.Path)
		}
		return e.once(r.URL.Query())
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		e.t.Errorf("%s: no form (%s): %v", r.URL.Path, kind, err)
	}
	return e.once(form)
}

func (e *emulator) once(v url.Values) map[string]string {
	got := map[string]string{}
	for name, values := range v {
		if len(values) != 1 {
			e.t.Errorf("parameter %s came %d times", name, len(values))
		}
		got[name] = values[0]
	}
	return got
}

// anything stands for any non-empty value.
const anything = "{{any}}"

// expected adds the recording's parameters to the standard ones.
func (e *emulator) expected(standard, params map[string]string, drop []string) map[string]string {
	for name, v := range params {
		standard[name] = string(e.fill([]byte(v)))
	}
	for _, name := range drop {
		delete(standard, name)
	}
	return standard
}

func (e *emulator) compare(what string, want, got map[string]string) {
	e.t.Helper()
	for name, v := range want {
		if v == anything && got[name] != "" {
			want[name] = got[name]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		e.t.Errorf("%s (-recording +request):\n%s", what, diff)
	}
}

// header checks Accept and the headers named in the recording.
func (e *emulator) header(r *http.Request, what string, want map[string]string) {
	if r.Header.Get("Accept") != "application/json" && want["Accept"] == "" {
		e.t.Errorf("%s: Accept is %q", what, r.Header.Get("Accept"))
	}
	for name, v := range want {
		if got := r.Header.Values(name); !slices.Equal(got, []string{string(e.fill([]byte(v)))}) {
			e.t.Errorf("%s: header %s is %q, not %q", what, name, got, v)
		}
	}
}
