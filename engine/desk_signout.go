package engine

import (
	"context"
	"net/http"
	"time"

	"authsvc"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/pages"
)

// signOutPage serves GET signout. It asks for confirmation and ends nothing. A person who
// is not signed in is told so, unless that is not certain or NextAuth.js would ask.
func (dk *desk) signOutPage(rq *request) outcome {
	if rq.custom.SignOut != "" {
		return redirect{to: rq.absolute(rq.custom.SignOut)}
	}
	v := pages.SignOutView{Error: rq.query("csrf") == "true", RequestID: rq.shownRequestID(), CallbackURL: rq.callbackURL()}
	rq.keepCallbackURL()
	switch s, err := dk.keeper.current(rq); {
	case s != nil:
		v.Who = nameOf(s)
	case err == nil && !rq.unknownKey && !rq.dialect.asksSignOut: // otherwise there may be a session
		v.SignInURL = rq.base + "/signin"
		return page{name: pages.SignOut, view: v}
	}
	v.CSRFToken = rq.ensureCSRF()
	return page{name: pages.SignOut, view: v}
}

// signOut serves POST signout and ends the session wherever it is stored. If the store
// fails, the session may still be valid, so the answer is an error.
func (dk *desk) signOut(rq *request) outcome {
	if !rq.csrfOK() {
		return rq.csrfRefused("/signout")
	}
	rq.signsOut = true
	var ended *authsvc.SignOutEvent
	if raw := rq.sessionCookieValue(); raw != "" {
		// The token is accepted: the sign-out is done even if the browser disconnects
		// meanwhile.
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

// signOutReturnPath is where a provider sends the browser after its sign-out. It is
// relative to the base and must be registered there as the post-logout redirect URI.
const signOutReturnPath = "/signout/return"

// providerSignOutTimeout limits how long a sign-out waits for the account and the
// provider's metadata, which it needs to continue at the provider.
const providerSignOutTimeout = 3 * time.Second

// A signOuter is a flow whose provider has its own session to end.
type signOuter interface {
	// signOut returns how the browser ends that session. An empty URL means that it is
	// not wanted. signOut calls idToken only if it needs the ID token.
	signOut(ctx context.Context, r oidc.LogoutRequest, idToken func() string) (oidc.Logout, error)
}

// signOutAtProvider returns where the browser goes after its session has ended. It goes
// to the provider that the session came from, and from there back. If that provider
// does not take part or cannot be asked, the browser goes straight to the callback URL.
// The person is signed out here either way.
func (dk *desk) signOutAtProvider(rq *request, ended *authsvc.SignOutEvent) string {
	tx := &transaction{RedirectURI: rq.base + signOutReturnPath, CallbackURL: rq.callbackURL()}
	tx.EndedUser, tx.EndedAt = whoseEnded(ended)
	dk.makeState(rq, tx)
	to := dk.providerLogout(rq, tx)
	if to.URL == "" {
		return tx.CallbackURL
	}
	if refused := dk.keepTx(rq, tx); refused != nil { // the return is checked against this cookie
		dk.logNoProviderSignOut(rq, tx, refused)
		return tx.CallbackURL
	}
	if to.Fields != nil {
		return weburl.WithQuery(rq.base+signOutPostPath, "state", tx.State)
	}
	return to.URL
}

// providerLogout returns how the sign-out continues at the provider. The URL is empty
// if it does not.
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

// logNoProviderSignOut logs why a sign-out does not continue at the provider.
func (dk *desk) logNoProviderSignOut(rq *request, tx *transaction, cause error) {
	dk.Log.Warn("cannot continue the sign-out at the provider", "provider", tx.EndedAt, "request", rq.requestID(), "cause", cause)
}

// idTokenHint returns the ID token of the user's only account at a provider. If there
// are several, it is not known which one the session came from.
func (dk *desk) idTokenHint(rq *request, ctx context.Context, userID, provider string) string {
	a, _, err := dk.vault.account(ctx, userID, provider, "")
	if err != nil {
		dk.Log.Info("the provider is told of a sign-out without an ID token", "provider", provider, "request", rq.requestID(), "cause", err)
		return ""
	}
	return a.IDToken
}

// whoseEnded returns the user whose session ended and the provider that it began with.
func whoseEnded(e *authsvc.SignOutEvent) (userID, provider string) {
	if e.Session != nil {
		return e.Session.UserID, e.Session.Provider
	}
	return textOf(e.Claims["sub"]), textOf(e.Claims["provider"])
}

// signOutReturn serves GET signout/return, which ends a sign-out that continued at the
// provider. If the state is wrong, there is nothing to undo; the person is only not led
// to an address that an attacker may have chosen.
func (dk *desk) signOutReturn(rq *request) outcome {
	if isPrefetch(rq.r.Header) {
		return notPrefetched
	}
	tx, refused := dk.finishTx(rq, rq.query("state"), false) // the transaction has no provider: the path does not name one
	if refused == nil {
		return redirect{to: tx.CallbackURL}
	}
	return dk.signOutUnknown(rq, refused)
}

// signOutUnknown answers a request about a sign-out that this browser is not known to
// have begun.
func (dk *desk) signOutUnknown(rq *request, refused *authError) outcome {
	if rq.audit("sign_out.return_refused", "", "the state does not belong to this browser", refused) {
		dk.Log.Info("a step of a sign-out came without a valid state", "request", rq.requestID(), "cause", refused)
	}
	return redirect{to: rq.origin}
}

// signOutPostPath is the path, relative to the base, of the page that posts a sign-out
// to the provider.
const signOutPostPath = "/signout/provider"

// signOutPost serves GET signout/provider. If the ID token has personal claims, the
// page posts it to the provider: in the address of a GET, the claims would get into
// browser histories and request logs. The page can be loaded again; the sign-out ends
// at signout/return.
func (dk *desk) signOutPost(rq *request) outcome {
	h := rq.r.Header
	switch {
	case isPrefetch(h):
		return notPrefetched
	case !isNavigation(h): // a script of the origin would read the token; a frame would hide the page
		rq.audit("sign_out.return_refused", "", "not requested as a top-level page")
		return problem{status: http.StatusForbidden, text: "open this address as a top-level page"}
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
