package authsvc

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// This is what the protocols that send a person away to a provider (OAuth 2,
// OAuth 1, OpenID 2.0) have in common: the attempt that is begun, and the one
// way back.

// providerTimeout bounds all that one request asks of a provider together, so
// that the person has an answer within 10 s whatever the provider does.
const providerTimeout = 9 * time.Second

// startProviderTimeout begins that time; what it returns ends it. What follows has times
// of its own.
func (rq *request) startProviderTimeout() (done func()) {
	whole := rq.ctx
	ctx, cancel := context.WithTimeout(whole, providerTimeout)
	rq.ctx = ctx
	return func() { cancel(); rq.ctx = whole }
}

// A remote is a provider elsewhere, as an attempt is bound to it.
type remote struct {
	id          string
	issuer      string // or the address that stands for it
	redirectURI string
}

// newAttempt notes what the person wants and, unless this is a plain sign-in,
// whose user is to get the identity.
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

// notPrefetched: what a load without a person would use up.
var notPrefetched = problem{status: http.StatusServiceUnavailable, text: "not to be prefetched"}

// An authResponse is what a provider sent back through the browser. How it is
// read depends on the protocol, what becomes of it does not.
type authResponse struct {
	state  string
	denied bool  // nothing was granted
	err    error // it is malformed
}

// errDenied is why identify has nobody to name.
var errDenied = fixedReason("the person or the provider said no")

// finishAttempt uses up the attempt that a response belongs to, and asks
// identify, which knows the protocol, who the person is.
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
