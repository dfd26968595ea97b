package authsvc

import (
	"net/http"

	"authsvc/internal/pages"
)

// signOutPostPath is the page that posts a sign-out to the provider. It is
// below the base.
const signOutPostPath = "/signout/provider"

// signOutPost: GET signout/provider is a page that posts the ID token to the
// provider, for one that tells who the person is: in the address of a GET it
// would be in histories and in logs of requests. The page can be loaded again;
// what it begins ends at signout/return.
func signOutPost(rq *request) outcome {
	h := rq.r.Header
	switch {
	case isPrefetch(h):
		return problem{status: http.StatusServiceUnavailable, text: "not to be prefetched"}
	case !isNavigation(h): // a script of the origin would read the token, a frame would hide the page
		rq.audit("sign_out.return_refused", "", "not asked for as a page of its own")
		return problem{status: http.StatusForbidden, text: "to be opened as a page of its own"}
	}
	tx, refused := rq.findTx(rq.query("state"))
	if refused != nil {
		return rq.signOutUnknown(refused)
	}
	switch to := rq.providerLogout(tx); {
	case to.URL == "":
		return redirect{to: tx.CallbackURL}
	case to.Fields == nil: // the account or its ID token is gone
		return redirect{to: to.URL}
	default:
		return page{name: pages.SignOutProvider, view: pages.SignOutProviderView{Action: to.URL, Fields: to.Fields}}
	}
}
