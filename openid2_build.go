package authsvc

import (
	"cmp"
	"net/url"

	"authsvc/internal/oidc"
	"authsvc/internal/outbound"
	"authsvc/internal/weburl"
)

// build checks the provider and compiles it.
func (o *OpenID2) build(b *builder) flow {
	f := &openID2Flow{OpenID2: *o, redirectURI: b.base + "/callback/" + o.ID}
	f.IDCharacters = cmp.Or(o.IDCharacters, "0123456789")
	f.wire = info{id: o.ID, name: cmp.Or(o.Name, o.ID), kind: "oauth", form: "button", style: o.Style, issuer: weburl.OriginOf(o.Endpoint)}
	known := len(b.mistakes)
	if o.Endpoint == "" {
		b.fail("endpoint", "is missing", "write the address that people are sent to")
	}
	if u, err := url.Parse(o.ClaimedIDPrefix); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Path == "" {
		b.fail("claimed_id_prefix", "is no address with a path", "write what every identifier of the provider begins with, such as https://id.example/users/")
	}
	f.mapping = b.mapping(o.Fields, mapping{mapProfile: o.MapProfile, account: Account{Type: f.wire.kind, Provider: o.ID}})
	if o.Fields.ID == "" {
		f.mapping.paths.id = nil
	}
	var err error
	f.calls, err = outbound.New(outbound.Config{HTTP: b.http, Hosts: o.Hosts, Headers: o.Headers, URLs: map[string]string{"endpoint": o.Endpoint}})
	if err != nil {
		b.failFields(err, known)
		return f
	}
	f.jwts = oidc.NewJWTVerifier(f.calls)
	return f
}
