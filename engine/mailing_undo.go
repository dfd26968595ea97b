package engine

import (
	"context"
	"errors"
	"time"

	"authsvc"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
)

// Limits of the undo credentials of a user.
const (
	maxUndos     = 20           // in all: one is for unmailed identities
	maxLinkUndos = maxUndos - 5 // mailed, of linked identities; the rest is for changes of address
	maxUnmailed  = 200          // identities
	undoLife     = 72 * time.Hour
)

// An undoable describes what the link in a notice undoes, besides ending all sessions:
// a linked identity, or a replaced address. The link goes to a verified address and
// needs no session: access to that mailbox is enough.
type undoable struct {
	Provider string    `json:"provider,omitempty"` // of the identity
	Account  string    `json:"account,omitempty"`  // its ProviderAccountID
	Address  string    `json:"address,omitempty"`  // to restore
	Verified time.Time `json:"verified,omitzero"`  // when Address was verified
	// Unmailed holds identities that were linked past a limit, without a link of their
	// own. The link of any other mail undoes them as well: otherwise an attacker could
	// use up the limit and then link an identity that stays.
	Unmailed []undoable `json:"unmailed,omitempty"`
}

func (u *undoable) what() string {
	if u.Address != "" {
		return "address"
	}
	return "linked"
}

// putUndo stores what the link of a notice undoes, and returns the link. It returns
// ErrTooMany if the user has too many links.
func (ml *mailing) putUndo(ctx context.Context, n *notice, now time.Time) (link string, err error) {
	token, most := seal.Token(), maxLinkUndos
	if n.undo.Address != "" {
		most = maxUndos - 1
	}
	if err := ml.putUndoable(ctx, n.user.ID, token, n.undo, most, now); err != nil {
		return "", err
	}
	return weburl.WithQuery(ml.site.base+"/account/undo", "token", token), nil
}

func (ml *mailing) putUndoable(ctx context.Context, userID, token string, what *undoable, most int, now time.Time) (err error) {
	now = now.UTC().Truncate(time.Millisecond)
	c := authsvc.Credential{Kind: authsvc.CredentialUndo, ID: seal.Digest(token), UserID: userID, Created: now, Expires: now.Add(undoLife)}
	if c.Data, err = ml.fleet.SealData(&c, what); err != nil {
		return err
	}
	return ml.fleet.PutCredential(ctx, c, most)
}

// keepUndo stores an identity that was linked without an undo link, so that the links
// of other mails undo it. A change of address without a link is not stored.
func (ml *mailing) keepUndo(ctx context.Context, n *notice, now time.Time) error {
	if n.undo.Provider == "" {
		return nil
	}
	for try := 1; ; try++ {
		err := ml.addUnmailed(ctx, n, now)
		if !errors.Is(err, authsvc.ErrStale) || try == fleet.CreateTries {
			return err
		}
	}
}

func (ml *mailing) addUnmailed(ctx context.Context, n *notice, now time.Time) error {
	p, err := ml.Adapter.GetPerson(ctx, n.user.ID)
	if err != nil {
		return err
	}
	for _, c := range p.Credentials {
		var what undoable
		if c.Kind != authsvc.CredentialUndo || !now.Before(c.Expires) {
			continue
		}
		if _, err := ml.fleet.OpenData(&c, &what); err != nil || len(what.Unmailed) == 0 {
			continue
		}
		if len(what.Unmailed) >= maxUnmailed {
			return authsvc.ErrTooMany
		}
		what.Unmailed = append(what.Unmailed, *n.undo)
		c.Expires = now.Add(undoLife).UTC().Truncate(time.Millisecond)
		if c.Data, err = ml.fleet.SealData(&c, &what); err != nil {
			return err
		}
		return ml.Adapter.UpdateCredential(ctx, c)
	}
	return ml.putUndoable(ctx, n.user.ID, seal.Token(), &undoable{Unmailed: []undoable{*n.undo}}, maxUndos, now)
}
