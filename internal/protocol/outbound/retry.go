package outbound

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// MaxTries is how often a GET that may be repeated is sent. RetryPause comes after
// the first try, half of it more or less, and doubles after the next.
const (
	MaxTries   = 3
	RetryPause = 200 * time.Millisecond
)

const maxRetryAfter = 2 * time.Second // nobody waits longer in front of a blank page

// sendAgain is send for a GET that is safe to repeat (RFC 9110, section 9.2.2): a
// fault that may pass is tried again while the time of the request's context
// lasts.
func (c *Client) sendAgain(req *http.Request) (*Response, error) {
	for try := 1; ; try++ {
		a, err := c.send(req.Clone(req.Context()))
		wait, again := retryDelay(a, err, try)
		if !again || try == MaxTries || !pause(req.Context(), wait) {
			return a, err
		}
	}
}

// retryDelay returns after how long a GET is to be tried again, and whether it is
// at all. After a timeout it is not: that took the time that was left. Neither is
// it after a 429 that does not say when to come back.
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

// pause waits and returns true, or false if ctx ends before the wait would.
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
