package authsvc

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

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
	if s, err := rq.current(); err == nil && s != nil {
		if who := cmp.Or(s.Email, s.Name, s.UserID); again != "" {
			v.Again = who
		} else {
			v.SignedIn, v.Name, v.Fresh = who, s.Name, rq.freshField(s, "signin")
			v.Picture, pictures = shownPicture(s.Image)
		}
	}
	v.UILocales = rq.askedLocales()
	v.CSRFToken = rq.ensureCSRF()
	v.CallbackURL = rq.callbackURL()
	v.Home = rq.leadsTo(v.CallbackURL, "/signin")
	if rq.custom.SignOut != "" {
		v.SignOutPage = rq.base + "/signout"
	}
	rq.keepCallbackURL()
	v.Providers = rq.providerViews()
	if v.Again != "" && !rq.policy.confirms && rq.policy.asksAgain { // the others prove nothing
		v.Providers = slices.DeleteFunc(v.Providers, func(p pages.Provider) bool { return !rq.flows[p.ID].info().asks() })
	}
	v.Fill(rq.typed().Provider, rq.typed().Name)
	return page{name: pages.SignIn, view: v, pictures: pictures}
}

// shownPicture returns the address of a person's picture and its origin, if a
// page of ours may show it: it is the provider's or the person's choice.
func shownPicture(image string) (address, origin string) {
	origin, clean, ok := weburl.Parse(image)
	if !ok || !strings.HasPrefix(origin, "https://") || len(clean) > 2048 {
		return "", ""
	}
	return clean, origin
}

// providerViews lists the providers, first the one used last.
func (rq *request) providerViews() []pages.Provider {
	last, _ := rq.jar.get(rq.names.lastProvider)
	return pages.LastUsedFirst(rq.views, last)
}

// typedLifetime is how long a page still shows what was typed into a form that
// was refused.
const typedLifetime = 5 * time.Minute

// typed is the name or address that somebody typed into the form of a provider,
// as its cookie has it. Of what else was typed nothing is kept.
type typed struct {
	Provider string `json:"p"`
	Name     string `json:"n"`
}

// maxTypedForm bounds it, in bytes.
const maxTypedForm = 1 << 10

// keepTyped remembers who somebody said they were, for the built-in page that
// shows the form again.
func (rq *request) keepTyped(provider, name string) {
	if name == "" || len(name) > emailaddr.MaxLength || rq.custom.SignIn != "" || rq.wantsJSON() {
		return
	}
	rq.rememberTyped(provider, name)
}

// rememberTyped keeps what was typed into the field of a form in a sealed cookie,
// unless a script asks.
func (rq *request) rememberTyped(form, value string) {
	raw, err := json.Marshal(typed{form, value})
	if err != nil || len(raw) > maxTypedForm || rq.wantsJSON() {
		return
	}
	if value, err := rq.keys.typed.Seal(raw); err == nil {
		rq.setCookie(cookie{name: rq.names.typed, value: value, expires: rq.now.Add(typedLifetime)})
	}
}

// keepTypedForm is keepTyped for the form that this request posts.
func (rq *request) keepTypedForm() {
	if rq.flow == nil || rq.body == nil {
		return
	}
	if in := rq.flow.info(); in.namedBy != "" {
		rq.keepTyped(in.id, rq.body.get(in.namedBy))
	}
}

// typed reads what keepTyped kept, the zero value if there is nothing.
func (rq *request) typed() (t typed) {
	value, ok := rq.jar.get(rq.names.typed)
	if !ok || len(value) > maxCookie {
		return typed{}
	}
	raw, _, err := rq.keys.typed.Open(value)
	if err != nil || json.Unmarshal(raw, &t) != nil {
		return typed{}
	}
	return t
}

// forgetTyped: somebody signed in.
func (rq *request) forgetTyped() {
	if _, ok := rq.jar.get(rq.names.typed); ok {
		rq.expireCookie(rq.names.typed, "")
	}
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
	rq.keepTypedForm()
	rq.audit("csrf.refused", "", "token missing or not that of the cookie")
	return redirect{to: rq.base + path + "?csrf=true", status: rq.dialect.csrfRefusal}
}

// getProviders: GET providers lists {id, name, type, signinUrl, callbackUrl}.
func getProviders(rq *request) outcome { return rq.json(rq.providersJSON) }
