//go:build full && !race

package engine_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
)

// TestSessionFloor checks that GET session with a JWT takes at most 1.35 times as long
// as the floor. The two alternate, and the median ratio counts, since machines are
// noisy.
func TestSessionFloor(t *testing.T) {
	s, r := benchService(t, jwtV4)
	floor := bareSession(t)
	if got, want := bodyOf(s, r), bodyOf(floor, r); got != want {
		t.Fatalf("answers differ:\n%s\n%s", got, want)
	}
	loop := func(h http.Handler) time.Duration {
		start := time.Now()
		for range 3000 {
			h.ServeHTTP(&sink{h: http.Header{}}, r)
		}
		return time.Since(start)
	}
	ratio := medianRatio(41, func() time.Duration { return loop(s) }, func() time.Duration { return loop(floor) })
	t.Logf("GET session with a JWT costs %.2f times a bare handler", ratio)
	if ratio > 1.35 {
		t.Errorf("ratio %.2f is over 1.35", ratio)
	}
}

func bodyOf(h http.Handler, r *http.Request) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Body.String()
}

// medianRatio measures a and b alternately and returns the median of a/b.
func medianRatio(rounds int, a, b func() time.Duration) float64 {
	ratios := make([]float64, rounds)
	for i := range ratios {
		x := a()
		ratios[i] = float64(x) / float64(b())
	}
	slices.Sort(ratios)
	return ratios[rounds/2]
}

// threeShown exposes three values in the session: email_verified, a column of the store
// and a claim.
func threeShown(c *authsvc.Config) {
	store := memory.New("role")
	if _, err := store.CreateUser(context.Background(), authsvc.User{ID: "7", Name: "Ada Lovelace", Email: "ada@example.com"}, nil); err != nil {
		panic(err)
	}
	if err := store.SetExtra(context.Background(), "7", map[string]any{"role": "admin"}); err != nil {
		panic(err)
	}
	c.Adapter = store
	c.Callbacks.Claims = func(context.Context, authsvc.SignInAttempt, authsvc.Claims) (authsvc.Claims, error) {
		return authsvc.Claims{"groups": []string{"staff", "ops"}}, nil
	}
	c.Session.Expose = map[string]string{"verified": "email_verified", "role": "User.role", "groups": "claims.groups"}
}

// TestExposeFloor compares GET session with three more values to GET session without
// them. In the handler alone, where a longer token counts most, the limit is 1.6 times.
// Over HTTP the difference is too small to notice, so the test only logs it.
func TestExposeFloor(t *testing.T) {
	for name, tune := range map[string]func(*authsvc.Config){"jwt": jwtV4, "database": func(*authsvc.Config) {}} {
		plain, r := benchService(t, tune)
		more, r3 := benchService(t, func(c *authsvc.Config) {
			threeShown(c)
			tune(c)
		})
		if got := bodyOf(more, r3); !strings.Contains(got, `"groups":["staff","ops"],`) || !strings.Contains(got, `"role":"admin","verified":false},"expires"`) {
			t.Fatalf("%s: %s", name, got)
		}
		served := medianRatio(41, overHTTP(t, more, r3), overHTTP(t, plain, r))
		ratio := medianRatio(41, inHandler(more, r3), inHandler(plain, r))
		t.Logf("%s: three values more cost %.2f times GET session without, over HTTP %.2f times", name, ratio, served)
		if ratio > 1.6 {
			t.Errorf("%s: ratio %.2f is over 1.6", name, ratio)
		}
	}
}

func inHandler(h http.Handler, r *http.Request) func() time.Duration {
	return func() time.Duration {
		start := time.Now()
		for range 2000 {
			h.ServeHTTP(&sink{h: http.Header{}}, r)
		}
		return time.Since(start)
	}
}

// overHTTP returns a function that measures requests to a server on one connection.
func overHTTP(t *testing.T, h http.Handler, r *http.Request) func() time.Duration {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	ask := r.Clone(t.Context())
	ask.RequestURI, ask.Host = "", r.Host
	ask.URL.Scheme, ask.URL.Host = "http", strings.TrimPrefix(server.URL, "http://")
	return func() time.Duration {
		start := time.Now()
		for range 200 {
			res, err := server.Client().Do(ask)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
				t.Fatal(res.Status, err)
			}
			res.Body.Close()
		}
		return time.Since(start)
	}
}
