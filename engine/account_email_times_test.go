//go:build full

package engine_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
)

// TestEmailChangeTakenTakesAsLong checks that the time of an answer does not reveal
// whether a user has the address. The test is not parallel, so that little else runs at
// the same time. On a busy machine it measures up to three times, since a real
// difference appears each time.
func TestEmailChangeTakenTakesAsLong(t *testing.T) {
	w := arena.Enter(t, nil)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "grace", Email: "grace@app.test", EmailVerified: time.Now()}, nil); err != nil {
		t.Fatal(err)
	}
	b.CSRF()
	const most = time.Millisecond
	var apart []time.Duration
	for len(apart) < 3 && !slices.ContainsFunc(apart, func(d time.Duration) bool { return d <= most }) {
		taken, free := askMedians(t, b, "grace@app.test", "other@app.test")
		apart = append(apart, (taken - free).Abs())
		t.Logf("medians over 1000: taken %s, free %s", taken, free)
	}
	if slices.Min(apart) > most {
		t.Errorf("medians are %s apart, each more than %s", apart, most)
	}
}

// askMedians asks for two addresses in turn, and returns the median time of the
// requests for each.
func askMedians(t *testing.T, b *arena.Browser, one, other string) (ofOne, ofOther time.Duration) {
	t.Helper()
	const rounds = 1000
	took := map[string][]time.Duration{}
	order := []string{one, other}
	for range rounds {
		for _, address := range order {
			begin := time.Now()
			if a := askEmail(b, address); a.StatusCode != http.StatusOK {
				t.Fatalf("%d %s", a.StatusCode, a.Text)
			}
			took[address] = append(took[address], time.Since(begin))
		}
		slices.Reverse(order) // so that neither always comes second
	}
	for _, list := range took {
		slices.Sort(list)
	}
	return took[one][rounds/2], took[other][rounds/2]
}
