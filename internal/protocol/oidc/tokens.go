package oidc

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"authsvc/internal/protocol/outbound"
	"authsvc/internal/text"
	"authsvc/internal/text/strictjson"
)

// maxExpiresIn is the longest accepted lifetime, in seconds: about 136 years. A larger
// number is a mistake and would overflow later.
const maxExpiresIn = 1 << 32

// Tokens is a successful token response (RFC 6749, section 5.1).
type Tokens struct {
	AccessToken, RefreshToken, IDToken string
	// TokenType is always "Bearer", however the provider spelled it.
	TokenType string
	// Scope is the granted scope, space separated. It is empty if the provider did not
	// say, which means that the requested scope was granted (RFC 6749, section 5.1).
	Scope string
	// SessionState is for OpenID Connect Session Management.
	SessionState string
	// ExpiresAt is when AccessToken expires, in seconds since 1970. 0 means that the
	// provider did not say, or said 0, as some do for "never".
	ExpiresAt int64
	// Answer is the whole answer, as Conform left it.
	Answer Claims
}

// TokenError is a refusal by the token endpoint (RFC 6749, section 5.2), or any other
// unsuccessful answer of it.
type TokenError struct {
	// Code is the provider's error code if it consists of at most 64 letters, digits,
	// "_", "-" and "."; else "unrecognised". It is safe to log.
	Code string
	// Status is the HTTP status, which may be 200: some providers report errors that
	// way.
	Status int
}

// Error implements error. It omits the provider's description, which is free text and
// may repeat what was sent.
func (e *TokenError) Error() string {
	return fmt.Sprintf("refused with %s, status %d", e.Code, e.Status)
}

// Unwrap makes 429 and 5xx answers match [outbound.ErrUnavailable].
func (e *TokenError) Unwrap() error {
	if outbound.Transient(e.Status) {
		return outbound.ErrUnavailable
	}
	return nil
}

// unrecognised replaces an error code that is missing or unsafe to repeat.
const unrecognised = "unrecognised"

// responseFields decodes a token response, unless its status is a refusal.
func responseFields(a *outbound.Response) (Claims, error) {
	fields, err := a.Object()
	if a.Status != http.StatusOK {
		return nil, &TokenError{Code: errorCode(fields["error"]), Status: a.Status}
	}
	return fields, err
}

// readTokens checks the members of a response with status 200.
func readTokens(fields Claims, conform func(Claims) (Claims, error), now time.Time) (*Tokens, error) {
	if conform != nil {
		var err error
		if fields, err = conform(fields); err != nil {
			return nil, fmt.Errorf("cannot repair the answer: %w", err)
		}
	}
	if e := fields["error"]; e != nil && e != "" {
		return nil, &TokenError{Code: errorCode(e), Status: http.StatusOK}
	}
	return newTokens(fields, now)
}

func newTokens(fields Claims, now time.Time) (*Tokens, error) {
	t := &Tokens{TokenType: "Bearer", Answer: fields}
	for _, f := range []struct {
		name string
		into *string
	}{
		{"access_token", &t.AccessToken},
		{"refresh_token", &t.RefreshToken},
		{"id_token", &t.IDToken},
		{"session_state", &t.SessionState},
	} {
		v, ok := fields[f.name].(string)
		if !ok && fields[f.name] != nil {
			return nil, fmt.Errorf("%s is not a string", f.name)
		}
		*f.into = v
	}
	// The access token goes into a header line.
	if t.AccessToken == "" || strings.ContainsFunc(t.AccessToken, func(r rune) bool { return r == ' ' || notPrintable(r) }) {
		return nil, errors.New("access_token is missing or not printable")
	}
	if kind, _ := fields["token_type"].(string); !strings.EqualFold(kind, "bearer") {
		return nil, errors.New("token_type is not bearer")
	}
	var err error
	if t.Scope, err = scope(fields["scope"]); err != nil {
		return nil, err
	}
	t.ExpiresAt, err = expiresAt(fields["expires_in"], now)
	return t, err
}

// scope accepts a string, or the list of strings that some providers send.
func scope(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case []any:
		names := make([]string, len(v))
		for i, name := range v {
			s, ok := name.(string)
			if !ok {
				return "", errors.New("scope is not a list of strings")
			}
			names[i] = s
		}
		return strings.Join(names, " "), nil
	}
	return "", errors.New("scope is not a string")
}

// expiresAt converts expires_in, a number of seconds or a string of it, to a time.
func expiresAt(v any, now time.Time) (int64, error) {
	var digits string
	switch v := v.(type) {
	case nil:
		return 0, nil
	case string:
		digits = v
	case json.Number:
		digits, _ = strictjson.Decimal(v)
	case int: // made by a function of the program
		digits = strconv.Itoa(v)
	}
	seconds, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || seconds > maxExpiresIn {
		return 0, errors.New("expires_in is not a plausible number of seconds")
	}
	if seconds == 0 {
		return 0, nil
	}
	return now.Unix() + int64(seconds), nil
}

// errorCode returns the provider's error code if it has the form of a code.
func errorCode(v any) string {
	code, _ := v.(string)
	if code == "" || len(code) > 64 || strings.ContainsFunc(code, notCode) {
		return unrecognised
	}
	return code
}

func notCode(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r))
}

// minQuoted is the minimum length, in bytes, of an error code that may be part of a
// client assertion. The codes of the standards are too different to occur in one.
const minQuoted = 16

// redact removes the code from a TokenError if it repeats a secret of ours or a part of
// one.
func redact(err error, secrets ...string) error {
	var refusal *TokenError
	if !errors.As(err, &refusal) {
		return err
	}
	for _, s := range secrets {
		if text.Reveals(refusal.Code, s) || len(refusal.Code) >= minQuoted && strings.Contains(s, refusal.Code) {
			return &TokenError{Code: unrecognised, Status: refusal.Status}
		}
	}
	return err
}
