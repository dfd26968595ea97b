package engine

import (
	"context"
	"errors"
	"time"

	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
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
	Epoch    *int64    `json:"epoch,omitempty"`    // of the user when the change was made; nil: stored by an earlier version
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

// prepareUndo stores what the link of a notice undoes before the change is made. So no
// change is made without its link, and a concurrent undo of an earlier change either
// voids the link or stops the change.
func (ml *mailing) prepareUndo(ctx context.Context, n *notice) (err error) {
	if !ml.tells(n) || !n.canUndo() {
		return nil
	}
	n.undoToken, err = ml.putUndo(ctx, n, ml.fleet.Now())
	if errors.Is(err, adapter.ErrTooMany) { // the mail goes without it
		return nil
	}
	return err
}

// dropUndo deletes what prepareUndo stored, because the change was not made. If that
// fails, the link expires; no one has it.
func (ml *mailing) dropUndo(ctx context.Context, n *notice) {
	if n.undoToken == "" {
		return
	}
	err := ml.Adapter.DeleteCredential(ctx, adapter.CredentialUndo, seal.Digest(n.undoToken), n.user.ID, nil)
	if err != nil && !errors.Is(err, adapter.ErrNotFound) {
		ml.Log.Warn("cannot delete the undo link of a change that was not made", "user", n.user.ID, "cause", err)
	}
}

// putUndo stores what the link of a notice undoes, and returns the token of the link. It
// returns ErrTooMany if the user has too many links.
func (ml *mailing) putUndo(ctx context.Context, n *notice, now time.Time) (string, error) {
	token, most := seal.Token(), maxLinkUndos
	if n.undo.Address != "" {
		most = maxUndos - 1
	}
	n.undo.Epoch = new(n.user.Epoch)
	if err := ml.putUndoable(ctx, n.user.ID, token, n.undo, most, now); err != nil {
		return "", err
	}
	return token, nil
}

// voidAddressUndos voids the links that restore a former address of a user. Data that
// cannot be opened may be such a link.
func (ml *mailing) voidAddressUndos(ctx context.Context, userID string) error {
	p, err := ml.Adapter.GetPerson(ctx, userID)
	if err != nil {
		return err
	}
	for _, c := range p.Credentials {
		var what undoable
		if c.Kind != adapter.CredentialUndo {
			continue
		}
		if _, err := ml.fleet.OpenData(&c, &what); err == nil && what.Address == "" {
			continue
		}
		if err := ml.Adapter.DeleteCredential(ctx, adapter.CredentialUndo, c.ID, userID, nil); err != nil && !errors.Is(err, adapter.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (ml *mailing) putUndoable(ctx context.Context, userID, token string, what *undoable, most int, now time.Time) (err error) {
	now = now.UTC().Truncate(time.Millisecond)
	c := adapter.Credential{Kind: adapter.CredentialUndo, ID: seal.Digest(token), UserID: userID, Created: now, Expires: now.Add(undoLife)}
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
		if !errors.Is(err, adapter.ErrStale) || try == fleet.CreateTries {
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
		if c.Kind != adapter.CredentialUndo || !now.Before(c.Expires) {
			continue
		}
		if _, err := ml.fleet.OpenData(&c, &what); err != nil || len(what.Unmailed) == 0 {
			continue
		}
		if len(what.Unmailed) >= maxUnmailed {
			return adapter.ErrTooMany
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
