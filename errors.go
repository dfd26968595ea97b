package authsvc

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
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
	WrongCode             ErrorCode = "Code"                  // the mailed code is another, or was tried too often; not a NextAuth word
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
	hintElsewhere   hint = "elsewhere"   // another browser asked for the code
)

// hint is empty if there is nothing to add.
func (e *authError) hint() hint {
	var stale staleReason
	var elsewhere elsewhereReason
	switch {
	case errors.Is(e.Err, errStore):
		return ""
	case errors.Is(e.Err, errDenied):
		return hintCancelled
	case errors.Is(e.Err, outbound.ErrUnavailable):
		return hintUnavailable
	case errors.As(e.Err, &stale):
		return hintStale
	case errors.As(e.Err, &elsewhere):
		return hintElsewhere
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

// elsewhereReason is a fixedReason why a code does not count in this browser.
type elsewhereReason string

func (r elsewhereReason) Error() string { return string(r) }

// Unwrap returns the reason as one that audit events repeat.
func (r elsewhereReason) Unwrap() error { return fixedReason(r) }

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

// A ConfigError is one mistake in a Config. Field is its path in Go, such as
// Session.MaxAge or Providers[0].Client.ID.
type ConfigError struct {
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

// A builder collects mistakes and warnings while New compiles a Config.
type builder struct {
	config          *Config
	base            string
	http            *http.Client
	storeys         storeys
	prefix          string         // of the keys below the current place
	positions       map[string]int // of providers, by id, in Config.Providers
	openIDType      string         // see dialect, as is
	mailsCodes      bool
	defaultStrategy Strategy // of sessions
	mistakes        []error
	warnings        []func(*slog.Logger)
}

// fail records a mistake at key, relative to the current place. It rests on the
// fields in with, too.
func (b *builder) fail(key, problem, fix string, with ...string) {
	e := &ConfigError{Field: strings.TrimSuffix(b.prefix+key, "."), Problem: problem, Fix: fix}
	for _, field := range with {
		e.With = append(e.With, b.prefix+field)
	}
	b.mistakes = append(b.mistakes, e)
}

// warn records something to say at every start.
func (b *builder) warn(text string, args ...any) {
	b.warnings = append(b.warnings, func(log *slog.Logger) { log.Warn(text, args...) })
}

// providers compiles the providers, in order.
func (b *builder) providers() (flows map[string]flow, order []flow) {
	flows, b.positions = map[string]flow{}, map[string]int{}
	if len(b.config.Providers) == 0 {
		b.fail("Providers", "is empty", "name at least one way to sign in")
	}
	for i, p := range b.config.Providers {
		b.prefix = fmt.Sprintf("Providers[%d].", i)
		if p == nil {
			b.fail("", "is nil", "remove it")
			continue
		}
		f := p.build(b)
		id := f.info().id
		switch {
		case !validProviderID(id):
			b.fail("ID", fmt.Sprintf("%q is not usable", printable(id, 40)), "use lower-case letters, digits, - and _, at most 40")
		case flows[id] != nil:
			b.fail("ID", fmt.Sprintf("%q is given twice", id), "give each provider an id of its own")
		default:
			flows[id], b.positions[id] = f, i
			order = append(order, f)
		}
	}
	b.prefix = ""
	if len(order) > 0 && len(b.mistakes) == 0 && !slices.ContainsFunc(order, func(f flow) bool { return !f.info().hidden }) {
		b.fail("Providers", "name no way to sign in", "add one, or let the e-mail provider be one: leave NoSignIn out")
	}
	return flows, order
}

func validProviderID(id string) bool {
	if id == "" || len(id) > 40 {
		return false
	}
	for i := 0; i < len(id); i++ {
		c := id[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}
