package engine

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/cookie"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal"
	"authsvc/internal/text"
)

// A sign-in that cannot end in a session yet waits in the store. Its browser holds the
// preimage of the id in a cookie, which grants only the right to continue.
const (
	pendingFor = 10 * time.Minute
	maxPending = 5 // for one user; the oldest is dropped
)

// keepPurpose is the purpose of a sign-in that waits until its person says whether to
// keep the account.
const keepPurpose = "keep"

// pendingSignIn is the sealed content of a CredentialPending's Data.
type pendingSignIn struct {
	Purpose string `json:"p"`
}

// refuseDeleted interrupts the sign-in of a user who is to be deleted, before anything is
// written about the user. It leads to the page that asks whether to keep the account.
func (l *login) refuseDeleted() outcome {
	if !l.found {
		return nil
	}
	return l.refuseScheduled(l.user)
}

// refuseScheduled does what refuseDeleted does, for the user u. If u's epoch is no longer current,
// the sign-in starts over: the deletion may have been cancelled.
func (l *login) refuseScheduled(u authsvc.User) outcome {
	if u.DeleteAfter.IsZero() {
		return nil
	}
	l.rq.auditUser = u.ID
	err := l.desk.putPending(l.rq, u, pendingSignIn{Purpose: keepPurpose})
	switch {
	case errors.Is(err, adapter.ErrStale), errors.Is(err, adapter.ErrNotFound):
		return stale(err)
	case err != nil:
		return storeFailed(authsvc.CodeCallback, err)
	}
	l.rq.audit("sign_in.refused", "", "the user is scheduled for deletion, and was asked whether to stay")
	l.rq.forgetTyped()
	l.rq.callbackTo = l.id.callbackURL
	l.rq.keepCallbackURL()
	return redirect{to: l.rq.base + "/account/keep"}
}

// putPending stores a sign-in that waits and sets its cookie in the browser.
func (dk *desk) putPending(rq *request, u authsvc.User, p pendingSignIn) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	token := seal.Token()
	c := adapter.Credential{Kind: adapter.CredentialPending, ID: seal.Digest(token), UserID: u.ID, Created: rq.now, Expires: rq.now.Add(pendingFor)}
	c.Data = dk.fleet.SealText(&c, string(raw))
	for try := 1; ; try++ {
		err := dk.Adapter.PutCredential(rq.ctx, c, u.Epoch, maxPending)
		switch {
		case err == nil:
			rq.setCookie(cookie.Cookie{Name: dk.pendingCookie, Value: token, Expires: c.Expires})
			return nil
		case !errors.Is(err, adapter.ErrTooMany), try == fleet.CreateTries:
			return err
		}
		if err := dk.dropOldestPending(rq, u.ID); err != nil {
			return err
		}
	}
}

// putBack stores a sign-in that waits again, after its decision failed, so that the
// person can repeat the decision. If that fails too, the person must sign in again.
func (dk *desk) putBack(rq *request, c *adapter.Credential) {
	u, err := dk.Adapter.GetUser(rq.ctx, c.UserID)
	if err == nil {
		err = dk.Adapter.PutCredential(rq.ctx, *c, u.Epoch, maxPending)
	}
	if err != nil && !errors.Is(err, adapter.ErrConflict) { // it was never deleted
		dk.Log.Warn("a sign-in that waits is lost: its decision failed, and it cannot be stored again", "request", rq.requestID(), "cause", err)
	}
}

func (dk *desk) dropOldestPending(rq *request, userID string) error {
	p, err := dk.Adapter.GetPerson(rq.ctx, userID)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(p.Credentials, func(c adapter.Credential) bool { return c.Kind != adapter.CredentialPending })
	if len(kept) == 0 {
		return nil
	}
	oldest := slices.MinFunc(kept, func(a, b adapter.Credential) int { return a.Created.Compare(b.Created) })
	err = dk.Adapter.DeleteCredential(rq.ctx, adapter.CredentialPending, oldest.ID, userID, nil)
	if errors.Is(err, adapter.ErrNotFound) { // another request deleted it
		return nil
	}
	return err
}

// waiting returns the sign-in that waits in this browser for a purpose, or nil if there
// is none.
func (dk *desk) waiting(rq *request, purpose string) (*adapter.Credential, error) {
	token, ok := rq.jar.Get(dk.pendingCookie)
	if !ok || len(token) > maxTokenCookie {
		return nil, nil
	}
	digest := seal.Digest(token)
	c, err := dk.Adapter.GetCredential(rq.ctx, adapter.CredentialPending, digest)
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case !text.Same(c.ID, digest), !rq.now.Before(c.Expires): // a store may compare loosely
		return nil, nil
	}
	raw, _, err := dk.fleet.OpenText(&c)
	var p pendingSignIn
	if err != nil || json.Unmarshal([]byte(raw), &p) != nil || p.Purpose != purpose {
		return nil, nil //nolint:nilerr // sealed under a secret that is gone, or for something else
	}
	return &c, nil
}

// maxTokenCookie limits the size of a cookie that is hashed, in bytes.
const maxTokenCookie = 100
