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

// An undoable is what the link in a notice takes back, beside ending all sessions:
// an identity that was linked, or the address that another one replaced. It needs
// no session: whoever reads the mail of a proved address decides.
type undoable struct {
	Provider string    `json:"provider,omitempty"` // of the identity
	Account  string    `json:"account,omitempty"`  // its ProviderAccountID
	Address  string    `json:"address,omitempty"`  // to restore
	Verified time.Time `json:"verified,omitzero"`  // when that was proved
}

func (u *undoable) what() string {
	if u.Address != "" {
		return "address"
	}
	return "linked"
}

// putUndo stores what the link of a notice takes back, and returns the link.
// ErrTooMany: the user has maxUndos.
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
