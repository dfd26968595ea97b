package authsvc

import (
	"cmp"
	"context"

	"authsvc/internal/pages"
)

// signOutPage: GET signout asks. It ends nothing.
func signOutPage(rq *request) outcome {
	if rq.custom.SignOut != "" {
		return redirect{to: rq.absolute(rq.custom.SignOut)}
	}
	v := pages.SignOutView{Error: rq.query("csrf") == "true", RequestID: rq.shownRequestID()}
	if s, err := rq.current(); err == nil && s != nil {
		v.Who = cmp.Or(s.Email, s.Name, s.UserID)
	}
	v.CSRFToken = rq.ensureCSRF()
	v.CallbackURL = rq.callbackURL()
	rq.keepCallbackURL()
	return page{name: pages.SignOut, view: v}
}

// signOut: POST signout ends the session wherever it lives. If the store
// cannot be asked the session may live on, and the person is told so.
func signOut(rq *request) outcome {
	if !rq.csrfOK() {
		return rq.csrfRefused("/signout")
	}
	rq.signsOut = true
	var ended *SignOutEvent
	if raw := rq.sessionCookie(); raw != "" {
		// The token is accepted: what it asks for is done, even if the browser
		// has gone away meanwhile.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(rq.ctx), loginTimeout)
		defer cancel()
		rq.ctx = ctx
		var err error
		if ended, err = rq.sessions.end(ctx, raw, rq.now); err != nil {
			return storeFailed(Configuration, err)
		}
		if ended != nil {
			e := AuditEvent{Name: "sign_out.succeeded"}
			e.UserID, e.Provider = ended.who()
			rq.note(e)
			rq.emit("signOut", func() { rq.events.SignOut(rq.ctx, *ended) }, rq.events.SignOut != nil)
		}
	}
	rq.clearSession()
	rq.rotateCSRF("", "")
	rq.callbackURL()
	rq.keepCallbackURL()
	if ended == nil {
		return redirect{to: rq.callbackURL()}
	}
	return redirect{to: rq.signOutAtProvider(ended)}
}
