package engine

import (
	"encoding/json"
	"time"

	"authsvc/engine/internal/cookie"
	"authsvc/internal/seal"
	"authsvc/internal/text/emailaddr"
)

// typedLifetime is how long a page still shows the input of a form that was refused.
const typedLifetime = 5 * time.Minute

// typed is the name or address that a user typed into the form of a provider, as its
// cookie holds it. No other input is kept.
type typed struct {
	Provider string `json:"p"`
	Name     string `json:"n"`
}

// maxTypedForm limits the size of typed as JSON, in bytes.
const maxTypedForm = 1 << 10

// keepTyped remembers the name that a user typed, for the built-in page that shows the
// form again.
func (rq *request) keepTyped(provider, name string) {
	if name == "" || len(name) > emailaddr.MaxLength || rq.custom.SignIn != "" || rq.wantsJSON() {
		return
	}
	rq.rememberTyped(provider, name)
}

// rememberTyped keeps the input of a form's field in a sealed cookie, unless a script
// asks.
func (rq *request) rememberTyped(form, value string) {
	raw, err := json.Marshal(typed{form, value})
	if err != nil || len(raw) > maxTypedForm || rq.wantsJSON() {
		return
	}
	if value, err := rq.typedKey.Seal(raw); err == nil {
		rq.setCookie(cookie.Cookie{Name: rq.typedCookie, Value: value, Expires: rq.now.Add(typedLifetime)})
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

// typed returns what keepTyped kept, the zero value if there is nothing.
func (rq *request) typed() (t typed) {
	value, ok := rq.jar.Get(rq.typedCookie)
	if !ok || len(value) > cookie.Max {
		return typed{}
	}
	raw, _, err := rq.typedKey.Open(value)
	if err != nil || json.Unmarshal(raw, &t) != nil {
		return typed{}
	}
	return t
}

// forgetTyped expires the cookie of keepTyped, if there is one, when a user has signed
// in.
func (rq *request) forgetTyped() {
	if _, ok := rq.jar.Get(rq.typedCookie); ok {
		rq.expireCookie(rq.typedCookie, "")
	}
}

// nameCookies names the cookie of forms.
func (st *site) nameCookies(n *cookie.Names) { st.typedCookie = n.Add("typed") }

func (st *site) deriveKeys(ring *seal.Ring) { st.typedKey = ring.Sealer("typed " + st.base) }
