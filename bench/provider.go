package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// An openIDProvider answers token requests immediately. It has no sign-in page: code
// creates the code that it would redirect a person back with. The code contains the
// claims of the ID token, so that nothing is stored.
type openIDProvider struct {
	listener net.Listener
	key      *ecdsa.PrivateKey
}

// providerClient is the client_id.
const providerClient = "app"

func listenProvider() (*openIDProvider, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &openIDProvider{l, key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /jwks", p.keys)
	mux.HandleFunc("POST /token", p.token)
	go func() { _ = (&http.Server{Handler: mux, ReadHeaderTimeout: patience}).Serve(l) }()
	return p, nil
}

func (p *openIDProvider) issuer() string { return "http://" + p.listener.Addr().String() }

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}

func (p *openIDProvider) discovery(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, map[string]any{
		"issuer": p.issuer(), "authorization_endpoint": p.issuer() + "/authorize", "token_endpoint": p.issuer() + "/token",
		"jwks_uri": p.issuer() + "/jwks", "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"ES256"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"client_secret_basic"},
	})
}

func (p *openIDProvider) keys(w http.ResponseWriter, _ *http.Request) {
	point, err := p.key.PublicKey.Bytes()
	if err != nil {
		http.Error(w, "no key", http.StatusInternalServerError)
		return
	}
	answerJSON(w, map[string]any{"keys": []any{map[string]string{
		"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "1", "x": b64(point[1:33]), "y": b64(point[33:]),
	}}})
}

func b64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// code returns the code for person n, whose sign-in has a nonce.
func (p *openIDProvider) code(n int64, nonce string) string {
	return fmt.Sprintf("%d.%s", n, nonce)
}

func (p *openIDProvider) token(w http.ResponseWriter, r *http.Request) {
	n, nonce, ok := strings.Cut(r.PostFormValue("code"), ".")
	if !ok {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	now := time.Now()
	claims, _ := json.Marshal(map[string]any{ // only texts and numbers
		"iss": p.issuer(), "sub": n, "aud": providerClient, "nonce": nonce, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"name": "Person " + n, "email": personAddress(n), "email_verified": true,
	})
	signed := b64([]byte(`{"alg":"ES256","kid":"1"}`)) + "." + b64(claims)
	sum := sha256.Sum256([]byte(signed))
	a, b, err := ecdsa.Sign(rand.Reader, p.key, sum[:])
	if err != nil {
		http.Error(w, "no signature", http.StatusInternalServerError)
		return
	}
	var signature [64]byte
	a.FillBytes(signature[:32])
	b.FillBytes(signature[32:])
	answerJSON(w, map[string]any{
		"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 3600, "id_token": signed + "." + b64(signature[:]), "scope": "openid email profile",
	})
}

// authorize returns the path and query of the callback that a person's visit to the
// provider leads to.
func (p *openIDProvider) authorize(location string, n int64) (string, error) {
	u, err := url.Parse(location)
	if err != nil || !strings.HasPrefix(location, p.issuer()+"/authorize?") {
		return "", fmt.Errorf("sent to %q", location)
	}
	q := u.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		return "", err
	}
	return back.Path + "?" + url.Values{"code": {p.code(n, q.Get("nonce"))}, "state": {q.Get("state")}}.Encode(), nil
}
