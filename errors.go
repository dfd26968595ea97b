package authsvc

import (
	"errors"

	"authsvc/adapter"
)

// An ErrorCode is the word in ?error= that a user's browser sees. The words come from
// NextAuth.js v4, so that custom pages written for it keep working. The cause goes to
// the log, never to the page.
type ErrorCode string

// The error codes of the routes.
const (
	CodeOAuthSignin           ErrorCode = "OAuthSignin"           // cannot build the authorization URL
	CodeOAuthCallback         ErrorCode = "OAuthCallback"         // state, PKCE, nonce, token, ID token or userinfo failed
	CodeOAuthCreateAccount    ErrorCode = "OAuthCreateAccount"    // cannot store the user
	CodeEmailCreateAccount    ErrorCode = "EmailCreateAccount"    // the same for the email provider
	CodeCallback              ErrorCode = "Callback"              // any other failure at the return
	CodeOAuthAccountNotLinked ErrorCode = "OAuthAccountNotLinked" // the address or identity belongs to another user
	CodeEmailSignin           ErrorCode = "EmailSignin"           // malformed address, or the store failed
	CodeCredentialsSignin     ErrorCode = "CredentialsSignin"     // the credentials were refused
	CodeSessionRequired       ErrorCode = "SessionRequired"       // only sent by clients
	CodeConfiguration         ErrorCode = "Configuration"         // the operator must act
	CodeAccessDenied          ErrorCode = "AccessDenied"          // a callback or the user refused
	CodeVerification          ErrorCode = "Verification"          // the email link is unknown, used or expired
	CodeRateLimited           ErrorCode = "RateLimited"           // too many attempts; not a NextAuth word
	CodeWrongCode             ErrorCode = "Code"                  // the mailed code is wrong or was tried too often; not a NextAuth word
)

// Errors of the store that methods of the service pass on.
var (
	// ErrNotFound means that the record does not exist.
	ErrNotFound = adapter.ErrNotFound
	// ErrConflict means that another record has the value that must be unique, such as
	// the address.
	ErrConflict = adapter.ErrConflict
	// ErrQueueFull means that the mail queue is at its limit.
	ErrQueueFull = adapter.ErrQueueFull
	// ErrTooMany means that the user already has as many credentials of that kind as
	// are allowed.
	ErrTooMany = adapter.ErrTooMany
)

// ErrAccessDenied is the error with which a SignIn callback refuses.
var ErrAccessDenied = errors.New("authsvc: access denied")

// ErrMailRefused means that the mail server refused a message permanently (5xx).
var ErrMailRefused = errors.New("authsvc: mail refused permanently")

// ErrMailUnconfirmed means that the whole message went to the mail server, but the
// connection ended before its answer. The message may have been delivered (RFC 1047).
var ErrMailUnconfirmed = errors.New("authsvc: mail sent, but not confirmed by the server")

// A ConfigError is one mistake in a Config. Field is its path in Go, such as
// Session.MaxAge or Providers[0].Client.ID.
type ConfigError struct {
	// Code names the mistake, for example insecure_url, if Problem or Fix mentions Go.
	// A program with another configuration format can then use its own words. Empty:
	// the text suits every format.
	Code    string
	Field   string
	Problem string // the mistake
	Fix     string // the remedy
	// With lists other fields that the verdict depends on, such as URL for
	// TrustedOrigins[0]. If one of them is itself wrong, the verdict may not apply.
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

// Error codes of the account pages, in addition to the sign-in codes.
const (
	CodeFreshRequired ErrorCode = "FreshRequired" // the user must prove their identity again
	CodeLastMethod    ErrorCode = "LastMethod"    // without it, the user could no longer sign in
	CodeInvalid       ErrorCode = "Invalid"       // the input cannot be used
	CodeNotFound      ErrorCode = "NotFound"      // no such record, or another user's
	CodeUnavailable   ErrorCode = "Unavailable"   // the store does not answer
)

// ErrNoEmailChange means that this configuration does not let users change their
// address. See AccountOptions.ChangeEmail.
var ErrNoEmailChange = errors.New("authsvc: changing the address is disabled, or no provider sends mail")

// ErrBusy means that another replica has been doing the same work for 20 s, or that it
// died and its lease has not lapsed yet.
var ErrBusy = errors.New("authsvc: another replica is doing this work")

// CodeTaken means that the address belongs to another user.
const CodeTaken ErrorCode = "Taken"

// Errors of AccessToken after which the user must sign in again.
var (
	// ErrNoToken means that neither a usable access token nor a refresh token is
	// stored.
	ErrNoToken = errors.New("authsvc: no usable token of the provider is stored; the user must sign in again")
	// ErrTokenRefused means that the provider refused the refresh token.
	ErrTokenRefused = errors.New("authsvc: the provider refused the stored refresh token; the user must sign in again")
)

// ErrLastAccount means that the user could not sign in without the account.
var ErrLastAccount = errors.New("authsvc: the account is the user's last way to sign in")
