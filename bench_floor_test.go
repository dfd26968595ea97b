//go:build !race

package authsvc_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// TestSessionFloor holds GET session with a JWT to 1.35 times the floor. The
// two alternate, and the median of the ratios counts: machines are noisy.
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

// medianRatio measures a and b in turn and returns the median of a/b.
func medianRatio(rounds int, a, b func() time.Duration) float64 {
	ratios := make([]float64, rounds)
	for i := range ratios {
		x := a()
		ratios[i] = float64(x) / float64(b())
	}
	slices.Sort(ratios)
	return ratios[rounds/2]
}
