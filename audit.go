package authsvc

import (
	"context"
	"time"
)

// AuditOptions configure the storage of audit events. The log has each of them
// in any case.
type AuditOptions struct {
	// Store also writes events to the Adapter, which then has to be an AuditLog.
	Store bool
	// Keep is how long they are stored, default 8760 h, at least 1 h.
	Keep time.Duration
}

// An AuditEvent is a security-relevant event: a line in the log with the message
// "audit", a call of Events.Audit and, with Config.Audit.Store, a record in the
// store. It holds no secret, token, cookie or e-mail address. Its texts have
// printable characters only and at most 255 bytes. docs/audit.md lists the
// names.
type AuditEvent struct {
	Name     string       `json:"name"` // such as "sign_in.refused"
	Time     time.Time    `json:"time"` // UTC, milliseconds
	Outcome  AuditOutcome `json:"outcome"`
	Code     ErrorCode    `json:"code,omitempty"`
	Reason   string       `json:"reason,omitempty"` // a fixed text of the engine
	Provider string       `json:"provider,omitempty"`
	UserID   string       `json:"user,omitempty"` // the user concerned, if known
	// Actor is who did it when that is neither the user nor the service: an
	// operator at the command line ("cli:root").
	Actor     string `json:"actor,omitempty"`
	ClientIP  string `json:"client,omitempty"`
	UserAgent string `json:"agent,omitempty"` // at most 200 bytes
	RequestID string `json:"request,omitempty"`
}

// AuditOutcome says how what an event reports ended. It follows from the name of
// the event.
type AuditOutcome string

// The outcomes.
const (
	AuditSuccess AuditOutcome = "success"
	AuditRefused AuditOutcome = "refused" // by a rule
	AuditFailed  AuditOutcome = "failed"  // by an error
)

// An AuditRecord is a stored AuditEvent.
type AuditRecord struct {
	ID string `json:"id"` // UUIDv7, unique
	AuditEvent
}

// An AuditQuery says which records ListAudit returns: those of the time Since
// whose id is greater than After, and all of later times.
type AuditQuery struct {
	Since  time.Time
	After  string
	UserID string // only of events about this user; "": of all
	Limit  int    // of the page; without one there are no records
}

// An AuditLog is an Adapter that also stores audit events, for
// Config.Audit.Store. All adapters of this module do. The rules of Adapter hold
// here too; package adaptertest checks them.
type AuditLog interface {
	// PutAudit stores records. A record that is stored already is left alone:
	// after an error the same records may be put again.
	PutAudit(ctx context.Context, list []AuditRecord) error
	// ListAudit returns at most q.Limit records, ordered by time, then id. A page
	// shorter than that is the last.
	ListAudit(ctx context.Context, q AuditQuery) ([]AuditRecord, error)
	// SweepAudit deletes at most limit records older than before, the oldest
	// first, and returns how many.
	SweepAudit(ctx context.Context, before time.Time, limit int) (int, error)
}
