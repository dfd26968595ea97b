package outbound

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func deliver(t *testing.T, c *Client, url string) (*Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	return c.Deliver(req)
}

// TestDeliver checks that a sent request is never sent again, whatever the outcome, and
// that one that was not sent is, with its body.
func TestDeliver(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"an answer": func(http.ResponseWriter, *http.Request) {},
		"503":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				c.Close()
			}
		},
		"cut short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "x") //nolint:errcheck // a test
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusTemporaryRedirect) },
	} {
		var sent atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent.Add(1)
			if body, _ := io.ReadAll(r.Body); string(body) != "body" || !r.Close {
				t.Errorf("%s: %q, close %v", name, body, r.Close)
			}
			answer(w, r)
		}))
		t.Cleanup(s.Close)
		c, err := New(Config{URLs: map[string]string{"url": s.URL}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err = deliver(t, c, s.URL)
		}
		if sent.Load() != 2 || (err == nil) != (name == "an answer" || name == "503") {
			t.Errorf("%s: %d of 2 were sent, %v", name, sent.Load(), err)
		}
	}
}

// TestDeliverAgain checks that, without a connection, there is a second try and not a
// third.
func TestDeliverAgain(t *testing.T) {
	t.Parallel()
	dials := 0
	c, err := New(Config{URLs: map[string]string{"url": "http://127.0.0.1:1"}, HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if dials++; dials == 1 {
			return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
		}
		body, err := io.ReadAll(r.Body)
		if string(body) != "body" {
			t.Errorf("the second try has the body %q, %v", body, err)
		}
		return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
	})}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := deliver(t, c, "http://127.0.0.1:1"); !errors.Is(err, errNoConnection) || dials != 2 {
		t.Errorf("%d tries: %v", dials, err)
	}
}

// TestBudget checks that the earlier deadline applies.
func TestBudget(t *testing.T) {
	t.Parallel()
	soon, late := time.Now().Add(time.Minute), time.Now().Add(time.Hour)
	for name, tt := range map[string]struct {
		ctx     context.Context
		timeout time.Duration
		before  time.Time
	}{
		"none said":  {t.Context(), time.Second, soon},
		"the budget": {WithBudget(t.Context(), soon), time.Hour, soon.Add(time.Nanosecond)},
		"its own":    {WithBudget(t.Context(), late), time.Second, soon},
	} {
		ctx, cancel := WithinBudget(tt.ctx, tt.timeout)
		if end, ok := ctx.Deadline(); !ok || !end.Before(tt.before) {
			t.Errorf("%s: ends at %v", name, end)
		}
		if _, ends := tt.ctx.Deadline(); ends {
			t.Errorf("%s: the context itself ends", name)
		}
		cancel()
	}
}
