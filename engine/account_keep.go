package engine

import (
	"cmp"
	"errors"
	"net/http"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/pages"
)

// keepPage handles GET account/keep, which asks whether to keep an account.
func (ac *accountRoom) keepPage(rq *request) outcome {
	v := pages.KeepView{CSRFToken: rq.ensureCSRF(), Kept: rq.query("done") == "kept", SignInURL: weburl.WithQuery(rq.base+"/signin", "callbackUrl", rq.callbackURL())}
	if v.Kept {
		return page{name: pages.Keep, view: v}
	}
	if token := rq.query("token"); token != "" {
		return ac.keepLinkPage(rq, v, token)
	}
	c, err := ac.desk.waiting(rq, keepPurpose)
	if err != nil {
		return rq.storeUnavailable(err)
	}
	if c == nil {
		return redirect{to: v.SignInURL}
	}
	u, err := ac.Adapter.GetUser(rq.ctx, c.UserID)
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return redirect{to: v.SignInURL}
	case err != nil:
		return rq.storeUnavailable(err)
	case u.DeleteAfter.IsZero(): // another browser kept it
		return redirect{to: v.SignInURL}
	}
	return askKeep(rq, v, u)
}

// askKeep returns the page that asks whether to keep the account of u.
func askKeep(rq *request, v pages.KeepView, u authsvc.User) outcome {
	v.Who, v.On, v.RequestID = cmp.Or(u.Email, u.Name, u.ID), u.DeleteAfter, rq.shownRequestID()
	if word := rq.query("error"); word != "" {
		v.Error = string(plainErrorCode(authsvc.ErrorCode(word)))
	}
	return page{name: pages.Keep, view: v}
}

// postKeep handles POST account/keep, which cancels the deletion of an account. It is
// the account of the mailed link's token or, without a token, of the session or, with
// pending=true or without a session, of the pending sign-in. leave=true gives up the
// pending sign-in and never keeps an account.
func (ac *accountRoom) postKeep(rq *request) outcome {
	token := rq.body.get("token")
	if !rq.csrfOK() {
		return rq.refuseOwnCSRF(weburl.WithQuery("/account/keep", "token", token))
	}
	if token != "" && rq.body.get("leave") != "true" {
		return ac.keepByLink(rq, token)
	}
	if rq.body.get("pending") != "true" && rq.body.get("leave") != "true" {
		s, err := ac.keeper.current(rq)
		if err != nil {
			return rq.storeUnavailable(err)
		}
		if s != nil {
			return ac.keepOf(rq, s)
		}
	}
	c, err := ac.desk.waiting(rq, keepPurpose)
	switch {
	case err != nil:
		return rq.storeUnavailable(err)
	case c == nil:
		return rq.signInFirst("/account")
	}
	rq.auditUser = c.UserID
	if refused := ac.desk.limitAccount(rq, c.UserID); refused != nil {
		return refused
	}
	ctx, cancel := fleet.Detached(rq.ctx, loginTimeout) // finishes even if the browser has gone
	defer cancel()
	rq.ctx = ctx
	err = ac.Adapter.DeleteCredential(rq.ctx, adapter.CredentialPending, c.ID, c.UserID, nil) // the request that deletes it continues
	if err == nil && rq.body.get("leave") != "true" {
		err = ac.cancelDeletion(rq.ctx, c.UserID, ac.mailing.byPerson(rq))
	}
	if err != nil && !errors.Is(err, adapter.ErrNotFound) {
		ac.desk.putBack(rq, c)
		return rq.storeUnavailable(err)
	}
	rq.expireCookie(ac.desk.pendingCookie, "")
	switch {
	case rq.body.get("leave") == "true":
		return withoutSession(rq, rq.origin)
	case err != nil:
		return rq.signInFirst("/account")
	}
	return withoutSession(rq, rq.base+keptPath)
}

// keptPath leads to the page that says that an account was kept.
const keptPath = "/account/keep?done=kept"

// withoutSession answers a POST of a browser that needs no session, and leads to an
// address.
func withoutSession(rq *request, to string) outcome {
	if rq.wantsJSON() {
		return object{v: map[string]any{"url": to, "account": nil}}
	}
	return redirect{to: to}
}

// keepOf keeps the account of a session.
func (ac *accountRoom) keepOf(rq *request, s *authsvc.Session) outcome {
	rq.auditUser = s.UserID
	if refused := ac.desk.limitAccount(rq, s.UserID); refused != nil {
		return refused
	}
	err := ac.cancelDeletion(rq.ctx, s.UserID, ac.mailing.byPerson(rq))
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return rq.storeUnavailable(err)
	}
	return ac.accountDone(rq, s, "kept")
}

// offerKeep lets this browser cancel the deletion for as long as a sign-in attempt
// waits. If that fails, the user can still cancel it by signing in.
func (ac *accountRoom) offerKeep(rq *request, u authsvc.User) {
	fresh, err := ac.Adapter.GetUser(rq.ctx, u.ID) // with the epoch that the deletion raised
	if err == nil && !fresh.DeleteAfter.IsZero() {
		err = ac.desk.putPending(rq, fresh, pendingSignIn{Purpose: keepPurpose})
	}
	if err != nil {
		ac.Log.Warn("cannot offer to cancel a deletion without a sign-in", "request", rq.requestID(), "err", err)
	}
}
