package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	neturl "net/url"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/protocol/outbound"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text"
)

// buildOAuth checks the provider and compiles it.
func buildOAuth(b *builder, o *authsvc.OAuth) flow {
	f := &oauthFlow{OAuth: *o, room: b.storeys.oauthRoom, redirectURI: b.base + "/callback/" + o.ID, openID: o.OpenID}
	f.state, f.pkce, f.nonce = true, true, f.openID
	f.wire = info{id: o.ID, name: cmp.Or(o.Name, o.ID), kind: "oauth", form: "button", style: o.Style,
		formPost: o.ResponseMode == "form_post", issuer: cmp.Or(o.Issuer, weburl.OriginOf(o.Endpoints.Authorization)), hostOnly: o.Issuer == ""}
	if f.openID {
		f.wire.kind, f.wire.reauthenticates = b.openIDType, !o.NoAuthTime
	}
	if f.openID && f.Scope == "" {
		f.Scope = "openid email profile"
	}
	known := len(b.mistakes)
	f.checkFields(b)
	b.warnLinking(o.ID, o.LinkVerifiedEmail)
	allowsHTTP := b.allowsHTTP(o)
	f.mapping = b.mapping(o.Fields, mapping{mapProfile: o.Hooks.MapProfile, trustEmail: o.TrustEmail, verifiedText: o.VerifiedText,
		account: authsvc.Account{Type: f.wire.kind, Provider: o.ID}, linkVerified: o.LinkVerifiedEmail})
	f.Headers, f.userInfoHeaders = f.headers(o.Headers), f.headers(o.Headers, o.UserInfo.Headers)
	f.secrets = newClientSecrets(o)
	var err error
	f.oidc, err = oidc.New(oidc.Config{
		Issuer: o.Issuer, InsecureIssuer: allowsHTTP, AuthorizationURL: o.Endpoints.Authorization, TokenURL: o.Endpoints.Token, UserInfoURL: o.Endpoints.UserInfo,
		JWKSURL: o.Endpoints.JWKS, RevocationURL: o.Endpoints.Revocation, EndSessionURL: o.Endpoints.EndSession, DiscoveryURL: o.Endpoints.Discovery,
		Tenants: o.Tenants, Hosts: o.Hosts,
		ClientID: o.Client.ID, ClientSecret: o.Client.Secret, SecretPerGrant: o.Hooks.ClientSecret != nil,
		ClientIDParam: o.ClientIDParam, AuthMethod: string(o.AuthMethod), TokenParams: o.TokenParams,
		PrivateKey: o.Client.PrivateKey, KeyID: o.Client.KeyID, AssertionAudience: o.AssertionAudience,
		Algs: o.SigningAlgs, OpenID: f.openID, HTTP: b.http, TokenHeaders: f.Headers,
		UserInfoHeaders: f.userInfoHeaders, UserInfoMethod: o.UserInfo.Method, UserInfoBody: o.UserInfo.Body, UserInfoAuth: o.UserInfo.Auth,
		Stale: b.tellStale(o.ID),
	})
	if err != nil {
		b.failFields(err, oauthFields, known)
	}
	if o.InitiateLogin {
		f.wire.initiates = f.oidc.IsIssuer
	}
	return f
}

// allowsHTTP reports whether further checks accept http to the issuer. It warns of the
// permission, and refuses it where it would have no effect, so that it does not stay
// when the issuer changes to https. If it reports a mistake, further ones may not follow
// from that.
func (b *builder) allowsHTTP(o *authsvc.OAuth) bool {
	issuer, err := neturl.Parse(o.Issuer)
	plain := err == nil && issuer.Scheme == "http" && !weburl.Loopback(issuer.Hostname())
	switch {
	case o.DangerousInsecureIssuer && !plain:
		b.fail("DangerousInsecureIssuer", "has no effect, because the issuer is not http beyond loopback", "remove it", "Issuer")
	case o.DangerousInsecureIssuer:
		b.warn("a provider is called by http: in its network, anyone on the way can read its client secret and sign in as anyone",
			"field", "DangerousInsecureIssuer", "provider", o.ID, "issuer", text.Printable(o.Issuer, 200))
	case plain:
		b.fail("Issuer", "is http beyond loopback, where anyone on the way can read the client secret and sign in as anyone",
			"use https, or set DangerousInsecureIssuer: true if the issuer is in your own network", "DangerousInsecureIssuer").Code = "insecure_issuer"
	}
	return plain
}

// warnLinking warns about the consequences if a provider links by address.
func (b *builder) warnLinking(id string, on bool) {
	if on {
		b.warn("a provider links to existing users by email address: it can sign in as any user whose address it vouches for",
			"field", "LinkVerifiedEmail", "provider", id)
	}
}

// tellStale returns a function that logs that a provider's document cannot be read.
func (b *builder) tellStale(id string) func(string, error) {
	log := cmp.Or(b.config.Logger, slog.Default())
	return func(document string, err error) {
		log.Warn("the "+document+" of a provider cannot be read; the last copy is used until it is a day old", "provider", id, "cause", err)
	}
}

// oauthFields maps the names in errors of package oidc to fields.
var oauthFields = map[string]string{
	"issuer": "Issuer", "discovery url": "Endpoints.Discovery", "authorization url": "Endpoints.Authorization", "token url": "Endpoints.Token",
	"userinfo url": "Endpoints.UserInfo", "jwks url": "Endpoints.JWKS",
	"revocation url": "Endpoints.Revocation", "end session url": "Endpoints.EndSession", "client id": "Client.ID", "client secret": "Client.Secret",
	"client id param": "ClientIDParam", "auth method": "AuthMethod", "hosts": "Hosts", "tenants": "Tenants", "token params": "TokenParams",
	"token headers": "Headers", "headers": "Headers", "userinfo headers": "UserInfo.Headers", "userinfo method": "UserInfo.Method",
	"userinfo body": "UserInfo.Body", "userinfo auth": "UserInfo.Auth", "algs": "SigningAlgs",
	"private key": "Client.PrivateKey", "key id": "Client.KeyID", "assertion audience": "AssertionAudience",
}

// fieldFixes gives the fix for each field, other than addresses, that oidc.New and
// outbound.New refuse. with names the other fields on which the verdict depends.
var fieldFixes = map[string]struct {
	fix  string
	with []string
}{
	"SigningAlgs":       {"use an algorithm with a public key that the provider signs with, such as RS256 or ES256; HS256, HS384 and HS512 take a client secret of 32, 48 and 64 bytes", []string{"Client.Secret"}},
	"AuthMethod":        {"use client_secret_basic, client_secret_post, private_key_jwt or none", nil},
	"Client.Secret":     {"copy it from the application that you registered at the provider", []string{"AuthMethod"}},
	"Client.PrivateKey": {"give it as PKCS #8 in PEM or as a JWK", []string{"AuthMethod", "Client.KeyID"}},
	"AssertionAudience": {"write the issuer identifier of the provider's token endpoint", []string{"Issuer"}},
	"ClientIDParam":     {"write the name that the provider documents, such as appid, or leave it out", nil},
	"TokenParams":       {"leave it out; the flow sets it", nil},
	"Headers":           {"leave it out; the protocol sets it", nil},
	"Hosts":             {"write names such as api.example.com, with :port if it is not 443, or *.example.com", nil},
	"UserInfo.Headers":  {"leave it out; the protocol sets it", []string{"UserInfo.Auth"}},
	"UserInfo.Method":   {"use GET or POST", nil},
	"UserInfo.Body":     {"use POST, or leave the body out", []string{"UserInfo.Method"}},
	"UserInfo.Auth":     {"write query:NAME, header:NAME or header:NAME SCHEME, or leave it out", nil},
}

// failFields reports the errors of oidc.New and outbound.New. They are joined, and each
// begins with the name of a field, which names translates. An error is left out if the
// mistakes from known on already report its field or a field on which it depends.
func (b *builder) failFields(err error, names map[string]string, known int) {
	list := []error{err}
	if many, ok := err.(interface{ Unwrap() []error }); ok { // only the outermost join
		list = many.Unwrap()
	}
	before := len(b.mistakes)
	for _, e := range list {
		field, problem, _ := strings.Cut(e.Error(), ": ")
		key := names[field]
		f, other := fieldFixes[key]
		required, missing := strings.CutPrefix(problem, "required ")
		switch {
		case missing && required == "without issuer":
			problem, f.fix, f.with = "is missing, and there is no issuer to discover it from", "write the address that the provider documents", []string{"Issuer"}
		case missing:
			problem = "is missing, but required " + required
			if !other {
				f.fix, f.with = "write the address that the provider documents", []string{"Issuer"}
			}
		case problem == outbound.ErrScheme.Error():
			problem, f.fix = "must begin with https:// and the name of a host", "write the whole address; http:// is accepted only for this machine"
		case other:
			problem = "is refused: " + problem
		default:
			problem, f.fix = "is refused: "+problem, "write the address that the provider documents"
		}
		said := slices.ContainsFunc(b.mistakes[known:before], func(m error) bool {
			var one *authsvc.ConfigError
			return errors.As(m, &one) && slices.Contains(append([]string{key}, f.with...), strings.TrimPrefix(one.Field, b.prefix))
		})
		if !said {
			b.fail(key, problem, f.fix, f.with...)
		}
	}
}

// headers joins lists of headers and inserts the client id.
func (f *oauthFlow) headers(lists ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, list := range lists {
		for name, value := range list {
			all[name] = strings.ReplaceAll(value, "{client_id}", f.Client.ID)
		}
	}
	return all
}

func (f *oauthFlow) checkFields(b *builder) {
	if f.Client.ID == "" {
		b.fail("Client.ID", "is missing", "copy it from the application that you registered at the provider")
	}
	if f.Client.Secret == "" && f.Hooks.ClientSecret == nil && f.AuthMethod != authsvc.AuthMethodNone && f.AuthMethod != authsvc.PrivateKeyJWT {
		b.fail("Client.Secret", "is missing", "copy it from the application that you registered, or set AuthMethod: none for a public client", "AuthMethod").Code = "client_secret_missing"
	}
	if f.ResponseMode != "" && f.ResponseMode != "query" && f.ResponseMode != "form_post" {
		b.fail("ResponseMode", "is not known", "use query or form_post")
	}
	if f.openID && f.Issuer == "" {
		b.fail("Issuer", "is missing", "set it: OpenID Connect compares it with every ID token")
	}
	if f.openID && !slices.Contains(strings.Fields(f.Scope), "openid") {
		b.fail("Scope", "lacks openid", "add it: OpenID Connect returns no ID token without it")
	}
	for _, document := range []string{"/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"} {
		if issuer, found := strings.CutSuffix(strings.TrimRight(f.Issuer, "/"), document); found {
			b.fail("Issuer", "ends in "+document+", so it is the address of a document about the issuer", "write what precedes that, as in the member issuer of the document: "+text.Printable(issuer, 200))
		}
	}
	if f.InitiateLogin && f.Issuer == "" {
		b.fail("InitiateLogin", "is set, but the provider has no issuer to compare with the parameter iss", "set the issuer, or leave it out")
	}
	if !f.openID && f.Endpoints.UserInfo == "" && f.Hooks.UserInfo == nil {
		b.fail("Endpoints.UserInfo", "is missing", "set it: the profile comes from there, except with OpenID Connect (OpenID: true)").Code = "userinfo_missing"
	}
	if f.LogoutAtProvider && !f.openID && f.Endpoints.EndSession == "" {
		b.fail("Endpoints.EndSession", "is missing", "set it: logging out at the provider needs it if OpenID Connect does not discover it")
	}
	for _, name := range slices.Sorted(maps.Keys(f.AuthorizationParams)) {
		if oidc.ReservedParam(name) || name == f.ClientIDParam {
			b.fail("AuthorizationParams", "sets "+name, "leave it out; it is set by the flow or has an option of its own")
		}
	}
	if age, set := f.AuthorizationParams["max_age"]; set {
		if _, err := parseMaxAge(age); err != nil {
			b.fail("AuthorizationParams[max_age]", "is not a number of seconds", `write digits, such as "300"`)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.TokenParams)) {
		if oidc.ReservedTokenParam(name) || name == f.ClientIDParam {
			b.fail("TokenParams", "sets "+name, "leave it out; it is set by the flow or has an option of its own")
		}
	}
	if err := outbound.CheckHosts(f.Hosts); err != nil {
		b.fail("Hosts", err.Error(), "write names such as api.example.com, with :port if it is not 443, or *.example.com")
	}
	f.checkTenants(b)
	f.checkClientKey(b)
	f.checkChecks(b)
}

// checkChecks applies the option that names the checks to make. Dropping a check is a
// warning; dropping all of them is a mistake.
func (f *oauthFlow) checkChecks(b *builder) {
	if len(f.Checks) == 0 {
		f.pkce = f.pkce && !f.NoPKCE
		return
	}
	f.state, f.pkce, f.nonce = false, false, false
	for _, c := range f.Checks {
		switch c {
		case "state":
			f.state = true
		case "pkce":
			f.pkce = true
		case "nonce":
			f.nonce = f.openID
		default:
			b.fail("Checks", "names "+text.Printable(c, 20), "use pkce, state and nonce")
		}
	}
	if !f.pkce && !f.nonce && !f.state {
		b.fail("Checks", "drops every check", "keep at least one of pkce, state and nonce; leave the option out for all of them")
	}
	if !f.pkce || !f.state || f.openID && !f.nonce {
		b.warn("provider runs without some checks", "provider", f.ID, "checks", strings.Join(f.Checks, ","))
	}
}

// checkTenants checks the configuration of an issuer that stands for several tenants.
// Only an ID token says to which tenant a person belongs. Unless subjects are pairwise,
// any tenant may issue the sub of a person in another one.
func (f *oauthFlow) checkTenants(b *builder) {
	switch {
	case !oidc.MultiTenant(f.Issuer):
	case !f.openID:
		b.fail("Issuer", "covers several tenants, which only an ID token tells apart", "use OpenID Connect (OpenID: true), or name one issuer").Code = "several_tenants"
	case len(f.Tenants) == 0 && !f.PairwiseSubject:
		b.fail("Tenants", "is missing, but the issuer covers any tenant: one tenant could issue the sub of another tenant's users",
			"list the tenants to accept, or use the issuer of a single tenant")
	}
}

// secretMargin is how long before its expiry a client secret is made again. For a short
// life it is a tenth of that life, if that is less.
const secretMargin = 5 * time.Minute

// clientSecrets calls Hooks.ClientSecret, one call at a time, and caches the
// secret until it expires.
type clientSecrets struct {
	make   func(c authsvc.Client, now time.Time) (secret string, expires time.Time, err error)
	client authsvc.Client

	turn   chan struct{} // holds one element while the fields below are in use
	secret string
	until  time.Time // secret is used until then
}

func newClientSecrets(o *authsvc.OAuth) *clientSecrets {
	if o.Hooks.ClientSecret == nil {
		return nil
	}
	return &clientSecrets{make: o.Hooks.ClientSecret, client: o.Client, turn: make(chan struct{}, 1)}
}

// get returns the current secret. Errors are not cached: the next sign-in tries
// again.
func (m *clientSecrets) get(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case m.turn <- struct{}{}:
	}
	defer func() { <-m.turn }()
	now := time.Now()
	if now.Before(m.until) {
		return m.secret, nil
	}
	secret, expires, err := m.make(m.client, now)
	switch {
	case err != nil:
		return "", err
	case secret == "" || strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", errors.New("the secret is empty or not printable")
	case expires.IsZero():
		return secret, nil
	case !now.Before(expires):
		return "", errors.New("the secret has expired already")
	}
	m.secret, m.until = secret, expires.Add(-min(secretMargin, expires.Sub(now)/10))
	return secret, nil
}

// checkClientKey checks the fields for private_key_jwt and reports any that would have
// no effect.
func (f *oauthFlow) checkClientKey(b *builder) {
	if f.AuthMethod != authsvc.PrivateKeyJWT {
		for _, given := range [][2]string{{"Client.PrivateKey", f.Client.PrivateKey}, {"Client.KeyID", f.Client.KeyID}, {"AssertionAudience", f.AssertionAudience}} {
			if given[1] != "" {
				b.fail(given[0], "is given, but AuthMethod is not private_key_jwt", "set AuthMethod: private_key_jwt, or remove it", "AuthMethod").Code = "client_key_unused"
			}
		}
		return
	}
	if f.Hooks.ClientSecret != nil || f.Hooks.ExchangeCode != nil {
		b.fail("AuthMethod", "is private_key_jwt, but this provider authenticates clients in its own way", "remove it")
		return
	}
	if f.Client.Secret != "" {
		b.fail("Client.Secret", "is given, but AuthMethod private_key_jwt takes none", "remove it, or use another AuthMethod without Client.PrivateKey").Code = "client_secret_unused"
	}
	if f.AssertionAudience == "" && (f.Issuer == "" || oidc.MultiTenant(f.Issuer)) {
		b.fail("AssertionAudience", "is missing", "write the issuer identifier of the provider's token endpoint; without a single issuer nothing else names the recipient of the signature", "Issuer")
	}
	if f.Client.PrivateKey == "" {
		b.fail("Client.PrivateKey", "is missing", "give the key whose public half you registered at the provider, PKCS #8 in PEM or a JWK", "AuthMethod")
		return
	}
	var wrong *oidc.KeyError
	if _, err := oidc.ParseClientKey(f.Client.PrivateKey, f.Client.KeyID); errors.As(err, &wrong) {
		b.fail("Client.PrivateKey", wrong.Problem, wrong.Fix, "Client.KeyID")
	}
}
