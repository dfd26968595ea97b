// Package emailchange decides when a person's email address may be changed. It defines
// the record of a pending change and the proof that each address must give. It uses no
// store and sends no mail.
package emailchange

import (
	"crypto/subtle"
	"time"

	"authsvc/internal/seal"
)

// Lifetimes of a change and its parts.
const (
	Life    = 14 * 24 * time.Hour // the record of a change
	NewLife = 24 * time.Hour      // the link and the code with which the new address agrees
	OldLife = 7 * 24 * time.Hour  // the link with which the old address allows the change
	Silence = 7 * 24 * time.Hour  // after this time the old address need not answer
)

// A Change is a pending change of address.
type Change struct {
	From string `json:"from,omitempty"` // empty: the user has no address yet
	To   string `json:"to"`
	// AsksOld is true if From was verified, so that its mailbox can allow or stop the
	// change.
	AsksOld bool `json:"asks_old,omitempty"`
	// Strong is true if the user requested the change with two factors or a passkey.
	Strong  bool   `json:"strong,omitempty"`
	Asked   int64  `json:"asked"`             // milliseconds since 1970
	Epoch   int64  `json:"epoch"`             // SessionEpoch of the user at that time
	Session string `json:"session,omitempty"` // handle of the session that requested the change
	New     string `json:"new"`               // digest of the token sent to To
	Old     string `json:"old,omitempty"`     // digest of the token sent to From
	Code    string `json:"code"`              // keyed digest of the code sent to To

	NewProved  bool `json:"new_proved,omitempty"`
	OldAllowed bool `json:"old_allowed,omitempty"`
}

func (c *Change) asked() time.Time { return time.UnixMilli(c.Asked).UTC() }

// Alive reports whether the change has not expired.
func (c *Change) Alive(now time.Time) bool {
	life := Life
	if !c.NewProved {
		life = NewLife
	}
	return now.Before(c.asked().Add(life))
}

// NotBefore returns the time from which the change may be made without an answer from
// the old address, once the new one is proved.
func (c *Change) NotBefore() time.Time {
	if !c.AsksOld || c.Strong {
		return c.asked()
	}
	return c.asked().Add(Silence)
}

// Due reports whether the change may be made.
func (c *Change) Due(now time.Time) bool {
	return c.Alive(now) && c.NewProved && (c.OldAllowed || !now.Before(c.NotBefore()))
}

// An End is one of the two mailboxes of a change.
type End string

// The ends of a change.
const (
	New End = "new"
	Old End = "old"
)

// EndOf returns the end to which token was sent, and false if token belongs to neither.
func (c *Change) EndOf(token string) (end End, ok bool) {
	digest := seal.Digest(token)
	isNew, isOld := same(digest, c.New), c.Old != "" && same(digest, c.Old)
	switch {
	case token == "":
		return "", false
	case isNew:
		return New, true
	case isOld:
		return Old, true
	}
	return "", false
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// CanProve reports whether the link to an end still counts. It expires even if the end
// has agreed: after the old address's silence, the new mailbox alone must not be able to
// make the change, only the user in a session.
func (c *Change) CanProve(end End, now time.Time) bool {
	life := map[End]time.Duration{New: NewLife, Old: OldLife}[end]
	return c.Alive(now) && now.Before(c.asked().Add(life))
}

// Prove records that an end agrees. It returns false if the end's link has expired.
func (c *Change) Prove(end End, now time.Time) bool {
	if !c.CanProve(end, now) {
		return false
	}
	if end == New {
		c.NewProved = true
	} else {
		c.OldAllowed = true
	}
	return true
}
