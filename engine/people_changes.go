package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/text/unicode/norm"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal"
	"authsvc/internal/text"
)

// invitationAge is how long the link in an invitation is valid. It is longer than for
// other links, because no one waits for the mail. The link still counts only once, and
// in any browser it opens a page with a button.
const invitationAge = 7 * 24 * time.Hour

// An inviter is a flow whose mails can invite people.
type inviter interface {
	// invitation makes a sealed mail to a user. Its ID is the token of the link in its
	// stored form.
	invitation(u authsvc.User, language string) (m adapter.Mail, err error)
}

// Invite mails a sign-in link to an address; it creates the user first if there is
// none. The link counts once and is valid for 7 days. The first sign-in with it proves
// the address. Until then you can repeat Invite; earlier links stay valid. The mail
// waits in the queue for a running service.
//
// The error is [authsvc.ErrConflict] if the address belongs to a user who has proved
// it, and [authsvc.ErrQueueFull] if the queue is full. Invite also fails if the address
// cannot be used, the user is blocked, or no provider signs people in by mail.
func (p *People) Invite(ctx context.Context, i authsvc.Invitation) (authsvc.User, error) {
	by := p.inviter()
	if by == nil {
		return authsvc.User{}, errors.New("no provider signs people in by mail")
	}
	address, err := authsvc.NormaliseEmail(i.Email)
	if err != nil {
		return authsvc.User{}, err
	}
	u, err := p.common.Adapter.GetUserByEmail(ctx, address)
	if errors.Is(err, adapter.ErrNotFound) {
		u, err = p.CreateUser(ctx, authsvc.User{Name: i.Name, Email: address})
	}
	switch {
	case err != nil:
		return authsvc.User{}, err
	case !u.Blocked.IsZero():
		return authsvc.User{}, errBlocked
	case !u.EmailVerified.IsZero():
		return authsvc.User{}, fmt.Errorf("the address belongs to a user who has proved it: %w", adapter.ErrConflict)
	}
	if i.Language == "" {
		p, err := p.common.Adapter.GetPerson(ctx, u.ID)
		if err != nil {
			return authsvc.User{}, err
		}
		i.Language = p.Locale
	}
	m, err := by.invitation(u, i.Language)
	if err != nil {
		return authsvc.User{}, err
	}
	if err := p.common.Adapter.PutToken(ctx, adapter.VerificationToken{Identifier: address, Token: m.ID, Expires: m.Expires}, m, maxQueuedMails); err != nil {
		return authsvc.User{}, err
	}
	p.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "user.invited", UserID: u.ID})
	if p.mailing.mails != nil {
		p.mailing.mails.wake()
	}
	return u, nil
}

// inviter returns the first provider whose mails can invite people, or nil if there is
// none.
func (h *storeys) inviter() inviter {
	for _, p := range h.site.views {
		if by, ok := h.site.flows[p.ID].(inviter); ok {
			return by
		}
	}
	return nil
}

// CreateUser stores a user whom an operator or the application adds. It ignores ID and
// the fields that the store sets. EmailVerified says that the application knows that
// the address is the person's. CreateUser calls no callbacks. It returns
// [authsvc.ErrConflict] if the address is taken, and an error if the address or the
// name cannot be used.
func (p *People) CreateUser(ctx context.Context, u authsvc.User) (authsvc.User, error) {
	change, err := cleanChange(adapter.UserUpdate{Name: &u.Name, Email: &u.Email})
	if err != nil {
		return authsvc.User{}, err
	}
	if u.EmailVerified = u.EmailVerified.UTC().Truncate(time.Millisecond); u.Email == "" {
		u.EmailVerified = time.Time{}
	}
	earlier := p.keeper.endOfEarlier(p.fleet.Now())
	u, err = p.common.Adapter.CreateUser(ctx, authsvc.User{ID: seal.UUIDv7(), Name: *change.Name, Email: *change.Email, EmailVerified: u.EmailVerified, Image: cleanUser(u, false).Image}, earlier)
	if err != nil {
		return authsvc.User{}, err
	}
	p.keeper.revoked.apply(*earlier)
	p.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "user.created", UserID: u.ID})
	if p.common.Events.CreateUser != nil {
		p.fleet.Emit("createUser", func() { p.common.Events.CreateUser(ctx, u) })
	}
	return u, nil
}

// UpdateUser changes fields of a user. A new address counts as proved only if change
// sets EmailVerified. If change.Email is set, links and codes of the old and the new
// address become void, a pending change of address is dropped, remembered browsers are
// forgotten and every session ends, so that no access based on the old address remains.
// The old address, if it was proved, is told by mail ([authsvc.NoticeOptions]). That
// mail has no link that undoes the change; [People.RequestEmailChange] leads to one.
// Links that undo earlier changes of address become void.
// You can repeat UpdateUser, even after an error. It returns [authsvc.ErrNotFound] if
// there is no such user, [authsvc.ErrConflict] if the address is taken, and an error if
// the address or the name cannot be used.
func (p *People) UpdateUser(ctx context.Context, userID string, change authsvc.UserUpdate) (authsvc.User, error) {
	change, err := cleanChange(change)
	if err != nil {
		return authsvc.User{}, err
	}
	before, u, err := p.changeUser(ctx, userID, change)
	if err != nil {
		return authsvc.User{}, err
	}
	p.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "user.updated", UserID: userID})
	if change.Email != nil {
		told := p.mailing.notifyMoved(ctx, before, u)
		if err := p.leaveAddress(ctx, before, u, told); err != nil {
			return u, err
		}
		u, err = p.common.Adapter.GetUser(ctx, userID) // with a later epoch
	}
	if err == nil && p.common.Events.UpdateUser != nil {
		p.fleet.Emit("updateUser", func() { p.common.Events.UpdateUser(ctx, u) })
	}
	return u, err
}

// changeUser writes a change. It returns the user before and after it.
func (h *storeys) changeUser(ctx context.Context, userID string, change adapter.UserUpdate) (before, u authsvc.User, err error) {
	for try := 1; ; try++ {
		if before, err = h.common.Adapter.GetUser(ctx, userID); err != nil {
			return before, u, err
		}
		step := change
		if step.Email != nil {
			if step.Was = &before; step.EmailVerified == nil && *step.Email != before.Email {
				step.EmailVerified = &time.Time{}
			}
		}
		u, err = h.common.Adapter.UpdateUser(ctx, userID, step)
		if !errors.Is(err, adapter.ErrStale) || try == fleet.CreateTries {
			return before, u, err
		}
	}
}

// leaveAddress revokes what rests on the addresses of a user after a change of address.
// told reports that a mail already told the user of the change.
func (p *People) leaveAddress(ctx context.Context, before, u authsvc.User, told bool) error {
	for _, address := range []string{before.Email, u.Email} {
		if address == "" {
			continue
		}
		if err := p.common.Adapter.VoidTokens(ctx, address); err != nil {
			return err
		}
	}
	end := p.EndSessions
	if told {
		end = func(ctx context.Context, userID string) error {
			_, err := p.endSessions(ctx, userID)
			return err
		}
	}
	if err := end(ctx, u.ID); err != nil { // raises the epoch: the deletion below is final
		return err
	}
	if err := p.mailing.voidAddressUndos(ctx, u.ID); err != nil { // their mailbox may be the reason for the change
		return err
	}
	_, err := p.common.Adapter.DeleteCredentials(ctx, u.ID, nil, adapter.CredentialDevice, adapter.CredentialAddress)
	return err
}

// cleanChange returns a change by an operator or the application in its stored form.
// Values that do not fit are errors of type [text.Invalid], never truncated.
func cleanChange(c adapter.UserUpdate) (adapter.UserUpdate, error) {
	if c.Name != nil {
		name := norm.NFC.String(*c.Name)
		if name != text.Name(name) || len([]rune(name)) > maxOwnName {
			return c, &text.Invalid{Err: fmt.Errorf("the name must not have control characters, spaces around it or more than %d characters", maxOwnName)}
		}
		c.Name = &name
	}
	if c.Email != nil && *c.Email != "" {
		address, err := authsvc.NormaliseEmail(*c.Email)
		if err != nil {
			return c, &text.Invalid{Err: err}
		}
		c.Email = &address
	}
	if c.Image != nil {
		image := cleanUser(authsvc.User{Image: *c.Image}, false).Image
		if image == "" && *c.Image != "" {
			return c, &text.Invalid{Err: errors.New("the picture is neither an https address nor an allowed picture")}
		}
		c.Image = &image
	}
	if c.EmailVerified != nil {
		at := c.EmailVerified.UTC().Truncate(time.Millisecond)
		c.EmailVerified = &at
	}
	return c, nil
}
