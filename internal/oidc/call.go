package oidc

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

	"authsvc/internal/strictjson"
)

// A Call is a request to a provider beside those of the protocol, such as for
// GitHub's list of e-mail addresses.
type Call struct {
	Method string // default GET, or POST with Form or JSON
	URL    string
	// Header is added to the request. Authorization may be set when the token does
	// not travel there.
	Header map[string]string
	// Form or JSON is the body; JSON is marshalled.
	Form url.Values
	JSON any
	// Token, if not empty, is the access token to attach as Config.UserInfoAuth
	// says.
	Token string
}

// A Refusal is an answer with a status of 400 to 499 other than 429.
type Refusal struct {
	Status int
	Answer any // as Call would return it; nil if it cannot be read
}

// Error implements error. What the provider wrote is left out.
func (r *Refusal) Error() string { return statusError(r.Status).Error() }

// Call makes a request and returns the JSON that is answered with a status of
// 200 to 299: what a member of [Claims] may be. A form is an object of strings,
// an empty answer nil. The host must be among those of the configuration,
// Config.Hosts or the userinfo endpoint, so neither the token nor a secret goes
// anywhere new. What the provider does not want is a [Refusal].
func (p *Party) Call(ctx context.Context, c Call) (any, error) {
	a, err := p.call(ctx, c)
	if err == nil {
		err = refusal(a)
	}
	if err != nil {
		return nil, fmt.Errorf("further request: %w", err)
	}
	v, err := decodeAnswer(a)
	if err != nil {
		return nil, fmt.Errorf("further request: %w", err)
	}
	return v, nil
}

// refusal is nil for a status of success.
func refusal(a *answer) error {
	switch {
	case a.status >= 200 && a.status <= 299:
		return nil
	case a.status < 400 || passing(a.status):
		return statusError(a.status)
	}
	r := &Refusal{Status: a.status}
	if v, err := decodeAnswer(a); err == nil {
		r.Answer = v
	}
	return r
}

// Picture makes a request for something that is not JSON, and returns what was
// answered with a status of 200, and its media type; nothing if it was 404. The
// rules for hosts are those of Call.
func (p *Party) Picture(ctx context.Context, c Call) (mediaType string, body []byte, err error) {
	a, err := p.call(ctx, c)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("further request: %w", err)
	case a.status == http.StatusNotFound:
		return "", nil, nil
	case a.status != http.StatusOK:
		return "", nil, fmt.Errorf("further request: %w", statusError(a.status))
	}
	mediaType, _, err = mime.ParseMediaType(a.contentType)
	if err != nil {
		return "", nil, errors.New("further request: malformed content type")
	}
	return mediaType, a.body, nil
}

func (p *Party) call(ctx context.Context, c Call) (*answer, error) {
	if err := checkURL(c.URL); err != nil {
		return nil, err
	}
	u, err := url.Parse(c.URL)
	if err != nil || !p.mayCall(u) {
		return nil, errors.New("the configuration does not name this host")
	}
	if err := p.checkCallHeader(c); err != nil {
		return nil, err
	}
	req, err := p.newRequest(ctx, c)
	if err != nil {
		return nil, err
	}
	// Without the token it may hold a code, or a signature whose nonce is good
	// once (RFC 5849, section 3.3).
	return p.ask(req, c.Token != "")
}

// mayCall knows the hosts of the configuration, and the discovered userinfo
// endpoint, which gets the token anyway.
func (p *Party) mayCall(u *url.URL) bool {
	if p.hosts.has(u) {
		return true
	}
	md, _ := p.metadata.last()
	if md == nil || md.UserInfoURL == "" {
		return false
	}
	known, err := url.Parse(md.UserInfoURL)
	return err == nil && hostPort(known) == hostPort(u)
}

// checkCallHeader refuses what frames a message, or would hide the token's place.
func (p *Party) checkCallHeader(c Call) error {
	for name := range c.Header {
		switch canonical := textproto.CanonicalMIMEHeaderKey(name); {
		case framing(canonical), c.Token != "" && canonical == p.place.name:
			return fmt.Errorf("header %q cannot be set", name)
		}
	}
	return nil
}

// framing are the headers that net/http or a session with someone else owns.
func framing(name string) bool {
	switch name {
	case "Content-Length", "Host", "Cookie", "Transfer-Encoding", "Connection", "Te", "Trailer", "Upgrade":
		return true
	}
	return strings.HasPrefix(name, "Proxy-")
}

func (p *Party) newRequest(ctx context.Context, c Call) (*http.Request, error) {
	body, kind, err := c.body()
	if err != nil {
		return nil, err
	}
	method := c.Method
	if method == "" {
		method = http.MethodGet
		if kind != "" {
			method = http.MethodPost
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL, body)
	if err != nil {
		return nil, errors.New("malformed method or url")
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	setHeaders(req, c.Header)
	p.place.put(req, c.Token)
	return req, nil
}

// body returns the body and its content type, both empty if there is none.
func (c *Call) body() (io.Reader, string, error) {
	switch {
	case c.Form != nil && c.JSON != nil:
		return nil, "", errors.New("both a form and JSON are given")
	case c.Form != nil:
		return strings.NewReader(c.Form.Encode()), formType, nil
	case c.JSON != nil:
		raw, err := json.Marshal(c.JSON)
		if err != nil {
			return nil, "", errors.New("body cannot be marshalled")
		}
		return bytes.NewReader(raw), "application/json", nil
	}
	return nil, "", nil
}

// decodeAnswer reads JSON, a form or nothing.
func decodeAnswer(a *answer) (any, error) {
	if len(bytes.TrimSpace(a.body)) == 0 {
		return nil, nil
	}
	if isForm(a) {
		fields, err := tokenFields(a)
		return map[string]any(fields), err
	}
	return strictjson.Value(a.body)
}
