package engine

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/text"
	"authsvc/internal/text/pages"
)

const (
	undoRetry = time.Minute // after this, a started undo counts as crashed
)

// canUndo reports whether the mail goes to a verified address. An unverified address
// may be anyone's.
func (n *notice) canUndo() bool {
	switch {
	case n.undo == nil:
		return false
	case n.undo.Address != "":
		return !n.undo.Verified.IsZero() && n.to == n.undo.Address
	}
	return emailProved(n.user) && n.to == ""
}

// findUndo returns the change that a link undoes, and the credential of the link. It
// returns ErrNotFound if the link is unknown, was used or has expired.
func (ac *accountRoom) findUndo(rq *request, token string) (c adapter.Credential, what undoable, err error) {
	if len(token) < 20 || len(token) > 200 {
		return c, what, adapter.ErrNotFound
	}
	digest := seal.Digest(token)
	c, err = ac.Adapter.GetCredential(rq.ctx, adapter.CredentialUndo, digest)
	switch {
	case err != nil:
		return c, what, err
	case !text.Same(c.ID, digest), !rq.now.Before(c.Expires), rq.now.Before(c.Used.Add(undoRetry)):
		return c, what, adapter.ErrNotFound
	}
	_, err = ac.fleet.OpenData(&c, &what)
	return c, what, err
}

// getUndo handles GET account/undo. It shows what a notice's link would undo, and
// changes nothing.
func (ac *accountRoom) getUndo(rq *request) outcome {
	v := pages.UndoView{State: "spent", SignInURL: rq.base + "/signin", RequestID: rq.shownRequestID()}
	token := rq.query("token")
	switch {
	case token != "":
	case rq.query("done") == "undone":
		v.State = "done"
		return page{name: pages.Undo, view: v}
	case rq.query("error") == string(authsvc.CodeTaken):
		v.State = "taken"
		return page{name: pages.Undo, view: v}
	}
	c, what, err := ac.findUndo(rq, token)
	var u authsvc.User
	if err == nil {
		u, err = ac.Adapter.GetUser(rq.ctx, c.UserID)
	}
	if errors.Is(err, adapter.ErrNotFound) {
		if out := ac.mailing.countLink(rq); out != nil {
			return out
		}
		if rq.wantsData() {
			return undoSpent(rq)
		}
		return page{name: pages.Undo, status: http.StatusNotFound, view: v}
	}
	if err != nil {
		return rq.storeUnavailable(err)
	}
	v.State, v.What, v.Who, v.Token, v.Action, v.CSRFToken = "asks", what.what(), cmp.Or(u.Email, u.Name, u.ID), token, rq.base+"/account/undo", rq.ensureCSRF()
	if v.Name = what.Address; what.Provider != "" {
		v.Name = rq.providerName(what.Provider)
	}
	if rq.wantsData() {
		return object{v: map[string]any{"what": v.What, "name": v.Name, "account": v.Who, "expires": isoTime(c.Expires)}}
	}
	if v.Error = rq.query("error"); v.Error != "" {
		v.Error = string(plainErrorCode(authsvc.ErrorCode(v.Error)))
	}
	return page{name: pages.Undo, view: v}
}

// postUndo handles POST account/undo, which undoes the link's change once and ends all
// sessions. Of concurrent requests, only one succeeds.
func (ac *accountRoom) postUndo(rq *request) outcome {
	token := rq.body.get("token")
	if !rq.csrfOK() {
		return rq.refuseOwnCSRF(weburl.WithQuery("/account/undo", "token", token))
	}
	if out := ac.mailing.countLink(rq); out != nil {
		return out
	}
	c, what, err := ac.findUndo(rq, token)
	if err == nil {
		ctx, cancel := fleet.Detached(rq.ctx, loginTimeout) // finishes even if the browser has gone
		defer cancel()
		rq.ctx = ctx
		err = ac.claimUndo(rq, &c)
	}
	switch {
	case errors.Is(err, adapter.ErrNotFound), errors.Is(err, adapter.ErrStale):
		return undoSpent(rq)
	case err != nil:
		return rq.storeUnavailable(err)
	}
	rq.auditUser = c.UserID
	taken, err := ac.undo(rq, &c, &what)
	if errors.Is(err, adapter.ErrNotFound) {
		return undoSpent(rq)
	}
	if err != nil {
		c.Used = time.Time{} // the link still works
		if err := ac.Adapter.UpdateCredential(rq.ctx, c); err != nil {
			ac.Log.Error("cannot undo a change, and its link does not work again until a minute has passed", "user", c.UserID, "request", rq.requestID(), "err", err)
		}
		return rq.storeUnavailable(err)
	}
	if s, err := ac.keeper.current(rq); err == nil && s == nil && rq.sessionCookieValue() != "" {
		rq.clearSession()
		ac.desk.rotateCSRF(rq, "", "")
	}
	to, word := weburl.WithQuery(rq.base+"/account/undo", "done", "undone"), authsvc.ErrorCode("")
	if taken {
		word = authsvc.CodeTaken
		to = weburl.WithQuery(rq.base+"/account/undo", "error", string(word))
	}
	switch {
	case !rq.wantsJSON():
		return redirect{to: to}
	case taken:
		return refusedTo(to, word, http.StatusConflict)
	}
	return object{v: map[string]any{"url": to, "account": nil}}
}

// undoSpent answers a link that is no longer valid.
func undoSpent(rq *request) outcome {
	if !rq.audited {
		rq.audit("change.undo_refused", authsvc.CodeNotFound, "the link is unknown, was used or has expired")
	}
	return rq.refuseOwn("/account/undo", authsvc.CodeNotFound, http.StatusNotFound)
}

// claimUndo makes this request the one that undoes the change. It returns ErrStale if
// another request is doing so.
func (ac *accountRoom) claimUndo(rq *request, c *adapter.Credential) error {
	c.Used = rq.now.UTC().Truncate(time.Millisecond)
	err := ac.Adapter.UpdateCredential(rq.ctx, *c)
	c.Version++
	return err
}

// undo undoes a change in repeatable steps: first everything that could start new
// sessions, then all sessions and remembered browsers, and last the link. It returns
// ErrNotFound if the link of an earlier change was used meanwhile, or if the user is
// gone.
func (ac *accountRoom) undo(rq *request, c *adapter.Credential, what *undoable) (taken bool, err error) {
	tell := func(n notice) { ac.mailing.tell(rq, n) }
	var moved authsvc.User
	if err := ac.undoLink(rq, c.UserID, what, tell); err != nil {
		return false, err
	}
	if _, err := ac.undoLater(rq, c, what); err != nil {
		return false, err
	}
	if what.Address != "" {
		if moved, taken, err = ac.restoreAddress(rq, c, what); err != nil {
			return false, err
		}
	}
	if err := ac.keeper.endSessions(rq.ctx, c.UserID); err != nil {
		return false, err
	}
	if err := ac.undoRest(rq, c, what); err != nil {
		return false, err
	}
	if err := ac.undoTokens(rq, c); err != nil { // after the sessions have ended that made them
		return false, err
	}
	if _, err := ac.Adapter.DeleteCredentials(rq.ctx, c.UserID, nil, adapter.CredentialDevice, adapter.CredentialAddress); err != nil {
		return false, err
	}
	if err := ac.dropUndo(rq, c); err != nil {
		return false, err
	}
	rq.audit("change.undone", "", map[string]string{"linked": "an identity was linked", "address": "the address was changed"}[what.what()])
	if what.Address != "" && !taken {
		ac.notifyRestored(rq, moved, tell)
	}
	return taken, nil
}

// notifyRestored tells both addresses that a change of address was undone, because the
// link may have been used by a stranger who reads the earlier mailbox. It also tells the
// restored address of a deletion: if that was scheduled since the change, its mail went
// to the other address. moved is the user before the undo.
func (ac *accountRoom) notifyRestored(rq *request, moved authsvc.User, tell func(notice)) {
	u, err := ac.Adapter.GetUser(rq.ctx, moved.ID)
	if err != nil {
		ac.Log.Error("cannot tell a user that a change of address was undone", "user", moved.ID, "request", rq.requestID(), "err", err)
		return
	}
	tell(notice{what: "restored", user: u, name: u.Email})
	if moved.Email != u.Email && emailProved(moved) {
		tell(notice{what: "address", user: u, name: u.Email, to: moved.Email})
	}
	if !u.DeleteAfter.IsZero() {
		tell(ac.deletionNotice(u))
	}
}

// undoLink removes the identity that what linked, if any. notify tells the user, unless
// it is nil.
func (ac *accountRoom) undoLink(rq *request, userID string, what *undoable, notify func(notice)) error {
	if what.Provider == "" {
		return nil
	}
	by := unlinkOptions{evenLast: true, reason: "by the link in a notice", record: func(e authsvc.AuditEvent) { rq.note(e) }, notify: notify}
	err := ac.vault.unlink(rq.ctx, userID, what.Provider, what.Account, by)
	if errors.Is(err, adapter.ErrNotFound) {
		return nil
	}
	return err
}

// undoLater removes identities that were linked without a mail. If first is a change of
// address, it also removes those linked since, and voids the links of all later
// changes: their mails went to the address being undone. Each link is deleted after its
// change is undone, so that an error loses nothing. The user gets no mail for each: the
// mail about the undo suffices. undoLater returns how many links it deleted.
func (ac *accountRoom) undoLater(rq *request, c *adapter.Credential, first *undoable) (undone int, err error) {
	p, err := ac.Adapter.GetPerson(rq.ctx, c.UserID)
	if err != nil {
		return 0, err
	}
	for _, later := range p.Credentials {
		if later.Kind != adapter.CredentialUndo || later.ID == c.ID {
			continue
		}
		var what undoable
		_, err := ac.fleet.OpenData(&later, &what)
		if unmailed := err == nil && len(what.Unmailed) > 0; !unmailed && (first.Address == "" || isBefore(&later, &what, c, first)) {
			continue
		}
		if err == nil {
			for _, linked := range append(what.Unmailed, what) {
				if err := ac.undoLink(rq, c.UserID, &linked, nil); err != nil {
					return undone, err
				}
			}
			if later.Created.Before(c.Created) { // undo revokes those made since c
				if err := ac.undoTokens(rq, &later); err != nil {
					return undone, err
				}
			}
		}
		if err := ac.dropUndo(rq, &later); err != nil {
			return undone, err
		}
		undone++
	}
	return undone, nil
}

// isBefore reports whether one change was made before another. The user's epoch orders
// them even if the clocks of the replicas differ, since each change of address raises
// it.
func isBefore(c *adapter.Credential, one *undoable, otherC *adapter.Credential, other *undoable) bool {
	if one.Epoch != nil && other.Epoch != nil && *one.Epoch != *other.Epoch {
		return *one.Epoch < *other.Epoch
	}
	return c.Created.Before(otherC.Created)
}

// undoRest repeats undoLater until nothing is left. A session may have added something
// before it ended, and what was added may have begun a session since.
func (ac *accountRoom) undoRest(rq *request, c *adapter.Credential, first *undoable) error {
	for try := 1; ; try++ {
		undone, err := ac.undoLater(rq, c, first)
		if err != nil || undone == 0 {
			return err
		}
		if try == fleet.CreateTries {
			return adapter.ErrStale
		}
		if err := ac.keeper.endSessions(rq.ctx, c.UserID); err != nil {
			return err
		}
	}
}

// undoTokens revokes the personal access tokens made since a change, because they
// outlive the sessions that made them.
func (ac *accountRoom) undoTokens(rq *request, c *adapter.Credential) error {
	p, err := ac.Adapter.GetPerson(rq.ctx, c.UserID)
	if err != nil {
		return err
	}
	revoked := 0
	for _, made := range p.Credentials {
		if made.Kind != adapter.CredentialToken || made.Created.Before(c.Created) {
			continue
		}
		err := ac.Adapter.DeleteCredential(rq.ctx, adapter.CredentialToken, made.ID, c.UserID, nil)
		switch {
		case err == nil:
			revoked++
		case !errors.Is(err, adapter.ErrNotFound):
			return err
		}
	}
	if revoked > 0 {
		rq.note(authsvc.AuditEvent{Name: "pat.revoked", UserID: c.UserID, Reason: "made since an undone change"})
	}
	return nil
}

func (ac *accountRoom) dropUndo(rq *request, c *adapter.Credential) error {
	err := ac.Adapter.DeleteCredential(rq.ctx, adapter.CredentialUndo, c.ID, c.UserID, nil)
	if errors.Is(err, adapter.ErrNotFound) {
		return nil
	}
	return err
}

// restoreAddress gives a user the former address back. It reports as taken whether
// another user has that address now. If the links of several changes are used at once,
// the earliest wins: it voids the others before it writes, and each checks its own link
// after reading the user. moved is the user before the write.
func (ac *accountRoom) restoreAddress(rq *request, c *adapter.Credential, what *undoable) (moved authsvc.User, taken bool, err error) {
	for try := 1; ; try++ {
		was, err := ac.Adapter.GetUser(rq.ctx, c.UserID)
		if err != nil {
			return was, false, err
		}
		if _, err := ac.Adapter.GetCredential(rq.ctx, adapter.CredentialUndo, c.ID); err != nil {
			return was, false, err
		}
		u, err := ac.Adapter.UpdateUser(rq.ctx, c.UserID, adapter.UserUpdate{Email: &what.Address, EmailVerified: &what.Verified, Was: &was})
		switch {
		case errors.Is(err, adapter.ErrConflict):
			return was, true, nil
		case errors.Is(err, adapter.ErrStale) && try < fleet.CreateTries:
			continue
		case err != nil:
			return was, false, err
		}
		if ac.Events.UpdateUser != nil {
			ac.fleet.Emit("updateUser", func() { ac.Events.UpdateUser(rq.ctx, u) })
		}
		return was, false, nil
	}
}
