package provider_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/provider"
)

// service stands for the endpoints of a provider.
type service struct {
	*httptest.Server
	t     *testing.T
	files map[string][]byte

	mu    sync.Mutex
	nonce string // of the attempt under way
}

func newService(t *testing.T, files map[string][]byte) *service {
	s := &service{t: t, files: files}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

const accessToken = "access-token-of-the-test"

// ServeHTTP answers discovery, keys and tokens itself, the rest from the file.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.UserAgent() == "" || r.Header.Get("Accept") != "application/json" && r.URL.Path != "/jwks" {
		http.Error(w, "say who you are and what you take", http.StatusForbidden)
		return
	}
	var answer any
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		answer = map[string]any{"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize",
			"token_endpoint": s.URL + "/token", "jwks_uri": s.URL + "/jwks"}
	case "/jwks":
		answer = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{signingKey().Public()}}
	case "/token":
		answer = s.tokens(r)
	default:
		body, ok := s.files["GET "+r.URL.Path]
		if !ok || r.Header.Get("Authorization") != "Bearer "+accessToken {
			http.NotFound(w, r)
			return
		}
		answer = json.RawMessage(body)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.t.Error(err)
	}
}

func (s *service) tokens(r *http.Request) map[string]any {
	if id, secret, _ := r.BasicAuth(); id != "client" || secret != "client-secret" || r.PostFormValue("code") != "the-code" {
		return map[string]any{"error": "invalid_client"}
	}
	answer := map[string]any{"access_token": accessToken, "token_type": "bearer"}
	if raw := s.files["id_token.json"]; raw != nil {
		answer["id_token"] = s.idToken(raw)
	}
	return answer
}

func (s *service) idToken(raw []byte) string {
	claims := map[string]any{}
	if err := json.Unmarshal(raw, &claims); err != nil {
		s.t.Error(err)
	}
	now := time.Now().Unix()
	maps.Copy(claims, map[string]any{"iss": s.URL, "aud": "client", "iat": now, "exp": now + 60, "nonce": s.attempt()})
	payload, err := json.Marshal(claims)
	if err != nil {
		s.t.Error(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: signingKey()}, nil)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		s.t.Error(err)
	}
	return compact
}

func (s *service) setNonce(nonce string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nonce = nonce
}

func (s *service) attempt() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nonce
}

// signingKey signs the ID tokens of all tests.
var signingKey = sync.OnceValue(func() *jose.JSONWebKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return &jose.JSONWebKey{Key: key, KeyID: "key", Algorithm: string(jose.ES256), Use: "sig"}
})

// issuer is what the provider names in its answers.
func (s *service) issuer(e provider.Entry) string {
	if o := e.New(authsvc.Client{}, nil); !o.OpenID {
		return o.Issuer
	}
	return s.URL
}

// point redirects a provider to the service.
func (s *service) point(o *authsvc.OAuth) {
	if o.OpenID {
		o.Issuer = s.URL
		return
	}
	real, err := url.Parse(o.UserInfoURL)
	if err != nil {
		s.t.Fatal(err)
	}
	o.AuthorizationURL, o.TokenURL, o.UserInfoURL = s.URL+"/authorize", s.URL+"/token", s.URL+real.Path
}

// signIn goes through the engine's routes and returns what it stored.
func (s *service) signIn(t *testing.T, e provider.Entry, iss string) outcome {
	t.Helper()
	o := e.New(authsvc.Client{ID: "client", Secret: "client-secret"}, nil)
	s.point(o)
	stored := make(chan outcome, 1)
	b := newBrowser(t, o, stored)
	var csrf struct {
		CSRFToken string `json:"csrfToken"`
	}
	if err := json.NewDecoder(b.do(t, http.MethodGet, "/csrf", nil).Body).Decode(&csrf); err != nil {
		t.Fatal(err)
	}
	start := b.do(t, http.MethodPost, "/signin/"+o.ID, url.Values{"csrfToken": {csrf.CSRFToken}})
	to, err := start.Location()
	if err != nil || !strings.HasPrefix(to.String(), s.URL) {
		t.Fatalf("start leads to %v, %v", to, err)
	}
	s.setNonce(to.Query().Get("nonce"))
	answer := url.Values{"code": {"the-code"}, "state": {to.Query().Get("state")}, "iss": {iss}}
	b.do(t, http.MethodGet, "/callback/"+o.ID+"?"+answer.Encode(), nil)
	select {
	case got := <-stored:
		return got
	default:
		return outcome{}
	}
}

// browser is a client of a Service, with cookies and without redirects.
type browser struct {
	*http.Client
	base string
}

func newBrowser(t *testing.T, o *authsvc.OAuth, stored chan<- outcome) *browser {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	auth, err := authsvc.New(authsvc.Config{
		URL: server.URL, Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, Adapter: memory.New(),
		Providers: []authsvc.Provider{o},
		Events: authsvc.Events{SignIn: func(_ context.Context, e authsvc.SignInEvent) {
			stored <- outcome{ID: e.Account.ProviderAccountID, Name: e.User.Name, Email: e.User.Email, Image: e.User.Image,
				Verified: !e.User.EmailVerified.IsZero()}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { auth.Close(context.WithoutCancel(t.Context())) })
	handler = auth
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{base: server.URL + "/api/auth", Client: &http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (b *browser) do(t *testing.T, method, path string, form url.Values) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := b.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}
