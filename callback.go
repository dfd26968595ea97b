package authsvc

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// callback: GET and POST callback/:provider end a flow. Only an identity goes
// on to login; everything else a flow answers is final.
func callback(rq *request) outcome {
	foreign := rq.r.Method == http.MethodPost && rq.flow.info().formPost && rq.body.get("repost") != "1"
	if rq.r.Method == http.MethodPost && !foreign && !rq.sameSite() {
		return rq.refusedCrossSite()
	}
	out := rq.flow.complete(rq)
	id, ok := out.(identity)
	if !ok {
		return out
	}
	// The proof is spent: what follows is done as a whole, even if the browser
	// has gone away meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(rq.ctx), loginTimeout)
	defer cancel()
	rq.ctx = ctx
	return rq.login(id)
}

// loginTimeout bounds the tail of a sign-in: the store's steps and the
// application's callbacks.
const loginTimeout = 30 * time.Second

// isPrefetch recognises loads that no person asked for yet.
func isPrefetch(h http.Header) bool {
	return h.Get("Sec-Purpose") != "" || h.Get("Purpose") != "" || h.Get("X-Moz") != ""
}

// errStore marks failures of the store: the answer to scripts is 503.
var errStore = errors.New("the store could not be asked")

// storeFailed wraps an adapter's error under the wire word code.
func storeFailed(code ErrorCode, err error) *Error {
	return fail(code, errors.Join(errStore, err))
}
