package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/protocol/exchange"
	"authsvc/internal/protocol/oauth1"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/protocol/outbound"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/text"
	"authsvc/internal/text/profilepath"
)

// oauth1Flow is a compiled *OAuth1.
type oauth1Flow struct {
	authsvc.OAuth1
	room        *oauthRoom
	calls       *outbound.Client
	jwts        *oidc.JWTVerifier
	mapping     mapping
	headers     map[string]string
	redirectURI string
	wire        info
}

func (f *oauth1Flow) info() info { return f.wire }

func (f *oauth1Flow) remote() remote { return remote{f.ID, f.AccessTokenURL, f.redirectURI} }

// begin fetches temporary credentials (RFC 5849 §2.1) and sends the person to approve
// them (§2.2). The protocol has no state, so the query of the callback carries ours.
// The secret of the temporary credentials waits in the sealed cookie.
func (f *oauth1Flow) begin(rq *request) outcome {
	defer startProviderTimeout(rq)()
	tx, out := f.room.desk.newAttempt(rq, f.remote())
	if out != nil {
		return out
	}
	f.room.desk.makeState(rq, tx)
	a, err := f.fetch(rq.ctx, f.RequestTokenURL, f.credentials("", ""), map[string]string{"oauth_callback": weburl.WithQuery(f.redirectURI, "state", tx.State)})
	if err == nil && !a.Confirmed {
		err = errors.New("oauth_callback_confirmed is missing: the service speaks OAuth 1.0, not 1.0a")
	}
	if err != nil {
		return fail(authsvc.CodeOAuthSignin, f.explain(fmt.Errorf("request token: %w", err)))
	}
	tx.Token, tx.TokenSecret = a.Token, a.Secret
	to, err := url.Parse(f.AuthorizationURL)
	if err != nil {
		return fail(authsvc.CodeOAuthSignin, fixedReason("authorization url: not a url"))
	}
	if err := f.room.desk.keepTx(rq, tx); err != nil {
		return err
	}
	q := to.Query()
	q.Set("oauth_token", a.Token)
	to.RawQuery = q.Encode()
	return redirect{to: to.String()}
}

// complete checks the response that the person brought back and fetches the profile.
func (f *oauth1Flow) complete(rq *request) outcome {
	defer startProviderTimeout(rq)()
	switch {
	case rq.r.Method == http.MethodPost:
		return rq.notCallback(http.MethodGet)
	case isPrefetch(rq.r.Header):
		return notPrefetched
	}
	a := readTokenResponse(rq)
	return f.room.desk.finishAttempt(rq, f.remote(), a.authResponse, func(tx *transaction) (identity, error) {
		if err := a.check(tx); err != nil {
			return identity{}, err
		}
		return f.identify(rq, tx, a.verifier)
	})
}

// A tokenResponse is the response that comes through the browser (RFC 5849 §2.2).
// deniedToken, which the standard lacks, is the token of a refused request.
type tokenResponse struct {
	authResponse
	token, verifier, deniedToken string
}

func readTokenResponse(rq *request) (a tokenResponse) {
	read := func(name string) string { return responseParam(rq, &a.authResponse, name) }
	a.state, a.token, a.verifier, a.deniedToken = read("state"), read("oauth_token"), read("oauth_verifier"), read("denied")
	a.denied = a.deniedToken != ""
	return a
}

// check compares a response with the attempt that its state belongs to.
func (a *tokenResponse) check(tx *transaction) error {
	switch {
	case a.denied && (!text.Same(a.deniedToken, tx.Token) || a.verifier != ""):
		return errors.New("the refusal belongs to another attempt")
	case a.denied:
		return errDenied
	case a.token == "":
		return errors.New("no oauth_token")
	case !text.Same(a.token, tx.Token):
		return errors.New("oauth_token does not match this attempt")
	case !oauth1.Usable(a.verifier):
		return errors.New("no usable oauth_verifier")
	}
	return nil
}

func (f *oauth1Flow) credentials(token, secret string) oauth1.Credentials {
	return oauth1.Credentials{ClientID: f.Client.ID, ClientSecret: f.Client.Secret, Token: token, TokenSecret: secret}
}

// fetch calls a token endpoint. It reads the answer as a form, whatever its content
// type.
func (f *oauth1Flow) fetch(ctx context.Context, from string, c oauth1.Credentials, protocol map[string]string) (oauth1.Answer, error) {
	call := outbound.Call{Method: http.MethodPost, URL: from, Header: map[string]string{"Accept": "*/*"}}
	maps.Copy(call.Header, f.headers)
	if err := sign(&call, c, protocol); err != nil {
		return oauth1.Answer{}, err
	}
	body, err := f.calls.Fetch(ctx, call)
	if err != nil {
		return oauth1.Answer{}, err
	}
	return oauth1.ParseAnswer(body)
}

// sign sets the Authorization header of a call.
func sign(call *outbound.Call, c oauth1.Credentials, protocol map[string]string) error {
	header, err := c.Authorization(oauth1.Request{Method: methodOf(call), URL: call.URL, Form: call.Form, Protocol: protocol}, seal.Token(), time.Now())
	if err != nil {
		return err
	}
	for name := range call.Header {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return errors.New("the Authorization header is reserved for the signature")
		}
	}
	call.Header["Authorization"] = header
	return nil
}

func methodOf(call *outbound.Call) string {
	switch {
	case call.Method != "":
		return call.Method
	case call.Form != nil || call.JSON != nil:
		return http.MethodPost
	}
	return http.MethodGet
}

// identify fetches token credentials (RFC 5849 §2.3) and finds out with them who the
// person is.
func (f *oauth1Flow) identify(rq *request, tx *transaction, verifier string) (identity, error) {
	a, err := f.fetch(rq.ctx, f.AccessTokenURL, f.credentials(tx.Token, tx.TokenSecret), map[string]string{"oauth_verifier": verifier})
	if err != nil {
		return identity{}, fmt.Errorf("access token: %w", err)
	}
	x := &authsvc.Exchange{Client: f.Client, RedirectURI: tx.RedirectURI, State: tx.State, Callback: rq.callbackParam, Tokens: authsvc.Profile{}}
	*x.Internal() = exchange.State{Calls: f.calls, JWTs: f.jwts, Headers: f.headers, UserInfoHeaders: f.headers, UserInfoURL: f.UserInfoURL}
	for name, v := range a.Fields {
		x.Tokens[name] = v
	}
	c := f.credentials(a.Token, a.Secret)
	x.Internal().Sign = func(call *outbound.Call) error { return sign(call, c, nil) }
	profile, err := f.profile(rq, x)
	if err != nil {
		return identity{}, err
	}
	id, err := f.mapping.identity(rq, profilepath.Roots{Profile: profile, Token: x.Tokens})
	if err != nil {
		return identity{}, err
	}
	id.account.AccessToken, id.account.RefreshToken = a.Token, a.Secret
	return id, nil
}

func (f *oauth1Flow) profile(rq *request, x *authsvc.Exchange) (authsvc.Profile, error) {
	if f.UserInfo != nil {
		return callHook(rq, "UserInfo", func() (authsvc.Profile, error) { return f.UserInfo(rq.ctx, x) })
	}
	return x.UserInfo(rq.ctx)
}

// oauth1Fields maps the names in errors of package outbound to fields.
var oauth1Fields = map[string]string{"request token url": "RequestTokenURL", "authorization url": "AuthorizationURL",
	"access token url": "AccessTokenURL", "userinfo url": "UserInfoURL", "hosts": "Hosts", "headers": "Headers"}

// buildOAuth1 checks the provider and compiles it.
func buildOAuth1(b *builder, o *authsvc.OAuth1) flow {
	f := &oauth1Flow{OAuth1: *o, room: b.storeys.oauthRoom, redirectURI: b.base + "/callback/" + o.ID, headers: map[string]string{}}
	f.wire = info{id: o.ID, name: cmp.Or(o.Name, o.ID), kind: "oauth", form: "button", style: o.Style, issuer: weburl.OriginOf(o.AuthorizationURL)}
	known := len(b.mistakes)
	f.checkFields(b)
	b.warnLinking(o.ID, o.LinkVerifiedEmail)
	f.mapping = b.mapping(o.Fields, mapping{mapProfile: o.MapProfile, trustEmail: o.TrustEmail,
		account: authsvc.Account{Type: f.wire.kind, Provider: o.ID, TokenType: "oauth1"}, linkVerified: o.LinkVerifiedEmail})
	for name, value := range o.Headers {
		f.headers[name] = strings.ReplaceAll(value, "{client_id}", o.Client.ID)
	}
	var err error
	f.calls, err = outbound.New(outbound.Config{HTTP: b.http, Hosts: o.Hosts, Headers: f.headers, URLs: map[string]string{
		"request token url": o.RequestTokenURL, "authorization url": o.AuthorizationURL,
		"access token url": o.AccessTokenURL, "userinfo url": o.UserInfoURL,
	}})
	if err != nil {
		b.failFields(err, oauth1Fields, known)
		return f
	}
	f.jwts = oidc.NewJWTVerifier(f.calls)
	return f
}

func (f *oauth1Flow) checkFields(b *builder) {
	const register = "copy it from the application that you registered at the provider"
	for _, one := range []struct{ key, value, fix string }{
		{"Client.ID", f.Client.ID, register},
		{"Client.Secret", f.Client.Secret, register},
		{"RequestTokenURL", f.RequestTokenURL, "write the address that issues temporary credentials"},
		{"AuthorizationURL", f.AuthorizationURL, "write the address to send people to"},
		{"AccessTokenURL", f.AccessTokenURL, "write the address that issues token credentials"},
	} {
		if one.value == "" {
			b.fail(one.key, "is missing", one.fix)
		}
	}
	if f.UserInfoURL == "" && f.UserInfo == nil {
		b.fail("UserInfoURL", "is missing", "set it: the profile comes from there")
	}
}
