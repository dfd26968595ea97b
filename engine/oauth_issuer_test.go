package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// issuerOperator returns an operator with a provider that has an issuer. Discovery at
// odd.test answers with the document.
func issuerOperator(issuer, document string) (*engine.Operator, error) {
	o := newOdd(map[string]string{"odd.test/.well-known/openid-configuration": document, "odd.test/jwks": `{"keys":[]}`})
	return engine.NewOperator(oddConfig(o, &authsvc.OAuth{ID: "odd", OpenID: true, Issuer: issuer, Client: authsvc.Client{ID: "a", Secret: "b"}}, &arena.LogBuffer{}))
}

// TestIssuerMistakes: an issuer that is not one is refused, with the fix, once. The
// fix for the address of a document is the issuer that it is probably of.
func TestIssuerMistakes(t *testing.T) {
	t.Parallel()
	const document = "is the address of a document about the issuer"
	for issuer, want := range map[string]string{
		"https://odd.test": "", "https://odd.test/": "", "https://odd.test/realms/a": "", "https://odd.test/.well-known/openid": "",
		"https://odd.test/.well-known/openid-configuration":         document + "; write what precedes that, as in the member issuer of the document: https://odd.test",
		"https://odd.test/a/.well-known/openid-configuration/":      document + "; write what precedes that, as in the member issuer of the document: https://odd.test/a",
		"https://odd.test/a/.well-known/oauth-authorization-server": document + "; write what precedes that, as in the member issuer of the document: https://odd.test/a",
		"odd.test":          "must begin with https:// and the name of a host; write the whole address; http:// is accepted only for this machine",
		"odd.test:8443/a":   "must begin with https:// and the name of a host; write",
		"https:///a":        "must begin with https:// and the name of a host; write",
		"http://odd.test/a": "is http beyond loopback",
		"https://odd.test#": "is refused: must not have a fragment; write the address that the provider documents",
	} {
		_, err := issuerOperator(issuer, "{}")
		mistakes := authsvc.ConfigErrors(err)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", issuer, err)
			}
			continue
		}
		if len(mistakes) != 1 || mistakes[0].Field != "Providers[0].Issuer" || !strings.Contains(mistakes[0].Error(), want) {
			t.Errorf("%s: %v, want one mistake, %q", issuer, err, want)
		}
	}
}

// TestCheckProviderIssuer: if the document has another issuer, check prints both, what
// differs, and the fix. If there is no document, it says what to check.
func TestCheckProviderIssuer(t *testing.T) {
	t.Parallel()
	const fix = "; if it is the provider that you mean, write the issuer exactly as the provider does"
	document := func(issuer string) string {
		return fmt.Sprintf(`{"issuer":%q,"authorization_endpoint":"https://odd.test/a","token_endpoint":"https://odd.test/t","jwks_uri":"https://odd.test/jwks"}`, issuer)
	}
	for name, c := range map[string]struct{ issuer, document, want string }{
		"the same":  {"https://odd.test", document("https://odd.test"), ""},
		"a slash":   {"https://odd.test", document("https://odd.test/"), `it is "https://odd.test/", but the configuration has "https://odd.test"; only the slash at the end differs` + fix},
		"no slash":  {"https://odd.test/", document("https://odd.test"), `it is "https://odd.test", but the configuration has "https://odd.test/"; only the slash at the end differs` + fix},
		"another":   {"https://odd.test", document("https://id.example"), `it is "https://id.example", but the configuration has "https://odd.test"` + fix},
		"none":      {"https://odd.test", `{}`, "it is missing or not a text" + fix},
		"elsewhere": {"https://odd.test/nowhere", "{}", "check that the issuer https://odd.test/nowhere is correct and that this machine can reach it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := issuerOperator(c.issuer, c.document)
			if err != nil {
				t.Fatal(err)
			}
			err = o.CheckProviders(t.Context())["odd"]
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
