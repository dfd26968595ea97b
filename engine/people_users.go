package engine

import (
	"context"
	"errors"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/audit"
	"authsvc/internal/text/emailaddr"
)

// An OddAddress reports a stored user whose address is not in the form of
// [authsvc.NormaliseEmail]. Neither a mailed link nor a provider that asserts the
// address finds such a user.
type OddAddress struct {
	UserID string
	// Normal is the normal form. It is "" if the address cannot be used or if the
	// normal form may be another person's mailbox.
	Normal string
	// Other is the id of another user who has Normal, or whose address has the same
	// normal form and was visited before. It is "" if there is none.
	Other string
}

// addressPage is how many users are read at a time. maxOddPaired limits the number of
// odd addresses that are searched for pairs; other pairs are found once one is
// rewritten.
const (
	addressPage  = 500
	maxOddPaired = 100_000
)

// pair looks for another odd address with the same normal form.
func (o *OddAddress) pair(first map[string]string) {
	if o.Normal == "" || o.Other != "" {
		return
	}
	if id, known := first[o.Normal]; known {
		o.Other = id
	} else if len(first) < maxOddPaired {
		first[o.Normal] = o.UserID
	}
}

// OddAddresses reads all users, in pages and in the store's order of ids. It calls
// visit for each user whose address is not in normal form. If visit returns an error,
// OddAddresses stops and returns it. visit may write to the store.
func OddAddresses(ctx context.Context, a adapter.Adapter, visit func(OddAddress) error) error {
	first := map[string]string{} // normal form to id of the first user with it
	for after := ""; ; {
		page, err := a.ListUsers(ctx, after, addressPage)
		if err != nil {
			return err
		}
		for _, u := range page {
			after = u.ID
			odd, err := oddAddress(ctx, a, u)
			if err == nil && odd != nil {
				odd.pair(first)
				err = visit(*odd)
			}
			if err != nil {
				return err
			}
		}
		if len(page) < addressPage {
			return nil
		}
	}
}

// oddAddress checks one user's address. It returns nil if the address is in normal
// form.
func oddAddress(ctx context.Context, a adapter.Adapter, u authsvc.User) (*OddAddress, error) {
	normal, err := emailaddr.Normalise(u.Email)
	switch {
	case u.Email == "", err == nil && normal == u.Email:
		return nil, nil
	case err != nil, !emailaddr.KeepsMailbox(u.Email):
		return &OddAddress{UserID: u.ID}, nil
	}
	odd := &OddAddress{UserID: u.ID, Normal: normal}
	other, err := a.GetUserByEmail(ctx, normal)
	if err != nil && !errors.Is(err, adapter.ErrNotFound) {
		return nil, err
	}
	if err == nil && other.ID != u.ID {
		odd.Other = other.ID
	}
	return odd, nil
}

// EndSessions ends every session of a user, on every device. With strategy jwt it needs
// an Adapter. The user can sign in again; [Service.Block] prevents that. A sign-in in
// progress that has passed the SignIn callback starts over: it writes none of the
// tokens, links and accounts that it was about to write, and calls the callback again.
// The user is told by mail ([authsvc.NoticeOptions]) if a session ended.
func (p *People) EndSessions(ctx context.Context, userID string) error {
	ended, err := p.endSessions(ctx, userID)
	if ended > 0 { // even after an error: a repeated call finds no session
		p.mailing.notifyEnded(ctx, userID)
	}
	return err
}

// endSessions is EndSessions without the mail. It returns how many listed sessions
// there were.
func (p *People) endSessions(ctx context.Context, userID string) (ended int, err error) {
	e := authsvc.AuditEvent{Name: "sessions.ended", UserID: userID}
	if ended, err = p.keeper.endAllSessions(ctx, userID); err != nil {
		e.Name = "sessions.end_failed"
	}
	p.auditor.RecordAct(ctx, e)
	return ended, err
}

// errBlocked refuses the sign-in of a blocked user.
var errBlocked = errors.New("the user is blocked")

// Block keeps a user out until Unblock. Every session ends, on all replicas within a
// few seconds. Signing in as the user is refused. No sign-in mail is sent, but the
// answer to a request for one does not reveal the block. A sign-in in progress either
// has begun its session already, which then ends, or is refused. why is for operators
// and has at most 255 bytes; the user is told by mail of the block
// ([authsvc.NoticeOptions]), but not why. Block returns [authsvc.ErrNotFound] if there
// is no such user. You can repeat it, even after an error.
func (p *People) Block(ctx context.Context, userID, why string) error {
	u, stored, err := p.block(ctx, userID, audit.AsRecorded(why))
	e := authsvc.AuditEvent{Name: "user.blocked", UserID: userID}
	if err != nil {
		e.Name = "user.block_failed"
	}
	p.auditor.RecordAct(ctx, e)
	if stored && u.Blocked.IsZero() {
		p.mailing.notifyBlocked(ctx, u)
	}
	return err
}

// block returns the user as before the block, and whether the block was stored.
func (h *storeys) block(ctx context.Context, userID, why string) (u authsvc.User, stored bool, err error) {
	if u, err = h.common.Adapter.GetUser(ctx, userID); err != nil {
		return u, false, err
	}
	now := h.fleet.Now()
	stored, err = h.keeper.shutOut(ctx, userID, adapter.PersonUpdate{Blocked: &now, BlockedWhy: &why})
	return u, stored, err
}

// Unblock lets a user sign in again. Sessions and remembered browsers that the block
// ended do not come back. Unblock returns [authsvc.ErrNotFound] if there is no such
// user.
func (p *People) Unblock(ctx context.Context, userID string) error {
	none := ""
	if err := p.common.Adapter.SetPerson(ctx, userID, adapter.PersonUpdate{Blocked: &time.Time{}, BlockedWhy: &none}, nil); err != nil {
		return err
	}
	p.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "user.unblocked", UserID: userID})
	return nil
}
