package bearer_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc/bearer"
)

const (
	issuer   = "https://app.example.com/api/auth"
	audience = "https://api.example.com"
)

// An issuing is an issuer that answers without a network.
type issuing struct {
	mu      sync.Mutex
	keys    []jose.JSONWebKey
	doc     map[string]any
	down    bool
	fetched map[string]int
}

func newIssuing(keys ...jose.JSONWebKey) *issuing {
	return &issuing{keys: keys, doc: map[string]any{"issuer": issuer, "jwks_uri": issuer + "/jwks"}, fetched: map[string]int{}}
}

// RoundTrip implements [http.RoundTripper].
func (i *issuing) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fetched[r.URL.String()]++
	if i.down {
		return nil, errors.New("connection refused")
	}
	var v any
	switch {
	case r.URL.String() == issuer+"/.well-known/openid-configuration":
		v = i.doc
	case strings.HasSuffix(r.URL.Path, "/jwks"): // of any host
		var public []jose.JSONWebKey
		for _, k := range i.keys {
			p := k.Public()
			p.Algorithm = k.Algorithm
			public = append(public, p)
		}
		v = jose.JSONWebKeySet{Keys: public}
	default:
		return &http.Response{StatusCode: 404, Body: http.NoBody, Request: r}, nil
	}
	raw, err := json.Marshal(v)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(raw)), Request: r}, err
}

func (i *issuing) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *issuing) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetched[issuer+"/jwks"]
}

func (i *issuing) verifier(t *testing.T) *bearer.Verifier {
	t.Helper()
	v, err := bearer.New(bearer.Config{Issuer: issuer, Audience: audience, HTTP: &http.Client{Transport: i}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func newKey(t testing.TB, alg jose.SignatureAlgorithm, kid string) jose.JSONWebKey {
	t.Helper()
	var key any
	var err error
	switch alg {
	case jose.ES256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jose.EdDSA:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case jose.RS256:
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: key, KeyID: kid, Algorithm: string(alg), Use: "sig"}
}

func claims(change map[string]any) map[string]any {
	now := time.Now().Unix()
	c := map[string]any{"iss": issuer, "aud": audience, "sub": "ada", "iat": now, "exp": now + 300, "jti": "1", "sid": "s", "idp": "op", "auth_time": now - 60, "email": "ada@example.com", "email_verified": true}
	for name, v := range change {
		if c[name] = v; v == nil {
			delete(c, name)
		}
	}
	return c
}

// sign signs a payload, or claims, with further headers beside alg.
func sign(t testing.TB, key jose.JSONWebKey, payload any, header map[jose.HeaderKey]any) string {
	t.Helper()
	raw, ok := payload.(string)
	if !ok {
		b, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(b)
	}
	all := map[jose.HeaderKey]any{"kid": key.KeyID, "typ": "JWT"}
	for name, v := range header {
		if all[name] = v; v == nil {
			delete(all, name)
		}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key.Key}, &jose.SignerOptions{ExtraHeaders: all})
	if err != nil {
		t.Fatal(err)
	}
	jws, err := signer.Sign([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	compact, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

// TestVerify checks which tokens are accepted, and why others are not.
func TestVerify(t *testing.T) {
	t.Parallel()
	es, ed, rs := newKey(t, jose.ES256, "es"), newKey(t, jose.EdDSA, "ed"), newKey(t, jose.RS256, "rs")
	stranger := newKey(t, jose.ES256, "es")
	v := newIssuing(es, ed, rs).verifier(t)
	good := sign(t, es, claims(nil), nil)
	parts := strings.Split(good, ".")
	now := time.Now().Unix()
	raw, err := json.Marshal(claims(nil))
	if err != nil {
		t.Fatal(err)
	}
	twice := func(more string) string { return strings.TrimSuffix(string(raw), "}") + "," + more + "}" }
	header := func(h string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(h)) + "." + parts[1] + "." + parts[2]
	}
	for name, c := range map[string]struct {
		raw  string
		want error // nil: accepted
	}{
		"ES256":                      {good, nil},
		"EdDSA":                      {sign(t, ed, claims(nil), nil), nil},
		"RS256":                      {sign(t, rs, claims(nil), nil), nil},
		"typ at+jwt":                 {sign(t, es, claims(nil), map[jose.HeaderKey]any{"typ": "at+jwt"}), nil},
		"exp a moment ago":           {sign(t, es, claims(map[string]any{"exp": now - 55}), nil), nil},
		"exp":                        {sign(t, es, claims(map[string]any{"exp": now - 61}), nil), bearer.ErrExpired},
		"no exp":                     {sign(t, es, claims(map[string]any{"exp": nil}), nil), bearer.ErrMalformed},
		"exp as text":                {sign(t, es, claims(map[string]any{"exp": "9999999999"}), nil), bearer.ErrMalformed},
		"exp beyond time":            {sign(t, es, claims(map[string]any{"exp": json.Number("1e300")}), nil), bearer.ErrMalformed},
		"exp negative":               {sign(t, es, claims(map[string]any{"exp": -1}), nil), bearer.ErrMalformed},
		"nbf soon":                   {sign(t, es, claims(map[string]any{"nbf": now + 50}), nil), nil},
		"nbf":                        {sign(t, es, claims(map[string]any{"nbf": now + 120}), nil), bearer.ErrNotYet},
		"iat":                        {sign(t, es, claims(map[string]any{"iat": now + 120}), nil), bearer.ErrNotYet},
		"iss":                        {sign(t, es, claims(map[string]any{"iss": issuer + "/"}), nil), bearer.ErrIssuer},
		"iss, case":                  {sign(t, es, claims(map[string]any{"iss": strings.ToUpper(issuer)}), nil), bearer.ErrIssuer},
		"no iss":                     {sign(t, es, claims(map[string]any{"iss": nil}), nil), bearer.ErrIssuer},
		"aud":                        {sign(t, es, claims(map[string]any{"aud": "https://other.example.com"}), nil), bearer.ErrAudience},
		"aud, longer":                {sign(t, es, claims(map[string]any{"aud": audience + "/"}), nil), bearer.ErrAudience},
		"aud, a list":                {sign(t, es, claims(map[string]any{"aud": []string{audience}}), nil), bearer.ErrAudience},
		"no aud":                     {sign(t, es, claims(map[string]any{"aud": nil}), nil), bearer.ErrAudience},
		"no sub":                     {sign(t, es, claims(map[string]any{"sub": nil}), nil), bearer.ErrMalformed},
		"sub as number":              {sign(t, es, claims(map[string]any{"sub": 7}), nil), bearer.ErrMalformed},
		"sub twice":                  {sign(t, es, twice(`"sub":"eve"`), nil), bearer.ErrMalformed},
		"aud twice":                  {sign(t, es, twice(`"aud":"`+audience+`"`), nil), bearer.ErrMalformed},
		"SUB beside sub":             {sign(t, es, twice(`"SUB":"eve"`), nil), nil},
		"not JSON":                   {sign(t, es, "hello", nil), bearer.ErrMalformed},
		"a list":                     {sign(t, es, "[]", nil), bearer.ErrMalformed},
		"no typ":                     {sign(t, es, claims(nil), map[jose.HeaderKey]any{"typ": nil}), bearer.ErrMalformed},
		"typ of a logout token":      {sign(t, es, claims(nil), map[jose.HeaderKey]any{"typ": "logout+jwt"}), bearer.ErrMalformed},
		"typ a number":               {sign(t, es, claims(nil), map[jose.HeaderKey]any{"typ": 1}), bearer.ErrMalformed},
		"no kid":                     {sign(t, es, claims(nil), map[jose.HeaderKey]any{"kid": nil}), bearer.ErrMalformed},
		"kid of another":             {sign(t, es, claims(nil), map[jose.HeaderKey]any{"kid": "ed"}), bearer.ErrSignature},
		"unknown kid":                {sign(t, es, claims(nil), map[jose.HeaderKey]any{"kid": "none"}), bearer.ErrSignature},
		"a stranger's key":           {sign(t, stranger, claims(nil), nil), bearer.ErrSignature},
		"a key that it brings":       {sign(t, stranger, claims(nil), map[jose.HeaderKey]any{"jwk": stranger.Public()}), bearer.ErrSignature},
		"a link to a key":            {sign(t, stranger, claims(nil), map[jose.HeaderKey]any{"jku": "https://evil.example/jwks"}), bearer.ErrSignature},
		"crit":                       {sign(t, es, claims(nil), map[jose.HeaderKey]any{"crit": []string{"x"}, "x": 1}), bearer.ErrMalformed},
		"alg none":                   {header(`{"alg":"none","kid":"es","typ":"JWT"}`), bearer.ErrMalformed},
		"alg none, no signature":     {base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + parts[1] + ".", bearer.ErrMalformed},
		"alg HS256":                  {header(`{"alg":"HS256","kid":"es","typ":"JWT"}`), bearer.ErrMalformed},
		"alg of another key":         {header(`{"alg":"RS256","kid":"es","typ":"JWT"}`), bearer.ErrSignature},
		"alg PS256 with a RS256 key": {sign(t, jose.JSONWebKey{Key: rs.Key, KeyID: "rs", Algorithm: "PS256"}, claims(nil), nil), bearer.ErrSignature},
		"another payload":            {parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"eve"}`)) + "." + parts[2], bearer.ErrSignature},
		"nothing":                    {"", bearer.ErrMalformed},
		"no dots":                    {"token", bearer.ErrMalformed},
		"a JWE's dots":               {good + ".a.b", bearer.ErrMalformed},
		"padding":                    {good + "=", bearer.ErrMalformed},
		"long":                       {good + strings.Repeat("a", 8<<10), bearer.ErrMalformed},
	} {
		got, err := v.Verify(t.Context(), c.raw)
		switch {
		case c.want == nil && (err != nil || got.Subject != "ada"):
			t.Errorf("%s: %+v, %v", name, got, err)
		case c.want != nil && (!errors.Is(err, c.want) || got != nil):
			t.Errorf("%s: %+v, %v, want %v", name, got, err, c.want)
		case c.want != nil && (strings.Contains(err.Error(), "eve") || len(err.Error()) > 200):
			t.Errorf("%s quotes: %v", name, err)
		}
	}
}

// TestToken checks that the claims of a token are returned.
func TestToken(t *testing.T) {
	t.Parallel()
	key := newKey(t, jose.ES256, "k")
	v := newIssuing(key).verifier(t)
	c := claims(map[string]any{"groups": []string{"a"}})
	got, err := v.Verify(t.Context(), sign(t, key, c, nil))
	if err != nil || got.Subject != "ada" || got.ID != "1" || got.Session != "s" || got.Provider != "op" || got.Email() != "ada@example.com" ||
		got.Issued.Unix() != c["iat"] || got.Expires.Unix() != c["exp"] || got.AuthTime.Unix() != c["auth_time"] || len(got.Claims["groups"].([]any)) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range []struct {
		amr, acr any
		methods  []string
		level    string
	}{{[]string{"fed", "otp", "mfa"}, "2fa", []string{"fed", "otp", "mfa"}, "2fa"}, {nil, nil, nil, ""}, {"mfa", 2, nil, ""}, {[]any{"fed", 1}, []string{"2fa"}, nil, ""}} {
		got, err := v.Verify(t.Context(), sign(t, key, claims(map[string]any{"amr": c.amr, "acr": c.acr}), nil))
		if err != nil || !slices.Equal(got.AMR, c.methods) || got.ACR != c.level {
			t.Errorf("amr %v, acr %v: %+v, %v", c.amr, c.acr, got, err)
		}
	}
	at := time.Now().Add(-time.Minute).Truncate(time.Second)
	for _, c := range []struct {
		second, act any
		want        string
	}{{at.Unix(), map[string]any{"sub": "support"}, fmt.Sprint(at.Unix(), " support")}, {nil, nil, "none "}, {nil, "support", "none "}, {nil, map[string]any{"sub": 1}, "none "}} {
		given := map[string]any{}
		for name, v := range map[string]any{"second_at": c.second, "act": c.act} {
			if v != nil {
				given[name] = v
			}
		}
		got, err := v.Verify(t.Context(), sign(t, key, claims(given), nil))
		if err != nil {
			t.Fatal(err)
		}
		second := "none"
		if !got.SecondAt.IsZero() {
			second = fmt.Sprint(got.SecondAt.Unix())
		}
		if second+" "+got.Actor != c.want {
			t.Errorf("%v: second factor %s, actor %q", given, second, got.Actor)
		}
	}
	if got, err := v.Verify(t.Context(), sign(t, key, claims(map[string]any{"second_at": "now"}), nil)); !errors.Is(err, bearer.ErrMalformed) {
		t.Errorf("a time that is not a number: %+v, %v", got, err)
	}
	for _, verified := range []any{false, nil, "true"} {
		if got, err := v.Verify(t.Context(), sign(t, key, claims(map[string]any{"email_verified": verified}), nil)); err != nil || got.Email() != "" {
			t.Errorf("%v: %q, %v", verified, got.Email(), err)
		}
	}
}

// TestNew checks that mistakes are found without a network call.
func TestNew(t *testing.T) {
	t.Parallel()
	i := newIssuing()
	for _, c := range []bearer.Config{{}, {Issuer: issuer}, {Audience: audience}, {Issuer: "http://app.example.com/api/auth", Audience: audience},
		{Issuer: "app.example.com", Audience: audience}, {Issuer: issuer + "?a=b", Audience: audience}, {Issuer: issuer + "#a", Audience: audience}, {Issuer: "https://u:p@app.example.com", Audience: audience}} {
		c.HTTP = &http.Client{Transport: i}
		if _, err := bearer.New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	if _, err := bearer.New(bearer.Config{Issuer: "http://localhost:3000/api/auth", Audience: audience}); err != nil {
		t.Error(err)
	}
	i.verifier(t)
	if len(i.fetched) != 0 {
		t.Errorf("fetched %v", i.fetched)
	}
}

// TestForgedMetadata checks that only the issuer's own metadata and key set are used.
func TestForgedMetadata(t *testing.T) {
	t.Parallel()
	key := newKey(t, jose.ES256, "k")
	for name, c := range map[string]struct {
		doc  map[string]any
		good bool
	}{
		"its own":          {map[string]any{"issuer": issuer, "jwks_uri": issuer + "/jwks"}, true},
		"another issuer":   {map[string]any{"issuer": "https://evil.example", "jwks_uri": issuer + "/jwks"}, false},
		"no issuer":        {map[string]any{"jwks_uri": issuer + "/jwks"}, false},
		"keys elsewhere":   {map[string]any{"issuer": issuer, "jwks_uri": "https://evil.example/jwks"}, false},
		"keys over http":   {map[string]any{"issuer": issuer, "jwks_uri": "http://app.example.com/api/auth/jwks"}, false},
		"keys on loopback": {map[string]any{"issuer": issuer, "jwks_uri": "http://127.0.0.1/jwks"}, false},
		"no keys":          {map[string]any{"issuer": issuer}, false},
	} {
		i := newIssuing(key)
		i.doc = c.doc
		_, err := i.verifier(t).Verify(t.Context(), sign(t, key, claims(nil), nil))
		if c.good != (err == nil) || !c.good && !errors.Is(err, bearer.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	unnamed := key
	unnamed.Algorithm = ""
	if _, err := newIssuing(unnamed).verifier(t).Verify(t.Context(), sign(t, key, claims(nil), nil)); !errors.Is(err, bearer.ErrUnavailable) {
		t.Errorf("a key that does not say its algorithm: %v", err)
	}
}

// TestKeys checks how long keys are cached, and when they are fetched again.
func TestKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := newKey(t, jose.ES256, "one"), newKey(t, jose.ES256, "two")
		i := newIssuing(one)
		i.down = true
		v := i.verifier(t)
		verify := func(key jose.JSONWebKey) error {
			_, err := v.Verify(t.Context(), sign(t, key, claims(nil), nil))
			return err
		}
		if err := verify(one); !errors.Is(err, bearer.ErrUnavailable) {
			t.Fatalf("keys that never came: %v", err)
		}
		i.set(func() { i.down = false })
		time.Sleep(6 * time.Second)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if err := verify(one); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := i.count(); n != 1 {
			t.Errorf("%d fetches for 50 at a time", n)
		}
		for range 20 {
			if err := verify(two); !errors.Is(err, bearer.ErrSignature) {
				t.Error(err)
			}
		}
		if n := i.count(); n != 2 {
			t.Errorf("%d fetches for an unknown key", n)
		}
		time.Sleep(31 * time.Second)
		i.set(func() { i.keys = []jose.JSONWebKey{one, two} })
		if err := verify(two); err != nil {
			t.Errorf("a new key: %v", err)
		}
		i.set(func() { i.down = true })
		for _, wait := range []time.Duration{59 * time.Minute, 22 * time.Hour} {
			time.Sleep(wait)
			if err := verify(one); err != nil {
				t.Errorf("the issuer is down: %v", err)
			}
		}
		time.Sleep(2 * time.Hour)
		if err := verify(one); !errors.Is(err, bearer.ErrUnavailable) {
			t.Errorf("after a day: %v", err)
		}
		i.set(func() { i.down, i.keys = false, []jose.JSONWebKey{two} })
		time.Sleep(time.Minute)
		if err := verify(two); err != nil {
			t.Error(err)
		}
		if err := verify(one); !errors.Is(err, bearer.ErrSignature) {
			t.Errorf("a retired key: %v", err)
		}
		time.Sleep(time.Minute) // no goroutine remains
	})
}

// TestRequire checks the responses against RFC 6750.
func TestRequire(t *testing.T) {
	t.Parallel()
	key := newKey(t, jose.ES256, "k")
	i := newIssuing(key)
	h := i.verifier(t).Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello "+bearer.FromContext(r.Context()).Subject)
	}))
	good := sign(t, key, claims(nil), nil)
	for name, c := range map[string]struct {
		header    []string
		target    string
		cookie    string
		status    int
		challenge string
	}{
		"good":              {header: []string{"Bearer " + good}, status: 200},
		"lower case":        {header: []string{"bearer " + good}, status: 200},
		"none":              {status: 401, challenge: "Bearer"},
		"another scheme":    {header: []string{"Basic " + good}, status: 401, challenge: "Bearer"},
		"empty":             {header: []string{"Bearer "}, status: 401, challenge: "Bearer"},
		"two headers":       {header: []string{"Bearer " + good, "Bearer " + good}, status: 401, challenge: "Bearer"},
		"in the address":    {target: "/?access_token=" + good, status: 401, challenge: "Bearer"},
		"in a cookie":       {cookie: good, status: 401, challenge: "Bearer"},
		"expired":           {header: []string{"Bearer " + sign(t, key, claims(map[string]any{"exp": 1}), nil)}, status: 401, challenge: `Bearer error="invalid_token", error_description="the token has expired"`},
		"another audience":  {header: []string{"Bearer " + sign(t, key, claims(map[string]any{"aud": "x"}), nil)}, status: 401, challenge: `Bearer error="invalid_token", error_description="the token is for another audience"`},
		"hostile":           {header: []string{`Bearer "\"><script>`}, status: 401, challenge: `Bearer error="invalid_token", error_description="not a token of this kind"`},
		"two in one header": {header: []string{"Bearer " + good + " " + good}, status: 401, challenge: `Bearer error="invalid_token", error_description="not a token of this kind"`},
	} {
		target := c.target
		if target == "" {
			target = "/"
		}
		r := httptest.NewRequest(http.MethodGet, target, nil)
		for _, line := range c.header {
			r.Header.Add("Authorization", line)
		}
		if c.cookie != "" {
			r.AddCookie(&http.Cookie{Name: "access_token", Value: c.cookie})
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("WWW-Authenticate") != c.challenge || (c.status == 200) != (w.Body.String() == "hello ada") {
			t.Errorf("%s: %d %q %s", name, w.Code, w.Header().Get("WWW-Authenticate"), w.Body)
		}
	}
	i.set(func() { i.down = true })
	away := i.verifier(t).Require(http.NotFoundHandler())
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+good)
	w := httptest.NewRecorder()
	away.ServeHTTP(w, r)
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || w.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("issuer away: %d %v", w.Code, w.Header())
	}
	if bearer.FromContext(t.Context()) != nil {
		t.Error("a token out of nothing")
	}
}
