package outbound

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestGetsAreRepeated checks that the user does not notice a fault that ends after one
// or two failures, and that the total time is limited.
func TestGetsAreRepeated(t *testing.T) {
	t.Parallel()
	reset := syscall.ECONNRESET
	for name, c := range map[string]struct {
		failures   int
		status     int
		err        error
		retryAfter string
		calls      int
		ok         bool
		atLeast    time.Duration
	}{
		"works":              {0, 200, nil, "", 1, true, 0},
		"502 once":           {1, 502, nil, "", 2, true, RetryPause / 2},
		"503 twice":          {2, 503, nil, "", 3, true, 3 * RetryPause / 2},
		"500 forever":        {99, 500, nil, "", 3, false, 3 * RetryPause / 2},
		"reset once":         {1, 0, reset, "", 2, true, RetryPause / 2},
		"503, in a second":   {1, 503, nil, "1", 2, true, time.Second},
		"429, in a second":   {1, 429, nil, "1", 2, true, time.Second},
		"429, date":          {1, 429, nil, "Sat, 01 Jan 2000 00:00:02 GMT", 2, true, 2 * time.Second},
		"429 without a word": {1, 429, nil, "", 1, false, 0},
		"503, in a minute":   {1, 503, nil, "60", 1, false, 0},
		"503, nonsense":      {1, 503, nil, "soon", 1, false, 0},
		"404":                {1, 404, nil, "", 1, false, 0},
		"timeout":            {1, 0, context.DeadlineExceeded, "", 1, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				client := inMemory(t, func(*http.Request) (*http.Response, error) {
					if calls++; calls > c.failures {
						return response(200, `{}`), nil
					}
					if c.err != nil {
						return nil, c.err
					}
					r := response(c.status, "")
					if c.retryAfter != "" {
						r.Header.Set("Retry-After", c.retryAfter)
					}
					return r, nil
				})
				begin := time.Now()
				err := get(t.Context(), client)
				took := time.Since(begin)
				if (err == nil) != c.ok || calls != c.calls || took < c.atLeast || took > c.atLeast+3*RetryPause {
					t.Errorf("%v, %d calls in %v", err, calls, took)
				}
			})
		})
	}
}

// TestCodesAreSentOnce checks that a GET with a code or a signature is not sent again,
// even if the connection breaks.
func TestCodesAreSentOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func() (*http.Response, error){
		"500": func() (*http.Response, error) { return response(500, ""), nil },
		"503": func() (*http.Response, error) {
			r := response(503, "")
			r.Header.Set("Retry-After", "1")
			return r, nil
		},
		"429":   func() (*http.Response, error) { return response(429, ""), nil },
		"reset": func() (*http.Response, error) { return nil, syscall.ECONNRESET },
	} {
		for what, call := range map[string]func(client *Client) error{
			"code by GET": func(client *Client) error {
				_, err := client.Call(t.Context(), Call{URL: "https://api.example/token?code=x"})
				return err
			},
			"signature": func(client *Client) error {
				_, err := client.Call(t.Context(), Call{URL: "https://api.example/me", Header: map[string]string{"Authorization": "OAuth x"}})
				return err
			},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				calls := 0
				client := inMemory(t, func(*http.Request) (*http.Response, error) { calls++; return fault() })
				if err := call(client); !errors.Is(err, ErrUnavailable) || calls != 1 {
					t.Errorf("%v, %d calls", err, calls)
				}
			})
		}
	}
}

// TestRepeatsEndWithTheCaller checks that no pause outlasts the caller's time.
func TestRepeatsEndWithTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := inMemory(t, func(*http.Request) (*http.Response, error) {
			r := response(503, "")
			r.Header.Set("Retry-After", "2")
			return r, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if err := get(ctx, client); err == nil || !strings.Contains(err.Error(), "status 503") || time.Since(begin) != 0 {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}
