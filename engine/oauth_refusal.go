package engine

import (
	"fmt"
	"slices"

	"authsvc/internal/text"
)

// A refusalText holds what a provider says when it grants nothing: error and
// error_description (RFC 6749 §4.1.2.1). It is untrusted text, because anyone who knows
// the state can write it. So it is only for the log, never for a page.
type refusalText struct{ code, description string }

// Limits of a refusalText in a log line, in bytes.
const (
	maxLoggedCode        = 60
	maxLoggedDescription = 200
)

// String returns the text for a log line: shortened, and printable.
func (r refusalText) String() string {
	s := fmt.Sprintf("error %q", text.Printable(r.code, maxLoggedCode))
	if r.description != "" {
		s += fmt.Sprintf(", error_description %q", text.Printable(r.description, maxLoggedDescription))
	}
	return s
}

// A providerRefusal is a refusal that the browser brought back from the provider.
type providerRefusal struct {
	refusalText
	denied bool // the person refused
}

// Error quotes the provider.
func (r *providerRefusal) Error() string {
	if r.denied {
		return errDenied.Error() + ": " + r.refusalText.String()
	}
	return "the provider answered with " + r.refusalText.String()
}

// Unwrap returns errDenied if the person refused.
func (r *providerRefusal) Unwrap() error {
	if r.denied {
		return errDenied
	}
	return nil
}

// QuotesRequest implements [audit.Quoting].
func (*providerRefusal) QuotesRequest() {}

// refusal returns the error for a refusal by the provider.
func (f *oauthFlow) refusal(r refusalText) error { return &providerRefusal{r, f.denied(r)} }

// denied reports whether a refusal means that the person refused.
func (f *oauthFlow) denied(r refusalText) bool {
	return r.code == "access_denied" || slices.Contains(f.DeniedErrors, r.code)
}

// pageExpired reports whether the person was on the provider's own sign-in page for too
// long. Keycloak then asks the client to begin again, in these words.
func (f *oauthFlow) pageExpired(r refusalText) bool {
	return r.code == "temporarily_unavailable" && r.description == "authentication_expired" && !f.denied(r)
}
