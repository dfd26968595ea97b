package oidc

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
// refusal that trying again will not mend.
var ErrUnavailable = errors.New("identity provider unavailable")

var errTooLarge = errors.New("answer is too large")

// Faults of the network after which a GET may be tried again.
var (
	errNoName       = fmt.Errorf("%w: name not resolved", ErrUnavailable)
	errNoConnection = fmt.Errorf("%w: no connection", ErrUnavailable)
	errBroken       = fmt.Errorf("%w: connection or HTTP protocol broken", ErrUnavailable)
	errCutShort     = fmt.Errorf("%w: answer cut short", ErrUnavailable)
)

// answer is a response read to its end.
type answer struct {
	status      int
	contentType string
	retryAfter  string
	body        []byte
}

// send does one request and reads the bounded answer. The error names the cause
// but never the URL, which may have a query, nor anything the provider wrote.
func (p *Party) send(req *http.Request) (*answer, error) {
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, transportError(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, defaultMaxBody))
	if err != nil {
		return nil, transportError(err)
	}
	return &answer{resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Retry-After"), body}, nil
}

// ask is send within the bounds of what may be under way. A GET that again says
// so is repeated: not every GET is safe to, since some providers have codes
// redeemed by one.
func (p *Party) ask(req *http.Request, again bool) (*answer, error) {
	if err := p.slots.take(req.Context()); err != nil {
		return nil, err
	}
	defer p.slots.free()
	if again && req.Method == http.MethodGet {
		return p.sendAgain(req)
	}
	return p.send(req)
}

// setHeaders sets what every request says, and then headers over it.
func setHeaders(req *http.Request, headers map[string]string) {
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "authsvc")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
}

// get fetches a public JSON document.
func (p *Party) get(ctx context.Context, from string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, errors.New("malformed url")
	}
	setHeaders(req, nil)
	a, err := p.sendAgain(req)
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, statusError(a.status)
	}
	return a.body, nil
}

func statusError(status int) error {
	if passing(status) {
		return fmt.Errorf("%w: status %d", ErrUnavailable, status)
	}
	return fmt.Errorf("status %d", status)
}

// passing reports whether a status speaks of a fault that may pass.
func passing(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500
}

// transportError replaces an error of net/http by one that quotes nothing: a
// malformed status line, for one, would be quoted, and may hold what we sent.
func transportError(err error) error {
	for _, own := range []error{errRedirect, errScheme, errAddress} {
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
