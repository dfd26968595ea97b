package engine

import (
	"encoding/json"
	"slices"
	"time"

	"authsvc"

	"authsvc/engine/internal/cookie"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/text"
	"authsvc/internal/text/pages"
)

// An emailRequest is a link that this browser requested, as stored in its cookie.
type emailRequest struct {
	Address     string `json:"a"`
	Token       string `json:"t"` // digest of the link's token
	CallbackURL string `json:"c"`
	Expires     int64  `json:"e"`
	Sent        int    `json:"n,omitempty"` // number of links to the address that this browser asked for
	Stored      string `json:"s,omitempty"` // digest of the token in the store, if the mail has a code
	Code        string `json:"k,omitempty"` // keyed digest of Stored and the code
}

// maxEmailRequests is how many open links one browser can have.
const maxEmailRequests = 3

// emailRequests reads the sealed e-mail cookie, oldest first.
func (em *emailRoom) emailRequests(rq *request) []emailRequest {
	value, ok := rq.jar.Get(em.cookie)
	if !ok || len(value) > 4096 {
		return nil
	}
	raw, _, err := em.requestsKey.Open(value)
	var list []emailRequest
	if err != nil || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(e emailRequest) bool { return rq.now.Unix() >= e.Expires })
}

func (em *emailRoom) setEmailRequests(rq *request, list []emailRequest) {
	for len(list) > 0 {
		raw, err := json.Marshal(list)
		if err != nil {
			return
		}
		value, err := em.requestsKey.Seal(raw)
		if err != nil {
			return
		}
		if len(value)+len(em.cookie) <= 3900 {
			rq.setCookie(cookie.Cookie{Name: em.cookie, Value: value, Expires: time.Unix(list[len(list)-1].Expires, 0)})
			return
		}
		list = list[1:]
	}
	rq.expireCookie(em.cookie, "")
}

func (em *emailRoom) rememberLink(rq *request, e emailRequest) {
	e.Sent = 1
	list := em.emailRequests(rq)
	for _, before := range list {
		if before.Address == e.Address {
			e.Sent = before.Sent + 1
		}
	}
	list = append(list, e)
	em.setEmailRequests(rq, list[max(0, len(list)-maxEmailRequests):])
}

// forgetLinks drops the links of an address after one of them was used.
func (em *emailRoom) forgetLinks(rq *request, address string) {
	list := em.emailRequests(rq)
	if len(list) == 0 {
		return
	}
	em.setEmailRequests(rq, slices.DeleteFunc(list, func(e emailRequest) bool { return e.Address == address }))
}

func (em *emailRoom) askedFor(rq *request, token string) bool {
	d := seal.Digest(token)
	return slices.ContainsFunc(em.emailRequests(rq), func(e emailRequest) bool { return text.Same(e.Token, d) })
}

// nameCookies names the cookie of requested links.
func (em *emailRoom) nameCookies(n *cookie.Names) { em.cookie = n.Add("email") }

func (em *emailRoom) deriveKeys(ring *seal.Ring) {
	em.requestsKey = ring.Sealer("email requests " + em.site.base)
}

// verifyRequestPage serves GET verify-request, which says that a mail has been sent.
// The address comes from this browser's sealed cookie, never from the URL. With
// opened=true, the page leads to the callback URL after a link was opened in this
// browser.
func (em *emailRoom) verifyRequestPage(rq *request) outcome {
	code, left := codeState(rq)
	if rq.custom.VerifyRequest != "" {
		return redirect{to: weburl.WithQuery(rq.absolute(rq.custom.VerifyRequest), "error", string(code), "left", left)}
	}
	s, err := em.keeper.current(rq)
	if err != nil {
		return storeFailed(authsvc.CodeCallback, err)
	}
	if s != nil && len(em.emailRequests(rq)) == 0 && rq.query("opened") == "true" {
		return redirect{to: rq.callbackURL()}
	}
	in := rq.linkProvider(rq.query("provider"))
	v := pages.VerifyRequestView{SignInURL: rq.base + "/signin", InboxURL: in.inboxURL, MaxAgeMinutes: int(in.linkAge / time.Minute)}
	if list := em.emailRequests(rq); len(list) > 0 && in.linkAge > 0 {
		last := list[len(list)-1]
		v.Email, v.CallbackURL = last.Address, last.CallbackURL
		v.ResendAction = rq.base + "/signin/" + in.id
		v.CSRFToken = rq.ensureCSRF()
		v.Sent, v.Resent = last.Sent, len(list) > 1 && list[len(list)-2].Address == last.Address
		v.NextURL = weburl.WithQuery(rq.base+"/verify-request", "provider", in.id, "type", "email", "opened", "true", "ui_locales", rq.askedLocales())
		if s == nil {
			v.WaitSeconds = int(last.Expires - rq.now.Unix())
		}
		if in.codes && last.Code != "" {
			v.CodeAction, v.WrongCode, v.CodeTries = rq.base+"/callback/"+in.id, code != "", left
		}
	}
	v.LinksPerHour, v.UILocales = em.linksPerHour, rq.askedLocales()
	return page{name: pages.VerifyRequest, view: v}
}
