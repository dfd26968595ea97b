package authsvc

import (
	"errors"
)

// An ErrorCode is the word that a person's browser sees in ?error=. The words
// are those of NextAuth.js v4, so that custom pages written for it keep
// working; the cause behind one goes to the log, never to the page.
type ErrorCode string

// The error words of the interface.
const (
	CodeOAuthSignin           ErrorCode = "OAuthSignin"           // the authorization URL could not be built
	CodeOAuthCallback         ErrorCode = "OAuthCallback"         // state, PKCE, nonce, token, ID token or userinfo failed
	CodeOAuthCreateAccount    ErrorCode = "OAuthCreateAccount"    // the user could not be stored
	CodeEmailCreateAccount    ErrorCode = "EmailCreateAccount"    // as above, for the e-mail provider
	CodeCallback              ErrorCode = "Callback"              // anything else that went wrong at the return
	CodeOAuthAccountNotLinked ErrorCode = "OAuthAccountNotLinked" // the address or identity belongs to another user
	CodeEmailSignin           ErrorCode = "EmailSignin"           // malformed address, or the store failed
	CodeCredentialsSignin     ErrorCode = "CredentialsSignin"     // the credentials were refused
	CodeSessionRequired       ErrorCode = "SessionRequired"       // only sent by clients
	CodeConfiguration         ErrorCode = "Configuration"         // the operator has to act
	CodeAccessDenied          ErrorCode = "AccessDenied"          // a callback or the person refused
	CodeVerification          ErrorCode = "Verification"          // the e-mail link is unknown, used or expired
	CodeRateLimited           ErrorCode = "RateLimited"           // too many attempts; not a NextAuth word
	CodeWrongCode             ErrorCode = "Code"                  // the mailed code is another, or was tried too often; not a NextAuth word
)

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
	// ErrTooMany: the user has as many credentials of that kind as may be.
	ErrTooMany = errors.New("authsvc: too many of that kind")
)

// ErrAccessDenied is what a SignIn callback returns to refuse.
var ErrAccessDenied = errors.New("authsvc: access denied")

// ErrMailRefused: the mail server refused a message for good (5xx).
var ErrMailRefused = errors.New("authsvc: mail refused for good")

// ErrMailUnconfirmed: the whole message went to the mail server, and the
// connection ended before its answer; it may have been delivered (RFC 1047).
var ErrMailUnconfirmed = errors.New("authsvc: mail sent, but not confirmed by the server")

// A ConfigError is one mistake in a Config. Field is its path in Go, such as
// Session.MaxAge or Providers[0].Client.ID.
type ConfigError struct {
	// Code names a mistake whose Problem or Fix speaks of Go, such as
	// insecure_url, for a program that is configured otherwise and words it
	// itself. Empty: the text suits both.
	Code    string
	Field   string
	Problem string // what is wrong
	Fix     string // what to do
	// With are other fields that the verdict rests on, such as URL with
	// TrustedOrigins[0]. Where one of them is not what was meant, it may be void.
	With []string
}

// Error names the field, the problem and the fix.
func (e *ConfigError) Error() string {
	s := "authsvc: " + e.Field + " " + e.Problem
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

// ConfigErrors lists the mistakes in an error of New.
func ConfigErrors(err error) []*ConfigError {
	var list []*ConfigError
	var one *ConfigError
	if many, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // only the outermost join
		for _, e := range many.Unwrap() {
			list = append(list, ConfigErrors(e)...)
		}
	} else if errors.As(err, &one) {
		list = append(list, one)
	}
	return list
}

// Words of the account pages, beside those of sign-in.
const (
	CodeFreshRequired ErrorCode = "FreshRequired" // the proof of who somebody is is too old
	CodeLastMethod    ErrorCode = "LastMethod"    // nothing would be left to sign in with
	CodeInvalid       ErrorCode = "Invalid"       // what was entered cannot be used
	CodeNotFound      ErrorCode = "NotFound"      // there is no such record, or it is somebody else's
	CodeUnavailable   ErrorCode = "Unavailable"   // the store does not answer
)

// ErrNoEmailChange: people cannot change their address with this configuration. See
// AccountOptions.ChangeEmail.
var ErrNoEmailChange = errors.New("authsvc: changing the address is off, or no provider sends mails")

// ErrBusy: another replica does the same work and has not ended for 20 s; or
// it died, and its lease lapses soon.
var ErrBusy = errors.New("authsvc: another replica is at work on this")

// Taken: the address belongs to somebody else.
const CodeTaken ErrorCode = "Taken"

// Errors of AccessToken after which the person has to sign in again.
var (
	// ErrNoToken: no usable access token is stored, and no refresh token.
	ErrNoToken = errors.New("authsvc: no usable token of the provider is stored; the person has to sign in again")
	// ErrTokenRefused: the provider refused the refresh token.
	ErrTokenRefused = errors.New("authsvc: the provider refused the stored refresh token; the person has to sign in again")
)

// ErrLastAccount: without the account the user could not sign in any more.
var ErrLastAccount = errors.New("authsvc: the account is the user's last way to sign in")
