package engine

import (
	"context"
	"errors"
	"net/http"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal/emailchange"
	"authsvc/internal/text/pages"
)

// emailStates holds the results that the page after a link about a change of address
// can show.
var emailStates = map[string]bool{pages.AddressSpent: true, pages.AddressTaken: true, pages.AddressProved: true, pages.AddressAllowed: true,
	pages.AddressCompleted: true, pages.AddressStopped: true}

// getEmailConfirm handles GET account/email/confirm. It asks for confirmation before a
// mailed link takes effect. Without a link, it shows the user the progress of the
// change.
func (ac *accountRoom) getEmailConfirm(rq *request) outcome {
	state := rq.query("done")
	switch {
	case emailStates[state]:
		return page{name: pages.AddressConfirm, view: pages.AddressConfirmView{Stage: state}}
	case rq.query("token") == "":
		return ac.emailProgress(rq)
	}
	c, end, err := ac.findEmailChange(rq, rq.query("id"), rq.query("token"))
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		if refused := ac.limitEmailToken(rq, "/account"); refused != nil {
			return refused
		}
		if rq.wantsData() {
			return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
		}
		return page{name: pages.AddressConfirm, status: http.StatusNotFound, view: pages.AddressConfirmView{Stage: pages.AddressSpent}}
	case err != nil:
		return rq.storeUnavailable(err)
	}
	v := pages.AddressConfirmView{Stage: pages.AddressNew, CSRFToken: rq.ensureCSRF(), To: c.To, ID: c.stored.ID, Token: rq.query("token"), RequestID: rq.shownRequestID()}
	if rq.query("error") != "" {
		v.Error = string(plainErrorCode(authsvc.ErrorCode(rq.query("error"))))
	}
	if end == emailchange.Old {
		v.Stage, v.Stop, v.StopOnly = pages.AddressOld, rq.query("stop") == "true", !c.CanProve(end, rq.now)
	}
	return page{name: pages.AddressConfirm, view: v}
}

// emailProgress shows the session's user the progress of the change.
func (ac *accountRoom) emailProgress(rq *request) outcome {
	s, c, u, refused := ac.waitingEmail(rq)
	switch {
	case refused != nil:
		return refused
	case c == nil:
		return redirect{to: rq.base + "/account"}
	}
	rq.auditUser = s.UserID
	v := pages.AddressView{CSRFToken: rq.ensureCSRF(), Email: u.Email, Proved: c.AsksOld, RequestID: rq.shownRequestID(), To: c.To, NewProved: c.NewProved,
		OldAllowed: c.OldAllowed, Strong: c.Strong, NotBefore: c.NotBefore(), Due: c.Due(rq.now), Tries: codeTries - c.stored.Tries}
	if rq.query("error") != "" {
		v.Error = string(plainErrorCode(authsvc.ErrorCode(rq.query("error"))))
	}
	return page{name: pages.Address, view: v}
}

// waitingEmail reads the session and its user's pending change, nil if there is none.
func (ac *accountRoom) waitingEmail(rq *request) (s *authsvc.Session, c *emailChange, u authsvc.User, refused outcome) {
	s, err := ac.keeper.current(rq)
	switch {
	case err != nil:
		return nil, nil, u, rq.storeUnavailable(err)
	case s == nil:
		return nil, nil, u, rq.signInFirst("/account")
	}
	if u, err = ac.Adapter.GetUser(rq.ctx, s.UserID); err == nil {
		c, err = ac.emailChangeOf(rq.ctx, &u)
	}
	if err != nil && !errors.Is(err, adapter.ErrNotFound) {
		return nil, nil, u, rq.storeUnavailable(err)
	}
	return s, c, u, nil
}

// findEmailChange finds the change that a token belongs to, and the end whose mail held
// the token. It returns ErrNotFound if the change cannot be made any more.
func (ac *accountRoom) findEmailChange(rq *request, id, token string) (c *emailChange, end emailchange.End, err error) {
	const longest = 64
	if id == "" || len(id) > longest || len(token) > longest {
		return nil, "", adapter.ErrNotFound
	}
	stored, err := ac.Adapter.GetCredential(rq.ctx, adapter.CredentialAddress, id)
	if err != nil {
		return nil, "", err
	}
	if c, err = ac.openEmailChange(stored); err != nil {
		ac.Log.Error("cannot open a change of address: the secret that sealed it is not configured", "request", rq.requestID(), "err", err)
		return nil, "", adapter.ErrNotFound
	}
	end, ok := c.EndOf(token)
	if !ok || end == emailchange.New && !c.CanProve(end, rq.now) { // the old address's link can still stop it
		return nil, "", adapter.ErrNotFound
	}
	u, err := ac.Adapter.GetUser(rq.ctx, stored.UserID)
	if err == nil && !c.restsOn(&u, rq.now) {
		err = adapter.ErrNotFound
	}
	return c, end, err
}

// limitEmailToken counts a try with a mailed link or code. Past the limit, the answer
// leads to path.
func (ac *accountRoom) limitEmailToken(rq *request, path string) outcome {
	wait, counted := rq.permit(ac.mailing.linkLimit, rq.clientKey())
	if counted {
		return nil
	}
	rq.retryAfter = wait
	rq.audit("request.limited", authsvc.CodeRateLimited, "too many links and codes for changes of address")
	return rq.refuseOwn(path, authsvc.CodeRateLimited, http.StatusTooManyRequests)
}

// emailFormPath returns the path of the page whose form was posted, so that it can be
// sent again, even without a session.
func emailFormPath(rq *request) string {
	return weburl.WithQuery("/account/email/confirm", "id", rq.body.get("id"), "token", rq.body.get("token"), "stop", rq.body.get("stop"))
}

// postEmailConfirm handles POST account/email/confirm, which proves one end of a
// change. The token of a mail proves its end without a session. The code proves the new
// end and needs the user's session. With stop=true, the old end's token stops the
// change.
func (ac *accountRoom) postEmailConfirm(rq *request) outcome {
	if !rq.csrfOK() {
		return rq.refuseOwnCSRF(emailFormPath(rq))
	}
	if refused := ac.limitEmailToken(rq, emailFormPath(rq)); refused != nil {
		return refused
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(rq.ctx), loginTimeout)
	defer cancel()
	rq.ctx = ctx
	if rq.body.get("token") == "" {
		return ac.enterEmailCode(rq)
	}
	c, end, err := ac.findEmailChange(rq, rq.body.get("id"), rq.body.get("token"))
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return ac.emailSpent(rq, "the link is unknown, was used or has expired")
	case err != nil:
		return rq.storeUnavailable(err)
	}
	rq.auditUser = c.stored.UserID
	if end == emailchange.Old && rq.body.get("stop") == "true" {
		return ac.stopEmailChange(rq, c)
	}
	s, err := ac.keeper.current(rq)
	if err != nil {
		return rq.storeUnavailable(err)
	}
	return ac.proveEmailEnd(rq, c, end, s)
}

// emailSpent answers a request whose link or change is no longer valid.
func (ac *accountRoom) emailSpent(rq *request, why string) outcome {
	rq.note(authsvc.AuditEvent{Name: "email.change_refused", Code: authsvc.CodeNotFound, UserID: rq.auditUser, Reason: why})
	if rq.wantsJSON() {
		return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	}
	return ac.emailState(rq, nil, pages.AddressSpent)
}

// emailState answers with the result of following a link. If s is a session of the
// user, a script also gets the account.
func (ac *accountRoom) emailState(rq *request, s *authsvc.Session, state string) outcome {
	to := weburl.WithQuery(rq.base+"/account/email/confirm", "done", state)
	if !rq.wantsJSON() {
		return redirect{to: to}
	}
	if s == nil {
		return object{v: map[string]any{"url": to, "account": nil}}
	}
	return ac.accountDoneAt(rq, s, "/account")
}

// enterEmailCode proves the new end by the code in its mail. Each comparison first uses
// up one of the change's tries: of any number of concurrent guesses, at most codeTries
// are compared.
func (ac *accountRoom) enterEmailCode(rq *request) outcome {
	s, c, _, refused := ac.waitingEmail(rq)
	switch {
	case refused != nil:
		return refused
	case c == nil || rq.body.get("id") != "" && rq.body.get("id") != c.stored.ID:
		rq.auditUser = s.UserID
		return ac.emailSpent(rq, "no change of address is pending")
	}
	rq.auditUser = s.UserID
	wrong := func(name, why string) outcome {
		rq.audit(name, authsvc.CodeWrongCode, why)
		return rq.refuseOwn("/account/email/confirm", authsvc.CodeWrongCode, http.StatusBadRequest)
	}
	code, ok := typedCode(rq.body.get("code"))
	if !ok {
		return wrong("code.refused", "it is not eight digits")
	}
	switch err := ac.Adapter.TryCredential(rq.ctx, adapter.CredentialAddress, c.stored.ID, codeTries); {
	case errors.Is(err, adapter.ErrConflict):
		return wrong("code.spent", "five codes were tried")
	case errors.Is(err, adapter.ErrNotFound):
		return ac.emailSpent(rq, "the change was stopped or made meanwhile")
	case err != nil:
		return rq.storeUnavailable(err)
	}
	sum, err := strictBase64.DecodeString(c.Code)
	if ok, _ := ac.mailing.codeKey.Verify(sum, c.stored.ID, code); err != nil || !ok {
		return wrong("code.refused", "it does not match the mailed code")
	}
	return ac.proveEmailEnd(rq, c, emailchange.New, s)
}

// stopEmailChange drops a change at the request of the old mailbox's reader.
func (ac *accountRoom) stopEmailChange(rq *request, c *emailChange) outcome {
	err := ac.Adapter.DeleteCredential(rq.ctx, adapter.CredentialAddress, c.stored.ID, c.stored.UserID, nil)
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return ac.emailSpent(rq, "the change was stopped or made meanwhile")
	case err != nil:
		return rq.storeUnavailable(err)
	}
	rq.note(authsvc.AuditEvent{Name: "email.change_stopped", UserID: c.stored.UserID, Reason: "by the old address"})
	return ac.emailState(rq, nil, pages.AddressStopped)
}

// proveEmailEnd records that an end agrees, and makes the change if nothing else is
// missing. It does not write a recorded agreement again: with many concurrent requests,
// the last ones would find the credential changed on every try.
func (ac *accountRoom) proveEmailEnd(rq *request, c *emailChange, end emailchange.End, s *authsvc.Session) outcome {
	if s != nil && s.UserID != c.stored.UserID {
		s = nil
	}
	for try := 1; ; try++ {
		stored, err := ac.Adapter.GetCredential(rq.ctx, adapter.CredentialAddress, c.stored.ID)
		if err == nil {
			c, err = ac.openEmailChange(stored)
		}
		if err == nil {
			was := *c.Change
			if !c.Prove(end, rq.now) {
				return ac.emailSpent(rq, "the link has expired")
			}
			if was == *c.Change { // another request recorded it
				return ac.afterEmailProof(rq, c, end, s)
			}
			if err = ac.sealEmailChange(c); err == nil {
				err = ac.Adapter.UpdateCredential(rq.ctx, c.stored)
			}
		}
		switch {
		case err == nil:
			rq.note(authsvc.AuditEvent{Name: "email.change_proved", UserID: c.stored.UserID, Reason: string(end) + " address"})
			return ac.afterEmailProof(rq, c, end, s)
		case errors.Is(err, adapter.ErrNotFound):
			return ac.emailSpent(rq, "the change was stopped or made meanwhile")
		case !errors.Is(err, adapter.ErrStale) || try == fleet.CreateTries:
			return rq.storeUnavailable(err)
		}
	}
}

// afterEmailProof makes a change that is due, or says what is still missing.
func (ac *accountRoom) afterEmailProof(rq *request, c *emailChange, end emailchange.End, s *authsvc.Session) outcome {
	if c.Due(rq.now) { // checks that the other end has agreed; no link counts after the wait
		return ac.makeEmailChange(rq, c, s)
	}
	state := pages.AddressProved
	if end == emailchange.Old {
		state = pages.AddressAllowed
	}
	if s != nil && !rq.wantsJSON() {
		return redirect{to: rq.base + "/account/email/confirm"}
	}
	return ac.emailState(rq, s, state)
}

// makeEmailChange makes a change and answers with the result.
func (ac *accountRoom) makeEmailChange(rq *request, c *emailChange, s *authsvc.Session) outcome {
	n, err := ac.completeEmailChange(rq.ctx, c, s)
	switch {
	case errors.Is(err, adapter.ErrConflict):
		rq.note(authsvc.AuditEvent{Name: "email.change_refused", Code: authsvc.CodeTaken, UserID: c.stored.UserID, Reason: "the address was taken meanwhile"})
		switch {
		case rq.wantsJSON(), s != nil:
			return rq.refuseOwn("/account", authsvc.CodeTaken, http.StatusConflict)
		}
		return ac.emailState(rq, nil, pages.AddressTaken)
	case errors.Is(err, adapter.ErrNotFound), errors.Is(err, adapter.ErrStale):
		return ac.emailSpent(rq, "the change was stopped or made meanwhile")
	case err != nil:
		return rq.storeUnavailable(err)
	}
	u := n.user
	rq.note(authsvc.AuditEvent{Name: "email.change_completed", UserID: u.ID})
	if c.AsksOld {
		ac.mailing.tell(rq, n)
	}
	if ac.Events.UpdateUser != nil {
		ac.fleet.Emit("updateUser", func() { ac.Events.UpdateUser(rq.ctx, u) })
	}
	if s == nil {
		return ac.emailState(rq, nil, pages.AddressCompleted)
	}
	ac.retellSession(rq, adapter.UserUpdate{Email: &u.Email})
	return ac.accountDone(rq, s, "address")
}

// postEmailFinish handles POST account/email/finish, which makes a change that is due.
func (ac *accountRoom) postEmailFinish(rq *request) outcome {
	s, done, refused := ac.desk.beginAccount(rq)
	if refused != nil {
		return refused
	}
	defer done()
	_, c, _, refused := ac.waitingEmail(rq)
	switch {
	case refused != nil:
		return refused
	case c == nil:
		return noEmailChange(rq, s)
	case !c.Due(rq.now):
		rq.note(authsvc.AuditEvent{Name: "email.change_refused", Code: authsvc.CodeInvalid, UserID: s.UserID, Reason: "it is not due yet"})
		return rq.refuseOwn("/account/email/confirm", authsvc.CodeInvalid, http.StatusBadRequest)
	}
	return ac.makeEmailChange(rq, c, s)
}

// noEmailChange answers that no change is pending any more.
func noEmailChange(rq *request, s *authsvc.Session) outcome {
	rq.note(authsvc.AuditEvent{Name: "email.change_refused", Code: authsvc.CodeNotFound, UserID: s.UserID, Reason: "no change of address is pending"})
	return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
}

// postEmailCancel handles POST account/email/cancel, which drops a change.
func (ac *accountRoom) postEmailCancel(rq *request) outcome {
	s, done, refused := ac.desk.beginAccount(rq)
	if refused != nil {
		return refused
	}
	defer done()
	n, err := ac.Adapter.DeleteCredentials(rq.ctx, s.UserID, nil, adapter.CredentialAddress)
	switch {
	case err != nil:
		return rq.storeUnavailable(err)
	case n == 0:
		return noEmailChange(rq, s)
	}
	rq.note(authsvc.AuditEvent{Name: "email.change_stopped", UserID: s.UserID, Reason: "by the person"})
	return ac.accountDone(rq, s, "unchanged")
}
