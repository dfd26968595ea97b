package engine

import (
	"context"
	"errors"
	"time"

	"authsvc"
	"authsvc/internal/protocol/outbound"
)

// refusal is the event and the reason for an error of a callback, which otherwise
// is what by says.
func refusal(err error, by string) (event, reason string) {
	event = "sign_in.refused"
	var r *authsvc.Refusal
	switch {
	case errors.Is(err, errBlocked):
		return event, "blocked"
	case errors.Is(err, errNotAllowed):
		return event, "by the conditions of sign-in"
	case errors.Is(err, errNotInvited):
		return event, "not invited"
	case errors.Is(err, errForeignDomain):
		return event, "no proved address in a domain of sign-up"
	case errors.As(err, &r):
		if by = r.Reason; r.Failed {
			event = "sign_in.failed"
		}
	}
	return event, by
}

// refuseSignIn audits and answers the refusal of a callback.
func refuseSignIn(rq *request, err error, by string) outcome {
	event, reason := refusal(err, by)
	rq.audit(event, authsvc.CodeAccessDenied, reason)
	return fail(authsvc.CodeAccessDenied, err)
}

// attempt completes what callbacks are told about a sign-in.
func attempt(rq *request, a authsvc.SignInAttempt) authsvc.SignInAttempt {
	a.EmailProved = a.EmailProved || !a.User.EmailVerified.IsZero()
	a.Client, a.Time = rq.client(), rq.now
	return a
}

// callbackContext is that of the request, with the end of the time that it may wait
// for others.
func (rq *request) callbackContext() context.Context {
	if rq.waitsSince.IsZero() {
		rq.waitsSince = time.Now()
	}
	return outbound.WithBudget(rq.ctx, rq.waitsSince.Add(providerTimeout))
}

const storeTimeout = 5 * time.Second // one call of the store

// loginTimeout bounds login: the calls of the store and of the application's
// callbacks.
const loginTimeout = 30 * time.Second

// providerTimeout bounds all that one request asks of a provider together, so
// that the person has an answer within 10 s whatever the provider does.
const providerTimeout = 9 * time.Second
