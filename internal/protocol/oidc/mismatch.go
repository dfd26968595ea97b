package oidc

// A Mismatch says that an answer of the provider contradicts the configuration, so that
// no sign-in can succeed until the operator changes one of them.
type Mismatch struct {
	Part string // of Config, as errors of [New] name it: "issuer", "discovery url", "client id", "jwks url", "client secret" or "algs"
	Err  error
}

// Error returns the text of Err.
func (m *Mismatch) Error() string { return m.Err.Error() }

// Unwrap returns Err.
func (m *Mismatch) Unwrap() error { return m.Err }

// A quotedIssuer is an error with the iss parameter of an authorization response. It is
// not a Mismatch: anyone can write the parameter, and it may be a mix-up attack.
type quotedIssuer string

// Error returns the text.
func (q quotedIssuer) Error() string { return string(q) }

// QuotesRequest marks the error as one whose text the client can vary.
func (quotedIssuer) QuotesRequest() {}
