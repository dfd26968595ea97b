package engine

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/text/unicode/norm"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/text"
)

// typedName identifies the name field's form in the typed-input cookie. No provider has
// this ID.
const typedName = "account/profile"

// checkAccount compiles the options of the account page.
func checkAccount(b *builder, s *accountRoom) {
	o := b.config.Account
	s.desk.freshWithin = 10 * time.Minute
	if o.Fresh != 0 {
		s.desk.freshWithin = o.Fresh
	}
	if s.desk.freshWithin < time.Minute || s.desk.freshWithin > 24*time.Hour {
		b.fail("Account.Fresh", "is out of range", "use 1m to 24h; 10m is the default")
	}
	checkDeletion(b, s)
	s.edits = o.Edit == nil
	for i, name := range o.Edit {
		if name != "name" {
			b.fail(fmt.Sprintf("Account.Edit[%d]", i), fmt.Sprintf("%q cannot be edited", text.Printable(name, 30)), "use name, or leave the list empty")
		}
		s.edits = true
	}
}

// accountDone answers a POST that changed something. A script gets the updated account;
// a browser is redirected to the page with a message.
func (ac *accountRoom) accountDone(rq *request, s *authsvc.Session, word string) outcome {
	if !rq.wantsJSON() {
		return redirect{to: weburl.WithQuery(rq.base+"/account", "done", word)}
	}
	return ac.accountDoneAt(rq, s, "/account")
}

// accountDoneAt is like accountDone, but redirects to path.
func (ac *accountRoom) accountDoneAt(rq *request, s *authsvc.Session, path string) outcome {
	to := rq.base + path
	if !rq.wantsJSON() {
		return redirect{to: to}
	}
	a, err := ac.readAccount(rq, rq.ctx, s)
	if err != nil {
		return rq.storeUnavailable(err)
	}
	return object{v: map[string]any{"url": to, "account": ac.accountObject(rq, a)}}
}

// postProfile handles POST account/profile, which changes the name.
func (ac *accountRoom) postProfile(rq *request) outcome {
	s, done, refused := ac.desk.beginAccount(rq)
	if refused != nil {
		return refused
	}
	defer done()
	name := norm.NFC.String(rq.body.get("name"))
	if !ac.edits || name == "" || name != text.Name(name) || len([]rune(name)) > maxOwnName {
		rq.rememberTyped(typedName, name)
		return rq.refuseOwn("/account", authsvc.CodeInvalid, http.StatusBadRequest)
	}
	u, err := ac.Adapter.UpdateUser(rq.ctx, s.UserID, adapter.UserUpdate{Name: &name})
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	case err != nil:
		return rq.storeUnavailable(err)
	}
	ac.retellSession(rq, adapter.UserUpdate{Name: &name})
	rq.note(authsvc.AuditEvent{Name: "user.updated", UserID: u.ID, Reason: "the name, by the person"})
	if ac.Events.UpdateUser != nil {
		ac.fleet.Emit("updateUser", func() { ac.Events.UpdateUser(rq.ctx, u) })
	}
	return ac.accountDone(rq, s, "renamed")
}

// retellSession copies a change of the user into the current session.
func (ac *accountRoom) retellSession(rq *request, change adapter.UserUpdate) {
	renewed, err := ac.keeper.sessions.retell(rq.ctx, rq.sessionCookieValue(), change, rq.now)
	if err == nil && renewed != nil && !rq.setSession(renewed.value, renewed.expires) {
		err = errSessionTooLarge
	}
	if err != nil { // the change is stored; this session shows it later
		ac.Log.Warn("cannot apply a change of the user to the session", "request", rq.requestID(), "err", err)
	}
}

// maxOwnName is the maximum number of characters in a name that users choose
// themselves.
const maxOwnName = 100

// postUnlink handles POST account/unlink, which removes a way to sign in unless it is
// the last one.
func (ac *accountRoom) postUnlink(rq *request) outcome {
	s, done, refused := ac.desk.beginAccount(rq)
	if refused != nil {
		return refused
	}
	defer done()
	if !ac.desk.provedFresh(rq, s, "account/unlink") {
		return stepUpFirst(rq, accountBack(rq), s)
	}
	all, err := ac.Adapter.ListAccounts(rq.ctx, s.UserID)
	if err != nil {
		return rq.storeUnavailable(err)
	}
	id := rq.body.get("id")
	i := slices.IndexFunc(all, func(a authsvc.Account) bool { return ac.accountHandle(&a) == id })
	if i < 0 {
		rq.note(authsvc.AuditEvent{Name: "account.unlink_refused", UserID: s.UserID, Reason: "the user has no such account"})
		return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	}
	by := unlinkOptions{reason: "by the person", record: func(e authsvc.AuditEvent) { rq.note(e) }, notify: func(n notice) { ac.mailing.tell(rq, n) }}
	err = ac.vault.unlink(rq.ctx, s.UserID, all[i].Provider, all[i].ProviderAccountID, by)
	switch {
	case errors.Is(err, adapter.ErrNotFound): // another tab removed it meanwhile
		return rq.refuseOwn("/account", authsvc.CodeNotFound, http.StatusNotFound)
	case errors.Is(err, authsvc.ErrLastAccount):
		return rq.refuseOwn("/account", authsvc.CodeLastMethod, http.StatusConflict)
	case err != nil:
		return rq.storeUnavailable(err)
	}
	return ac.accountDone(rq, s, "unlinked")
}

func (ac *accountRoom) deriveKeys(ring *seal.Ring) {
	ac.handleKey, ac.keepKey = ring.MAC("account handle"), ring.Sealer("keep an account "+ac.site.base)
}
