package engine_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// An endless body begins, but ends only when the test ends it.
type endless struct {
	begun *atomic.Int64
	end   chan struct{}
	once  sync.Once
}

func (e *endless) Read(p []byte) (int, error) {
	e.once.Do(func() { e.begun.Add(1) })
	<-e.end
	return 0, io.ErrUnexpectedEOF
}

// TestUnfinishedBodies: few bodies are read at the same time, in all and per client. A
// body is read only if the request will not be refused anyway.
func TestUnfinishedBodies(t *testing.T) {
	t.Parallel()
	many := func(i int) string { return fmt.Sprintf("10.%d.%d.1:1", i/250, i%250) }
	for name, c := range map[string]struct {
		path    string
		header  http.Header
		address func(i int) string
		most    int64 // bodies
		status  int   // of the others
		other   bool  // whether another client gets through meanwhile
	}{
		"one client": {"/api/auth/signout", nil, func(int) string { return "203.0.113.9:1" }, 64, http.StatusServiceUnavailable, true},
		"one line": {"/api/auth/callback/credentials", nil, func(i int) string { return fmt.Sprintf("[2001:db8:7:%x::1]:1", i) }, 64,
			http.StatusServiceUnavailable, true},
		"many clients":      {"/api/auth/_log", nil, many, 1024, http.StatusServiceUnavailable, false},
		"from another site": {"/api/auth/signout", http.Header{"Origin": {"https://evil.test"}}, many, 64, http.StatusForbidden, true},
		"from another site, callback": {"/api/auth/callback/credentials", http.Header{"Sec-Fetch-Site": {"cross-site"}}, many, 64,
			http.StatusForbidden, true},
		"past the limit": {"/api/auth/callback/credentials", nil, func(int) string { return "198.51.100.1:1" }, 64, http.StatusTooManyRequests, true},
		"no route":       {"/api/auth/nothing", nil, many, 64, http.StatusNotFound, true},
		"no body to be read": {"/api/auth/signout", http.Header{"Content-Type": {"text/plain"}}, many, 0,
			http.StatusUnsupportedMediaType, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, at := guests(t, nil)
				for i := range 31 { // uses up the rate limit of one client
					at("198.51.100.1:1").login(fmt.Sprint("bob", i), "right")
				}
				time.Sleep(time.Second)
				var begun, answered atomic.Int64
				var all sync.WaitGroup
				end := make(chan struct{})
				for i := range 2500 {
					r := httptest.NewRequest(http.MethodPost, guestOrigin+c.path, &endless{begun: &begun, end: end})
					r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
					for k, v := range c.header {
						r.Header[k] = v
					}
					r.RemoteAddr = c.address(i)
					all.Go(func() {
						rec := httptest.NewRecorder()
						s.ServeHTTP(rec, r)
						if rec.Code == c.status {
							answered.Add(1)
						}
					})
				}
				time.Sleep(10 * time.Second)
				if n := begun.Load(); n != c.most || answered.Load() != 2500-c.most {
					t.Errorf("%d bodies are read, want %d; %d requests have the answer %d", n, c.most, answered.Load(), c.status)
				}
				r := at("203.0.113.77:1").login("ada", "right")
				if r.in() != c.other {
					t.Errorf("another client: %d %s", r.StatusCode, r.text)
				}
				close(end)
				all.Wait()
				if r := at("203.0.113.9:1").login("ada", "right"); !r.in() || r.took > 0 {
					t.Errorf("twin, afterwards: %d after %v", r.StatusCode, r.took)
				}
			})
		})
	}
}
