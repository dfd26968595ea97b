package engine

import (
	"context"
	"net/http"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/protocol/weburl"
)

type sessionKey struct{ of *keeper }

// Session returns who is signed in, nil without a session. An error means
// that it could not be found out; treat it as nobody. It renews nothing.
func (s *Service) Session(r *http.Request) (*authsvc.Session, error) {
	if v, ok := r.Context().Value(sessionKey{s.keeper}).(*authsvc.Session); ok {
		return v, nil
	}
	v, _, err := s.keeper.readSession(s.site.newRequest(r), readOptions{full: true})
	return v, err
}

// Require passes requests with a session on to next, which finds it by
// Session. Others are sent to the sign-in page if a person is navigating, and
// answered 401 if not; requests of htmx (HX-Request) are answered 401 with
// HX-Redirect, which leads the page that made them there. If sessions cannot be read the answer is 503. Live
// sessions are renewed as by GET session. Answers are not to be stored by
// caches unless next sets Cache-Control itself.
func (s *Service) Require(next http.Handler) http.Handler {
	return s.require(next, func(*authsvc.Session) bool { return true }, "sign in first")
}

// RequireFresh is Require for what a stolen or forgotten session must not do
// (step-up): it also asks people to prove who they are whose last proof
// ([authsvc.Session].AuthTime) is older than MaxAge, or not known. They are sent to {base}/confirm, which offers their own ways to
// sign in and leads back; without an Adapter to {base}/signin with again=true,
// where the page offers the ways to sign in as if they were not signed in; a
// page of your own (Pages.SignIn) gets again=true, too, and has to do the same.
// The new sign-in replaces the session.
//
// That somebody signed in just now is not enough: an identity provider may let people
// through without a word. {base}/confirm, and a form with the field again=true, ask
// OpenID providers to ask them again (prompt=login, max_age=0), and that is checked.
func (s *Service) RequireFresh(maxAge time.Duration) func(next http.Handler) http.Handler {
	good := func(v *authsvc.Session) bool { return provedWithin(v, s.fleet.Now(), maxAge) }
	return func(next http.Handler) http.Handler { return s.require(next, good, "sign in again") }
}

// require passes on requests with a session that is good; the refusal of
// others is refusal, unless a person is navigating.
func (s *Service) require(next http.Handler, good func(*authsvc.Session) bool, refusal string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rq := s.site.newRequest(r)
		v, renewed, err := s.keeper.readSession(rq, readOptions{touch: true, full: true})
		if err != nil {
			s.given.Log.Error("session could not be read", "request", rq.requestID(), "err", err)
			http.Error(w, "sign-in is not available, request "+rq.requestID(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Add("Vary", "Cookie")
		w.Header().Set("Cache-Control", hNoStore[0]) // next may say otherwise
		if v == nil || !good(v) {
			sendToSignIn(s.desk, rq, w, v != nil, refusal)
			return
		}
		if renewed != nil && rq.at().keep(rq, *renewed) {
			for i := range rq.set {
				w.Header().Add("Set-Cookie", rq.set[i].Line(s.site.names.Secure))
			}
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sessionKey{s.keeper}, v)))
	})
}

// sendToSignIn answers a request that Require refuses: with the way to the
// sign-in page for people, and with refusal. again: the person is signed in, and
// has to prove it anew.
func sendToSignIn(dk *desk, rq *request, w http.ResponseWriter, again bool, refusal string) {
	here := rq.origin + weburl.Escape(rq.r.URL.RequestURI())
	h := rq.r.Header
	w.Header().Add("Vary", "HX-Request")
	switch {
	case h.Get("HX-Request") == "true":
		// htmx follows HX-Redirect whatever the status is; a redirect it would
		// not see, and swap the sign-in page into a part of the page.
		w.Header().Set("HX-Redirect", dk.signInAddress(rq, htmxPage(rq, here), again))
	case rq.r.Method == http.MethodGet && isNavigation(h) && strings.Contains(h.Get("Accept"), "text/html"):
		http.Redirect(w, rq.r, dk.signInAddress(rq, here, again), http.StatusFound) // #nosec G710 -- to our own page, which checks callbackUrl
		return
	}
	http.Error(w, refusal, http.StatusUnauthorized)
}

// htmxPage returns the page to come back to: the one that made the request, or,
// if a boosted link asked for a page, that page. The sign-in page checks it as
// any callbackUrl.
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
