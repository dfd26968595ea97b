package authsvc

import (
	"errors"
	"strings"

	"authsvc/internal/outbound"
)

// An ErrorCode is the word that a person's browser sees in ?error=. The words
// are those of NextAuth.js v4, so that custom pages written for it keep
// working; the cause behind one goes to the log, never to the page.
type ErrorCode string

// The error words of the interface.
const (
	OAuthSignin           ErrorCode = "OAuthSignin"           // the authorization URL could not be built
	OAuthCallback         ErrorCode = "OAuthCallback"         // state, PKCE, nonce, token, ID token or userinfo failed
	OAuthCreateAccount    ErrorCode = "OAuthCreateAccount"    // the user could not be stored
	EmailCreateAccount    ErrorCode = "EmailCreateAccount"    // as above, for the e-mail provider
	Callback              ErrorCode = "Callback"              // anything else that went wrong at the return
	OAuthAccountNotLinked ErrorCode = "OAuthAccountNotLinked" // the address or identity belongs to another user
	EmailSignin           ErrorCode = "EmailSignin"           // malformed address, or the store failed
	CredentialsSignin     ErrorCode = "CredentialsSignin"     // the credentials were refused
	SessionRequired       ErrorCode = "SessionRequired"       // only sent by clients
	Configuration         ErrorCode = "Configuration"         // the operator has to act
	AccessDenied          ErrorCode = "AccessDenied"          // a callback or the person refused
	Verification          ErrorCode = "Verification"          // the e-mail link is unknown, used or expired
	RateLimited           ErrorCode = "RateLimited"           // too many attempts; not a NextAuth word
)

// An authError is a refusal: Code is for the page, Err for the log.
type authError struct {
	Code ErrorCode
	Err  error
}

// Error joins the word and its cause; it is for the log.
func (e *authError) Error() string {
	if e.Err == nil {
		return string(e.Code)
	}
	return string(e.Code) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *authError) Unwrap() error { return e.Err }

// A hint is what the pages add to an error word, in their address: provider and
// reason. It is fixed words, and applications that know only NextAuth's do not
// miss it.
type hint string

const (
	hintCancelled   hint = "cancelled"   // nothing was granted at the provider
	hintUnavailable hint = "unavailable" // the provider does not answer
	hintStale       hint = "stale"       // the attempt is not pending any more
)

// hint is empty if there is nothing to add.
func (e *authError) hint() hint {
	var stale staleReason
	switch {
	case errors.Is(e.Err, errStore):
		return ""
	case errors.Is(e.Err, errDenied):
		return hintCancelled
	case errors.Is(e.Err, outbound.ErrUnavailable):
		return hintUnavailable
	case errors.As(e.Err, &stale):
		return hintStale
	}
	return ""
}

// fail makes an Error.
func fail(code ErrorCode, err error) *authError { return &authError{Code: code, Err: err} }

// Errors that adapters return. Every other error of an adapter means that the
// store could not be asked; the engine then refuses, it never guesses.
var (
	// ErrNotFound: the record is not there.
	ErrNotFound = errors.New("authsvc: not found")
	// ErrConflict: a uniqueness rule of the records refused the write.
	ErrConflict = errors.New("authsvc: conflict with a stored record")
	// ErrStale: the write rests on something that has changed since it was
	// read, such as the user's epoch.
	ErrStale = errors.New("authsvc: stale: access was taken back or tokens were replaced meanwhile")
	// ErrQueueFull: the mail queue holds as many mails as it may.
	ErrQueueFull = errors.New("authsvc: mail queue is full")
)

// ErrAccessDenied is what a SignIn callback returns to refuse.
var ErrAccessDenied = errors.New("authsvc: access denied")

// ErrMailRefused: the mail server refused a message for good (5xx).
var ErrMailRefused = errors.New("authsvc: mail refused for good")

// ErrMailUnconfirmed: the whole message went to the mail server, and the
// connection ended before its answer; it may have been delivered (RFC 1047).
var ErrMailUnconfirmed = errors.New("authsvc: mail sent, but not confirmed by the server")

// errStore marks failures of the store: the answer to scripts is 503.
var errStore = errors.New("the store could not be asked")

// storeFailed wraps an adapter's error under the wire word code.
func storeFailed(code ErrorCode, err error) *authError {
	return fail(code, errors.Join(errStore, err))
}

// fixedReason is a cause in fixed words of the engine: audit events repeat it.
type fixedReason string

// staleReason is a fixedReason why an attempt cannot be finished that may have
// been finished before, or have been left open for too long.
type staleReason string

func (r staleReason) Error() string { return string(r) }

// Unwrap returns the reason as one that audit events repeat.
func (r staleReason) Unwrap() error { return fixedReason(r) }

// printable makes foreign text fit for a log line or a message.
func printable(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), limit)]
}
