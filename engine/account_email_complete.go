package engine

import (
	"context"
	"errors"

	"authsvc"
	"authsvc/adapter"
)

// completeEmailChange makes a change. The request that deletes the credential makes the
// change; of concurrent ones, including one that stops it, only one succeeds. Deleting
// raises the user's epoch, which stops sign-ins in progress by the old address. The new
// address is then written only if the user's sessions were not ended and the old
// address was not verified for the first time meanwhile.
//
// It returns ErrConflict if another user has the new address, and ErrNotFound or
// ErrStale if the change cannot be made any more. In all these cases the change is
// dropped. The user's session current, if not nil, stays valid. n tells the old address,
// and has the user as changed.
func (ac *accountRoom) completeEmailChange(ctx context.Context, c *emailChange, current *authsvc.Session) (n notice, err error) {
	userID := c.stored.UserID
	now := ac.fleet.Now()
	claim := ac.keeper.revocation(keyAddress+userID, userID, now)
	if err := ac.Adapter.DeleteCredential(ctx, adapter.CredentialAddress, c.stored.ID, userID, claim); err != nil {
		return n, err
	}
	was, err := ac.Adapter.GetUser(ctx, userID)
	switch {
	case err != nil:
		return n, err
	case !c.restsOn(&was, now):
		return n, adapter.ErrStale
	}
	n = notice{what: "address", user: was, name: c.To, to: was.Email, undo: &undoable{Address: was.Email, Verified: was.EmailVerified}}
	if err := ac.mailing.prepareUndo(ctx, &n); err != nil {
		return n, err
	}
	u, err := ac.Adapter.UpdateUser(ctx, userID, adapter.UserUpdate{Email: &c.To, EmailVerified: &now, Was: &was})
	switch {
	case errors.Is(err, adapter.ErrConflict), errors.Is(err, adapter.ErrStale), errors.Is(err, adapter.ErrNotFound):
		ac.mailing.dropUndo(ctx, &n)
		return n, err
	case err != nil: // the answer may be lost: a change that was made must be told
		var readErr error
		if u, readErr = ac.Adapter.GetUser(ctx, userID); readErr != nil || u.Email != c.To {
			return n, err
		}
	}
	n.user = u
	ac.afterEmailChange(ctx, c, current)
	return n, nil
}

// afterEmailChange ends everything that depends on the old address. The change is
// already made, so failures are only logged.
func (ac *accountRoom) afterEmailChange(ctx context.Context, c *emailChange, current *authsvc.Session) {
	userID, keep := c.stored.UserID, ""
	switch {
	case current != nil:
		keep = ac.keeper.SessionID(current)
	case ac.keeper.sessions.refersToUser(): // the session that asked reads the new address
		keep = c.Session
	}
	errs := []error{ac.Adapter.VoidTokens(ctx, c.To), ac.keeper.endOtherSessions(ctx, userID, keep)}
	if c.From != "" {
		errs = append(errs, ac.Adapter.VoidTokens(ctx, c.From))
	}
	_, err := ac.Adapter.DeleteCredentials(ctx, userID, nil, adapter.CredentialDevice)
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		ac.Log.Error("an address was changed, but some links or sessions of the old one could not be ended", "user", userID, "err", err)
	}
}
