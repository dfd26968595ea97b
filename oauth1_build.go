package authsvc

import (
	"cmp"
	"strings"

	"authsvc/internal/oidc"
	"authsvc/internal/outbound"
	"authsvc/internal/weburl"
)

// build checks the provider and compiles it.
func (o *OAuth1) build(b *builder) flow {
	f := &oauth1Flow{OAuth1: *o, redirectURI: b.base + "/callback/" + o.ID, headers: map[string]string{}}
	f.wire = info{id: o.ID, name: cmp.Or(o.Name, o.ID), kind: "oauth", form: "button", style: o.Style, issuer: weburl.OriginOf(o.AuthorizationURL)}
	known := len(b.mistakes)
	f.checkFields(b)
	b.warnLinking(o.ID, o.LinkVerifiedEmail)
	f.mapping = b.mapping(o.Fields, mapping{mapProfile: o.MapProfile, trustEmail: o.TrustEmail})
	for name, value := range o.Headers {
		f.headers[name] = strings.ReplaceAll(value, "{client_id}", o.Client.ID)
	}
	var err error
	f.calls, err = outbound.New(outbound.Config{HTTP: b.http, Hosts: o.Hosts, Headers: f.headers, URLs: map[string]string{
		"request token url": o.RequestTokenURL, "authorization url": o.AuthorizationURL,
		"access token url": o.AccessTokenURL, "userinfo url": o.UserInfoURL,
	}})
	if err != nil {
		b.failFields(err, known)
		return f
	}
	f.jwts = oidc.NewJWTVerifier(f.calls)
	return f
}

func (f *oauth1Flow) checkFields(b *builder) {
	const register = "copy it from the application that you registered at the provider"
	for _, one := range []struct{ key, value, mend string }{
		{"client_id", f.Client.ID, register},
		{"client_secret", f.Client.Secret, register},
		{"request_token_url", f.RequestTokenURL, "write the address that gives out temporary credentials"},
		{"authorization_url", f.AuthorizationURL, "write the address that people are sent to"},
		{"access_token_url", f.AccessTokenURL, "write the address that gives out token credentials"},
	} {
		if one.value == "" {
			b.fail(one.key, "is missing", one.mend)
		}
	}
	if f.UserInfoURL == "" && f.UserInfo == nil {
		b.fail("userinfo_url", "is missing", "the profile comes from there")
	}
}
