package engine

import (
	"errors"

	"authsvc"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/outbound"
)

func (b fixedReason) Error() string { return string(b) }

// errMaxAge is a mistake of the client, or of the configuration.
const errMaxAge fixedReason = "max_age is not a number of seconds"

// failed reports whether a fault caused e, in the service or in something that it
// depends on. Otherwise e is a refusal.
func failed(e *authError) bool {
	var why fixedReason
	switch {
	case errors.Is(e.Err, fleet.ErrStore), errors.Is(e.Err, outbound.ErrUnavailable), e.Code == authsvc.CodeConfiguration, e.Code == authsvc.CodeOAuthCreateAccount, e.Code == authsvc.CodeEmailCreateAccount:
		return true
	case e.Code == authsvc.CodeOAuthSignin:
		return !errors.Is(e.Err, errMaxAge)
	case e.Code == authsvc.CodeCallback:
		return !errors.As(e.Err, &why)
	}
	return false
}

func reason(e *authError) string {
	var why fixedReason
	switch {
	case errors.Is(e.Err, fleet.ErrStore):
		return "the store failed"
	case errors.Is(e.Err, outbound.ErrUnavailable):
		return "the provider is unavailable"
	case errors.As(e.Err, &why):
		return string(why)
	}
	return audit.InLog
}

// An authError is a refusal: Code is for the page, Err for the log.
type authError struct {
	Code authsvc.ErrorCode
	Err  error
}

// Error joins the code and its cause, for the log.
func (e *authError) Error() string {
	if e.Err == nil {
		return string(e.Code)
	}
	return string(e.Code) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *authError) Unwrap() error { return e.Err }

// A hint is the reason that pages add, with the provider, to the address of an error
// code. It is one of a few fixed words, and optional: applications that know only the
// codes of NextAuth.js can ignore it.
type hint string

const (
	hintCancelled   hint = "cancelled"   // the provider granted nothing
	hintUnavailable hint = "unavailable" // the provider or, if none is named, the store or a hook does not answer

	// The provider does not accept the configuration.
	hintMisconfigured hint = "misconfigured"

	hintStale     hint = "stale"     // the attempt is no longer pending
	hintElsewhere hint = "elsewhere" // this browser requested no code
	hintExpired   hint = "expired"   // the code has expired
	hintUsed      hint = "used"      // the code or its link was used
)

// hints lists the words.
var hints = []hint{hintCancelled, hintUnavailable, hintMisconfigured, hintStale, hintElsewhere, hintExpired, hintUsed}

// hint returns the hint for e, "" if there is nothing to add.
func (e *authError) hint() hint {
	var hinted hintedReason
	var mistake *operatorMistake
	switch {
	case errors.Is(e.Err, fleet.ErrStore):
		return hintUnavailable
	case errors.As(e.Err, &mistake):
		return hintMisconfigured
	case errors.Is(e.Err, errDenied):
		return hintCancelled
	case errors.Is(e.Err, outbound.ErrUnavailable):
		return hintUnavailable
	case errors.As(e.Err, &hinted):
		return hinted.hint
	}
	return ""
}

// fail makes an authError.
func fail(code authsvc.ErrorCode, err error) *authError { return &authError{Code: code, Err: err} }

// storeFailed wraps an error of the adapter under a code.
func storeFailed(code authsvc.ErrorCode, err error) *authError {
	return fail(code, fleet.StoreFailed(err))
}

// A fixedReason is a cause in fixed words of the engine. Audit events repeat it.
type fixedReason string

// A hintedReason is a fixedReason with the hint that pages add.
type hintedReason struct {
	hint   hint
	reason fixedReason
}

func (r hintedReason) Error() string { return string(r.reason) }

// Unwrap returns the reason as a fixedReason, which audit events repeat.
func (r hintedReason) Unwrap() error { return r.reason }

func (*authError) isOutcome() {}

// errDenied means that the provider granted nothing.
var errDenied = fixedReason("the person or the provider refused")

var errForeignDomain = errors.New("a new user needs a proved address in one of the domains (sign_up.domains)")

// A notAllowedError means that no condition of SignInRules.Allow (sign_in.allow) holds.
type notAllowedError struct {
	shape string // why a claim cannot match any condition; "" if its shape is as expected
}

func (e notAllowedError) Error() string {
	return because("no sign-in condition (sign_in.allow) is met", e.shape)
}

// An operatorMistake is a refusal that people cannot avoid: the provider does not accept
// the configuration. It is logged as a warning, with the field and the fix.
type operatorMistake struct {
	problem, field, fix string
	err                 error // what the provider answered
}

// Error joins the problem and the provider's answer.
func (m *operatorMistake) Error() string { return m.problem + ": " + m.err.Error() }

// Unwrap returns the error that showed the mistake.
func (m *operatorMistake) Unwrap() error { return m.err }

// because adds the shape of a claim to the reason of a refusal.
func because(reason, shape string) string {
	if shape == "" {
		return reason
	}
	return reason + ": " + shape
}

var errNotInvited = errors.New("only existing users may sign in (sign_up.policy)")
