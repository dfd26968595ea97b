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

// ErrUnavailable marks failures that may be temporary: the provider could not be
// reached, did not answer in time, or answered 429 or 5xx. Any other error is a refusal
// that a retry will not change.
var ErrUnavailable = errors.New("identity provider unavailable")

var errTooLarge = errors.New("answer is too large")

// Network faults after which a GET may be tried again.
var (
	errNoName       = fmt.Errorf("%w: name not resolved", ErrUnavailable)
	errNoConnection = fmt.Errorf("%w: no connection", ErrUnavailable)
	errBroken       = fmt.Errorf("%w: connection or HTTP protocol broken", ErrUnavailable)
	errCutShort     = fmt.Errorf("%w: answer cut short", ErrUnavailable)
)

// send makes one request and reads the limited answer. The error names the cause, but
// never contains the URL, which may have a query, or text from the provider.
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

// SetHeaders sets the headers of every request, then the given ones, which override
// them.
func SetHeaders(req *http.Request, headers map[string]string) {
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "authsvc")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
}

// TransportError replaces an error of net/http or of a context with one that quotes
// nothing. For example, net/http quotes a malformed status line, which may contain data
// that we sent.
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
		proxy    *proxyError
	)
	switch {
	case errors.As(err, &proxy):
		return proxy
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
