package outbound

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// A Call is a request to a provider in addition to the protocol's own, such as for
// GitHub's list of email addresses.
type Call struct {
	Method string // default: GET, or POST with Form or JSON
	URL    string
	// Header is added to the request. It may set Authorization unless Token is sent in
	// that header.
	Header map[string]string
	// Form or JSON is the body. JSON is marshalled.
	Form url.Values
	JSON any
	// Token, if not empty, is the access token to attach as Config.Bearer says.
	Token string
}

// A Refusal is an answer with a status of 400 to 499 other than 429.
type Refusal struct {
	Status int
	Answer any // as Call would return it; nil if it cannot be read
}

// Error implements error. It omits the provider's text.
func (r *Refusal) Error() string { return StatusError(r.Status).Error() }

// Call makes a request and returns the JSON of an answer with a status of 200 to 299,
// as [strictjson.Value] decodes it. A form-encoded answer becomes an object of strings,
// and an empty answer nil. The host must be named in the configuration, so tokens and
// secrets reach no other host. If the provider refuses the request, the error is a
// [Refusal].
func (c *Client) Call(ctx context.Context, r Call) (any, error) {
	a, err := c.call(ctx, r)
	if err == nil {
		err = refusal(a)
	}
	if err != nil {
		return nil, fmt.Errorf("further request: %w", err)
	}
	v, err := a.value()
	if err != nil {
		return nil, fmt.Errorf("further request: %w", err)
	}
	return v, nil
}

// refusal returns nil for a status of success.
func refusal(a *Response) error {
	switch {
	case a.Status >= 200 && a.Status <= 299:
		return nil
	case a.Status < 400 || Transient(a.Status):
		return StatusError(a.Status)
	}
	r := &Refusal{Status: a.Status}
	if v, err := a.value(); err == nil {
		r.Answer = v
	}
	return r
}

// Picture makes a request for content that is not JSON. It returns the media type and
// body of an answer with status 200, or nothing for 404. The rules for hosts are the
// same as for Call.
func (c *Client) Picture(ctx context.Context, r Call) (mediaType string, body []byte, err error) {
	a, err := c.call(ctx, r)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("further request: %w", err)
	case a.Status == http.StatusNotFound:
		return "", nil, nil
	case a.Status != http.StatusOK:
		return "", nil, fmt.Errorf("further request: %w", StatusError(a.Status))
	}
	mediaType, _, err = mime.ParseMediaType(a.ContentType)
	if err != nil {
		return "", nil, errors.New("further request: malformed content type")
	}
	return mediaType, a.Body, nil
}

// Fetch is like Call for an answer that, by its content type, is neither JSON nor a
// form. It returns the body of an answer with status 200.
func (c *Client) Fetch(ctx context.Context, r Call) ([]byte, error) {
	a, err := c.fetches.Do(func() (*Response, error) { return c.call(ctx, r) })
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, StatusError(a.Status)
	}
	return a.Body, nil
}

func (c *Client) call(ctx context.Context, r Call) (*Response, error) {
	if err := c.CheckURL(r.URL); err != nil {
		return nil, err
	}
	u, err := url.Parse(r.URL)
	if err != nil || !c.MayCall(u) {
		return nil, errors.New("the configuration does not name this host")
	}
	if err := c.checkHeader(r); err != nil {
		return nil, err
	}
	req, err := c.newRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.Token != "" {
		return c.DoIdempotent(req)
	}
	// It may contain a code, or a signature whose nonce is valid once (RFC 5849,
	// section 3.3).
	return c.Do(req)
}

// checkHeader refuses headers that frame a message or would replace the token.
func (c *Client) checkHeader(r Call) error {
	for name := range r.Header {
		switch canonical := textproto.CanonicalMIMEHeaderKey(name); {
		case framing(canonical), r.Token != "" && canonical == c.bearer.header:
			return fmt.Errorf("header %q cannot be set", name)
		}
	}
	return nil
}

// framing reports whether a header belongs to net/http or to a session with another
// server.
func framing(name string) bool {
	switch name {
	case "Content-Length", "Host", "Cookie", "Transfer-Encoding", "Connection", "Te", "Trailer", "Upgrade":
		return true
	}
	return strings.HasPrefix(name, "Proxy-")
}

func (c *Client) newRequest(ctx context.Context, r Call) (*http.Request, error) {
	body, kind, err := r.body()
	if err != nil {
		return nil, err
	}
	method := r.Method
	if method == "" {
		method = http.MethodGet
		if kind != "" {
			method = http.MethodPost
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL, body)
	if err != nil {
		return nil, errors.New("malformed method or url")
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	SetHeaders(req, r.Header)
	c.bearer.Set(req, r.Token)
	return req, nil
}

// body returns the body and its content type, both empty if there is none.
func (r *Call) body() (io.Reader, string, error) {
	switch {
	case r.Form != nil && r.JSON != nil:
		return nil, "", errors.New("a form and JSON must not both be set")
	case r.Form != nil:
		return strings.NewReader(r.Form.Encode()), FormType, nil
	case r.JSON != nil:
		raw, err := json.Marshal(r.JSON)
		if err != nil {
			return nil, "", errors.New("cannot marshal the body")
		}
		return bytes.NewReader(raw), "application/json", nil
	}
	return nil, "", nil
}
