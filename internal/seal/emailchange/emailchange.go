// Package emailchange says when a change of a person's e-mail address may be made:
// what is kept of it while it waits, and what each end has to prove. It knows no
// store and sends no mail.
package emailchange

import (
	"crypto/subtle"
	"time"

	"authsvc/internal/seal"
)

// Lives of a change and of its parts.
const (
	Life    = 14 * 24 * time.Hour // of what is kept
	NewLife = 24 * time.Hour      // of the link and the code to the new address
	OldLife = 7 * 24 * time.Hour  // of the link by which the old address allows it
	Silence = 7 * 24 * time.Hour  // after which the old address need not answer
)

// A Change is a change of address that waits.
type Change struct {
	From string `json:"from,omitempty"` // empty: there is no address yet
	To   string `json:"to"`
	// AsksOld: From was proved, so that whoever reads its mails has a say.
	AsksOld bool `json:"asks_old,omitempty"`
	// Strong: it was asked for with two factors or a passkey.
	Strong  bool   `json:"strong,omitempty"`
	Asked   int64  `json:"asked"`             // milliseconds since 1970
	Epoch   int64  `json:"epoch"`             // SessionEpoch of the user then
	Session string `json:"session,omitempty"` // handle of the session that asked
	New     string `json:"new"`               // digest of the token to To
	Old     string `json:"old,omitempty"`     // digest of the token to From
	Code    string `json:"code"`              // keyed digest of the code to To

	NewProved  bool `json:"new_proved,omitempty"`
	OldAllowed bool `json:"old_allowed,omitempty"`
}

func (c *Change) asked() time.Time { return time.UnixMilli(c.Asked).UTC() }

// Alive reports whether the change can still come to be made.
func (c *Change) Alive(now time.Time) bool {
	life := Life
	if !c.NewProved {
		life = NewLife
	}
	return now.Before(c.asked().Add(life))
}

// NotBefore is when the change can be made without a word of the old address, once
// the new one is proved.
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

// An End is a mailbox that a change is about.
type End string

// The ends.
const (
	New End = "new"
	Old End = "old"
)

// EndOf is the end whose token this is; false if it is neither's.
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

// Prove notes that an end agrees. It returns false if its link is out.
func (c *Change) Prove(end End, now time.Time) bool {
	switch {
	case !c.Alive(now):
		return false
	case end == New:
		c.NewProved = true
	case !now.Before(c.asked().Add(OldLife)):
		return false
	default:
		c.OldAllowed = true
	}
	return true
}
