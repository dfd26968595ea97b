package engine

import (
	"cmp"
	"errors"
	"net/http"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/emailaddr"
	"authsvc/internal/text/pages"
)

// typedDelete identifies the deletion form in the typed-input cookie. No provider has
// this ID.
const typedDelete = "account/delete"

// deleteWord confirms the deletion of an account that has no email address.
const deleteWord = "delete"

// Results that the page after a deletion reports.
const (
	doneScheduled = "scheduled"
	doneDeleted   = "deleted"
)

// deletePage handles GET account/delete. It explains what deleting the account means
// and asks for confirmation. Afterwards it reports the result.
func (ac *accountRoom) deletePage(rq *request) outcome {
	if done := rq.query("done"); done == doneScheduled || done == doneDeleted {
		return ac.deletionDone(rq, done)
	}
	s, u, refused := ac.desk.freshUser(rq, "/account/delete")
	if refused != nil {
		return refused
	}
	v := pages.DeleteView{CSRFToken: rq.ensureCSRF(), Fresh: ac.desk.freshField(rq, s, "account/delete"), Who: cmp.Or(u.Email, u.Name, u.ID), Word: cmp.Or(u.Email, deleteWord),
		RequestID: rq.shownRequestID()}
	if ac.grace > 0 {
		v.On = u.DeleteAfter
		if v.On.IsZero() {
			v.On = rq.now.Add(ac.grace)
		}
	}
	if rq.query("error") != "" {
		v.Error = string(plainErrorCode(authsvc.ErrorCode(rq.query("error"))))
	}
	if t := rq.typed(); v.Error == string(authsvc.CodeInvalid) && t.Provider == typedDelete {
		v.Typed = t.Name
	}
	rq.forgetTyped()
	return page{name: pages.Delete, view: v}
}

// deletionDone shows the page after a deletion. The browser that asked for the deletion
// can cancel it there.
func (ac *accountRoom) deletionDone(rq *request, done string) outcome {
	v := pages.DeleteView{Done: done, CSRFToken: rq.ensureCSRF()}
	if done == doneDeleted {
		return page{name: pages.Delete, view: v}
	}
	c, err := ac.desk.waiting(rq, keepPurpose)
	if err != nil {
		return rq.storeUnavailable(err)
	}
	if c != nil {
		u, err := ac.Adapter.GetUser(rq.ctx, c.UserID)
		if err != nil && !errors.Is(err, adapter.ErrNotFound) {
			return rq.storeUnavailable(err)
		}
		v.On = u.DeleteAfter
	}
	return page{name: pages.Delete, view: v}
}

// postDelete handles POST account/delete, which deletes the user's account. The body
// must repeat the account's address, or contain "delete" if it has none.
func (ac *accountRoom) postDelete(rq *request) outcome {
	s, done, refused := ac.desk.beginAccount(rq)
	if refused != nil {
		return refused
	}
	defer done()
	if !ac.desk.provedFresh(rq, s, "account/delete") {
		return stepUpFirst(rq, deleteBack(rq), s)
	}
	u, refused := ac.desk.userOf(rq, s)
	if refused != nil {
		return refused
	}
	if !namesAccount(u, rq.body.get("confirm")) {
		rq.rememberTyped(typedDelete, rq.body.get("confirm"))
		return rq.refuseOwn("/account/delete", authsvc.CodeInvalid, http.StatusBadRequest)
	}
	u, gone, err := ac.scheduleDeletion(rq.ctx, s.UserID, ac.mailing.byPerson(rq))
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return rq.storeUnavailable(err)
	}
	rq.forgetTyped()
	rq.clearSession()
	ac.desk.rotateCSRF(rq, "", "")
	word := doneDeleted
	if !gone {
		word = doneScheduled
		ac.offerKeep(rq, u)
	}
	return withoutSession(rq, weburl.WithQuery(rq.base+"/account/delete", "done", word))
}

// deleteBack returns the URL to return to after the fresh proof for a deletion.
func deleteBack(rq *request) string {
	if rq.body.get("callbackUrl") != "" {
		return rq.callbackURL()
	}
	return rq.base + "/account/delete"
}

// namesAccount reports whether typed names the account of u.
func namesAccount(u authsvc.User, typed string) bool {
	if u.Email == "" {
		return typed == deleteWord
	}
	address, err := emailaddr.Normalise(typed)
	return err == nil && address == u.Email
}
