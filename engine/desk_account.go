package engine

import (
	"context"
	"errors"
	"net/http"

	"authsvc"
)

// beginAccount is what every POST of the account page starts with: the token, the
// session and the limit. s is nil if the outcome refuses. From then on the
// request is finished even if its client goes away.
func (dk *desk) beginAccount(rq *request) (s *authsvc.Session, done func(), refused outcome) {
	if !rq.csrfOK() {
		return nil, nil, rq.refuseOwnCSRF("/account")
	}
	s, err := dk.keeper.current(rq)
	switch {
	case err != nil:
		return nil, nil, rq.accountAway(err)
	case s == nil:
		return nil, nil, rq.signInFirst("/account")
	}
	rq.auditUser = s.UserID
	if refused := dk.limitAccount(rq, s.UserID); refused != nil {
		return nil, nil, refused
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(rq.ctx), loginTimeout)
	rq.ctx = ctx
	return s, cancel, nil
}

// limitAccount counts a request that changes or exports an account; the outcome is
// nil, or refuses it.
func (dk *desk) limitAccount(rq *request, userID string) outcome {
	if wait, ok := rq.permit(dk.accountLimit, userID); !ok {
		rq.retryAfter = wait
		rq.audit("request.limited", authsvc.CodeRateLimited, "too many changes or exports of one account")
		return rq.refuseOwn("/account", authsvc.CodeRateLimited, http.StatusTooManyRequests)
	}
	return nil
}

// userOf is the stored user of a session; the refusal is nil, or says why there is none.
func (dk *desk) userOf(rq *request, s *authsvc.Session) (u authsvc.User, refused outcome) {
	u, err := dk.Adapter.GetUser(rq.ctx, s.UserID)
	switch {
	case errors.Is(err, authsvc.ErrNotFound): // one of the application's, who is not stored
		return u, rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return u, rq.accountAway(err)
	}
	return u, nil
}

// freshUser begins the page at path: it is the session, whose proof is fresh, and its
// user. The refusal is nil, or the answer instead of the page.
func (dk *desk) freshUser(rq *request, path string) (s *authsvc.Session, u authsvc.User, refused outcome) {
	s, err := dk.keeper.current(rq)
	switch {
	case err != nil:
		return nil, u, rq.accountAway(err)
	case s == nil:
		return nil, u, rq.signInFirst("/account")
	case !provedWithin(s, rq.now, dk.freshWithin):
		return nil, u, stepUpFirst(rq, rq.base+path, s)
	}
	u, refused = dk.userOf(rq, s)
	return s, u, refused
}

// accountBack is where a page of the application's own wants people to come back
// to, or the built-in one.
func accountBack(rq *request) string {
	if rq.body.get("callbackUrl") != "" {
		return rq.callbackURL()
	}
	return rq.base + "/account"
}
