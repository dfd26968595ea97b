package verify

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

const oauth2AssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// An oauth2Wiretap records the client assertions that the service sends.
type oauth2Wiretap struct {
	http.Transport
	mu   sync.Mutex
	sent []string
}

func (o *oauth2Wiretap) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if form, _ := url.ParseQuery(string(raw)); form.Has("client_assertion") {
			o.mu.Lock()
			o.sent = append(o.sent, form.Get("client_assertion"))
			o.mu.Unlock()
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(strings.NewReader(string(raw)))
	}
	return o.Transport.RoundTrip(r)
}

// take returns the assertions sent since the last call.
func (o *oauth2Wiretap) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := o.sent
	o.sent = nil
	return sent
}

// oauth2Keyed is a world in which one key is registered at two providers: op, run by
// an attacker, and op2.
type oauth2Keyed struct {
	*arena.World
	key          *ecdsa.PrivateKey
	evil, honest *idp.Server
	wire         *oauth2Wiretap
}

func oauth2WithKey(t *T) oauth2Keyed {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	client := authsvc.Client{ID: "app", PrivateKey: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}
	k := oauth2Keyed{key: key, wire: &oauth2Wiretap{}}
	t.Cleanup(k.wire.CloseIdleConnections)
	for _, s := range []**idp.Server{&k.evil, &k.honest} {
		if *s, err = idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Key: &key.PublicKey, RedirectURIs: arena.RedirectURIs()}}}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*s).Close() })
	}
	k.World = t.Enter(func(c *authsvc.Config) {
		op := c.Providers[0].(*authsvc.OAuth)
		op.Client, op.AuthMethod, op.Issuer = client, "private_key_jwt", k.evil.Issuer()
		op2 := *op
		op2.ID, op2.Issuer = "op2", k.honest.Issuer()
		c.Providers = append(c.Providers, &op2)
		c.Outbound.DangerousTransport = k.wire
	})
	return k
}

// judge checks that the sent assertions are for the given audience only, last a
// minute, and have a unique jti.
func (k oauth2Keyed) judge(t *T, sent []string, audience string, seen map[any]bool) {
	t.Helper()
	if len(sent) == 0 {
		t.Error("no assertion was sent")
	}
	for _, raw := range sent {
		jws, err := jose.ParseSignedCompact(raw, []jose.SignatureAlgorithm{jose.ES256})
		if err != nil {
			t.Fatal(err)
		}
		payload, err := jws.Verify(&k.key.PublicKey)
		if err != nil {
			t.Fatal(err)
		}
		var c map[string]any
		if err := json.Unmarshal(payload, &c); err != nil {
			t.Fatal(err)
		}
		if c["aud"] != audience || c["iss"] != "app" || c["sub"] != "app" {
			t.Errorf("aud %v, iss %v, sub %v; the issuer is %s", c["aud"], c["iss"], c["sub"], audience)
		}
		iat, _ := c["iat"].(float64)
		exp, _ := c["exp"].(float64)
		if now := float64(time.Now().Unix()); iat > now || iat < now-60 || exp <= iat || exp > iat+60 {
			t.Errorf("iat %v, exp %v", c["iat"], c["exp"])
		}
		if jti, _ := c["jti"].(string); len(jti) < 22 || seen[jti] {
			t.Errorf("jti %v is short or was used before", c["jti"])
		}
		seen[c["jti"]] = true
	}
}

// replay presents an assertion to the honest provider with a valid code, and returns
// the status.
func (k oauth2Keyed) replay(t *T, assertion string) int {
	t.Helper()
	callback := arena.Origin + "/api/auth/callback/op2"
	answer, err := k.honest.Approve(k.honest.Issuer()+"/authorize?"+url.Values{"client_id": {"app"}, "redirect_uri": {callback},
		"response_type": {"code"}, "scope": {"openid"}, "state": {"s"}}.Encode(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.PostForm(k.honest.Issuer()+"/token", url.Values{"grant_type": {"authorization_code"}, "code": {answer.Params.Get("code")},
		"redirect_uri": {callback}, "client_id": {"app"}, "client_assertion_type": {oauth2AssertionType}, "client_assertion": {assertion}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// own returns an assertion for an audience, signed with the same key.
func (k oauth2Keyed) own(t *T, audience string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: k.key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	raw, err := json.Marshal(map[string]any{"iss": "app", "sub": "app", "aud": audience, "jti": rand.Text(), "iat": now, "exp": now + 60})
	if err != nil {
		t.Fatal(err)
	}
	jws, err := signer.Sign(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// oauth220 uses a provider whose metadata names the other provider's token endpoint
// or issuer as its token endpoint, or that keeps the assertions that it gets. Those
// assertions must be useless at the other provider.
func oauth220(t *T) {
	n := t.Scale("sign-ins for each of 3 lies and 2 honest providers", 3, 20, 200)
	for name, endpoint := range map[string]func(k oauth2Keyed) string{
		"another's token endpoint": func(k oauth2Keyed) string { return k.honest.Issuer() + "/token" },
		"another's issuer":         func(k oauth2Keyed) string { return k.honest.Issuer() },
		"its own, and keeps it":    func(k oauth2Keyed) string { return k.evil.Issuer() + "/token" },
	} {
		k := oauth2WithKey(t)
		k.evil.SetFault(idp.Fault{Discovery: func(m map[string]any) { m["token_endpoint"] = endpoint(k) },
			Status: map[idp.Endpoint]int{idp.EndpointToken: http.StatusBadRequest}})
		seen := map[any]bool{}
		for range n {
			b := k.Browser()
			k.MustRefuseLate(t, func() *browser.Answer { return b.SignIn(k.evil, "ada") })
			sent := k.wire.take()
			k.judge(t, sent, k.evil.Issuer(), seen)
			for _, raw := range sent {
				if status := k.replay(t, raw); status != http.StatusUnauthorized {
					t.Errorf("%s: %d at the other provider", name, status)
				}
				if strings.Contains(k.Logs.String(), raw) {
					t.Errorf("%s: the assertion is logged", name)
				}
			}
		}
		if status := k.replay(t, k.own(t, k.honest.Issuer())); status != http.StatusOK {
			t.Errorf("%s: twin: an assertion for the other provider is answered %d there", name, status)
		}
	}
	k := oauth2WithKey(t)
	seen := map[any]bool{}
	for range n {
		for id, server := range map[string]*idp.Server{"op": k.evil, "op2": k.honest} {
			b := k.Browser()
			if a := b.Get(b.Approve(server, b.Begin(id), map[string]string{"op": "ada", "op2": "grace"}[id])); a.Location() != arena.Origin {
				t.Errorf("twin: %s: %s\n%s", id, a.Location(), k.Logs)
			}
			sent := k.wire.take()
			k.judge(t, sent, server.Issuer(), seen)
			if status := k.replay(t, sent[len(sent)-1]); status != http.StatusUnauthorized {
				t.Errorf("%s: %d with an assertion that was used", id, status)
			}
		}
	}
	t.Figure("%d assertions in a row with unique jti", len(seen))
}
