package idp

import (
	"maps"
	"net/http"
	"slices"
)

// discovery serves GET /.well-known/openid-configuration (OpenID Connect Discovery
// §4.2).
func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	metadata := map[string]any{
		"issuer":                                p.issuer,
		"authorization_endpoint":                p.issuer + "/authorize",
		"token_endpoint":                        p.issuer + "/token",
		"userinfo_endpoint":                     p.issuer + "/userinfo",
		"jwks_uri":                              p.issuer + "/jwks",
		"response_types_supported":              []string{"code"},
		"response_modes_supported":              []string{modeQuery, modeFormPost},
		"grant_types_supported":                 []string{"authorization_code"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": p.signingAlgs(),
		"scopes_supported":                      []string{"openid", "profile", "email"},
		"claims_supported": []string{
			"iss", "sub", "aud", "exp", "iat", "nonce", "auth_time", "at_hash",
			"name", "picture", "email", "email_verified",
		},
		"token_endpoint_auth_methods_supported":          []string{"client_secret_basic", "client_secret_post", "none"},
		"code_challenge_methods_supported":               []string{"S256"},
		"prompt_values_supported":                        []string{"none", "login", "consent", "select_account"},
		"authorization_response_iss_parameter_supported": true, // RFC 9207 §3
		"claims_parameter_supported":                     false,
		"request_parameter_supported":                    false,
		"request_uri_parameter_supported":                false, // absent would mean true
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(p.clients)), func(c Client) bool { return c.Key != nil }) {
		metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic", "client_secret_post", "private_key_jwt", "none"}
		metadata["token_endpoint_auth_signing_alg_values_supported"] = assertionAlgs
	}
	if edit := p.fault().Discovery; edit != nil {
		edit(metadata)
	}
	writeJSON(w, http.StatusOK, metadata)
}

// signingAlgs lists the algorithms of the published keys, the current one first.
func (p *Provider) signingAlgs() []string {
	var algs []string
	for _, key := range p.publishedKeys() {
		if !slices.Contains(algs, key.alg) {
			algs = append(algs, key.alg)
		}
	}
	return algs
}

// jwks serves GET /jwks (RFC 7517 §5).
func (p *Provider) jwks(w http.ResponseWriter, _ *http.Request) {
	keys := []map[string]any{}
	for _, key := range p.publishedKeys() {
		keys = append(keys, maps.Clone(key.jwk))
	}
	if edit := p.fault().JWKS; edit != nil {
		keys = edit(keys)
	}
	writeJSON(w, http.StatusOK, map[string]any{"keys": keys})
}
