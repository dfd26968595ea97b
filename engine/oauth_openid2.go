package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/exchange"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/protocol/openid2"
	"authsvc/internal/protocol/outbound"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/text"
	"authsvc/internal/text/profilepath"
)

// openID2Flow is a compiled *OpenID2.
type openID2Flow struct {
	authsvc.OpenID2
	room        *oauthRoom
	calls       *outbound.Client
	jwts        *oidc.JWTVerifier
	mapping     mapping
	redirectURI string
	wire        info
}

func (f *openID2Flow) info() info { return f.wire }

func (f *openID2Flow) remote() remote { return remote{f.ID, f.Endpoint, f.redirectURI} }

// begin redirects to the provider with the authentication request (OpenID
// Authentication 2.0 §9.1). The protocol has no state, so the query of return_to
// carries ours.
func (f *openID2Flow) begin(rq *request) outcome {
	tx, out := f.room.desk.newAttempt(rq, f.remote())
	if out != nil {
		return out
	}
	if err := f.room.desk.startTx(rq, tx); err != nil {
		return err
	}
	to, err := openid2.RequestURL(f.Endpoint, f.returnTo(tx), rq.origin)
	if err != nil {
		rq.expireCookie(f.room.desk.txName(tx.State), "")
		return fail(authsvc.CodeOAuthSignin, fixedReason("endpoint: not a url"))
	}
	return redirect{to: to}
}

func (f *openID2Flow) returnTo(tx *transaction) string {
	return weburl.WithQuery(f.redirectURI, "state", tx.State)
}

// complete checks the assertion (OpenID Authentication 2.0 §11).
func (f *openID2Flow) complete(rq *request) outcome {
	defer startProviderTimeout(rq)()
	switch {
	case rq.r.Method == http.MethodPost:
		return rq.notCallback(http.MethodGet)
	case isPrefetch(rq.r.Header):
		return notPrefetched
	}
	var r authResponse
	r.state = responseParam(rq, &r, "state")
	a, err := openid2.ParseAssertion(rq.queryValues())
	if err != nil {
		r.err = err
	}
	r.denied = a["mode"] == "cancel"
	return f.room.desk.finishAttempt(rq, f.remote(), r, func(tx *transaction) (identity, error) { return f.identify(rq, tx, a) })
}

// identify checks an assertion, here and with the provider, and finds out who the
// person is.
func (f *openID2Flow) identify(rq *request, tx *transaction, a openid2.Assertion) (identity, error) {
	if a["mode"] == "cancel" {
		return identity{}, errDenied
	}
	if a["mode"] == "error" { // §5.2.3
		return identity{}, openID2Error(a["error"])
	}
	if err := a.Check(f.Endpoint, f.returnTo(tx)); err != nil {
		return identity{}, err
	}
	subject, err := f.subject(a)
	if err != nil {
		return identity{}, err
	}
	over, err := openid2.NonceExpiry(a["response_nonce"], rq.now)
	if err != nil {
		return identity{}, err
	}
	switch err := f.room.fleet.UseAttempt(rq.ctx, seal.Digest("openid2 "+f.Endpoint+" "+a["response_nonce"]), over); {
	case errors.Is(err, adapter.ErrConflict):
		return identity{}, errors.New("response_nonce was used before")
	case err != nil:
		return identity{}, fleet.StoreFailed(err)
	}
	if err := f.verify(rq.ctx, a); err != nil {
		return identity{}, err
	}
	return f.person(rq, tx, subject, a["claimed_id"])
}

// An openID2Error is the text with which a negative assertion says why. Anyone can write
// it.
type openID2Error string

// Error quotes the text.
func (e openID2Error) Error() string {
	return fmt.Sprintf("the provider answered with error %q", text.Printable(string(e), maxLoggedDescription))
}

// QuotesRequest implements [audit.Quoting].
func (openID2Error) QuotesRequest() {}

// subject returns the id in the claimed identifier.
func (f *openID2Flow) subject(a openid2.Assertion) (string, error) {
	subject, ok := strings.CutPrefix(a["claimed_id"], f.ClaimedIDPrefix)
	switch {
	case !ok:
		return "", errors.New("claimed_id does not belong to this provider")
	case !usableID(subject) || len(subject) > 64 || strings.Trim(subject, f.IDCharacters) != "":
		return "", errors.New("claimed_id holds no usable id")
	}
	return subject, nil
}

// verify asks the provider whether it made the assertion (§11.4.2).
func (f *openID2Flow) verify(ctx context.Context, a openid2.Assertion) error {
	header := map[string]string{"Accept": "*/*"}
	for name, v := range f.Headers {
		header[name] = v
	}
	body, err := f.calls.Fetch(ctx, outbound.Call{URL: f.Endpoint, Form: a.VerificationRequest(), Header: header})
	if err != nil {
		return fmt.Errorf("check_authentication: %w", err)
	}
	if err := openid2.CheckVerification(body); err != nil {
		return fmt.Errorf("check_authentication: %w", err)
	}
	return nil
}

// person maps the profile of a verified id.
func (f *openID2Flow) person(rq *request, tx *transaction, subject, claimedID string) (identity, error) {
	profile := authsvc.Profile{"sub": subject, "claimed_id": claimedID}
	if f.UserInfo != nil {
		x := &authsvc.Exchange{RedirectURI: tx.RedirectURI, State: tx.State, Callback: rq.callbackParam, Claims: profile}
		*x.Internal() = exchange.State{Calls: f.calls, JWTs: f.jwts, Headers: f.Headers}
		var err error
		if profile, err = callHook(rq, "UserInfo", func() (authsvc.Profile, error) { return f.UserInfo(rq.ctx, x) }); err != nil {
			return identity{}, err
		}
	}
	u, id, _, err := f.mapping.user(rq, profilepath.Roots{Profile: profile})
	if err != nil {
		return identity{}, err
	}
	if asked := f.Fields.ID != "" && f.MapProfile == nil; id != subject && (id != "" || asked) {
		return identity{}, errors.New("the profile does not belong to the person who signed in")
	}
	return f.mapping.newIdentity(u, subject, false, profile), nil
}

// buildOpenID2 checks the provider and compiles it.
func buildOpenID2(b *builder, o *authsvc.OpenID2) flow {
	f := &openID2Flow{OpenID2: *o, room: b.storeys.oauthRoom, redirectURI: b.base + "/callback/" + o.ID}
	f.IDCharacters = cmp.Or(o.IDCharacters, "0123456789")
	f.wire = info{id: o.ID, name: cmp.Or(o.Name, o.ID), kind: "oauth", form: "button", style: o.Style, issuer: weburl.OriginOf(o.Endpoint)}
	known := len(b.mistakes)
	if o.Endpoint == "" {
		b.fail("Endpoint", "is missing", "write the address to send people to")
	}
	if u, err := url.Parse(o.ClaimedIDPrefix); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Path == "" {
		b.fail("ClaimedIDPrefix", "is not an address with a path", "write what every identifier of the provider begins with, such as https://id.example/users/")
	}
	f.mapping = b.mapping(o.Fields, mapping{mapProfile: o.MapProfile, account: authsvc.Account{Type: f.wire.kind, Provider: o.ID}})
	if o.Fields.ID == "" {
		f.mapping.paths.id = nil
	}
	var err error
	f.calls, err = outbound.New(outbound.Config{HTTP: b.http, Hosts: o.Hosts, Headers: o.Headers, URLs: map[string]string{"endpoint": o.Endpoint}})
	if err != nil {
		b.failFields(err, map[string]string{"endpoint": "Endpoint", "hosts": "Hosts", "headers": "Headers"}, known)
		return f
	}
	f.jwts = oidc.NewJWTVerifier(f.calls)
	return f
}
