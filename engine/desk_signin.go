package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/limit"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/emailaddr"
	"authsvc/internal/text/pages"
)

// signInPage serves GET signin and GET signin/:provider. It shows the ways to sign in. It
// starts one only if the provider may begin a sign-in and this request is such a
// beginning.
func (dk *desk) signInPage(rq *request) outcome {
	if out := dk.initiated(rq); out != nil {
		return out
	}
	code := plainErrorCode(authsvc.ErrorCode(rq.query("error")))
	again := "" // from RequireFresh: a session is not enough
	if rq.query("again") == "true" {
		again = "true"
	}
	reason, failed := rq.shownHint()
	if rq.custom.SignIn != "" {
		rq.keepCallbackURL()
		return redirect{to: weburl.WithQuery(rq.absolute(rq.custom.SignIn), "callbackUrl", rq.callbackURL(), "error", string(code),
			"provider", failed, "reason", string(reason), "request", rq.shownRequestID(), "again", again)}
	}
	if rq.query("csrf") == "true" {
		code = csrfMismatch
	}
	v := pages.SignInView{
		Error:     string(rq.spelled(code)),
		RequestID: rq.shownRequestID(),
		Email:     rq.query("email"),
	}
	if reason != "" {
		v.Reason, v.Provider = string(reason), rq.providerName(failed)
	}
	if len(v.Email) > emailaddr.MaxLength {
		v.Email = ""
	}
	pictures := ""
	if s, err := dk.keeper.current(rq); err == nil && s != nil {
		if who := nameOf(s); again != "" {
			v.Again = who
		} else {
			v.SignedIn, v.Name, v.Fresh = who, s.Name, dk.freshField(rq, s, "signin")
			v.Picture, pictures = shownPicture(s.Image)
		}
	}
	v.UILocales = rq.askedLocales()
	v.CSRFToken = rq.ensureCSRF()
	v.CallbackURL = rq.callbackURL()
	v.Home = rq.leadsTo(v.CallbackURL, "/signin")
	if v.SignedIn != "" {
		v.AccountURL = dk.mailing.accountURL
	}
	if rq.custom.SignOut != "" {
		v.SignOutPage = rq.base + "/signout"
	}
	rq.keepCallbackURL()
	v.Providers = dk.providerViews(rq)
	if v.Again != "" && !dk.canStepUp && dk.reauthenticates { // the other providers prove nothing
		v.Providers = slices.DeleteFunc(v.Providers, func(p pages.Provider) bool { return !rq.flows[p.ID].info().asks() })
	}
	v.Fill(rq.typed().Provider, rq.typed().Name)
	return page{name: pages.SignIn, view: v, pictures: pictures}
}

// initiated starts a sign-in that the provider began (OpenID Connect Core §4). It returns
// nil if the request is not such a beginning, or must not start at once.
//
// Any site can send a browser here. So it starts only if a person navigates, not in a
// frame or ahead of time, and only if no one is signed in: otherwise a site could switch
// the account or, where signing in links accounts, add one. The attempt is bound to the
// browser like any other, so no site can finish it for another person.
//
// https://openid.net/specs/openid-connect-core-1_0.html#ThirdPartyInitiatedLogin
func (dk *desk) initiated(rq *request) outcome {
	if rq.flow == nil || rq.flow.info().initiates == nil || !rq.flow.info().initiates(rq.query("iss")) {
		return nil
	}
	rq.callbackTo = resolveCallbackURL(rq, rq.query("target_link_uri"))
	if !isNavigation(rq.r.Header) || rq.query("again") != "" {
		return nil
	}
	if s, err := dk.keeper.current(rq); err != nil || s != nil {
		return nil
	}
	rq.keepCallbackURL()
	if wait, ok := rq.permit(dk.signInLimit, rq.clientKey()); !ok {
		return rq.limited(wait)
	}
	rq.ensureCSRF()
	return rq.flow.begin(rq)
}

// shownPicture returns the address of a person's picture and its origin, if our pages
// may show it. The provider or the person chose the address.
func shownPicture(image string) (address, origin string) {
	origin, clean, ok := weburl.Parse(image)
	if !ok || !strings.HasPrefix(origin, "https://") || len(clean) > 2048 {
		return "", ""
	}
	return clean, origin
}

// providerViews lists the providers, with the last used one first.
func (dk *desk) providerViews(rq *request) []pages.Provider {
	last, _ := rq.jar.Get(dk.lastCookie)
	return pages.LastUsedFirst(rq.views, last)
}

// signInAddress returns the address of the page where people sign in or, if again is
// true, prove their identity again. From there they return to back.
func (dk *desk) signInAddress(rq *request, back string, again bool) string {
	if again && dk.canStepUp {
		return weburl.WithQuery(rq.base+"/confirm", "callbackUrl", back)
	}
	once := ""
	if again {
		once = "true"
	}
	return weburl.WithQuery(rq.base+"/signin", "callbackUrl", back, "again", once)
}

// signIn serves POST signin/:provider and starts the flow of a provider.
func (dk *desk) signIn(rq *request) outcome {
	if !rq.csrfOK() {
		return rq.csrfRefused("/signin")
	}
	rq.keepCallbackURL()
	if wait, ok := rq.permit(dk.signInLimit, rq.clientKey()); !ok {
		return rq.limited(wait)
	}
	return rq.flow.begin(rq)
}

// csrfRefused sends the person back to the page with a fresh token.
func (rq *request) csrfRefused(path string) outcome {
	rq.ensureCSRF()
	keepRequestedCallbackURL(rq)
	rq.keepTypedForm()
	rq.audit("csrf.refused", "", "token missing or does not match the cookie")
	return redirect{to: rq.base + path + "?csrf=true", status: rq.dialect.csrfRefusal}
}

// getProviders serves GET providers, a list of {id, name, type, signinUrl,
// callbackUrl}.
func (dk *desk) getProviders(rq *request) outcome { return rq.json(dk.providersJSON) }

// notCallback refuses a method that callbacks of this kind of provider do not use.
func (rq *request) notCallback(allowed string) outcome {
	if out := unsupported(rq); out != nil {
		return out
	}
	return onlyBy(allowed)
}

// signInRoutes returns the routes for signing in, signing out and step-up.
func signInRoutes(s *desk) map[string]*route {
	signInLimit := func(*request) *limit.Limiter { return s.signInLimit }
	ofProvider := func(rq *request) *limit.Limiter {
		if of := rq.flow.info().limit; of != nil {
			return of()
		}
		return nil
	}
	// A form_post response comes from the provider's site. If reposted, it comes from
	// ours.
	fromProvider := func(rq *request) bool { return rq.flow.info().formPost && !rq.reposted() }
	fromScripts := func(rq *request) bool { return rq.flow.info().forScripts }
	confirms := func(*request) bool { return s.canStepUp }
	return map[string]*route{
		"signin":             {get: s.signInPage, cors: always},
		"signin/:provider":   {get: s.signInPage, post: s.signIn, limit: signInLimit, cors: always},
		"callback/:provider": {get: s.callback, post: s.callback, limit: ofProvider, foreign: fromProvider, cors: fromScripts},
		"signout":            {get: s.signOutPage, post: s.signOut, cors: always},
		"signout/provider":   {get: s.signOutPost},
		"signout/return":     {get: s.signOutReturn},
		"confirm":            {get: s.stepUpPage, post: s.stepUp, limit: signInLimit, cors: always, when: confirms, own: true},
		"providers":          {get: s.getProviders, cors: always},
	}
}

// callback serves GET and POST callback/:provider, which end a flow. An identity
// continues to login; any other outcome is the answer.
func (dk *desk) callback(rq *request) outcome {
	if out := dk.readStepUp(rq); out != nil {
		return out
	}
	rq.waitsSince = time.Now()
	out := rq.flow.complete(rq)
	id, ok := out.(identity)
	if !ok {
		if rq.stepUpTry > 0 {
			dk.wrongStepUp(rq)
		}
		return out
	}
	id.stepUpUser = rq.stepUpUser
	// The code or link is used up: finish even if the browser disconnects.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(rq.ctx), loginTimeout)
	defer cancel()
	rq.ctx = ctx
	return dk.login(rq, id)
}

// signInEvents are the audit events of signing in and out.
var signInEvents = []audit.Kind{
	{Name: "sign_in.succeeded", Outcome: authsvc.AuditSuccess, SignIn: true, Meaning: "A session began. The reason says whether the sign-in created the user."},
	{Name: "sign_in.refused", Outcome: authsvc.AuditRefused, SignIn: true, Meaning: "A sign-in was refused: wrong state, unknown or used link, a refusal by the provider, by the person, by the sign-in conditions or the sign-up rules, by the signIn, claims or createUser callback (with `serve`: by a rule or a hook), or more claims than a session can keep."},
	{Name: "sign_in.failed", Outcome: authsvc.AuditFailed, SignIn: true, Meaning: "A sign-in failed because the store, the provider or a callback failed."},
	{Name: "email.first_proof", Outcome: authsvc.AuditSuccess, Meaning: "A mailed link or code proved the address of a user for the first time: earlier accounts and sessions were removed."},
	{Name: "account.linked", Outcome: authsvc.AuditSuccess, Meaning: "An account was added to an existing user."},
	{Name: "account.link_refused", Outcome: authsvc.AuditRefused, SignIn: true, Meaning: "An account was not added: it belongs to another user, or the session changed meanwhile."},
	{Name: "account.not_linked", Outcome: authsvc.AuditRefused, SignIn: true, Meaning: "A sign-in was refused because the address belongs to a user without this account. The event names that user."},
	{Name: "fresh.required", Outcome: authsvc.AuditRefused, Meaning: "The request needs a fresh proof of identity; the person was sent to the page that asks for it."},
	{Name: "sign_out.succeeded", Outcome: authsvc.AuditSuccess, Meaning: "A person ended their session."},
	{Name: "sign_out.failed", Outcome: authsvc.AuditFailed, Meaning: "The session could not be ended."},
	{Name: "sign_out.return_refused", Outcome: authsvc.AuditRefused, Meaning: "A browser returned from a sign-out at a provider, or requested the page that leads there, without its state; or a script or a frame requested that page."},
	{Name: "session.ended", Outcome: authsvc.AuditSuccess, Meaning: "EndSession ended one session of a user, or ten wrong proofs of identity did: the reason says which."},
}

// linkable returns the providers that can be added as a way to sign in.
func (dk *desk) linkable() (list []pages.Provider) {
	for _, p := range dk.site.views {
		if p.Form == "button" {
			list = append(list, p)
		}
	}
	return list
}
