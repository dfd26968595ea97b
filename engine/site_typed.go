package engine

import (
	"encoding/json"
	"time"

	"authsvc/engine/internal/cookie"
	"authsvc/internal/seal"
	"authsvc/internal/text/emailaddr"
)

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

// typed reads what keepTyped kept, the zero value if there is nothing.
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

// forgetTyped: somebody signed in.
func (rq *request) forgetTyped() {
	if _, ok := rq.jar.Get(rq.typedCookie); ok {
		rq.expireCookie(rq.typedCookie, "")
	}
}

// nameCookies names those of forms.
func (st *site) nameCookies(n *cookie.Names) { st.typedCookie = n.Add("typed") }

func (st *site) deriveKeys(ring *seal.Ring) { st.typedKey = ring.Sealer("typed " + st.base) }
