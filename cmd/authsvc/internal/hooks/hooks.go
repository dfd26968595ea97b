// Package hooks asks an application for decisions over HTTP. A question is sent as a
// Standard Webhook (standardwebhooks.com): a POST with JSON, signed with a shared
// secret.
//
// An answer is valid if its status is 200 and it has at most 64 KiB and exactly the
// expected members. Anything else decides nothing, which callers must treat as a
// refusal. A question is sent once, and again only if there was no connection.
package hooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"authsvc/internal/protocol/outbound"
	"authsvc/internal/seal"
	"authsvc/internal/text/strictjson"
)

// Limits of a hook.
const (
	DefaultTimeout = 2 * time.Second
	minTimeout     = 100 * time.Millisecond
	maxTimeout     = 5 * time.Second
	minSecret      = 24 // bytes
	maxSecret      = 64
	maxSecrets     = 2 // two during a rotation
	maxAnswer      = 64 << 10
)

// A Config configures a hook.
type Config struct {
	URL     string // https, or http to this machine
	Secrets []string
	Timeout time.Duration // per question, 100 ms to 5 s; default 2 s
}

// A Problem is a mistake in a Config. Field is url, secret or timeout.
type Problem struct{ Field, Problem, Fix string }

// A Hook asks an application. It is safe for concurrent use.
type Hook struct {
	url     string
	keys    [][]byte
	timeout time.Duration
	client  *outbound.Client
	breaker outbound.Breaker
}

// NewHTTPClient returns the client for all hooks of a configuration. proxy may be nil.
func NewHTTPClient(allow []netip.Prefix, proxy *outbound.Proxy) *http.Client {
	return outbound.NewHTTPClient(outbound.HTTPOptions{Timeout: maxTimeout + time.Second, MaxBody: maxAnswer, AllowNetworks: allow, Proxy: proxy})
}

// New returns a hook, or all mistakes. It does not call the application.
func New(c Config, client *http.Client) (*Hook, []Problem) {
	h := &Hook{url: c.URL, timeout: c.Timeout}
	var problems []Problem
	fail := func(field, problem, fix string) { problems = append(problems, Problem{field, problem, fix}) }
	if h.timeout == 0 {
		h.timeout = DefaultTimeout
	}
	if h.timeout < minTimeout || h.timeout > maxTimeout {
		fail("timeout", "is not between 100ms and 5s", "a person waits for it: use a duration such as 2s")
	}
	switch made, err := outbound.New(outbound.Config{URLs: map[string]string{"url": c.URL}, HTTP: client}); {
	case c.URL == "":
		fail("url", "is missing", "write the address of your application's endpoint, such as https://app.example.com/hooks")
	case err != nil:
		fail("url", "cannot be called: "+strings.TrimPrefix(err.Error(), "url: "), "use https, or http to this machine, as in https://app.example.com/hooks")
	default:
		h.client = made
	}
	const fix = "use whsec_ and the base64 of 24 to 64 random bytes: echo whsec_$(head -c 32 /dev/urandom | base64)"
	switch n := len(c.Secrets); {
	case n == 0:
		fail("secret", "is missing", fix)
	case n > maxSecrets:
		fail("secret", "has more than two entries", "keep the new secret and the previous one")
	}
	for _, secret := range c.Secrets {
		key, ok := parseSecret(secret)
		if !ok {
			fail("secret", "is not usable", fix)
			break
		}
		h.keys = append(h.keys, key)
	}
	return h, problems
}

// parseSecret decodes a secret of Standard Webhooks.
func parseSecret(s string) ([]byte, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(s), "whsec_")
	key, err := base64.StdEncoding.DecodeString(rest)
	return key, ok && err == nil && len(key) >= minSecret && len(key) <= maxSecret
}

// errNoTime means that other calls of the same request took too long.
var errNoTime = fmt.Errorf("%w: it was not called, because less time is left than it may take", outbound.ErrUnavailable)

// Errors of an answer. They do not quote the answer.
var (
	errMembers = errors.New("the answer has unexpected members, or lacks one")
	errTypes   = errors.New("the answer has a member of the wrong type")
)

// Ask sends data with the kind of the question. It returns the members of the answer,
// which must be among allowed.
func (h *Hook) Ask(ctx context.Context, kind string, data any, allowed ...string) (map[string]any, error) {
	body, err := json.Marshal(map[string]any{"type": kind, "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "data": data})
	if err != nil {
		return nil, fmt.Errorf("cannot encode the question as JSON: %w", err)
	}
	begun := time.Now()
	ctx, cancel := outbound.WithinBudget(ctx, h.timeout)
	defer cancel()
	if end, _ := ctx.Deadline(); end.Before(begun.Add(h.timeout)) { // it could fail because others used up the time, which must not open the breaker
		return nil, errNoTime
	}
	answer, err := h.breaker.Do(func() (*outbound.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
		if err != nil {
			return nil, errors.New("malformed url")
		}
		outbound.SetHeaders(req, nil)
		req.Header.Set("Content-Type", "application/json")
		h.sign(req.Header, "msg_"+seal.UUIDv7(), time.Now(), body)
		return h.client.Deliver(req)
	})
	switch {
	case err != nil:
		return nil, err
	case answer.Status != http.StatusOK:
		return nil, outbound.StatusError(answer.Status)
	}
	members, err := strictjson.Object(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("the answer is %w", err)
	}
	return members, onlyMembers(members, allowed...)
}

// sign adds the headers of Standard Webhooks, with a signature for each key.
func (h *Hook) sign(header http.Header, id string, at time.Time, body []byte) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	var signatures []string
	for _, key := range h.keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + seconds + "."))
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	header["Webhook-Id"], header["Webhook-Timestamp"] = []string{id}, []string{seconds}
	header["Webhook-Signature"] = []string{strings.Join(signatures, " ")}
}

// onlyMembers refuses members with other names. It compares names exactly.
func onlyMembers(object map[string]any, allowed ...string) error {
	for name := range object {
		known := false
		for _, one := range allowed {
			known = known || name == one
		}
		if !known {
			return errMembers
		}
	}
	return nil
}
