package engine

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"authsvc"
	"authsvc/internal/protocol/weburl"
)

type sessionKey struct{ of *keeper }

// Session returns the session of a request, nil if the user is not signed in. It does
// not renew the session. If it returns an error, the session could not be read: treat
// the user as not signed in.
func (s *Service) Session(r *http.Request) (*authsvc.Session, error) {
	if v, ok := r.Context().Value(sessionKey{s.keeper}).(*authsvc.Session); ok {
		return v, nil
	}
	rq := borrowed.Get().(*request)
	s.site.begin(rq, r)
	v, _, err := s.keeper.readSession(rq, readOptions{full: true})
	*rq = request{}
	borrowed.Put(rq)
	return v, err
}

// borrowed holds zero requests for Session, which keeps nothing of them. Their
// allocation would be a tenth of its time.
var borrowed = sync.Pool{New: func() any { return new(request) }}

// Require passes requests with a session to next, which gets the session from Session.
// A person who navigates without a session is sent to the sign-in page; other requests
// are answered 401. To requests of htmx (HX-Request), the 401 adds HX-Redirect, which
// leads the page that made them to the sign-in page. If sessions cannot be read, the
// answer is 503. Live sessions are renewed as by GET session. If a proxy asks about
// another request, such as nginx with auth_request, and names its target in
// X-Original-URI, X-Original-URL or X-Forwarded-Uri, a session that needs several cookies
// is not renewed, because such proxies pass on only one. Caches must not store answers,
// unless next sets Cache-Control itself.
func (s *Service) Require(next http.Handler) http.Handler {
	return s.require(next, func(*authsvc.Session) bool { return true }, "sign in first")
}

// RequireFresh is Require for actions that must not be possible with a stolen or
// forgotten session (step-up). If the last proof of who the user is
// ([authsvc.Session].AuthTime) is older than maxAge or not known, the user must prove
// it again. The user is sent to {base}/confirm, which offers the user's own ways to
// sign in and leads back. Without an Adapter, the user is sent to {base}/signin with
// again=true, which offers the ways to sign in as to a user who is not signed in. A
// page of your own (Pages.SignIn) also gets again=true, and must do the same. The new
// sign-in replaces the session.
//
// A recent sign-in is not enough: an identity provider may let people through without
// asking. {base}/confirm, and a form with the field again=true, tell OpenID providers
// to ask again (prompt=login, max_age=0), and the service checks that they did.
func (s *Service) RequireFresh(maxAge time.Duration) func(next http.Handler) http.Handler {
	good := func(v *authsvc.Session) bool { return provedWithin(v, s.fleet.Now(), maxAge) }
	return func(next http.Handler) http.Handler { return s.require(next, good, "sign in again") }
}

// require passes on requests with a session for which good returns true. It answers
// others with refusal, unless a person is navigating.
func (s *Service) require(next http.Handler, good func(*authsvc.Session) bool, refusal string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rq := s.site.newRequest(r)
		v, renewed, err := s.keeper.readSession(rq, readOptions{touch: true, full: true})
		if err != nil {
			s.common.Log.Error("cannot read the session", "request", rq.requestID(), "err", err)
			http.Error(w, "sign-in is not available, request "+rq.requestID(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Add("Vary", "Cookie")
		w.Header().Set("Cache-Control", hNoStore[0]) // next may override it
		if v == nil || !good(v) {
			sendToSignIn(s.desk, rq, w, v != nil, refusal)
			return
		}
		if renewed != nil && rq.at().keep(rq, *renewed) {
			if asksAboutAnother(r.Header) {
				rq.allOrNothing()
			}
			for i := range rq.set {
				w.Header().Add("Set-Cookie", rq.set[i].Line(s.site.names.Secure))
			}
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sessionKey{s.keeper}, v)))
	})
}

// sendToSignIn answers a request that Require refuses: it sends people to the sign-in
// page, and answers others with refusal. If again is set, the user is signed in and
// must prove it again.
func sendToSignIn(dk *desk, rq *request, w http.ResponseWriter, again bool, refusal string) {
	here := rq.origin + weburl.Escape(rq.r.URL.RequestURI())
	h := rq.r.Header
	w.Header().Add("Vary", "HX-Request")
	switch {
	case h.Get("HX-Request") == "true":
		// htmx follows HX-Redirect whatever the status is. A redirect would be followed
		// by the browser, and htmx would swap the sign-in page into a part of the page.
		w.Header().Set("HX-Redirect", dk.signInAddress(rq, htmxPage(rq, here), again))
	case rq.r.Method == http.MethodGet && isNavigation(h) && strings.Contains(h.Get("Accept"), "text/html"):
		http.Redirect(w, rq.r, dk.signInAddress(rq, here, again), http.StatusFound) // #nosec G710 -- to our own page, which checks callbackUrl
		return
	}
	http.Error(w, refusal, http.StatusUnauthorized)
}

// htmxPage returns the page to come back to: the page that made the request or, if a
// boosted link asked for a page, that page. The sign-in page checks it like any
// callbackUrl.
func htmxPage(rq *request, here string) string {
	h := rq.r.Header
	if h.Get("HX-Boosted") == "true" && rq.r.Method == http.MethodGet {
		return here
	}
	if page, ok := rq.allowedURL(h.Get("HX-Current-URL")); ok {
		return page
	}
	return rq.origin
}
