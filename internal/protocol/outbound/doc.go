// Package outbound makes the HTTP calls to identity providers, whatever protocol
// they speak.
//
// Everything that comes from a provider is hostile until checked. Answers are
// read whole, up to 1 MiB, and what the provider wrote never reaches an error. No
// redirect is followed, and calls go only to hosts that the configuration names.
//
// A request is sent once, but for documents and for GETs with an access token,
// which are tried three times at most, within the caller's time. An endpoint
// that ceases to answer is left alone for some seconds, and 64 calls of a client
// are under way at most.
//
// Where a request may go is decided in [NewHTTPClient], on the address that is
// really dialled.
package outbound
