package outbound

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// MaxTries is how often a GET that is safe to repeat is sent. RetryPause is the average
// wait after the first try, with a jitter of plus or minus half. It doubles after the
// next.
const (
	MaxTries   = 3
	RetryPause = 200 * time.Millisecond
)

const maxRetryAfter = 2 * time.Second // people should not wait longer in front of a blank page

// sendAgain is like send for a GET that is safe to repeat (RFC 9110, section 9.2.2). It
// retries faults that may be temporary, as long as the request's context lasts.
func (c *Client) sendAgain(req *http.Request) (*Response, error) {
	for try := 1; ; try++ {
		a, err := c.send(req.Clone(req.Context()))
		wait, again := retryDelay(a, err, try)
		if !again || try == MaxTries || !pause(req.Context(), wait) {
			return a, err
		}
	}
}

// retryDelay returns how long to wait before trying a GET again, and whether to do so.
// It does not retry after a timeout, which used up the remaining time, or after a 429
// without a Retry-After.
func retryDelay(a *Response, err error, try int) (time.Duration, bool) {
	wait := RetryPause<<(try-1)/2 + rand.N(RetryPause<<(try-1)) // jitter: half to one and a half
	switch {
	case err != nil:
		return wait, errors.Is(err, errNoName) || errors.Is(err, errNoConnection) || errors.Is(err, errBroken) || errors.Is(err, errCutShort)
	case !Transient(a.Status):
		return 0, false
	case a.RetryAfter == "":
		return wait, a.Status != http.StatusTooManyRequests
	}
	asked, ok := readRetryAfter(a.RetryAfter)
	return max(asked, wait), ok && asked <= maxRetryAfter
}

// readRetryAfter reads seconds or a date (RFC 9110, section 10.2.3).
func readRetryAfter(s string) (time.Duration, bool) {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	at, err := http.ParseTime(s)
	return time.Until(at), err == nil
}

// pause waits and returns true. If ctx ends earlier, it returns false.
func pause(ctx context.Context, wait time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
