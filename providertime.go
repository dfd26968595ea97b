package authsvc

import (
	"context"
	"time"
)

// providerTimeout bounds all that one request asks of a provider together, so
// that the person has an answer within 10 s whatever the provider does.
const providerTimeout = 9 * time.Second

// askProvider begins that time; what it returns ends it. What follows has times
// of its own.
func (rq *request) askProvider() (done func()) {
	whole := rq.ctx
	ctx, cancel := context.WithTimeout(whole, providerTimeout)
	rq.ctx = ctx
	return func() { cancel(); rq.ctx = whole }
}
