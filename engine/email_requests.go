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
	Session     string `json:"b,omitempty"` // id of the session in which it was requested, if there was one
	Confirms    bool   `json:"f,omitempty"` // the mail is a fresh proof of the person of that session
}

// maxEmailRequests is how many open links one browser can have.
const maxEmailRequests = 3

// overRemembered is how long a browser remembers a request that has expired, so that
// pages can say so. An expired request proves nothing.
const overRemembered = time.Hour

// emailRequests reads the sealed email cookie, oldest first: the requests whose links
// and codes count, and those that expired within overRemembered.
func (em *emailRoom) emailRequests(rq *request) (live, over []emailRequest) {
	value, ok := rq.jar.Get(em.cookie)
	if !ok || len(value) > 4096 {
		return nil, nil
	}
	raw, _, err := em.requestsKey.Open(value)
	var list []emailRequest
	if err != nil || json.Unmarshal(raw, &list) != nil {
		return nil, nil
	}
	for _, e := range list {
		switch end := time.Unix(e.Expires, 0); {
		case rq.now.Before(end):
			live = append(live, e)
		case rq.now.Before(end.Add(overRemembered)):
			over = append(over, e)
		}
	}
	return live, over
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
			rq.setCookie(cookie.Cookie{Name: em.cookie, Value: value, Expires: time.Unix(list[len(list)-1].Expires, 0).Add(overRemembered)})
			return
		}
		list = list[1:]
	}
	rq.expireCookie(em.cookie, "")
}

// rememberLink adds a request, and forgets those that have expired.
func (em *emailRoom) rememberLink(rq *request, e emailRequest) {
	e.Sent = 1
	list, _ := em.emailRequests(rq)
	for _, before := range list {
		if before.Address == e.Address {
			e.Sent = before.Sent + 1
		}
	}
	list = append(list, e)
	em.setEmailRequests(rq, list[max(0, len(list)-maxEmailRequests):])
}

// forgetLinks drops the links of an address after one of them was used, and those that
// have expired. Links to other addresses stay valid.
func (em *emailRoom) forgetLinks(rq *request, address string) {
	live, over := em.emailRequests(rq)
	if len(live)+len(over) == 0 {
		return
	}
	em.setEmailRequests(rq, slices.DeleteFunc(live, func(e emailRequest) bool { return e.Address == address }))
}

// confirms reports whether a mail to user would be a fresh proof of the person who is
// signed in here. It does not matter which form asks for the mail: any sign-in in a
// session of the same user is one.
func (em *emailRoom) confirms(rq *request, user authsvc.User) (bool, error) {
	if rq.stepUpUser != "" {
		return true, nil
	}
	if rq.sessionCookieValue() == "" {
		return false, nil
	}
	s, err := em.keeper.current(rq)
	return s != nil && s.UserID == user.ID, err
}

func (em *emailRoom) askedFor(rq *request, token string) bool {
	d := seal.Digest(token)
	live, _ := em.emailRequests(rq)
	return slices.ContainsFunc(live, func(e emailRequest) bool { return text.Same(e.Token, d) })
}

// nameCookies names the cookie of requested links.
func (em *emailRoom) nameCookies(n *cookie.Names) { em.cookie = n.Add("email") }

func (em *emailRoom) deriveKeys(ring *seal.Ring) {
	em.requestsKey = ring.Sealer("email requests " + em.site.base)
}

// verifyRequestPage serves GET verify-request, which says that a mail has been sent.
// The address comes from this browser's sealed cookie, never from the URL.
//
// A person who has signed in since the last request has nothing to wait for, whatever
// other requests are pending: with opened=true, the page leads to the callback URL. With
// change=true, it leads to the sign-in page, which shows the address for correction.
func (em *emailRoom) verifyRequestPage(rq *request) outcome {
	code, left := codeState(rq)
	if rq.custom.VerifyRequest != "" {
		return redirect{to: weburl.WithQuery(rq.absolute(rq.custom.VerifyRequest), "error", string(code), "left", left)}
	}
	s, err := em.keeper.current(rq)
	if err != nil {
		return storeFailed(authsvc.CodeCallback, err)
	}
	live, over := em.emailRequests(rq)
	in := rq.linkProvider(rq.query("provider"))
	var last emailRequest
	switch {
	case in.linkAge == 0: // the mails are for other purposes
	case len(live) > 0:
		last = live[len(live)-1]
	case len(over) > 0:
		last = over[len(over)-1]
	}
	if rq.query("change") == "true" {
		return em.changeAddress(rq, in, last.Address)
	}
	opened := rq.query("opened") == "true"
	if s != nil && (last.Session == "" || last.Session != rq.sid()) {
		if opened {
			return redirect{to: rq.callbackURL()}
		}
		return page{name: pages.Used, view: pages.UsedView{Email: nameOf(s), ContinueURL: rq.callbackURL(), Waited: true}}
	}
	here := weburl.WithQuery(rq.base+"/verify-request", "provider", in.id, "type", "email")
	v := pages.VerifyRequestView{SignInURL: rq.base + "/signin", InboxURL: in.inboxURL, MaxAgeMinutes: int(in.linkAge / time.Minute),
		LinksPerHour: em.linksPerHour, UILocales: rq.askedLocales()}
	if last.Address != "" {
		v.Email, v.CallbackURL = last.Address, last.CallbackURL
		v.SignInURL = weburl.WithQuery(here, "change", "true", "ui_locales", v.UILocales)
		v.ResendAction, v.CSRFToken = rq.base+"/signin/"+in.id, rq.ensureCSRF()
		if in.codes && last.Code != "" {
			v.CodeAction, v.WrongCode, v.CodeTries = rq.base+"/callback/"+in.id, code != "", left
		}
		v.Expired = len(live) == 0
	}
	if last.Address != "" && !v.Expired {
		v.Sent, v.Resent = last.Sent, len(live) > 1 && live[len(live)-2].Address == last.Address
		v.NextURL = weburl.WithQuery(here, "opened", "true", "ui_locales", v.UILocales)
		v.Opened = opened
		if s == nil {
			v.WaitSeconds = int(last.Expires - rq.now.Unix())
		} else {
			v.SignedIn = nameOf(s)
		}
	}
	if s != nil && last.Confirms {
		v.Confirms, v.SignInURL, v.AccountURL = true, "", em.mailing.accountURL
	}
	return page{name: pages.VerifyRequest, view: v}
}

// changeAddress leads to the sign-in page, with the address in the field of the
// provider. The cookie of typed input carries it: addresses of pages are logged.
func (em *emailRoom) changeAddress(rq *request, in info, address string) outcome {
	rq.keepTyped(in.id, address)
	to := weburl.WithQuery(rq.base+"/signin", "ui_locales", rq.askedLocales())
	if in.id != "" && rq.custom.SignIn == "" {
		to += "#" + pages.AddressField(in.id)
	}
	return redirect{to: to}
}
