package engine

import (
	"context"
	"errors"
	"time"

	"authsvc"
	"authsvc/internal/protocol/outbound"
)

// refusal returns the audit event and the reason for an error of a callback. by is the
// reason of an error without one.
func refusal(err error, by string) (event, reason string) {
	event = "sign_in.refused"
	var r *authsvc.Refusal
	var n notAllowedError
	switch {
	case errors.Is(err, errBlocked):
		return event, "blocked"
	case errors.As(err, &n):
		return event, because("by the sign-in conditions", n.shape)
	case errors.Is(err, errNotInvited):
		return event, "not invited"
	case errors.Is(err, errForeignDomain):
		return event, "no proved address in a sign-up domain"
	case errors.As(err, &r):
		if by = r.Reason; r.Failed {
			event = "sign_in.failed"
		}
	}
	return event, by
}

// refuseSignIn audits a callback's refusal of a sign-in and answers it.
func refuseSignIn(rq *request, err error, by string) outcome {
	event, reason := refusal(err, by)
	rq.audit(event, authsvc.CodeAccessDenied, reason, err)
	return fail(authsvc.CodeAccessDenied, err)
}

// attempt completes the data of a sign-in that callbacks receive.
func attempt(rq *request, a authsvc.SignInAttempt) authsvc.SignInAttempt {
	a.EmailProved = a.EmailProved || !a.User.EmailVerified.IsZero()
	a.Client, a.Time = rq.client(), rq.now
	return a
}

// callbackContext returns the request's context with the budget of time that the
// request may wait for others.
func (rq *request) callbackContext() context.Context {
	if rq.waitsSince.IsZero() {
		rq.waitsSince = time.Now()
	}
	return outbound.WithBudget(rq.ctx, rq.waitsSince.Add(providerTimeout))
}

const storeTimeout = 5 * time.Second // one call of the store

// loginTimeout limits the time of login: all its calls of the store and of the
// application's callbacks.
const loginTimeout = 30 * time.Second

// providerTimeout limits the total time of one request's calls to a provider, so that
// the user gets an answer within 10 s whatever the provider does.
const providerTimeout = 9 * time.Second
