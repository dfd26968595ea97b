package upstream

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestTrailers checks that trailers pass, but no cookies and no headers that are
// forbidden in trailers, whether they were announced or not.
func TestTrailers(t *testing.T) {
	t.Parallel()
	forbidden := []string{"Set-Cookie", "Content-Length", "Www-Authenticate", "Upgrade"}
	for name, announced := range map[string]bool{"announced": true, "not announced": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behind := front(t, program(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Trailer", "X-Sum")
				if announced {
					w.Header().Add("Trailer", "Set-Cookie")
				}
				io.WriteString(w, "body")
				http.NewResponseController(w).Flush()
				w.Header().Set("X-Sum", "1")
				for _, name := range forbidden {
					prefix := http.TrailerPrefix
					if announced && name == "Set-Cookie" {
						prefix = ""
					}
					w.Header().Set(prefix+name, "ours=evil")
				}
				w.Header().Set(http.TrailerPrefix+"X-Late", "2")
			}), time.Minute)
			answer, body, err := get(t, behind.URL)
			if want := (http.Header{"X-Sum": {"1"}, "X-Late": {"2"}}); err != nil || body != "body" || !reflect.DeepEqual(answer.Trailer, want) {
				t.Errorf("%q, trailers %v, want %v; %v", body, answer.Trailer, want, err)
			}
		})
	}
}

// TestHeaderAfterEarlyHints checks that headers set before the program's answer are sent
// once after a 103, whether the program then answers or fails.
func TestHeaderAfterEarlyHints(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		then http.HandlerFunc
		vary []string
	}{
		"fails":   {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, []string{"Cookie"}},
		"answers": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Vary", "Accept") }, []string{"Cookie", "Accept"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, err := Parse(program(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Link", "</a>")
				w.WriteHeader(http.StatusEarlyHints)
				tt.then(w, r)
			}))
			if err != nil {
				t.Fatal(err)
			}
			p := New(Options{Target: target, Timeout: time.Minute, Budget: NewBudget(100), OurCookie: func(string) bool { return false }, Dropped: func(string) {},
				Failed: func(w http.ResponseWriter, _ *http.Request, status int, err error) {
					w.Header().Set("Vary", "Cookie")
					http.Error(w, err.Error(), status)
				}})
			t.Cleanup(p.CloseIdleConnections)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithCancel(r.Context())
				defer cancel()
				w.Header().Set("Vary", "Cookie")
				p.Pass(w, r.WithContext(ctx), Sender{Address: "192.0.2.1", Origin: "https://" + r.Host}, cancel)
			}))
			t.Cleanup(s.Close)
			if answer, _, _ := get(t, s.URL); !slices.Equal(answer.Header["Vary"], tt.vary) {
				t.Errorf("%d, Vary: %q, want %q", answer.StatusCode, answer.Header["Vary"], tt.vary)
			}
		})
	}
}
