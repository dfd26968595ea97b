package provider_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A recording describes a provider's behaviour during a sign-in, and the result:
// testdata/ID.json. Its texts may contain {{client_id}}, {{client_secret}}, {{code}},
// {{state}}, {{redirect_uri}}, {{access_token}}, {{token_secret}} (escaped),
// {{refresh_token}}, {{id_token}} and, as an expectation, {{any}}.
type recording struct {
	// Cases holds JSON merge patches (RFC 7396) for the rest. Without any, the rest is
	// the only case.
	Cases map[string]json.RawMessage `json:"cases"`

	// Protocol is empty, oauth1 or openid2. With OAuth 1.0a, RequestToken is the first
	// request and Token the last; only their URL and answer are used. With OpenID 2.0,
	// Token is check_authentication and Callback holds the identifiers.
	Protocol     string    `json:"protocol"`
	RequestToken tokenStep `json:"request_token"`

	Options   map[string]string `json:"options"` // for the table's constructor
	Authorize authorizeStep     `json:"authorize"`
	Callback  map[string]string `json:"callback"` // parameters besides code and state; empty: not even those
	Token     tokenStep         `json:"token"`

	// Discovery holds the metadata, whose issuer is the one in ID tokens. DiscoveryURL
	// is its location, unless it is below the issuer.
	Discovery    map[string]any `json:"discovery"`
	DiscoveryURL string         `json:"discovery_url"`
	// Issuer and JWKSURL replace the metadata for a provider that serves none, or whose
	// ID tokens name another issuer than the metadata.
	Issuer  string `json:"issuer"`
	JWKSURL string `json:"jwks_url"`

	IDToken map[string]any `json:"id_token"` // claims besides iss, aud, iat, exp and nonce
	Alg     string         `json:"alg"`      // of JWTs; default: RS256
	Forged  bool           `json:"forged"`   // a stranger's key signs the ID token and the access token
	// AccessToken is a text, or the claims of a JWT.
	AccessToken any `json:"access_token"`

	Calls map[string]*call `json:"calls"` // the rest of the API, by "METHOD URL"

	Refresh *refreshStep `json:"refresh"` // for providers with their own way to refresh tokens
	Revoke  *tokenStep   `json:"revoke"`  // for providers with their own way to revoke tokens

	Want *outcome `json:"want"` // null: no one is signed in
}

// An authorizeStep is the authorization request. It has the standard parameters
// (client_id, redirect_uri, response_type, state; with an ID token also nonce; with
// PKCE also the challenge) and Params, and no others.
type authorizeStep struct {
	URL      string            `json:"url"`
	PKCE     bool              `json:"pkce"`
	Params   map[string]string `json:"params"`
	Drop     []string          `json:"drop"`      // standard parameters that must be absent
	Return   string            `json:"return_in"` // the parameter with our URL, if not redirect_uri
	Fragment string            `json:"fragment"`
	NoState  bool              `json:"no_state"` // the state is inside our URL
}

// A tokenStep is the token request, with the standard parameters and Params.
type tokenStep struct {
	URL         string            `json:"url"`
	Method      string            `json:"method"`   // default: POST
	Encoding    string            `json:"encoding"` // form (default), json, query
	Auth        string            `json:"auth"`     // client_secret_basic (default), client_secret_post, none
	Params      map[string]string `json:"params"`
	Drop        []string          `json:"drop"`
	Headers     map[string]string `json:"headers"`
	Status      int               `json:"status"`
	ContentType string            `json:"content_type"`
	Answer      json.RawMessage   `json:"answer"` // a text is sent unchanged; default: the standard answer
}

// A refreshStep refreshes the access token of a sign-in, with the standard parameters
// and Params. The standard answer has {{access_token}} and no refresh token.
type refreshStep struct {
	tokenStep
	Rotated  string             `json:"rotated"` // the refresh token in the answer, if any
	Refusals map[string]refusal `json:"refusals"`
}

// A refusal is an answer without a token. If Spent is set, the refresh token must not
// be used again.
type refusal struct {
	Status int             `json:"status"`
	Answer json.RawMessage `json:"answer"`
	Spent  bool            `json:"spent"`
}

// A call is any other request. It must occur exactly once.
type call struct {
	Auth        string            `json:"auth"`    // bearer (default), none, oauth1, query:NAME, header:NAME, header:NAME SCHEME
	Headers     map[string]string `json:"headers"` // required headers; Accept is application/json unless named
	Form        map[string]string `json:"form"`
	JSON        json.RawMessage   `json:"json"`
	Optional    bool              `json:"optional"`
	Status      int               `json:"status"`
	ContentType string            `json:"content_type"`
	Answer      json.RawMessage   `json:"answer"` // a text is sent unchanged
	JWT         map[string]any    `json:"jwt"`    // the answer is a JWT with these claims
	Forged      bool              `json:"forged"` // signed with a stranger's key
}

// outcome is the data that the engine stored.
type outcome struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Email    string `json:"email"`
	Image    string `json:"image"`
	Verified bool   `json:"verified"`
}

// recordings returns the cases of a provider by name.
func recordings(t *testing.T, id string) map[string]*recording {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", id+".json"))
	if err != nil {
		t.Fatal(err)
	}
	whole := parseRecording(t, raw)
	if len(whole.Cases) == 0 {
		return map[string]*recording{"user": whole}
	}
	all := map[string]*recording{}
	for name, patch := range whole.Cases {
		all[name] = parseRecording(t, patched(t, raw, patch))
	}
	return all
}

func parseRecording(t *testing.T, raw []byte) *recording {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	r := &recording{}
	if err := dec.Decode(r); err != nil {
		t.Fatal(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		t.Fatal("something follows the recording")
	}
	return r
}

// patched applies a JSON merge patch. Numbers keep their digits.
func patched(t *testing.T, raw, patch []byte) []byte {
	t.Helper()
	var docs [2]any
	for i, text := range [][]byte{raw, patch} {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&docs[i]); err != nil {
			t.Fatal(err)
		}
	}
	delete(docs[0].(map[string]any), "cases")
	out, err := json.Marshal(merge(docs[0], docs[1]))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func merge(doc, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	members, ok := doc.(map[string]any)
	if !ok {
		members = map[string]any{}
	}
	for name, v := range changes {
		if v == nil {
			delete(members, name)
		} else {
			members[name] = merge(members[name], v)
		}
	}
	return members
}
