package engine

import (
	"net/http"
	"time"

	"authsvc"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/pages"
)

// retryAfter is the Retry-After of the account while the store does not answer.
const retryAfter = 5 * time.Second

// refusedTo refuses the request of a script with the code and the address of the page
// that explains it or continues from it.
func refusedTo(to string, code authsvc.ErrorCode, status int) outcome {
	return object{v: map[string]string{"url": to, "error": string(code)}, status: status}
}

// refuseOwn refuses a change or a file. People get the page again, with the code.
func (rq *request) refuseOwn(path string, code authsvc.ErrorCode, status int) outcome {
	to := weburl.WithQuery(rq.base+path, "error", string(code), "request", rq.requestID())
	if rq.wantsJSON() || rq.wantsData() {
		return refusedTo(to, code, status)
	}
	return redirect{to: to}
}

// refuseOwnCSRF refuses a POST without the token. The answer is the same in all modes,
// since NextAuth.js has none of these routes.
func (rq *request) refuseOwnCSRF(path string) outcome {
	rq.ensureCSRF()
	rq.audit("csrf.refused", "", "token missing or does not match the cookie")
	return rq.refuseOwn(path, csrfMismatch, http.StatusForbidden)
}

// signInFirst answers a request of a user who is not signed in. The sign-in leads back
// to path.
func (rq *request) signInFirst(path string) outcome {
	to := weburl.WithQuery(rq.base+"/signin", "callbackUrl", rq.base+path)
	if rq.wantsJSON() || rq.wantsData() {
		return refusedTo(to, authsvc.CodeSessionRequired, http.StatusUnauthorized)
	}
	return redirect{to: to}
}

// storeUnavailable answers while the store does not answer.
func (rq *request) storeUnavailable(err error) outcome {
	rq.Log.Error("cannot read or change the account", "request", rq.requestID(), "err", err)
	rq.retryAfter = retryAfter
	if rq.wantsJSON() || rq.wantsData() {
		return refusedTo(rq.base+"/account", authsvc.CodeUnavailable, http.StatusServiceUnavailable)
	}
	v := pages.ErrorView{Code: string(authsvc.CodeUnavailable), RequestID: rq.requestID(), BackURL: rq.origin, SignInURL: rq.base + "/account"}
	return page{name: pages.Error, status: http.StatusServiceUnavailable, view: v}
}
