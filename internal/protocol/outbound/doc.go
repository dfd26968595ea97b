// Package outbound makes the HTTP calls to identity providers, whatever protocol they
// use.
//
// Everything that comes from a provider is hostile until checked. Answers are read
// completely, up to 1 MiB, and errors never quote the provider. Redirects are not
// followed, and calls go only to hosts that the configuration names.
//
// A request is sent once. Only documents and GETs with an access token are tried up to
// three times, within the caller's time. An endpoint that stops answering is not called
// for some seconds. A client has at most 64 calls in progress.
//
// [NewHTTPClient] decides where a request may go, by the address that is dialled.
package outbound
