package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal"
)

// Durations and limits of deletions.
const (
	deletionGrace   = 14 * 24 * time.Hour
	maxGrace        = 365 * 24 * time.Hour
	deletionTimeout = time.Minute // for the deletion of one user in the background
	deletionRetry   = time.Hour   // before a failed deletion is tried again
	deletionBatch   = 20          // users examined in one sweep
)

// deletionLease names the lease under which the deletion of a user is scheduled,
// cancelled or carried out. Its holder finds either no user, or a user for whom the
// DeleteUser callback has not run yet.
func deletionLease(userID string) string { return fleet.NameOf("deletion", userID) }

// checkDeletion compiles the options for deleting accounts.
func checkDeletion(b *builder, s *accountRoom) {
	switch o := b.config.Account; {
	case o.DeleteGrace == 0:
		s.grace = deletionGrace
	case o.DeleteGrace > maxGrace || o.DeleteGrace > 0 && o.DeleteGrace < time.Minute:
		b.fail("Account.DeleteGrace", "is out of range", "use 1m to 365d, or 0 for none; 14d is the default")
	default:
		s.grace = max(o.DeleteGrace, 0)
	}
}

// ScheduleDeletion implements [Service.ScheduleDeletion].
func (ac *accountRoom) ScheduleDeletion(ctx context.Context, userID string) (at time.Time, err error) {
	u, _, err := ac.scheduleDeletion(ctx, userID, ac.mailing.byOthers(ctx))
	return u.DeleteAfter, err
}

// scheduleDeletion is like ScheduleDeletion. It also reports whether the user is
// already gone.
func (ac *accountRoom) scheduleDeletion(ctx context.Context, userID string, by reporter) (u authsvc.User, gone bool, err error) {
	u, anew, err := ac.markForDeletion(ctx, userID)
	if err == nil {
		by.record(authsvc.AuditEvent{Name: "user.deletion_scheduled", UserID: userID})
	}
	if anew {
		by.notify(ac.deletionNotice(u))
	}
	if err != nil {
		return u, false, err
	}
	if ac.grace > 0 {
		return u, false, nil
	}
	return u, ac.deleteDue(ctx, userID), nil
}

// deletionNotice returns the notice of a deletion.
func (ac *accountRoom) deletionNotice(u authsvc.User) notice {
	if ac.grace == 0 {
		return notice{what: "deleted", user: u}
	}
	return notice{what: "deletion", user: u, on: u.DeleteAfter, keepURL: ac.keepURL(u)}
}

// markForDeletion stores when a user is to be deleted and ends the sessions in one
// step. It also reports whether it stored a new deletion, even if a later step failed:
// false if one was scheduled before.
func (ac *accountRoom) markForDeletion(ctx context.Context, userID string) (u authsvc.User, anew bool, err error) {
	release, err := ac.fleet.Lease(ctx, deletionLease(userID))
	if err != nil {
		return u, false, err
	}
	defer release()
	if u, err = ac.Adapter.GetUser(ctx, userID); err != nil {
		return u, false, err
	}
	if anew = u.DeleteAfter.IsZero(); anew {
		u.DeleteAfter = ac.fleet.Now().Add(ac.grace).UTC().Truncate(time.Millisecond)
	}
	stored, err := ac.keeper.shutOut(ctx, userID, adapter.PersonUpdate{DeleteAfter: &u.DeleteAfter})
	return u, anew && stored, err
}

// CancelDeletion implements [Service.CancelDeletion].
func (ac *accountRoom) CancelDeletion(ctx context.Context, userID string) error {
	return ac.cancelDeletion(ctx, userID, ac.mailing.byOthers(ctx))
}

func (ac *accountRoom) cancelDeletion(ctx context.Context, userID string, by reporter) error {
	return ac.cancelDeletionIf(ctx, userID, func(authsvc.User) bool { return true }, by)
}

// cancelDeletionIf is like cancelDeletion. It returns ErrNotFound if the user is not
// allowed to cancel the deletion: it asks under the lease, when no other deletion of the
// user can begin.
func (ac *accountRoom) cancelDeletionIf(ctx context.Context, userID string, allowed func(authsvc.User) bool, by reporter) error {
	name, holder := deletionLease(userID), seal.UUIDv7()
	release, err := ac.fleet.LeaseAs(ctx, name, holder)
	if err != nil {
		return err
	}
	defer release()
	u, err := ac.Adapter.GetUser(ctx, userID)
	if err != nil || u.DeleteAfter.IsZero() {
		return err
	}
	if u, err = ac.underLease(ctx, userID, holder); err != nil {
		return err
	}
	if !allowed(u) {
		return adapter.ErrNotFound
	}
	if err := ac.Adapter.SetPerson(ctx, userID, adapter.PersonUpdate{DeleteAfter: &time.Time{}}, nil); err != nil {
		return err
	}
	by.record(authsvc.AuditEvent{Name: "user.deletion_cancelled", UserID: userID})
	by.notify(notice{what: "kept", user: u})
	return nil
}

// DeleteUser implements [Service.DeleteUser].
func (ac *accountRoom) DeleteUser(ctx context.Context, userID string) error {
	err := ac.deleteUser(ctx, userID)
	if err != nil {
		ac.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "user.delete_failed", UserID: userID})
		return err
	}
	ac.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "user.deleted", UserID: userID})
	return nil
}

func (ac *accountRoom) deleteUser(ctx context.Context, userID string) error {
	holder := seal.UUIDv7()
	release, err := ac.fleet.LeaseAs(ctx, deletionLease(userID), holder)
	if err != nil {
		return err
	}
	defer release()
	u, err := ac.Adapter.GetUser(ctx, userID)
	switch {
	case errors.Is(err, fleet.ErrNoStorage):
		return err
	case errors.Is(err, adapter.ErrNotFound):
		return errors.Join(err, ac.keeper.endSessions(ctx, userID))
	case err != nil:
		return err
	}
	return ac.removeUser(ctx, u, holder)
}

// errKept says that the deletion was cancelled while the DeleteUser callback ran.
var errKept = errors.New("the deletion was cancelled while the DeleteUser callback ran")

// removeUser deletes a user. The caller must hold the lease.
func (ac *accountRoom) removeUser(ctx context.Context, u authsvc.User, holder string) error {
	if ac.Callbacks.DeleteUser != nil {
		if err := ac.deleteCallback(ctx, u); err != nil {
			return fmt.Errorf("the DeleteUser callback: %w", err)
		}
		now, err := ac.underLease(ctx, u.ID, holder)
		switch {
		case err != nil && !errors.Is(err, adapter.ErrNotFound):
			return err
		case err == nil && !u.DeleteAfter.IsZero() && now.DeleteAfter.IsZero():
			return errKept
		}
	}
	r := ac.keeper.revocation(keyUser+u.ID, u.ID, ac.fleet.Now())
	err := ac.Adapter.DeleteUser(ctx, u.ID, r)
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return errors.Join(err, ac.keeper.endSessions(ctx, u.ID))
	case err != nil:
		return err
	}
	ac.keeper.revoked.apply(*r)
	if ac.Events.DeleteUser != nil {
		ac.fleet.Emit("deleteUser", func() { ac.Events.DeleteUser(ctx, u) })
	}
	return nil
}

// underLease takes the lease of a deletion again and rereads the user. This process may
// have slept longer than the lease lasts, so another process may have held it.
func (ac *accountRoom) underLease(ctx context.Context, userID, holder string) (authsvc.User, error) {
	if err := ac.fleet.TakeLease(ctx, deletionLease(userID), holder); err != nil {
		return authsvc.User{}, err
	}
	return ac.Adapter.GetUser(ctx, userID)
}

func (ac *accountRoom) deleteCallback(ctx context.Context, u authsvc.User) (err error) {
	defer ac.fleet.Recovered("deleteUser callback", func() { err = errors.New("it panicked") })
	return ac.Callbacks.DeleteUser(ctx, u)
}

// deleteAllDue deletes users whose grace period is over and returns how many.
func (ac *accountRoom) deleteAllDue(ctx context.Context) (n int) {
	due, err := ac.Adapter.SearchUsers(ctx, adapter.UserQuery{Due: ac.fleet.Now(), Limit: deletionBatch})
	if err != nil && ctx.Err() == nil {
		ac.Log.Error("cannot read the users who are due for deletion", "err", err)
	}
	for _, u := range due {
		if ctx.Err() == nil && ac.deleteDue(ctx, u.ID) {
			n++
		}
	}
	return n
}

// deleteDue deletes a user whose grace period is over, unless another replica is about
// to. It continues even if ctx ends, so that the DeleteUser callback runs to
// completion.
func (ac *accountRoom) deleteDue(ctx context.Context, userID string) (deleted bool) {
	ctx, cancel := fleet.Detached(ctx, deletionTimeout)
	defer cancel()
	name, holder := deletionLease(userID), seal.UUIDv7()
	if err := ac.fleet.TakeLease(ctx, name, holder); err != nil {
		if !errors.Is(err, adapter.ErrConflict) {
			ac.Log.Error("cannot claim a user who is due for deletion", "user", userID, "err", err)
		}
		return false
	}
	defer ac.fleet.HoldLease(ctx, name, holder)()
	u, err := ac.Adapter.GetUser(ctx, userID)
	if errors.Is(err, adapter.ErrNotFound) || err == nil && (u.DeleteAfter.IsZero() || ac.fleet.Now().Before(u.DeleteAfter)) {
		return false // deleted, kept or postponed meanwhile
	}
	if err == nil {
		err = ac.removeUser(ctx, u, holder)
	}
	if err != nil {
		ac.putOffDeletion(ctx, userID, holder, err)
		return false
	}
	ac.auditor.Record(ctx, authsvc.AuditEvent{Name: "user.deleted", UserID: userID, Reason: "the grace period is over"})
	return true
}

// putOffDeletion schedules another try of a failed deletion, unless the user was kept,
// is gone, or is being deleted by another replica.
func (ac *accountRoom) putOffDeletion(ctx context.Context, userID, holder string, cause error) {
	ac.Log.Error("cannot delete a user who is due for deletion; will retry", "user", userID, "wait", deletionRetry, "cause", cause)
	ac.auditor.Record(ctx, authsvc.AuditEvent{Name: "user.delete_failed", UserID: userID, Reason: "the grace period is over"})
	ctx, cancel := fleet.Detached(ctx, storeTimeout)
	defer cancel()
	u, err := ac.underLease(ctx, userID, holder)
	if err == nil && !u.DeleteAfter.IsZero() {
		again := ac.fleet.Now().Add(deletionRetry).UTC().Truncate(time.Millisecond)
		err = ac.Adapter.SetPerson(ctx, userID, adapter.PersonUpdate{DeleteAfter: &again}, nil)
	}
	if err != nil && !errors.Is(err, adapter.ErrNotFound) && !errors.Is(err, adapter.ErrConflict) {
		ac.Log.Error("cannot store the time of the next attempt to delete a user", "user", userID, "err", err)
	}
}
