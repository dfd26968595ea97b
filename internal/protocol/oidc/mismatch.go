package oidc

// A Mismatch says that an answer of the provider contradicts the configuration, so that
// no sign-in can succeed until the operator changes one of them.
type Mismatch struct {
	Part string // of Config, as errors of [New] name it: "issuer", "client id", "jwks url", "client secret" or "algs"
	Err  error
}

// Error returns the text of Err.
func (m *Mismatch) Error() string { return m.Err.Error() }

// Unwrap returns Err.
func (m *Mismatch) Unwrap() error { return m.Err }

// A quotedIssuer is a Mismatch with the iss parameter of an authorization response,
// which anyone can write.
type quotedIssuer struct{ *Mismatch }

// QuotesRequest marks the error as one whose text the client can vary.
func (quotedIssuer) QuotesRequest() {}

// Unwrap returns the Mismatch.
func (q quotedIssuer) Unwrap() error { return q.Mismatch }
