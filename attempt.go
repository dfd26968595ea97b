package authsvc

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// This file has what the redirect protocols (OAuth 2, OAuth 1, OpenID 2.0)
// share: how an attempt begins, and how its callback is handled.

// providerTimeout bounds all that one request asks of a provider together, so
// that the person has an answer within 10 s whatever the provider does.
const providerTimeout = 9 * time.Second

// startProviderTimeout bounds rq.ctx by providerTimeout until done is called.
func (rq *request) startProviderTimeout() (done func()) {
	whole := rq.ctx
	ctx, cancel := context.WithTimeout(whole, providerTimeout)
	rq.ctx = ctx
	return func() { cancel(); rq.ctx = whole }
}

// A remote is a provider and the redirect URI that an attempt is bound to.
type remote struct {
	id          string
	issuer      string // or the address that stands for it
	redirectURI string
}

// newAttempt makes the transaction of a sign-in, with the callbackUrl and, if
// the identity is to be linked, the signed-in user.
func (rq *request) newAttempt(at remote) (*transaction, outcome) {
	tx := &transaction{Provider: at.id, Issuer: at.issuer, RedirectURI: at.redirectURI, CallbackURL: rq.callbackURL()}
	asked := rq.body.get("link") == "true"
	if !(asked && rq.policy.linksAsked || rq.policy.linksSignedIn) {
		return tx, nil
	}
	s, err := rq.current()
	switch {
	case err != nil:
		return nil, storeFailed(OAuthSignin, err)
	case s != nil:
		tx.LinkTo, tx.LinkImplied = s.UserID, !asked
	case asked:
		return nil, fail(SessionRequired, fixedReason("link was asked for without a session"))
	}
	return tx, nil
}

// notPrefetched refuses a prefetch, which would use up a code or a state.
var notPrefetched = problem{status: http.StatusServiceUnavailable, text: "not to be prefetched"}

// An authResponse is what all protocols have in an authorization response.
type authResponse struct {
	state  string
	denied bool  // nothing was granted
	err    error // it is malformed
}

// errDenied is returned by identify when nothing was granted.
var errDenied = fixedReason("the person or the provider said no")

// finishAttempt uses up the attempt that a response belongs to and returns the
// identity that identify, which knows the protocol, gets from it.
func (rq *request) finishAttempt(at remote, a authResponse, identify func(*transaction) (identity, error)) outcome {
	if a.err != nil {
		rq.dropTx(a.state)
		return fail(OAuthCallback, a.err)
	}
	tx, refused := rq.finishTx(a.state, a.denied)
	if refused != nil {
		return refused
	}
	if tx.Issuer != at.issuer || tx.RedirectURI != at.redirectURI {
		return fail(OAuthCallback, fixedReason("the provider's issuer or address was changed since the attempt began"))
	}
	id, err := identify(tx)
	switch {
	case errors.Is(err, ErrAccessDenied), errors.Is(err, errDenied):
		return fail(AccessDenied, err)
	case err != nil:
		return fail(OAuthCallback, err)
	}
	id.callbackURL, id.linkTo, id.linkImplied = tx.CallbackURL, tx.LinkTo, tx.LinkImplied
	return id
}

// responseParam returns a parameter of a response, the first if it came twice,
// which a carries as an error.
func (rq *request) responseParam(a *authResponse, name string) string {
	if rq.body != nil {
		return rq.body.get(name)
	}
	all := rq.queryValues()[name]
	if len(all) == 0 {
		return ""
	}
	if len(all) > 1 {
		a.err = repeatedParamError(name)
	}
	return all[0]
}

// repeatedParamError names a parameter that came more than once (RFC 6749 §3.1).
type repeatedParamError string

func (e repeatedParamError) Error() string { return "parameter " + string(e) + " came twice" }
