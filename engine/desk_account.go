package engine

import (
	"context"
	"errors"
	"net/http"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/limit"
)

// beginAccount starts every POST of the account page: it checks the CSRF token, the
// session and the rate limit. If refused is not nil, s is nil. From then on, the
// request finishes even if its client disconnects.
func (dk *desk) beginAccount(rq *request) (s *authsvc.Session, done func(), refused outcome) {
	if !rq.csrfOK() {
		return nil, nil, rq.refuseOwnCSRF("/account")
	}
	s, err := dk.keeper.current(rq)
	switch {
	case err != nil:
		return nil, nil, rq.storeUnavailable(err)
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

// limitAccount counts a request that changes an account. It returns nil, or the answer
// that refuses the request.
func (dk *desk) limitAccount(rq *request, userID string) outcome {
	return limitUser(rq, dk.accountLimit, userID, "too many changes of one account")
}

// limitUser counts a request of a user. It returns nil, or the answer that refuses the
// request for the reason why.
func limitUser(rq *request, l *limit.Limiter, userID, why string) outcome {
	if wait, ok := rq.permit(l, userID); !ok {
		rq.retryAfter = wait
		rq.audit("request.limited", authsvc.CodeRateLimited, why)
		return rq.refuseOwn("/account", authsvc.CodeRateLimited, http.StatusTooManyRequests)
	}
	return nil
}

// userOf returns the stored user of a session. If there is none, refused is the answer.
func (dk *desk) userOf(rq *request, s *authsvc.Session) (u authsvc.User, refused outcome) {
	u, err := dk.Adapter.GetUser(rq.ctx, s.UserID)
	switch {
	case errors.Is(err, adapter.ErrNotFound): // a user of the application who is not stored
		return u, rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return u, rq.storeUnavailable(err)
	}
	return u, nil
}

// freshUser begins the page at path. It returns the session, which has a fresh proof,
// and its user. If refused is not nil, it is the answer instead of the page.
func (dk *desk) freshUser(rq *request, path string) (s *authsvc.Session, u authsvc.User, refused outcome) {
	s, err := dk.keeper.current(rq)
	switch {
	case err != nil:
		return nil, u, rq.storeUnavailable(err)
	case s == nil:
		return nil, u, rq.signInFirst("/account")
	case !provedWithin(s, rq.now, dk.freshWithin):
		return nil, u, stepUpFirst(rq, rq.base+path, s)
	}
	u, refused = dk.userOf(rq, s)
	return s, u, refused
}

// accountBack returns the address to which people return: the callback URL of the
// application's own page, or the built-in account page.
func accountBack(rq *request) string {
	if rq.body.get("callbackUrl") != "" {
		return rq.callbackURL()
	}
	return rq.base + "/account"
}
