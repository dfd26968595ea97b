package engine

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"authsvc"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/pages"
)

// signOutPage: GET signout asks. It ends nothing.
func (dk *desk) signOutPage(rq *request) outcome {
	if rq.custom.SignOut != "" {
		return redirect{to: rq.absolute(rq.custom.SignOut)}
	}
	v := pages.SignOutView{Error: rq.query("csrf") == "true", RequestID: rq.shownRequestID()}
	if s, err := dk.keeper.current(rq); err == nil && s != nil {
		v.Who = cmp.Or(s.Email, s.Name, s.UserID)
	}
	v.CSRFToken = rq.ensureCSRF()
	v.CallbackURL = rq.callbackURL()
	rq.keepCallbackURL()
	return page{name: pages.SignOut, view: v}
}

// signOut: POST signout ends the session wherever it is stored. If the store
// fails, the session may still be valid, and the answer is an error.
func (dk *desk) signOut(rq *request) outcome {
	if !rq.csrfOK() {
		return rq.csrfRefused("/signout")
	}
	rq.signsOut = true
	var ended *authsvc.SignOutEvent
	if raw := rq.sessionCookieValue(); raw != "" {
		// The token is accepted: what it asks for is done, even if the browser
		// has gone away meanwhile.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(rq.ctx), loginTimeout)
		defer cancel()
		rq.ctx = ctx
		var err error
		if ended, err = dk.keeper.sessions.end(ctx, raw, rq.now); err != nil {
			return storeFailed(authsvc.CodeConfiguration, err)
		}
		if ended != nil {
			e := authsvc.AuditEvent{Name: "sign_out.succeeded"}
			e.UserID, e.Provider = whoseEnded(ended)
			rq.note(e)
			if dk.Events.SignOut != nil {
				dk.fleet.Emit("signOut", func() { dk.Events.SignOut(rq.ctx, *ended) })
			}
		}
	}
	rq.clearSession()
	dk.rotateCSRF(rq, "", "")
	rq.callbackURL()
	rq.keepCallbackURL()
	if ended == nil {
		return redirect{to: rq.callbackURL()}
	}
	return redirect{to: dk.signOutAtProvider(rq, ended)}
}

// signOutReturnPath is where a provider sends the browser after its sign-out.
// It is registered there as the post-logout redirect URI, below the base.
const signOutReturnPath = "/signout/return"

// providerSignOutTimeout bounds what a sign-out waits for to be able to go on
// at the provider: the account, and the provider's metadata.
const providerSignOutTimeout = 3 * time.Second

// A signOuter is a flow whose provider has a session of its own to end.
type signOuter interface {
	// signOut is how the browser does that; with no URL it is not wanted. The
	// ID token is asked for if it is.
	signOut(ctx context.Context, r oidc.LogoutRequest, idToken func() string) (oidc.Logout, error)
}

// signOutAtProvider is where a browser goes whose session ended: to the
// provider that the session came from and back, or, if that one has no part in
// it or cannot be asked, straight to the callbackUrl. The person is signed out
// here either way.
func (dk *desk) signOutAtProvider(rq *request, ended *authsvc.SignOutEvent) string {
	tx := &transaction{RedirectURI: rq.base + signOutReturnPath, CallbackURL: rq.callbackURL()}
	tx.EndedUser, tx.EndedAt = whoseEnded(ended)
	dk.makeState(rq, tx)
	to := dk.providerLogout(rq, tx)
	if to.URL == "" {
		return tx.CallbackURL
	}
	if refused := dk.keepTx(rq, tx); refused != nil { // the return is checked against it
		dk.logNoProviderSignOut(rq, tx, refused)
		return tx.CallbackURL
	}
	if to.Fields != nil {
		return weburl.WithQuery(rq.base+signOutPostPath, "state", tx.State)
	}
	return to.URL
}

// providerLogout is how the sign-out goes on at the provider, with no URL if it
// does not.
func (dk *desk) providerLogout(rq *request, tx *transaction) oidc.Logout {
	flow, ok := rq.flows[tx.EndedAt].(signOuter)
	if !ok {
		return oidc.Logout{}
	}
	ctx, cancel := context.WithTimeout(rq.ctx, providerSignOutTimeout)
	defer cancel()
	ask := oidc.LogoutRequest{RedirectURI: tx.RedirectURI, State: tx.State}
	to, err := flow.signOut(ctx, ask, func() string { return dk.idTokenHint(rq, ctx, tx.EndedUser, tx.EndedAt) })
	if err != nil {
		dk.logNoProviderSignOut(rq, tx, err)
		return oidc.Logout{}
	}
	return to
}

// logNoProviderSignOut logs why a sign-out does not go on at the provider.
func (dk *desk) logNoProviderSignOut(rq *request, tx *transaction, cause error) {
	dk.Log.Warn("the sign-out could not go on at the provider", "provider", tx.EndedAt, "request", rq.requestID(), "cause", cause)
}

// idTokenHint is the ID token of the user's only account at a provider; of
// several it is not known which one the session came from.
func (dk *desk) idTokenHint(rq *request, ctx context.Context, userID, provider string) string {
	a, _, err := dk.vault.account(ctx, userID, provider, "")
	if err != nil {
		dk.Log.Info("the provider is told of a sign-out without an ID token", "provider", provider, "request", rq.requestID(), "cause", err)
		return ""
	}
	return a.IDToken
}

// auditFields returns whose session ended and by which provider it began.
func whoseEnded(e *authsvc.SignOutEvent) (userID, provider string) {
	if e.Session != nil {
		return e.Session.UserID, e.Session.Provider
	}
	return textOf(e.Claims["sub"]), textOf(e.Claims["provider"])
}

// signOutReturn: GET signout/return ends a sign-out that went on at the
// provider. There is nothing to undo if the state is not right; the person is
// only not led to where somebody else may have wished.
func (dk *desk) signOutReturn(rq *request) outcome {
	if isPrefetch(rq.r.Header) {
		return notPrefetched
	}
	tx, refused := dk.finishTx(rq, rq.query("state"), false) // of a transaction without provider, as there is none in the path
	if refused == nil {
		return redirect{to: tx.CallbackURL}
	}
	return dk.signOutUnknown(rq, refused)
}

// signOutUnknown answers a request about a sign-out that this browser is not
// known to have begun.
func (dk *desk) signOutUnknown(rq *request, refused *authError) outcome {
	if rq.audit("sign_out.return_refused", "", "the state is not one of this browser's") {
		dk.Log.Info("step of a sign-out without its state", "request", rq.requestID(), "cause", refused)
	}
	return redirect{to: rq.origin}
}

// signOutPostPath is the page that posts a sign-out to the provider. It is
// below the base.
const signOutPostPath = "/signout/provider"

// signOutPost: GET signout/provider is a page that posts the ID token to the
// provider, if the token has personal claims: in the address of a GET they would
// get into browser histories and request logs. The page can be loaded again; the
// sign-out ends at signout/return.
func (dk *desk) signOutPost(rq *request) outcome {
	h := rq.r.Header
	switch {
	case isPrefetch(h):
		return notPrefetched
	case !isNavigation(h): // a script of the origin would read the token, a frame would hide the page
		rq.audit("sign_out.return_refused", "", "not asked for as a page of its own")
		return problem{status: http.StatusForbidden, text: "to be opened as a page of its own"}
	}
	tx, refused := dk.findTx(rq, rq.query("state"))
	if refused != nil {
		return dk.signOutUnknown(rq, refused)
	}
	switch to := dk.providerLogout(rq, tx); {
	case to.URL == "":
		return redirect{to: tx.CallbackURL}
	case to.Fields == nil: // the account or its ID token is gone
		return redirect{to: to.URL}
	default:
		return page{name: pages.SignOutProvider, view: pages.SignOutProviderView{Action: to.URL, Fields: to.Fields}}
	}
}
