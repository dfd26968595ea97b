package scale

import (
	"math/rand/v2"
	"testing"
	"time"
)

// maxRatio is how much dearer GET session may be in a large store, as the
// ratio of medians.
const maxRatio = 1.3

// GET session costs about the same with millions of sessions as with 1000, to
// those who ask over HTTP. The time of the handler alone is reported as well;
// there the ratio is larger, since little is left to compare the store with.
//
// Small and large store take turns, 100 reads each, so that whatever else the
// machine does hits both. Sessions are drawn evenly from all. Neither store is
// warmed but by reads that do not count: what the large one has in memory is
// what the operating system and the database keep of it by themselves.
func TestSessionScale(t *testing.T) {
	users := size(t)
	rounds, asserted := 200, true
	if users == 0 {
		users, rounds, asserted = 1000, 3, false
	}
	each(t, func(t *testing.T, fresh func(testing.TB) string) {
		now := time.Now()
		small := serve(t, fresh(t), Population{Seed: 1, Users: 200, Accounts: 2, Sessions: 5, Now: now})
		large := serve(t, fresh(t), Population{Seed: 2, Users: users, Accounts: 2, Sessions: 5, Now: now})
		handler := compare(t, "handler", small, large, rounds, (*service).get)
		http := compare(t, "over HTTP", small, large, rounds, (*service).fetch)
		if asserted && http > maxRatio {
			t.Errorf("the ratio over HTTP is %.2f, over %.2f (handler: %.2f)", http, maxRatio, handler)
		}
	})
}

// compare returns the ratio of the medians of a large and a small store.
func compare(t *testing.T, how string, small, large *service, rounds int, get func(*service, *rand.Rand) (time.Duration, error)) float64 {
	t.Helper()
	ask := func(s *service, n int) times {
		return s.gets(t, n, func(r *rand.Rand) (time.Duration, error) { return get(s, r) })
	}
	ask(small, 10*rounds)
	ask(large, 10*rounds)
	var few, many times
	for range rounds {
		few = append(few, ask(small, 100)...)
		many = append(many, ask(large, 100)...)
	}
	ratio := float64(many.at(0.5)) / float64(few.at(0.5))
	t.Logf("GET session, %s: %d sessions: %v; %d sessions: %v; ratio of medians %.2f",
		how, small.population.live(), few, large.population.live(), many, ratio)
	return ratio
}
