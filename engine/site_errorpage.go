package engine

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text"
	"authsvc/internal/text/pages"
)

// csrfMismatch is a code of the sign-in page only. Addresses say ?csrf=true instead.
const csrfMismatch authsvc.ErrorCode = "csrf"

// onSignIn lists the codes that the sign-in page explains, so that the user can try
// again at once.
var onSignIn = []authsvc.ErrorCode{authsvc.CodeOAuthSignin, authsvc.CodeOAuthCallback, authsvc.CodeOAuthCreateAccount, authsvc.CodeEmailCreateAccount, authsvc.CodeCallback,
	authsvc.CodeOAuthAccountNotLinked, authsvc.CodeEmailSignin, authsvc.CodeCredentialsSignin, authsvc.CodeSessionRequired, "Signin"}

// plainErrorCode returns a code from a URL if it is short and plain, else "Default".
func plainErrorCode(code authsvc.ErrorCode) authsvc.ErrorCode {
	if len(code) > 40 || strings.ContainsFunc(string(code), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}) {
		return "Default"
	}
	return code
}

// errorURL returns the address of the page that explains a code about this request.
func (rq *request) errorURL(code authsvc.ErrorCode) string {
	if rq.stepUpUser != "" { // the user tries again on that page
		return weburl.WithQuery(rq.base+"/confirm", "error", string(code), "request", rq.requestID())
	}
	to := weburl.WithQuery(rq.base+"/error", "error", string(code))
	if code == authsvc.CodeCredentialsSignin {
		to = weburl.WithQuery(to, "provider", rq.providerID())
	}
	return weburl.WithQuery(to, "request", rq.requestID())
}

// errorPage answers GET error and GET error/:code. It explains a code, or leads to the
// page that does.
func errorPage(rq *request) outcome {
	code := authsvc.ErrorCode(rq.query("error"))
	if code == "" {
		code = authsvc.ErrorCode(rq.code)
	}
	code = plainErrorCode(code)
	id := rq.shownRequestID()
	reason, provider := rq.shownHint()
	if slices.Contains(onSignIn, code) {
		return redirect{to: weburl.WithQuery(rq.base+"/signin", "error", string(code), "request", id, "provider", provider, "reason", string(reason))}
	}
	if rq.custom.Error != "" {
		return redirect{to: weburl.WithQuery(rq.absolute(rq.custom.Error), "error", string(code), "request", id, "provider", provider, "reason", string(reason))}
	}
	return rq.errorView(rq.spelled(code), id)
}

// offerLink adds the form for another link to the error page, if the form leads to
// pages of ours: the policy of the page keeps forms from leading elsewhere.
func offerLink(rq *request, v *pages.ErrorView) {
	t := rq.typed()
	in := rq.linkProvider(t.Provider)
	if in.linkAge == 0 || rq.custom.SignIn != "" || rq.custom.VerifyRequest != "" {
		return
	}
	v.LinkAction, v.CSRFToken, v.CallbackURL = rq.base+"/signin/"+in.id, rq.ensureCSRF(), rq.callbackURL()
	if t.Provider == in.id {
		v.Email = t.Name
	}
}

// onPages lists all codes that a page explains.
var onPages = append([]authsvc.ErrorCode{authsvc.CodeConfiguration, authsvc.CodeAccessDenied, authsvc.CodeVerification, authsvc.CodeRateLimited, authsvc.CodeWrongCode}, onSignIn...)

// spelled returns the code as pages spell it.
func (rq *request) spelled(code authsvc.ErrorCode) authsvc.ErrorCode {
	if !rq.dialect.foldsErrors {
		return code
	}
	for _, known := range onPages {
		if strings.EqualFold(string(code), string(known)) {
			return known
		}
	}
	return code
}

// errorView returns the built-in error page for a code.
func (rq *request) errorView(code authsvc.ErrorCode, id string) page {
	v := pages.ErrorView{Code: string(code), RequestID: id,
		BackURL: rq.origin, SignInURL: rq.base + "/signin", RetryAfter: int((rq.retryAfter + time.Second - 1) / time.Second)}
	if code == authsvc.CodeVerification {
		offerLink(rq, &v)
	}
	if h, provider := rq.shownHint(); h != "" {
		v.Reason, v.Provider = string(h), rq.providerName(provider)
	}
	status := errorStatus(code)
	if hint(v.Reason) == hintUnavailable && code == authsvc.CodeConfiguration {
		status = http.StatusServiceUnavailable
	}
	return page{name: pages.Error, status: status, view: v}
}

// shownHint returns the hint that refusal added to an error code, and the id of the
// provider, which is "" if the store or a hook did not answer.
func (rq *request) shownHint() (h hint, provider string) {
	h, provider = hint(rq.query("reason")), rq.query("provider")
	ofService := h == hintUnavailable && provider == ""
	if rq.flows[provider] == nil && !ofService || !slices.Contains(hints, h) {
		return "", ""
	}
	return h, provider
}

// shownRequestID returns the id of the request that failed, which its redirect passed
// on. The id is shown only if it looks like ours.
func (rq *request) shownRequestID() string {
	id := rq.query("request")
	if len(id) != 12 || strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'f')
	}) {
		return ""
	}
	return id
}

// codeState returns what wrongCode passed to the page: the error code, and how many
// tries are left, "" if that is not known.
func codeState(rq *request) (code authsvc.ErrorCode, left string) {
	if rq.query("error") != string(authsvc.CodeWrongCode) {
		return "", ""
	}
	if left = rq.query("left"); len(left) != 1 || left < "0" || left > "4" {
		left = ""
	}
	return authsvc.CodeWrongCode, left
}

// linkProvider returns the provider of that id if it sends links, else the first
// provider that does.
func (st *site) linkProvider(id string) (in info) {
	if f := st.shownFlow(id); f != nil && f.info().linkAge > 0 {
		return f.info()
	}
	for _, v := range st.views {
		if in := st.flows[v.ID].info(); in.linkAge > 0 {
			return in
		}
	}
	return info{}
}

// logBeacon answers POST _log, to which next-auth/react reports. It changes nothing and
// writes one short line.
func logBeacon(rq *request) outcome {
	if _, ok := rq.beaconLimit.Allow(rq.clientKey(), rq.now); ok {
		rq.Log.Debug("reported by a browser", slog.Group("browser", // so that the browser's level is not taken for the line's own
			"level", text.Printable(rq.body.get("level"), 10), "code", text.Printable(rq.body.get("code"), 60), "message", text.Printable(rq.body.get("message"), 200)))
	}
	return noContent{200}
}

// errorStatus returns the HTTP status of the error page for a code.
func errorStatus(code authsvc.ErrorCode) int {
	switch code {
	case authsvc.CodeConfiguration:
		return http.StatusInternalServerError
	case authsvc.CodeAccessDenied, authsvc.CodeVerification:
		return http.StatusForbidden
	case authsvc.CodeRateLimited:
		return http.StatusTooManyRequests
	}
	return http.StatusOK
}
