package authsvc

import (
	"context"
	"time"
)

// AuditOptions configure the storage of audit events. Every event is also logged, at
// level info, whether or not it is stored.
type AuditOptions struct {
	// Store also writes events to the Adapter, which must then be an AuditLog.
	Store bool
	// Keep is how long stored events are kept, default 8760 h, at least 1 h.
	Keep time.Duration
}

// An AuditEvent is a security-relevant event. It is a line in the log with the message
// "audit", a call of Events.Audit and, with Config.Audit.Store, a record in the store.
// It holds no secret, token, cookie or email address. Its texts have only printable
// characters, and at most 255 bytes each. docs/audit.md lists the names.
type AuditEvent struct {
	Name     string       `json:"name"` // such as "sign_in.refused"
	Time     time.Time    `json:"time"` // UTC, milliseconds
	Outcome  AuditOutcome `json:"outcome"`
	Code     ErrorCode    `json:"code,omitempty"`
	Reason   string       `json:"reason,omitempty"` // a fixed text of the engine, or the Reason of a Refusal
	Provider string       `json:"provider,omitempty"`
	UserID   string       `json:"user,omitempty"` // the user concerned, if known
	// Actor names who acted if it was neither the user nor the service: an operator at
	// the command line ("cli:root", with sudo "cli:root (sudo: ada)"), or a token of the
	// user ("token:" and its id).
	Actor     string `json:"actor,omitempty"`
	ClientIP  string `json:"client,omitempty"`
	UserAgent string `json:"agent,omitempty"` // at most 200 bytes
	RequestID string `json:"request,omitempty"`
}

// AuditOutcome is the outcome of an audit event. The event's name determines it.
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

// An AuditQuery selects the records that ListAudit returns: all that are later than
// Since, and of those at exactly Since the ones whose id is greater than After.
type AuditQuery struct {
	Since  time.Time
	After  string
	UserID string // only events about this user; "": all events
	Limit  int    // size of the page; 0 returns no records
}

// An AuditLog is an Adapter that also stores audit events, for Config.Audit.Store. All
// adapters of this module implement it. The rules of Adapter apply here too; package
// adaptertest checks them.
type AuditLog interface {
	// PutAudit stores records. It skips records that are already stored, so that the
	// caller can put the same records again after an error.
	PutAudit(ctx context.Context, list []AuditRecord) error
	// ListAudit returns at most q.Limit records, ordered by time, then id. A page
	// shorter than q.Limit is the last.
	ListAudit(ctx context.Context, q AuditQuery) ([]AuditRecord, error)
	// SweepAudit deletes at most limit records whose time is earlier than the parameter
	// before, oldest first, and returns the number deleted.
	SweepAudit(ctx context.Context, before time.Time, limit int) (int, error)
}
