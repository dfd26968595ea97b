package authsvc

import (
	"encoding/json"
	"slices"
	"time"

	"authsvc/internal/seal"
)

// An emailRequest is a link that this browser requested, as its cookie has it.
type emailRequest struct {
	Address     string `json:"a"`
	Token       string `json:"t"` // digest of the link's token
	CallbackURL string `json:"c"`
	Expires     int64  `json:"e"`
	Sent        int    `json:"n,omitempty"` // how many links to the address this browser asked for
	Stored      string `json:"s,omitempty"` // digest of the token in the store, if the mail has a code,
	Code        string `json:"k,omitempty"` // and the keyed digest of that
}

// maxEmailRequests is how many links one browser can have open.
const maxEmailRequests = 3

// emailRequests reads the sealed e-mail cookie, oldest first.
func (rq *request) emailRequests() []emailRequest {
	value, ok := rq.jar.get(rq.names.email)
	if !ok || len(value) > 4096 {
		return nil
	}
	raw, _, err := rq.keys.email.Open(value)
	var list []emailRequest
	if err != nil || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(e emailRequest) bool { return rq.now.Unix() >= e.Expires })
}

func (rq *request) setEmailRequests(list []emailRequest) {
	for len(list) > 0 {
		raw, err := json.Marshal(list)
		if err != nil {
			return
		}
		value, err := rq.keys.email.Seal(raw)
		if err != nil {
			return
		}
		if len(value)+len(rq.names.email) <= 3900 {
			rq.setCookie(cookie{name: rq.names.email, value: value, expires: time.Unix(list[len(list)-1].Expires, 0)})
			return
		}
		list = list[1:]
	}
	rq.expireCookie(rq.names.email, "")
}

func (rq *request) rememberLink(e emailRequest) {
	e.Sent = 1
	list := rq.emailRequests()
	for _, before := range list {
		if before.Address == e.Address {
			e.Sent = before.Sent + 1
		}
	}
	list = append(list, e)
	rq.setEmailRequests(list[max(0, len(list)-maxEmailRequests):])
}

// forgetLinks drops the links of an address; one of them was used.
func (rq *request) forgetLinks(address string) {
	list := rq.emailRequests()
	if len(list) == 0 {
		return
	}
	rq.setEmailRequests(slices.DeleteFunc(list, func(e emailRequest) bool { return e.Address == address }))
}

func (rq *request) askedFor(token string) bool {
	d := seal.Digest(token)
	return slices.ContainsFunc(rq.emailRequests(), func(e emailRequest) bool { return sameSecret(e.Token, d) })
}
