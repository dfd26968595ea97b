package engine

import (
	"context"
	"time"

	"authsvc"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
)

const maxUndos = 20 // of a user

const undoLife = 72 * time.Hour

// An undoable describes what the link in a notice undoes, besides ending all sessions:
// a linked identity, or a replaced address. The link goes to a verified address and
// needs no session: access to that mailbox is enough.
type undoable struct {
	Provider string    `json:"provider,omitempty"` // of the identity
	Account  string    `json:"account,omitempty"`  // its ProviderAccountID
	Address  string    `json:"address,omitempty"`  // to restore
	Verified time.Time `json:"verified,omitzero"`  // when Address was verified
}

func (u *undoable) what() string {
	if u.Address != "" {
		return "address"
	}
	return "linked"
}

// putUndo stores what the link of a notice undoes, and returns the link. It returns
// ErrTooMany if the user has maxUndos links.
func (ml *mailing) putUndo(ctx context.Context, n *notice, now time.Time) (link string, err error) {
	token := seal.Token()
	now = now.UTC().Truncate(time.Millisecond)
	c := authsvc.Credential{Kind: authsvc.CredentialUndo, ID: seal.Digest(token), UserID: n.user.ID, Created: now, Expires: now.Add(undoLife)}
	if c.Data, err = ml.fleet.SealData(&c, n.undo); err != nil {
		return "", err
	}
	if err := ml.fleet.PutCredential(ctx, c, maxUndos); err != nil {
		return "", err
	}
	return weburl.WithQuery(ml.site.base+"/account/undo", "token", token), nil
}
