package oidcoracle_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"

	"authsvc/internal/protocol/oidc"
)

const (
	clientID     = "client-1"
	clientSecret = "a secret of 32 bytes and a bit more"
	nonce        = "nonce-1"
	accessToken  = "at"
)

// allowed lists the algorithms that both sides accept.
var allowed = []string{"ES256", "RS256", "EdDSA", "HS256"}

// idp is a provider that publishes keys; tests make the tokens.
type idp struct {
	*httptest.Server
	ec, stranger *ecdsa.PrivateKey
	rsa, weak    *rsa.PrivateKey
	ed           ed25519.PrivateKey
}

func newIDP(t *testing.T) *idp {
	t.Helper()
	p := &idp{
		ec: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), stranger: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)),
		rsa: must(rsa.GenerateKey(rand.Reader, 2048)), weak: must(rsa.GenerateKey(rand.Reader, 1024)),
		ed: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)),
	}
	keys := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: p.ec.Public(), KeyID: "ec", Use: "sig"}, {Key: p.rsa.Public(), KeyID: "rsa"}, {Key: p.ed.Public(), KeyID: "ed"},
		{Key: p.weak.Public(), KeyID: "weak"}, {Key: p.stranger.Public(), KeyID: "for encryption", Use: "enc"},
		{Key: p.ec.Public(), KeyID: "for ES384", Algorithm: "ES384"},
	}}
	mux := http.NewServeMux()
	answer := func(path string, v func() any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(v()); err != nil {
				t.Error(err)
			}
		})
	}
	answer("/.well-known/openid-configuration", func() any {
		return map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/jwks"}
	})
	answer("/jwks", func() any { return keys })
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// claims returns the claims of a valid token.
func (p *idp) claims() map[string]any {
	now := time.Now().Unix()
	return map[string]any{"iss": p.URL, "sub": "user-1", "aud": clientID, "nonce": nonce, "iat": now, "exp": now + 300}
}

// A token is a token for both sides to check.
type token struct {
	claims  map[string]any // changes to valid claims; nil removes a claim
	payload string         // replaces claims
	header  map[string]any
	alg     jose.SignatureAlgorithm // default: ES256
	key     any                     // default: the key "ec"
	kid     string                  // default: the key's; "none" for no kid
	change  func(compact string) string

	ours, theirs bool   // expected: accepted
	reason       string // for a difference
}

func (p *idp) compact(t *testing.T, c token) string {
	t.Helper()
	if c.alg == "" {
		c.alg, c.key = jose.ES256, p.ec
		if c.kid == "" {
			c.kid = "ec"
		}
	}
	opts := &jose.SignerOptions{}
	if c.kid != "" && c.kid != "none" {
		opts = opts.WithHeader("kid", c.kid)
	}
	for name, v := range c.header {
		opts = opts.WithHeader(jose.HeaderKey(name), v)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: c.alg, Key: c.key}, opts)
	if err != nil {
		t.Fatal(err)
	}
	payload := []byte(c.payload)
	if c.payload == "" {
		claims := p.claims()
		maps.Copy(claims, c.claims)
		maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
		if payload, err = json.Marshal(claims); err != nil {
			t.Fatal(err)
		}
	}
	jws, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	if c.change != nil {
		raw = c.change(raw)
	}
	return raw
}

// TestIDToken checks that package oidc accepts and refuses the same tokens as go-oidc
// and its caller, except for differences with a reason.
func TestIDToken(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	client, err := oidc.New(oidc.Config{Issuer: p.URL, ClientID: clientID, ClientSecret: clientSecret, OpenID: true, Algs: allowed})
	if err != nil {
		t.Fatal(err)
	}
	provider, err := gooidc.NewProvider(t.Context(), p.URL)
	if err != nil {
		t.Fatal(err)
	}
	theirs := func(raw string) bool {
		got, err := provider.Verifier(&gooidc.Config{ClientID: clientID, SupportedSigningAlgs: allowed}).Verify(t.Context(), raw)
		return err == nil && got.Nonce == nonce && (got.AccessTokenHash == "" || got.VerifyAccessToken(accessToken) == nil)
	}
	for name, c := range tokens(p) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := p.compact(t, c)
			claims, err := client.VerifyIDToken(t.Context(), raw, oidc.IDTokenCheck{Nonce: nonce, AccessToken: accessToken})
			if (err == nil) != c.ours {
				t.Errorf("ours: %v", err)
			}
			if theirs(raw) != c.theirs {
				t.Errorf("theirs: accepted is %v", !c.theirs)
			}
			if (c.ours != c.theirs) != (c.reason != "") {
				t.Errorf("the reason %q beside ours %v and theirs %v", c.reason, c.ours, c.theirs)
			}
			if err == nil && claims["sub"] != "user-1" {
				t.Errorf("%v", claims)
			}
		})
	}
}

// tokens returns valid tokens, invalid tokens, and tokens on which the two sides
// differ.
func tokens(p *idp) map[string]token {
	all := map[string]token{}
	for _, more := range []map[string]token{goodTokens(p), badSignatures(p), badClaims(p), differences(p)} {
		maps.Copy(all, more)
	}
	return all
}

func goodTokens(p *idp) map[string]token {
	now := time.Now().Unix()
	short, long := sha256.Sum256([]byte(accessToken)), sha512.Sum512([]byte(accessToken))
	left := func(sum []byte) string { return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2]) }
	all := map[string]token{
		"ES256":             {},
		"RS256":             {alg: jose.RS256, key: p.rsa, kid: "rsa"},
		"EdDSA":             {alg: jose.EdDSA, key: p.ed, kid: "ed"},
		"no kid":            {kid: "none"},
		"typ":               {header: map[string]any{"typ": "JWT"}},
		"audience in list":  {claims: map[string]any{"aud": []string{clientID}}},
		"authorized party":  {claims: map[string]any{"aud": []string{"other", clientID}, "azp": clientID}},
		"nbf, clocks":       {claims: map[string]any{"nbf": now + 30}},
		"exp, fraction":     {claims: map[string]any{"exp": json.Number("4102444800.5")}},
		"at_hash":           {claims: map[string]any{"at_hash": left(short[:])}},
		"at_hash, EdDSA":    {alg: jose.EdDSA, key: p.ed, kid: "ed", claims: map[string]any{"at_hash": left(long[:])}},
		"further claims":    {claims: map[string]any{"email": "a@b.example", "roles": []string{"a"}}},
		"aggregated claims": {claims: map[string]any{"_claim_names": map[string]any{"a": "s"}, "_claim_sources": map[string]any{"s": map[string]any{"JWT": "a.b.c"}}}},
		"distributed claims": {claims: map[string]any{"_claim_names": map[string]any{"a": "s"},
			"_claim_sources": map[string]any{"s": map[string]any{"endpoint": "https://c.example/", "access_token": "x"}}}},
	}
	for name, c := range all {
		c.ours, c.theirs = true, true
		all[name] = c
	}
	return all
}

// badSignatures returns tokens that both refuse.
func badSignatures(p *idp) map[string]token {
	part := func(n int, text string) func(string) string {
		return func(raw string) string {
			parts := strings.Split(raw, ".")
			parts[n] = base64.RawURLEncoding.EncodeToString([]byte(text))
			return strings.Join(parts, ".")
		}
	}
	embedded := map[string]any{"jwk": jose.JSONWebKey{Key: p.stranger.Public()}}
	return map[string]token{
		"unknown kid":              {kid: "other"},
		"another's key":            {alg: jose.ES256, key: p.stranger, kid: "ec"},
		"another's key, no kid":    {alg: jose.ES256, key: jose.JSONWebKey{Key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))}},
		"embedded key":             {alg: jose.ES256, key: p.stranger, kid: "ec", header: embedded},
		"HS256, public key":        {alg: jose.HS256, key: must(p.ec.PublicKey.Bytes()), kid: "ec"},
		"PS256 is not allowed":     {alg: jose.PS256, key: p.rsa, kid: "rsa"},
		"alg none":                 {change: part(0, `{"alg":"none"}`)},
		"alg of another kind":      {change: part(0, `{"alg":"RS256","kid":"ec"}`)},
		"crit":                     {header: map[string]any{"crit": []string{"x"}, "x": 1}},
		"another payload":          {change: part(1, `{"sub":"admin"}`)},
		"no signature":             {change: part(2, "")},
		"two parts":                {change: func(raw string) string { return raw[:strings.LastIndex(raw, ".")] }},
		"empty":                    {change: func(string) string { return "" }},
		"nonsense":                 {change: func(string) string { return "a.b.c" }},
		"payload is not an object": {payload: `"text"`},
		"payload is not JSON":      {payload: `{`},
	}
}

// badClaims returns tokens that both refuse.
func badClaims(p *idp) map[string]token {
	now := time.Now().Unix()
	all := map[string]token{}
	for name, claims := range map[string]map[string]any{
		"iss of another":         {"iss": "https://evil.example"},
		"iss with slash":         {"iss": p.URL + "/"},
		"iss in capitals":        {"iss": strings.ToUpper(p.URL)},
		"iss missing":            {"iss": nil},
		"iss list":               {"iss": []string{p.URL}},
		"aud of another":         {"aud": "other"},
		"aud missing":            {"aud": nil},
		"aud empty":              {"aud": []string{}},
		"aud numbers":            {"aud": []any{clientID, 1}},
		"sub number":             {"sub": 1},
		"expired long ago":       {"exp": now - 600},
		"exp missing":            {"exp": nil},
		"exp negative":           {"exp": -1},
		"nbf far":                {"nbf": now + 600},
		"nbf text":               {"nbf": "soon"},
		"iat text":               {"iat": "then"},
		"nonce of another":       {"nonce": "nonce-2"},
		"nonce missing":          {"nonce": nil},
		"nonce list":             {"nonce": []string{nonce}},
		"at_hash of another":     {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
		"at_hash number":         {"at_hash": 1},
		"claim names text":       {"_claim_names": "x"},
		"claim name numbers":     {"_claim_names": map[string]any{"a": 1}},
		"claim name empty":       {"_claim_names": map[string]any{"a": ""}, "_claim_sources": map[string]any{"": map[string]any{}}},
		"claim source missing":   {"_claim_names": map[string]any{"a": "s"}},
		"claim sources list":     {"_claim_sources": []string{"s"}},
		"claim source text":      {"_claim_sources": map[string]any{"s": "x"}},
		"claim source endpoint":  {"_claim_sources": map[string]any{"s": map[string]any{"endpoint": 1}}},
		"claim source its token": {"_claim_sources": map[string]any{"s": map[string]any{"access_token": []int{}}}},
	} {
		all[name] = token{claims: claims}
	}
	return all
}

// differences returns the tokens that only one side accepts.
func differences(p *idp) map[string]token {
	now := time.Now().Unix()
	good := must(json.Marshal(p.claims()))
	twice := strings.TrimSuffix(string(good), "}") + `,"sub":"user-1"}`
	const (
		core   = "OpenID Connect Core 1.0, section 3.1.3.7, asks for it; go-oidc leaves it to its caller"
		jwt    = "the claim must be present and of its type (OpenID Connect Core 1.0, section 2; RFC 7519)"
		kind   = "another kind of token is not an ID token (RFC 8725, section 3.11)"
		strict = "keys are judged when they are read"
		clocks = "one leeway of 60 s for every time; go-oidc has 0 for exp and 5 min for nbf"
	)
	all := map[string]token{
		"expired a moment ago": {claims: map[string]any{"exp": now - 30}, ours: true, reason: clocks},
		"HS256, client secret": {alg: jose.HS256, key: []byte(clientSecret), ours: true,
			reason: "an algorithm that the operator has allowed; go-oidc knows no client secret"},
		"member in capitals": {payload: strings.TrimSuffix(string(good), "}") + `,"ISS":"https://evil.example"}`, ours: true,
			reason: "names of claims are compared exactly (RFC 7519, section 4); encoding/json does not"},
	}
	for reason, cases := range map[string]map[string]token{
		clocks: {"nbf in two minutes": {claims: map[string]any{"nbf": now + 120}}},
		core: {
			"azp of another":      {claims: map[string]any{"azp": "other"}},
			"azp missing":         {claims: map[string]any{"aud": []string{clientID, "other"}}},
			"iat in the future":   {claims: map[string]any{"iat": now + 600}},
			"iat days ago":        {claims: map[string]any{"iat": now - 2*86400}},
			"at_hash empty":       {claims: map[string]any{"at_hash": ""}},
			"nothing but a nonce": {claims: map[string]any{"sub": nil, "iat": nil}},
		},
		jwt: {
			"sub missing": {claims: map[string]any{"sub": nil}}, "sub empty": {claims: map[string]any{"sub": ""}},
			"sub of 256 bytes": {claims: map[string]any{"sub": strings.Repeat("x", 256)}}, "sub with a line break": {claims: map[string]any{"sub": "a\nb"}},
			"iat missing": {claims: map[string]any{"iat": nil}}, "exp in quotes": {claims: map[string]any{"exp": "9999999999"}},
			"exp with exponent": {claims: map[string]any{"exp": json.Number("1e10")}},
			"a claim twice":     {payload: twice},
		},
		kind: {
			"access token": {header: map[string]any{"typ": "at+jwt"}}, "logout token": {header: map[string]any{"typ": "logout+jwt"}},
			"events": {claims: map[string]any{"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}}},
		},
		strict: {
			"RSA of 1024 bits":   {alg: jose.RS256, key: p.weak, kid: "weak"},
			"key for encryption": {alg: jose.ES256, key: p.stranger, kid: "for encryption"},
			"key for ES384":      {alg: jose.ES256, key: p.ec, kid: "for ES384"},
		},
	} {
		for name, c := range cases {
			c.theirs, c.reason = true, reason
			all[name] = c
		}
	}
	return all
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
