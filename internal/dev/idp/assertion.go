package idp

import (
	"encoding/json"
	"net/http"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

const (
	assertionType    = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	maxAssertionLife = 5 * time.Minute
)

// assertionAlgs are the algorithms of client assertions.
var assertionAlgs = []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.RS256, jose.PS256, jose.EdDSA}

// AuthenticateClient returns the ID of the client that sent a request. It is for a
// fault that answers in place of an endpoint.
func (p *Provider) AuthenticateClient(r *http.Request) (id string, ok bool) {
	if r.ParseForm() != nil {
		return "", false
	}
	c, err := p.authenticate(r)
	return c.ID, err == nil
}

// assertedClient authenticates a client by private_key_jwt (RFC 7523 §3). The assertion
// must be signed with the client's key, about the client itself, for this issuer only,
// short-lived, and not used before.
func (p *Provider) assertedClient(r *http.Request) (Client, error) {
	if r.Header.Get("Authorization") != "" || r.PostForm.Has("client_secret") {
		return Client{}, invalidRequest("the request must not use two methods of client authentication")
	}
	jws, err := jose.ParseSignedCompact(r.PostForm.Get("client_assertion"), assertionAlgs)
	if err != nil || r.PostForm.Get("client_assertion_type") != assertionType {
		return Client{}, errInvalidClient
	}
	client, known := p.clients[r.PostForm.Get("client_id")]
	if !known || client.Key == nil {
		return Client{}, errInvalidClient
	}
	raw, err := jws.Verify(client.Key)
	if err != nil || !p.asserts(raw, client.ID) {
		return Client{}, errInvalidClient
	}
	return client, nil
}

// asserts checks the claims. aud must be a string, not a list.
func (p *Provider) asserts(raw []byte, client string) bool {
	var claims struct {
		Issuer   string `json:"iss"`
		Subject  string `json:"sub"`
		Audience string `json:"aud"`
		ID       string `json:"jti"`
		Issued   int64  `json:"iat"`
		Expires  int64  `json:"exp"`
	}
	if json.Unmarshal(raw, &claims) != nil {
		return false
	}
	now := time.Now()
	issued, expires := time.Unix(claims.Issued, 0), time.Unix(claims.Expires, 0)
	return claims.Issuer == client && claims.Subject == client && claims.Audience == p.issuer &&
		!issued.After(now.Add(time.Second)) && expires.After(now) && !expires.After(issued.Add(maxAssertionLife)) &&
		claims.ID != "" && p.assertions.claim(client+" "+claims.ID)
}
