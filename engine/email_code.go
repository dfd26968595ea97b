package engine

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/text/emailaddr"
)

// newCode returns a code for the provider's mails, or "" if they have none.
func (f *emailFlow) newCode() string {
	if !f.codes {
		return ""
	}
	return newCode()
}

// bindCode binds the request to its code. If no mail is sent, it binds the request to a
// random value, so that every code is wrong. Otherwise a client whose mails are withheld,
// for example by a rate limit, could try to guess the code.
func (e *emailRequest) bindCode(key *seal.MAC, stored, code string, sent bool) {
	if !sent {
		code = seal.Token()
	}
	e.Stored, e.Code = stored, b64(key.Sum(stored, code))
}

// hasCode reports whether code is the code of the request.
func (e *emailRequest) hasCode(key *seal.MAC, code string) bool {
	sum, err := strictBase64.DecodeString(e.Code)
	ok, _ := key.Verify(sum, e.Stored, code)
	return err == nil && ok
}

// redeemCode serves POST callback/:provider with a code and signs in the browser that
// asked for it. Before it compares the code, it takes one of the request's tries: of
// any number of concurrent guesses, only codeTries are judged.
func (f *emailFlow) redeemCode(rq *request) outcome {
	if out := f.room.mailing.countLink(rq); out != nil {
		return out
	}
	address, err := emailaddr.Normalise(rq.body.get("email"))
	if err != nil {
		return fail(authsvc.CodeVerification, err)
	}
	live, over := f.room.emailRequests(rq)
	others := func(e emailRequest) bool { return e.Address != address || e.Code == "" }
	asked := slices.DeleteFunc(live, others)
	switch {
	case len(asked) > 0:
	case len(slices.DeleteFunc(over, others)) > 0:
		return f.dead(rq, address, hintedReason{hintExpired, "the code has expired"})
	default:
		return f.dead(rq, address, hintedReason{hintElsewhere, "this browser requested no code, or too long ago"})
	}
	code, ok := typedCode(rq.body.get("code"))
	if !ok {
		rq.audit("code.refused", authsvc.CodeWrongCode, "it is not eight digits")
		return f.wrongCode(rq, -1)
	}
	asked, left, err := f.room.takeTries(rq, asked)
	switch {
	case err != nil:
		return storeFailed(authsvc.CodeCallback, err)
	case len(asked) == 0:
		rq.audit("code.spent", authsvc.CodeWrongCode, "five codes were tried")
		return f.wrongCode(rq, 0)
	}
	stored := ""
	for i := range asked {
		if asked[i].hasCode(f.room.mailing.codeKey, code) {
			stored = asked[i].Stored
		}
	}
	if stored == "" {
		rq.audit("code.refused", authsvc.CodeWrongCode, "it does not match the mailed code")
		return f.wrongCode(rq, left)
	}
	t, owner, err := f.room.Adapter.TakeToken(rq.ctx, address, stored, rq.now)
	if errors.Is(err, adapter.ErrNotFound) {
		return f.dead(rq, address, hintedReason{hintUsed, "the code or its link was used"})
	}
	return f.proved(rq, address, t, owner, err)
}

// takeTries takes a try from each request. It returns the requests that had one left,
// and how many more the last of them has.
func (em *emailRoom) takeTries(rq *request, asked []emailRequest) (judged []emailRequest, left int, err error) {
	for _, e := range asked {
		more, err := em.takeTry(rq, e)
		switch {
		case errors.Is(err, adapter.ErrConflict):
			left = 0
		case err != nil:
			return nil, 0, err
		default:
			judged, left = append(judged, e), more
		}
	}
	return judged, left, nil
}

// takeTry takes a try from a request and returns how many remain. It returns
// ErrConflict if none was left.
func (em *emailRoom) takeTry(rq *request, e emailRequest) (left int, err error) {
	for n := 1; n <= codeTries; n++ {
		err = em.fleet.UseAttempt(rq.ctx, "code:"+strconv.Itoa(n)+":"+e.Stored, time.Unix(e.Expires, 0).Add(time.Minute))
		if !errors.Is(err, adapter.ErrConflict) {
			return codeTries - n, err
		}
	}
	return 0, err
}

// wrongCode leads back to the page with the code field. left is the number of remaining
// tries, or -1 if the input did not count as a try.
func (f *emailFlow) wrongCode(rq *request, left int) outcome {
	rq.keepCallbackURL()
	to := weburl.WithQuery(rq.base+"/verify-request", "provider", f.ID, "type", "email", "ui_locales", rq.askedLocales(), "error", string(authsvc.CodeWrongCode))
	if left >= 0 {
		to = weburl.WithQuery(to, "left", strconv.Itoa(left))
	}
	return redirect{to: to, status: http.StatusUnauthorized}
}

// chooseCodes decides whether mails have codes.
func (f *emailFlow) chooseCodes(b *builder) {
	shown, ownPage := f.text.ShowsCode(), b.config.Pages.VerifyRequest != ""
	switch {
	case f.Codes == nil && b.mailsCodes && (!shown || ownPage):
		b.warn("mails contain no sign-in code, because a template or the application's own page may not support it: set Codes to true once both do, or to false", "provider", f.ID, "field", "Codes")
	case f.Codes == nil:
		f.codes = b.mailsCodes
	case *f.Codes && !shown:
		b.fail("Codes", "is true, but a template does not include the code", "add {{.Code}} to both forms of the mail", "Templates")
	default:
		f.codes = *f.Codes
	}
}
