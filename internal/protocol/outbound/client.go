package outbound

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"time"
)

// MaxCalls is the maximum number of concurrent calls of one client. Another call waits
// for at most QueueWait.
const (
	MaxCalls  = 64
	QueueWait = 2 * time.Second
)

// A Config describes a provider to call.
type Config struct {
	// URLs holds the URLs that the operator configured, by the name of their field. New
	// skips empty URLs; the caller must check that the required ones are set.
	URLs map[string]string
	// Plain, if not empty, is a URL whose host and port may be called by http although
	// they are not on this machine. The address must be in an internal network or in
	// HTTPOptions.AllowNetworks, and no proxy is used.
	Plain string
	// Hosts lists further hosts that [Client.Call] may reach, as host[:port];
	// "*.example.com" is any subdomain.
	Hosts []string
	// Discovered, if not nil, returns one more URL whose host Call may reach, or "" for
	// none.
	Discovered func() string
	// Headers are only checked, as [CheckHeaders] does; calls set their own.
	Headers map[string]string
	// Bearer says how Call.Token is sent. Default: in the header Authorization.
	Bearer BearerMethod
	// HTTP makes all calls. Redirects, cookies and unlimited bodies are always off.
	// Default: NewHTTPClient(HTTPOptions{}).
	HTTP *http.Client
}

// A Client calls one provider. It is safe for concurrent use.
type Client struct {
	http       *http.Client
	hosts      hostList
	plain      string // host:port, or ""
	discovered func() string
	bearer     BearerMethod
	inFlight   semaphore
	fetches    Breaker
}

// New checks the configuration and reports all mistakes together. Each error begins
// with the name of its field. New makes no calls.
func New(c Config) (*Client, error) {
	var errs []error
	var urls []string
	plain := plainHost(c.Plain)
	for _, name := range slices.Sorted(maps.Keys(c.URLs)) {
		if c.URLs[name] == "" {
			continue
		}
		urls = append(urls, c.URLs[name])
		if err := checkURL(c.URLs[name], plain); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	if err := CheckHosts(c.Hosts); err != nil {
		errs = append(errs, fmt.Errorf("hosts: %w", err))
	}
	errs = append(errs, CheckHeaders("headers", c.Headers))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if c.Bearer == (BearerMethod{}) {
		c.Bearer = authorizationHeader
	}
	return &Client{http: guarded(c.HTTP, plain, urls), plain: plain, hosts: hostsOf(urls, c.Hosts), discovered: c.Discovered, bearer: c.Bearer, inFlight: newSemaphore()}, nil
}

// CheckHeaders refuses headers that the protocol itself sets. The error begins with
// field.
func CheckHeaders(field string, headers map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		switch textproto.CanonicalMIMEHeaderKey(name) {
		case "Authorization", "Content-Type", "Content-Length", "Host", "Cookie", "Transfer-Encoding", "Connection":
			return fmt.Errorf("%s: %q cannot be set", field, name)
		}
	}
	return nil
}

// MayCall reports whether [Client.Call] may reach the host of u.
func (c *Client) MayCall(u *url.URL) bool {
	if c.hosts.has(u) {
		return true
	}
	if c.discovered == nil {
		return false
	}
	known, err := url.Parse(c.discovered())
	return err == nil && known.Host != "" && hostPort(known) == hostPort(u)
}

// Do sends a request once. The caller must check the status.
func (c *Client) Do(req *http.Request) (*Response, error) {
	return c.within(req, c.send)
}

// DoIdempotent is like Do for a request that is safe to repeat: it tries a GET up to
// MaxTries times. Not every GET is safe to repeat, since some providers redeem codes by
// GET.
func (c *Client) DoIdempotent(req *http.Request) (*Response, error) {
	if req.Method != http.MethodGet {
		return c.Do(req)
	}
	return c.within(req, c.sendAgain)
}

// within sends a request within the limit of concurrent calls.
func (c *Client) within(req *http.Request, send func(*http.Request) (*Response, error)) (*Response, error) {
	if err := c.inFlight.acquire(req.Context()); err != nil {
		return nil, err
	}
	defer c.inFlight.release()
	return send(req)
}

// Document fetches a public JSON document, in up to MaxTries tries. MaxCalls does not
// apply: documents must be available even if other calls hang.
func (c *Client) Document(ctx context.Context, from string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, errors.New("malformed url")
	}
	SetHeaders(req, nil)
	a, err := c.sendAgain(req)
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, StatusError(a.Status)
	}
	return a.Body, nil
}

// CloseIdleConnections closes the idle connections of the HTTP client.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// A semaphore limits the concurrent calls of one client, so that a hanging provider
// holds a limited part of the service's resources.
type semaphore chan struct{}

func newSemaphore() semaphore { return make(semaphore, MaxCalls) }

func (s semaphore) acquire(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(QueueWait)
	defer timer.Stop()
	select {
	case s <- struct{}{}:
		return nil
	case <-timer.C:
		return ErrBusy
	case <-ctx.Done():
		return ErrBusy
	}
}

func (s semaphore) release() { <-s }
