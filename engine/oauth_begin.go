package engine

import (
	"net/url"
	"strconv"
	"time"

	"authsvc"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/seal"
)

// forwardedParams are the query parameters of POST signin/:provider that reach the
// authorization request. The browser must not set parameters that decide where a code
// goes or what it is bound to.
var forwardedParams = []string{"login_hint", "prompt", "ui_locales", "hd", "domain_hint", "acr_values", "max_age", "screen_hint"}

// initiatedParams are the parameters of GET signin/:provider that reach the authorization
// request (OpenID Connect Core §4).
var initiatedParams = []string{"login_hint"}

// maxForwarded limits a forwarded parameter, in bytes. A longer one is left out.
const maxForwarded = 512

// begin starts an attempt for the caller's parameters.
func (f *oauthFlow) begin(rq *request) outcome {
	tx, out := f.room.desk.newAttempt(rq, f.remote())
	if out != nil {
		return out
	}
	var caller map[string]string
	names := forwardedParams
	if rq.body == nil { // the provider, or anyone who poses as the provider, began it
		names = initiatedParams
	}
	for _, name := range names {
		if s := rq.query(name); s != "" && len(s) <= maxForwarded {
			if caller == nil {
				caller = map[string]string{}
			}
			caller[name] = s
		}
	}
	tx.keepParams(caller)
	return f.ask(rq, tx, caller)
}

// ask redirects to the provider with the Authorization Request (RFC 6749 §4.1.1,
// OpenID Connect Core §3.1.2.1).
func (f *oauthFlow) ask(rq *request, tx *transaction, caller map[string]string) outcome {
	defer startProviderTimeout(rq)()
	params := f.params(caller, tx)
	var err error
	if tx.MaxAge, err = requestedMaxAge(params); err != nil {
		return fail(authsvc.CodeOAuthSignin, err)
	}
	ask := oidc.AuthRequest{RedirectURI: f.redirectURI, Scope: f.Scope, ResponseMode: f.ResponseMode, Params: params,
		Fragment: f.AuthorizationFragment}
	if f.Hooks.Authorize != nil {
		ask.Change = func(q url.Values) error {
			_, err := callHook(rq, "Authorize", func() (struct{}, error) { f.Hooks.Authorize(q); return struct{}{}, nil })
			return err
		}
	}
	if f.pkce {
		tx.Verifier = seal.Token()
		ask.CodeChallenge = seal.Digest(tx.Verifier) // S256 (RFC 7636 §4.2)
	}
	if f.nonce {
		tx.Nonce = seal.Token()
		ask.Nonce = tx.Nonce
	}
	if err := f.room.desk.startTx(rq, tx); err != nil {
		return err
	}
	if f.state {
		ask.State = tx.State
	}
	to, err := f.oidc.AuthorizationURL(rq.ctx, ask)
	if err != nil {
		rq.expireCookie(f.room.desk.txName(tx.State), "")
		return fail(authsvc.CodeOAuthSignin, f.explain(err))
	}
	return redirect{to: to}
}

// requestedMaxAge returns the max_age of an authorization request, or nil if it has
// none. The attempt seals the value, so the client cannot drop it at the return.
func requestedMaxAge(params url.Values) (*int64, error) {
	if !params.Has("max_age") {
		return nil, nil
	}
	seconds, err := parseMaxAge(params.Get("max_age"))
	return &seconds, err
}

// parseMaxAge parses a number of seconds.
func parseMaxAge(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, errMaxAge
	}
	return int64(n), nil
}

// maxAge returns how old auth_time may be now: the requested age, which the provider
// applied at the start of the attempt, plus the time since. It returns 0 if no age was
// requested.
//
// https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation
func (tx *transaction) maxAge(now time.Time) time.Duration {
	if tx.MaxAge == nil {
		return 0
	}
	start := time.Unix(tx.Expires, 0).Add(-txLifetime)
	return max(time.Duration(*tx.MaxAge)*time.Second+now.Sub(start), 1)
}

// maxKeptParams limits the parameters that an attempt keeps for a second request, in
// bytes.
const maxKeptParams = 512

// keepParams keeps the caller's parameters in the attempt, so that a second request is
// the same as the first. If they are too long for a cookie, there is no second request.
func (tx *transaction) keepParams(caller map[string]string) {
	size := 0
	for name, s := range caller {
		size += len(name) + len(s)
	}
	if tx.Params = caller; size > maxKeptParams {
		tx.Params, tx.Repeated = nil, true
	}
}

// repeat begins an attempt again, with the same request. The attempt has been used up;
// the new one has its own state, and is not begun again.
func (f *oauthFlow) repeat(rq *request, tx transaction, why refusalText) outcome {
	f.room.desk.Log.Info("the provider's sign-in page expired; the sign-in begins again",
		"provider", f.ID, "request", rq.requestID(), "cause", why.String())
	tx.Repeated, tx.CallbackIs = true, ""
	return f.ask(rq, &tx, tx.Params)
}

// params returns the operator's parameters and the ones that the caller added.
func (f *oauthFlow) params(caller map[string]string, tx *transaction) url.Values {
	v := url.Values{}
	for name, s := range caller {
		v.Set(name, s)
	}
	for name, s := range f.AuthorizationParams {
		v.Set(name, s)
	}
	if (tx.StepUpUser != "" || tx.Again) && f.wire.reauthenticates {
		v.Set("prompt", "login")
		v.Set("max_age", "0")
	}
	return v
}
