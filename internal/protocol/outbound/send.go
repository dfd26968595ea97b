package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// ErrUnavailable marks failures that may pass: the provider could not be
// reached, did not answer in time, or answered 429 or 5xx. Anything else is a
// refusal that trying again will not change.
var ErrUnavailable = errors.New("identity provider unavailable")

var errTooLarge = errors.New("answer is too large")

// Faults of the network after which a GET may be tried again.
var (
	errNoName       = fmt.Errorf("%w: name not resolved", ErrUnavailable)
	errNoConnection = fmt.Errorf("%w: no connection", ErrUnavailable)
	errBroken       = fmt.Errorf("%w: connection or HTTP protocol broken", ErrUnavailable)
	errCutShort     = fmt.Errorf("%w: answer cut short", ErrUnavailable)
)

// send does one request and reads the bounded answer. The error names the cause
// but never the URL, which may have a query, nor anything the provider wrote.
func (c *Client) send(req *http.Request) (*Response, error) {
	resp, err := c.http.Do(req) // #nosec G704 -- addresses are judged when they are dialled, see NewHTTPClient
	if err != nil {
		return nil, TransportError(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, MaxBody))
	if err != nil {
		return nil, TransportError(err)
	}
	return &Response{resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Retry-After"), body}, nil
}

// SetHeaders sets the headers of every request, then the given ones over them.
func SetHeaders(req *http.Request, headers map[string]string) {
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "authsvc")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
}

// TransportError replaces an error of net/http or of a context by one that quotes
// nothing: a malformed status line, for one, would be quoted, and may hold what
// we sent.
func TransportError(err error) error {
	for _, own := range []error{errRedirect, ErrScheme, errAddress} {
		if errors.Is(err, own) {
			return own
		}
	}
	var (
		tooLarge *http.MaxBytesError
		timeout  interface{ Timeout() bool }
		dns      *net.DNSError
		cert     *tls.CertificateVerificationError
		op       *net.OpError
		call     *url.Error
	)
	switch {
	case errors.As(err, &tooLarge):
		return errTooLarge
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", ErrUnavailable, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%w: timed out", ErrUnavailable)
	case errors.As(err, &dns):
		return errNoName
	case errors.As(err, &cert):
		return fmt.Errorf("%w: certificate is not trusted, has expired or is for another name", ErrUnavailable)
	case errors.As(err, &op) && op.Op == "dial":
		return errNoConnection
	case errors.As(err, &op), errors.As(err, &call):
		return errBroken
	}
	return errCutShort
}
