package scale

import (
	"math/rand/v2"
	"testing"
	"time"
)

// maxRatio limits the ratio of the median times of GET session in a large and a small
// store.
const maxRatio = 1.3

// TestSessionScale checks that GET session over HTTP costs about the same with
// millions of sessions as with 1000. It also reports the time of the handler alone;
// its ratio is larger, because there is little else to compare the store with.
//
// The small and the large store take turns, 100 reads each, so that other work on the
// machine affects both. Sessions are drawn evenly from all. Only uncounted reads warm
// the stores: the large store has in memory only what the operating system and the
// database keep by themselves.
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
