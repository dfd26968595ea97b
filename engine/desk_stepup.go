package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/cookie"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/text"
	"authsvc/internal/text/pages"
)

// freshFor is how long a form can be sent after its page was opened with a fresh proof,
// so that people do not lose what they typed.
const freshFor = 15 * time.Minute

// A freshForm is the sealed content of the field "fresh" of such a form.
type freshForm struct {
	SID   string `json:"s"`
	Route string `json:"r"`
	End   int64  `json:"e"` // seconds since 1970
}

// freshField returns the field "fresh" of a form that posts to route, or "" if the
// session's proof is not fresh.
func (dk *desk) freshField(rq *request, s *authsvc.Session, route string) string {
	if !provedWithin(s, rq.now, dk.freshWithin) {
		return ""
	}
	raw, err := json.Marshal(freshForm{rq.sid(), route, rq.now.Add(freshFor).Unix()})
	if err != nil {
		return ""
	}
	value, err := dk.freshKey.Seal(raw)
	if err != nil {
		return ""
	}
	return value
}

// provedFresh reports whether the session's proof is fresh now, or was fresh when the
// form sent to route was opened in this session.
func (dk *desk) provedFresh(rq *request, s *authsvc.Session, route string) bool {
	if provedWithin(s, rq.now, dk.freshWithin) {
		return true
	}
	value := rq.body.get("fresh")
	if value == "" || len(value) > cookie.Max {
		return false
	}
	raw, _, err := dk.freshKey.Open(value)
	var f freshForm
	return err == nil && json.Unmarshal(raw, &f) == nil && rq.sid() != "" &&
		text.Same(f.SID, rq.sid()) && f.Route == route && rq.now.Unix() < f.End
}

// stepUpFirst leads a person whose proof is not fresh to the page that asks for one,
// and from there to back.
func stepUpFirst(rq *request, back string, s *authsvc.Session) outcome {
	rq.auditUser = s.UserID
	rq.audit("fresh.required", authsvc.CodeFreshRequired, "the proof of identity is too old")
	to := weburl.WithQuery(rq.base+"/confirm", "callbackUrl", back)
	if rq.route.isOwn() && (rq.wantsJSON() || rq.wantsData()) {
		return refusedTo(to, authsvc.CodeFreshRequired, http.StatusUnauthorized)
	}
	return redirect{to: to}
}

// stepUpPage serves GET confirm. It asks people who are signed in to prove their
// identity again, by their own ways to sign in. It never offers another account.
func (dk *desk) stepUpPage(rq *request) outcome {
	s, err := dk.keeper.current(rq)
	switch {
	case err != nil:
		return rq.storeUnavailable(err)
	case s == nil:
		return redirect{to: weburl.WithQuery(rq.base+"/signin", "callbackUrl", rq.callbackURL())}
	}
	ways, u, err := dk.stepUpWays(rq, s)
	if err != nil {
		return rq.storeUnavailable(err)
	}
	if rq.custom.Confirm != "" {
		return dk.ownStepUp(rq, ways)
	}
	v := pages.StepUpView{Who: nameOf(s), Email: u.Email, Ways: ways, Error: rq.query("error"), RequestID: rq.shownRequestID(),
		CSRFToken: rq.ensureCSRF(), CallbackURL: dk.stepUpTarget(rq)}
	if v.Error != "" {
		v.Error = string(rq.spelled(plainErrorCode(authsvc.ErrorCode(v.Error))))
	}
	if reason, provider := rq.shownHint(); reason != "" {
		v.Reason, v.Provider = string(reason), rq.providerName(provider)
	}
	rq.callbackTo = v.CallbackURL
	rq.keepCallbackURL()
	return page{name: pages.StepUp, view: v}
}

// ownStepUp leads to the application's page that asks for a fresh proof, and names the
// person's ways to sign in.
func (dk *desk) ownStepUp(rq *request, ways []pages.Provider) outcome {
	ids := make([]string, 0, len(ways))
	for _, p := range ways {
		ids = append(ids, p.ID)
	}
	reason, provider := rq.shownHint()
	rq.callbackTo = dk.stepUpTarget(rq)
	rq.keepCallbackURL()
	return redirect{to: weburl.WithQuery(rq.absolute(rq.custom.Confirm), "callbackUrl", rq.callbackTo, "ways", strings.Join(ids, ","),
		"error", string(plainErrorCode(authsvc.ErrorCode(rq.query("error")))), "provider", provider, "reason", string(reason), "request", rq.shownRequestID())}
}

// stepUpTarget returns where a fresh proof leads: the callback URL or, if that is the
// page which asks for a proof, built in or the application's, dk.home.
func (dk *desk) stepUpTarget(rq *request) string {
	to := rq.callbackURL()
	if rq.leadsTo(to, "/confirm") || rq.custom.Confirm != "" && withoutQuery(to) == withoutQuery(rq.absolute(rq.custom.Confirm)) {
		return dk.home
	}
	return to
}

func withoutQuery(address string) string {
	page, _, _ := strings.Cut(address, "?")
	page, _, _ = strings.Cut(page, "#")
	return page
}

// stepUpWays returns the ways in which the person of a session can prove their
// identity: the linked providers, the proved address and, if the session began with
// them, the application's own credentials. Providers that cannot be made to ask again
// are included only if there is no other way.
func (dk *desk) stepUpWays(rq *request, s *authsvc.Session) (ways []pages.Provider, u authsvc.User, err error) {
	u, err = dk.Adapter.GetUser(rq.ctx, s.UserID)
	if err != nil && !errors.Is(err, adapter.ErrNotFound) { // the application's users need not be stored
		return nil, u, err
	}
	accounts, err := dk.Adapter.ListAccounts(rq.ctx, s.UserID)
	if err != nil {
		return nil, u, err
	}
	var weak []pages.Provider
	for _, p := range dk.providerViews(rq) {
		in := rq.flows[p.ID].info()
		linked := slices.ContainsFunc(accounts, func(a authsvc.Account) bool { return a.Provider == p.ID })
		switch {
		case in.linkAge > 0 && emailProved(u), in.forScripts && s.Provider == p.ID, linked && in.reauthenticates:
			ways = append(ways, p)
		case linked && in.linkAge == 0 && !in.forScripts:
			weak = append(weak, p)
		}
	}
	if len(ways) == 0 {
		ways = weak
	}
	return ways, u, nil
}

// stepUp serves POST confirm and starts the flow of one of the person's own providers.
// If the same person returns, they get a new session; any other person is refused.
// Credentials forms post to their callback, with confirm=true.
func (dk *desk) stepUp(rq *request) outcome {
	if !rq.csrfOK() {
		return rq.refuseOwnCSRF("/confirm")
	}
	if wait, ok := rq.permit(dk.signInLimit, rq.clientKey()); !ok {
		return rq.limited(wait)
	}
	s, err := dk.keeper.current(rq)
	switch {
	case err != nil:
		return rq.storeUnavailable(err)
	case s == nil:
		return rq.signInFirst("/account")
	}
	ways, u, err := dk.stepUpWays(rq, s)
	if err != nil {
		return rq.storeUnavailable(err)
	}
	i := slices.IndexFunc(ways, func(p pages.Provider) bool { return p.ID == rq.body.get("provider") })
	if i < 0 {
		return rq.refuseOwn("/confirm", authsvc.CodeNotFound, http.StatusNotFound)
	}
	rq.callbackTo = dk.stepUpTarget(rq)
	rq.keepCallbackURL()
	rq.flow, rq.stepUpUser, rq.auditUser = rq.flows[ways[i].ID], s.UserID, s.UserID
	rq.body.fields["email"] = u.Email // a link is mailed only to the stored address
	return rq.flow.begin(rq)
}

// readStepUp records that a form posted to a callback must prove that the person is
// still the signed-in user.
func (dk *desk) readStepUp(rq *request) outcome {
	if rq.body == nil || rq.body.get("confirm") != "true" || !dk.canStepUp {
		return nil
	}
	s, err := dk.keeper.current(rq)
	switch {
	case err != nil:
		return storeFailed(authsvc.CodeCallback, err)
	case s == nil:
		return fail(authsvc.CodeSessionRequired, fixedReason("a proof of identity was requested without a session"))
	}
	rq.stepUpUser = s.UserID
	switch rq.stepUpTry, err = dk.takeStepUpTry(rq); {
	case err != nil:
		return storeFailed(authsvc.CodeCallback, err)
	case rq.stepUpTry > maxStepUpTries:
		dk.endUnproved(rq)
		return fail(authsvc.CodeSessionRequired, fixedReason("the user did not prove their identity in ten tries"))
	}
	return nil
}

// maxStepUpTries is the number of wrong proofs after which a session ends, because it
// may be a borrowed one.
const maxStepUpTries = 10

// takeStepUpTry counts a try in this session and returns its number. It counts before
// the try is judged, so that parallel tries count as well. A number above
// maxStepUpTries means that none is left.
func (dk *desk) takeStepUpTry(rq *request) (n int, err error) {
	for n = 1; n <= maxStepUpTries; n++ {
		err = dk.Adapter.UseOnce(rq.ctx, "confirm:"+strconv.Itoa(n)+":"+seal.Digest(cmp.Or(rq.sid(), rq.sessionCookieValue())), rq.now.Add(dk.keeper.lifetime.absolute))
		if !errors.Is(err, adapter.ErrConflict) {
			return n, err
		}
	}
	return n, nil
}

// wrongStepUp handles a wrong try. It ends the session if that was the last one.
func (dk *desk) wrongStepUp(rq *request) {
	if rq.stepUpTry == 0 { // by a provider: the person is known only now
		var err error
		if rq.stepUpTry, err = dk.takeStepUpTry(rq); err != nil {
			dk.Log.Error("cannot count a wrong proof of identity", "request", rq.requestID(), "err", err)
			return
		}
	}
	if rq.stepUpTry >= maxStepUpTries {
		dk.endUnproved(rq)
	}
}

// endUnproved ends this session, because its person was not proved.
func (dk *desk) endUnproved(rq *request) {
	if _, err := dk.keeper.sessions.end(rq.ctx, rq.sessionCookieValue(), rq.now); err != nil {
		dk.Log.Error("cannot end a session after ten wrong proofs of identity", "request", rq.requestID(), "err", err)
		return
	}
	rq.clearSession()
	dk.rotateCSRF(rq, "", "")
	rq.note(authsvc.AuditEvent{Name: "session.ended", UserID: rq.stepUpUser, Reason: "ten wrong proofs of identity"})
}

// checkSamePerson refuses an identity that does not belong to the user who must prove
// theirs, before anything is written.
func (l *login) checkSamePerson() outcome {
	if l.id.stepUpUser == "" || l.found && l.user.ID == l.id.stepUpUser && l.before != nil && l.before.UserID == l.id.stepUpUser {
		return nil
	}
	l.rq.auditUser = l.id.stepUpUser
	l.rq.stepUpUser = l.id.stepUpUser
	l.desk.wrongStepUp(l.rq)
	l.rq.audit("sign_in.refused", authsvc.CodeOAuthAccountNotLinked, "the proof belongs to another user")
	return fail(authsvc.CodeOAuthAccountNotLinked, fixedReason("the proof belongs to another user"))
}
