package adapter

import "errors"

// Errors that adapters return. Every other error of an adapter means that the store
// failed; the engine then refuses and never guesses.
var (
	// ErrNotFound means that the record does not exist.
	ErrNotFound = errors.New("authsvc: not found")
	// ErrConflict means that a uniqueness rule of the records refused the write.
	ErrConflict = errors.New("authsvc: conflict with a stored record")
	// ErrStale means that the write is based on data, such as [User].Epoch (the number
	// of the user's latest revocation), that has changed since it was read.
	ErrStale = errors.New("authsvc: stale: access was revoked or tokens were replaced meanwhile")
	// ErrQueueFull means that the mail queue is at its limit.
	ErrQueueFull = errors.New("authsvc: mail queue is full")
	// ErrTooMany means that the user already has as many credentials of that kind as
	// are allowed.
	ErrTooMany = errors.New("authsvc: too many credentials of that kind")
)
