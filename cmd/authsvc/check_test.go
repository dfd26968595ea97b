package main

import (
	"fmt"
	"strings"
	"testing"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/provider"
)

// TestCheckPrivateKey: check reports whether the provider supports the signing
// algorithm of the key.
func TestCheckPrivateKey(t *testing.T) {
	t.Parallel()
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	apple, _ := provider.Lookup("apple")
	key := apple.Options[2].Example // on P-256
	for announced, want := range map[string]string{"ES256": "", "PS256": "private key, ES256; use a private key for"} {
		op.SetFault(idp.Fault{Discovery: func(m map[string]any) {
			m["token_endpoint_auth_signing_alg_values_supported"] = []string{announced}
		}})
		service, err := engine.NewOperator(authsvc.Config{URL: "http://localhost", Secrets: []string{testSecret}, Providers: []authsvc.Provider{
			&authsvc.OAuth{ID: "op", OpenID: true, Issuer: op.Issuer(), AuthMethod: "private_key_jwt", Client: authsvc.Client{ID: "app", PrivateKey: key}}}})
		if err != nil {
			t.Fatal(err)
		}
		err = service.CheckProviders(t.Context())["op"]
		if got := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %v", announced, err)
		}
	}
}
