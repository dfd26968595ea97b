package engine_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// pkcs8 returns a private key in the form for a configuration.
func pkcs8(t *testing.T, key crypto.Signer) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func p256(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestPrivateKeyJWT signs in, refreshes and revokes at a provider that checks every
// assertion. With a key that the provider does not know, no one gets in.
func TestPrivateKeyJWT(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	es, stranger := p256(t), p256(t)
	for name, c := range map[string]struct {
		registered crypto.PublicKey
		key        crypto.Signer
		openID, ok bool
	}{
		"ES256": {&es.PublicKey, es, true, true}, "RS256": {&rsaKey.PublicKey, rsaKey, true, true}, "plain OAuth": {&es.PublicKey, es, false, true},
		"another key": {&es.PublicKey, stranger, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Key: c.registered, RedirectURIs: arena.RedirectURIs()}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { op.Close() })
			var asked lines
			op.SetFault(keyedFault(op, &asked))
			w := arena.Enter(t, func(config *authsvc.Config) {
				o := config.Providers[0].(*authsvc.OAuth)
				o.Issuer, o.Endpoints.Revocation = op.Issuer(), op.Issuer()+"/oauth2/token" // answered by the fault
				o.Client, o.AuthMethod = authsvc.Client{ID: "app", PrivateKey: pkcs8(t, c.key), KeyID: "k1"}, "private_key_jwt"
				if !c.openID {
					o.OpenID, o.Issuer, o.AssertionAudience = false, "", op.Issuer()
					o.Endpoints.Authorization, o.Endpoints.Token, o.Endpoints.UserInfo = op.Issuer()+"/authorize", op.Issuer()+"/token", op.Issuer()+"/userinfo"
					o.Scope = "openid email profile"
				}
			})
			b := w.Browser()
			b.SignIn(op, "ada")
			if (b.Email() != "") != c.ok {
				t.Fatalf("signed in as %q\n%s", b.Email(), w.Logs)
			}
			if c.ok {
				id := w.Person(t, b)
				if token, err := w.AccessToken(t.Context(), id, "op", nil); token != "at-1" || err != nil {
					t.Errorf("refreshed to %q, %v\n%s", token, err, w.Logs)
				}
				accounts, err := w.Accounts(t.Context(), id)
				if err != nil || len(accounts) != 1 {
					t.Fatal(accounts, err)
				}
				if err := w.UnlinkAccount(t.Context(), id, "op", accounts[0].ProviderAccountID, &engine.UnlinkOptions{EvenLast: true}); err != nil {
					t.Error(err)
				}
				end(w, t)
				if got := asked.String(); got != "refresh rt-0 true, revoke rt-1 true, revoke at-1 true" {
					t.Errorf("the provider saw %s", got)
				}
			}
			if logs := w.Logs.String(); strings.Contains(logs, "eyJ") || strings.Contains(logs, "PRIVATE KEY") {
				t.Errorf("logged: %s", logs)
			}
		})
	}
}

// lines collects notes from several goroutines.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, ", ")
}

// keyedFault makes a provider issue tokens that are due, and refresh and revoke them.
// It notes whether the client authenticated.
func keyedFault(op *idp.Server, asked *lines) idp.Fault {
	return idp.Fault{
		TokenAnswer: func(a map[string]any) { a["refresh_token"], a["expires_in"] = "rt-0", 1 },
		Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{
			idp.EndpointToken: func(rw http.ResponseWriter, r *http.Request) bool {
				if r.ParseForm(); r.PostForm.Get("grant_type") != "refresh_token" {
					return false
				}
				_, ok := op.AuthenticateClient(r)
				asked.add(fmt.Sprintf("refresh %s %t", r.PostForm.Get("refresh_token"), ok))
				rw.Header().Set("Content-Type", "application/json")
				fmt.Fprint(rw, `{"access_token":"at-1","refresh_token":"rt-1","token_type":"bearer","expires_in":3600}`)
				return true
			},
			idp.EndpointOAuth2Token: func(_ http.ResponseWriter, r *http.Request) bool {
				_, ok := op.AuthenticateClient(r)
				asked.add(fmt.Sprintf("revoke %s %t", r.PostForm.Get("token"), ok))
				return true
			},
		},
	}
}

// TestPrivateKeyConfigErrors checks that each mistake is found at start, with its
// place, and that no message shows the key. The same provider without the mistake
// starts.
func TestPrivateKeyConfigErrors(t *testing.T) {
	t.Parallel()
	es := p256(t)
	key := pkcs8(t, es)
	public, err := x509.MarshalPKIXPublicKey(&es.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	const plain = "is given, but AuthMethod is not private_key_jwt"
	for name, c := range map[string]struct {
		tune func(*authsvc.OAuth)
		want string // place and problem; "": it starts
	}{
		"right":  {func(*authsvc.OAuth) {}, ""},
		"no key": {func(o *authsvc.OAuth) { o.Client.PrivateKey = "" }, "Client.PrivateKey is missing"},
		"no PEM": {func(o *authsvc.OAuth) { o.Client.PrivateKey = key[27:] }, "Client.PrivateKey is neither PEM text nor a JWK"},
		"public key": {func(o *authsvc.OAuth) {
			o.Client.PrivateKey = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
		}, "Client.PrivateKey is a public key"},
		"short RSA":      {func(o *authsvc.OAuth) { o.Client.PrivateKey = pkcs8(t, short) }, "Client.PrivateKey is an RSA key of under 2048 bits"},
		"another method": {func(o *authsvc.OAuth) { o.Client.Secret, o.AuthMethod = "s", "client_secret_post" }, "Client.PrivateKey " + plain},
		"no method":      {func(o *authsvc.OAuth) { o.Client.Secret, o.AuthMethod = "s", "" }, "Client.PrivateKey " + plain},
		"secret alone":   {func(o *authsvc.OAuth) { o.Client, o.AuthMethod = authsvc.Client{ID: "app", Secret: "s"}, "" }, ""},
		"id of no key": {func(o *authsvc.OAuth) {
			o.Client, o.AuthMethod = authsvc.Client{ID: "app", Secret: "s", KeyID: "k"}, ""
		}, "Client.KeyID " + plain},
		"audience of no signature": {func(o *authsvc.OAuth) {
			o.Client, o.AuthMethod, o.AssertionAudience = authsvc.Client{ID: "app", Secret: "s"}, "", "https://as.test"
		}, "AssertionAudience " + plain},
		"secret, too": {func(o *authsvc.OAuth) { o.Client.Secret = "s" }, "Client.Secret is given, but AuthMethod private_key_jwt takes none"},
		"secret that is made": {func(o *authsvc.OAuth) {
			o.Hooks.ClientSecret = func(authsvc.Client, time.Time) (string, time.Time, error) { return "s", time.Time{}, nil }
		}, "AuthMethod is private_key_jwt, but"},
		"no issuer":           {func(o *authsvc.OAuth) { o.Issuer, o.OpenID = "", false }, "AssertionAudience is missing"},
		"no issuer, audience": {func(o *authsvc.OAuth) { o.Issuer, o.OpenID, o.AssertionAudience = "", false, "https://as.test" }, ""},
		"many tenants":        {func(o *authsvc.OAuth) { o.Issuer, o.Tenants = "https://op.test/{tenantid}", []string{"one"} }, "AssertionAudience is missing"},
		"assertion by hand":   {func(o *authsvc.OAuth) { o.TokenParams = map[string]string{"client_assertion": "x"} }, "TokenParams sets client_assertion"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &authsvc.OAuth{ID: "op", OpenID: true, Issuer: "https://op.test", AuthMethod: "private_key_jwt", Client: authsvc.Client{ID: "app", PrivateKey: key},
				Endpoints: authsvc.Endpoints{
					Authorization: "https://op.test/a",
					Token:         "https://op.test/t",
					UserInfo:      "https://op.test/u",
					JWKS:          "https://op.test/k",
				}}
			c.tune(o)
			s, err := engine.New(authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Session: authsvc.SessionOptions{Strategy: "jwt"}, Providers: []authsvc.Provider{o}})
			if s != nil {
				t.Cleanup(func() { s.Close(t.Context()) })
			}
			list := authsvc.ConfigErrors(err)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if len(list) != 1 || !strings.HasPrefix(strings.TrimPrefix(list[0].Field, "Providers[0].")+" "+list[0].Problem, c.want) || list[0].Fix == "" {
				t.Errorf("%v, want %q", err, c.want)
			}
			if out := fmt.Sprintf("%v %+v %#v", err, *o, o); strings.Contains(out, key[30:60]) {
				t.Errorf("the key is in %s", out)
			}
		})
	}
}
