package authsvc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"authsvc/internal/uuid"
)

// Times of deletions.
const (
	deletionGrace   = 14 * 24 * time.Hour
	maxGrace        = 365 * 24 * time.Hour
	deletionTimeout = time.Minute // of the deletion of one user in the background
	deletionRetry   = time.Hour   // until one that failed is tried again
	deletionBatch   = 20          // users that are looked at in one sweep
)

// deletionLease names the lease under which a user is deleted or kept. Whoever has
// it finds either a user whose application has been asked for nothing yet, or none.
func deletionLease(userID string) string { return nameOf("deletion", userID) }

// checkDeletion compiles the options about the deletion of accounts.
func checkDeletion(b *builder, s *Service) {
	switch o := b.config.Account; {
	case o.DeleteGrace == 0:
		s.policy.grace = deletionGrace
	case o.DeleteGrace > maxGrace || o.DeleteGrace > 0 && o.DeleteGrace < time.Minute:
		b.fail("Account.DeleteGrace", "is out of range", "use 1m to 365d, or 0 for none; 14d is the default")
	default:
		s.policy.grace = max(o.DeleteGrace, 0)
	}
}

// ScheduleDeletion has a user deleted when AccountOptions.DeleteGrace is over, and
// returns when that is. Every session ends. Until then a sign-in begins no session:
// it ends at a page that asks whether the account is to be kept. The user is told
// by mail if there is an [Email] provider. A user who is scheduled already stays
// so for the same time. Without a grace it is the deletion itself; if
// Callbacks.DeleteUser refuses that, it is asked again an hour later.
// ErrNotFound: there is no such user. It can be repeated, also after an error.
func (s *Service) ScheduleDeletion(ctx context.Context, userID string) (at time.Time, err error) {
	u, _, err := s.scheduleDeletion(ctx, userID, s.byOthers(ctx))
	return u.DeleteAfter, err
}

// scheduleDeletion is ScheduleDeletion. gone: the user is deleted.
func (s *Service) scheduleDeletion(ctx context.Context, userID string, by reporter) (u User, gone bool, err error) {
	u, anew, err := s.markForDeletion(ctx, userID)
	if err != nil {
		return u, false, err
	}
	by.record(AuditEvent{Name: "user.deletion_scheduled", UserID: userID})
	if anew {
		by.notify(notice{what: "deletion", user: u, name: u.DeleteAfter.UTC().Format("2006-01-02 15:04 UTC")})
	}
	if s.policy.grace > 0 {
		return u, false, nil
	}
	return u, s.deleteDue(ctx, userID), nil
}

// markForDeletion writes when a user is to be deleted, in one step with the end of
// the sessions. anew: the user was to stay until now.
func (s *Service) markForDeletion(ctx context.Context, userID string) (u User, anew bool, err error) {
	release, err := s.lease(ctx, deletionLease(userID))
	if err != nil {
		return u, false, err
	}
	defer release()
	if u, err = s.adapter.GetUser(ctx, userID); err != nil {
		return u, false, err
	}
	if anew = u.DeleteAfter.IsZero(); anew {
		u.DeleteAfter = s.now().Add(s.policy.grace).UTC().Truncate(time.Millisecond)
	}
	return u, anew, s.shutOut(ctx, userID, PersonUpdate{DeleteAfter: &u.DeleteAfter})
}

// CancelDeletion keeps a user whose deletion was scheduled, who can then sign in
// again. Sessions do not come back. ErrNotFound: there is no such user, because it
// is deleted, for instance. Of a user who is to stay anyway it changes nothing.
func (s *Service) CancelDeletion(ctx context.Context, userID string) error {
	return s.cancelDeletion(ctx, userID, s.byOthers(ctx))
}

func (s *Service) cancelDeletion(ctx context.Context, userID string, by reporter) error {
	name, holder := deletionLease(userID), uuid.V7()
	release, err := s.leaseAs(ctx, name, holder)
	if err != nil {
		return err
	}
	defer release()
	u, err := s.adapter.GetUser(ctx, userID)
	if err != nil || u.DeleteAfter.IsZero() {
		return err
	}
	if u, err = s.underLease(ctx, userID, holder); err != nil {
		return err
	}
	if err := s.adapter.SetPerson(ctx, userID, PersonUpdate{DeleteAfter: &time.Time{}}, nil); err != nil {
		return err
	}
	by.record(AuditEvent{Name: "user.deletion_cancelled", UserID: userID})
	by.notify(notice{what: "kept", user: u})
	return nil
}

// DeleteUser asks Callbacks.DeleteUser, ends every session of a user and removes
// the user with its accounts, in one step. ErrNotFound: there is none; JWT sessions
// in the name of the id end even so. An error of the callback is returned, and
// nothing is changed.
func (s *Service) DeleteUser(ctx context.Context, userID string) error {
	err := s.deleteUser(ctx, userID)
	if err != nil {
		s.recordAct(ctx, AuditEvent{Name: "user.delete_failed", UserID: userID})
		return err
	}
	s.recordAct(ctx, AuditEvent{Name: "user.deleted", UserID: userID})
	return nil
}

func (s *Service) deleteUser(ctx context.Context, userID string) error {
	holder := uuid.V7()
	release, err := s.leaseAs(ctx, deletionLease(userID), holder)
	if err != nil {
		return err
	}
	defer release()
	u, err := s.adapter.GetUser(ctx, userID)
	switch {
	case errors.Is(err, errNoStorage):
		return err
	case errors.Is(err, ErrNotFound):
		return errors.Join(err, s.endSessions(ctx, userID))
	case err != nil:
		return err
	}
	return s.removeUser(ctx, u, holder)
}

// errKept: the application was asked to delete a user whom somebody kept meanwhile.
var errKept = errors.New("the user was kept while the application was asked")

// removeUser deletes a user, for who holds the lease.
func (s *Service) removeUser(ctx context.Context, u User, holder string) error {
	if s.callbacks.DeleteUser != nil {
		if err := s.deleteCallback(ctx, u); err != nil {
			return fmt.Errorf("the DeleteUser callback: %w", err)
		}
		now, err := s.underLease(ctx, u.ID, holder)
		switch {
		case err != nil && !errors.Is(err, ErrNotFound):
			return err
		case err == nil && !u.DeleteAfter.IsZero() && now.DeleteAfter.IsZero():
			return errKept
		}
	}
	r := s.revocation(keyUser+u.ID, u.ID, s.now())
	err := s.adapter.DeleteUser(ctx, u.ID, r)
	switch {
	case errors.Is(err, ErrNotFound):
		return errors.Join(err, s.endSessions(ctx, u.ID))
	case err != nil:
		return err
	}
	s.revoked.apply(*r)
	if s.events.DeleteUser != nil {
		s.emit("deleteUser", func() { s.events.DeleteUser(ctx, u) })
	}
	return nil
}

// underLease takes the lease of a deletion once more, as this process may have slept
// for longer than it lasts, and reads the user again: somebody else may have had it.
func (s *Service) underLease(ctx context.Context, userID, holder string) (User, error) {
	if err := s.takeLease(ctx, deletionLease(userID), holder); err != nil {
		return User{}, err
	}
	return s.adapter.GetUser(ctx, userID)
}

func (s *Service) deleteCallback(ctx context.Context, u User) (err error) {
	defer s.recovered("deleteUser callback", func() { err = errors.New("it panicked") })
	return s.callbacks.DeleteUser(ctx, u)
}

// deleteAllDue deletes users whose grace is over and returns how many.
func (s *Service) deleteAllDue(ctx context.Context) (n int) {
	due, err := s.adapter.SearchUsers(ctx, UserQuery{Due: s.now(), Limit: deletionBatch})
	if err != nil && ctx.Err() == nil {
		s.log.Error("users who are to be deleted could not be read", "err", err)
	}
	for _, u := range due {
		if ctx.Err() == nil && s.deleteDue(ctx, u.ID) {
			n++
		}
	}
	return n
}

// deleteDue deletes a user whose grace is over, unless another replica is about to.
// It goes on if ctx ends meanwhile, so that the application is asked to the end.
func (s *Service) deleteDue(ctx context.Context, userID string) (deleted bool) {
	ctx, cancel := detached(ctx, deletionTimeout)
	defer cancel()
	name, holder := deletionLease(userID), uuid.V7()
	if err := s.takeLease(ctx, name, holder); err != nil {
		if !errors.Is(err, ErrConflict) {
			s.log.Error("a user who is to be deleted could not be taken", "user", userID, "err", err)
		}
		return false
	}
	defer s.holdLease(ctx, name, holder)()
	u, err := s.adapter.GetUser(ctx, userID)
	if errors.Is(err, ErrNotFound) || err == nil && (u.DeleteAfter.IsZero() || s.now().Before(u.DeleteAfter)) {
		return false // deleted, kept or put off meanwhile
	}
	if err == nil {
		err = s.removeUser(ctx, u, holder)
	}
	if err != nil {
		s.putOffDeletion(ctx, userID, holder, err)
		return false
	}
	s.record(ctx, AuditEvent{Name: "user.deleted", UserID: userID, Reason: "the grace is over"})
	return true
}

// putOffDeletion has a deletion that failed tried again, unless the user was kept or
// is gone, or another replica sees to it.
func (s *Service) putOffDeletion(ctx context.Context, userID, holder string, cause error) {
	s.log.Error("a user who is to be deleted was not, and will be tried again", "user", userID, "wait", deletionRetry, "cause", cause)
	s.record(ctx, AuditEvent{Name: "user.delete_failed", UserID: userID, Reason: "the grace is over"})
	ctx, cancel := detached(ctx, storeTimeout)
	defer cancel()
	u, err := s.underLease(ctx, userID, holder)
	if err == nil && !u.DeleteAfter.IsZero() {
		again := s.now().Add(deletionRetry).UTC().Truncate(time.Millisecond)
		err = s.adapter.SetPerson(ctx, userID, PersonUpdate{DeleteAfter: &again}, nil)
	}
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrConflict) {
		s.log.Error("when to try it again could not be written", "user", userID, "err", err)
	}
}
