package authsvc

import (
	"cmp"
	"slices"

	"authsvc/internal/emailaddr"
	"authsvc/internal/pages"
	"authsvc/internal/weburl"
)

// signInPage: GET signin and GET signin/:provider show the ways to sign in.
// They never start one.
func signInPage(rq *request) outcome {
	code := plainErrorCode(ErrorCode(rq.query("error")))
	again := "" // from RequireFresh: what a session cannot do
	if rq.query("again") == "true" {
		again = "true"
	}
	if rq.custom.SignIn != "" {
		rq.keepCallbackURL()
		return redirect{to: weburl.WithQuery(rq.absolute(rq.custom.SignIn),
			"callbackUrl", rq.callbackURL(), "error", string(code), "request", rq.shownRequestID(), "again", again)}
	}
	if rq.query("csrf") == "true" {
		code = csrfMismatch
	}
	v := pages.SignInView{
		Error:     string(rq.spelled(code)),
		RequestID: rq.shownRequestID(),
		Email:     rq.query("email"),
	}
	if len(v.Email) > emailaddr.MaxLength {
		v.Email = ""
	}
	if s, err := rq.current(); err == nil && s != nil {
		if who := cmp.Or(s.Email, s.Name, s.UserID); again != "" {
			v.Again = who
		} else {
			v.SignedIn = who
		}
	}
	v.CSRFToken = rq.ensureCSRF()
	v.CallbackURL = rq.callbackURL()
	rq.keepCallbackURL()
	v.Providers = rq.providerViews()
	return page{name: pages.SignIn, view: v}
}

// providerViews lists the providers with the one used last marked.
func (rq *request) providerViews() []pages.Provider {
	views := slices.Clone(rq.views)
	last, _ := rq.jar.get(rq.names.lastProvider)
	for i := range views {
		views[i].LastUsed = views[i].ID == last
	}
	return views
}

// signIn: POST signin/:provider starts the flow of a provider.
func signIn(rq *request) outcome {
	if !rq.csrfOK() {
		return rq.csrfRefused("/signin")
	}
	rq.keepCallbackURL()
	if wait, ok := rq.permit(rq.limits.signIn, rq.clientKey()); !ok {
		return rq.limited(wait)
	}
	return rq.flow.begin(rq)
}

// csrfRefused sends the person back to the page with a fresh token.
func (rq *request) csrfRefused(path string) outcome {
	rq.ensureCSRF()
	rq.keepRequestedCallbackURL()
	rq.audit("csrf.refused", "", "token missing or not that of the cookie")
	return redirect{to: rq.base + path + "?csrf=true", status: rq.dialect.csrfRefusal}
}

// getProviders: GET providers lists {id, name, type, signinUrl, callbackUrl}.
func getProviders(rq *request) outcome { return object{raw: rq.providersJSON} }
