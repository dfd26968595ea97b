package authsvc

import (
	"context"
	"net/http"
	"time"

	"authsvc/internal/oidc"
)

// signOutReturnPath is where a provider sends the browser after its sign-out.
// It is registered there as the post-logout redirect URI, below the base.
const signOutReturnPath = "/signout/return"

// signOutWait bounds what a sign-out waits for to be able to go on at the
// provider: the account, and the provider's metadata.
const signOutWait = 3 * time.Second

// A signOuter is a flow whose provider has a session of its own to end.
type signOuter interface {
	// signOutURL is where the browser goes for that, "" if it is not wanted.
	signOutURL(ctx context.Context, r oidc.LogoutRequest) (string, error)
}

// signOutURL: RP-Initiated Logout, if the provider is configured for it.
func (f *oauthFlow) signOutURL(ctx context.Context, r oidc.LogoutRequest) (string, error) {
	if !f.LogoutAtProvider {
		return "", nil
	}
	return f.party.LogoutURL(ctx, r)
}

// signOutAtProvider is where a browser goes whose session ended: to the
// provider that the session came from and back, or, if that one has no part in
// it or cannot be asked, straight to the callbackUrl. The person is signed out
// here either way.
func (rq *request) signOutAtProvider(ended *SignOutEvent) string {
	userID, provider := ended.who()
	flow, ok := rq.flows[provider].(signOuter)
	if !ok {
		return rq.callbackURL()
	}
	ctx, cancel := context.WithTimeout(rq.ctx, signOutWait)
	defer cancel()
	tx := &transaction{RedirectURI: rq.base + signOutReturnPath, CallbackURL: rq.callbackURL()}
	ask := oidc.LogoutRequest{RedirectURI: tx.RedirectURI}
	to, err := flow.signOutURL(ctx, ask)
	if err == nil && to == "" {
		return rq.callbackURL()
	}
	if err == nil {
		err = rq.beginSignOut(tx)
	}
	if err == nil {
		ask.State, ask.IDToken = tx.State, rq.idTokenHint(ctx, userID, provider)
		to, err = flow.signOutURL(ctx, ask)
	}
	if err != nil {
		rq.log.Warn("the sign-out could not go on at the provider", "provider", provider, "request", rq.requestID(), "cause", err)
		return rq.callbackURL()
	}
	return to
}

// beginSignOut sets the cookie that the return is checked against. A
// transaction without provider is a sign-out and no sign-in.
func (rq *request) beginSignOut(tx *transaction) error {
	if refused := rq.startTx(tx); refused != nil {
		return refused
	}
	return nil
}

// idTokenHint is the ID token of the user's only account at a provider; of
// several it is not known which one the session came from.
func (rq *request) idTokenHint(ctx context.Context, userID, provider string) string {
	if rq.adapter == nil {
		return ""
	}
	a, err := rq.account(ctx, userID, provider, "")
	if err != nil {
		rq.log.Info("the provider is told of a sign-out without an ID token", "provider", provider, "request", rq.requestID(), "cause", err)
		return ""
	}
	return a.IDToken
}

// who tells whose session ended and by which provider it began.
func (e *SignOutEvent) who() (userID, provider string) {
	if e.Session != nil {
		return e.Session.UserID, e.Session.Provider
	}
	return text(e.Claims["sub"]), text(e.Claims["provider"])
}

// signOutReturn: GET signout/return ends a sign-out that went on at the
// provider. There is nothing to undo if the state is not right; the person is
// only not led to where somebody else may have wished.
func signOutReturn(rq *request) outcome {
	if isPrefetch(rq.r.Header) {
		return problem{status: http.StatusServiceUnavailable, text: "not to be prefetched"}
	}
	tx, refused := rq.finishTx(rq.query("state")) // of a transaction without provider, as there is none in the path
	if refused == nil {
		return redirect{to: tx.CallbackURL}
	}
	rq.log.Info("return of a sign-out without its state", "request", rq.requestID(), "cause", refused)
	rq.audit("sign_out.return_refused", "", "the state is not one of this browser's")
	return redirect{to: rq.origin}
}
