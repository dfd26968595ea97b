package scale

import (
	"testing"
	"time"
)

// maxRatio is how much dearer GET session may be in a large store, as the
// ratio of medians.
const maxRatio = 1.3

// GET session costs about the same with millions of sessions as with 1000.
//
// Small and large store take turns, 200 reads each, so that whatever else the
// machine does hits both. Sessions are drawn evenly from all. Neither store is
// warmed but by 2000 reads that do not count: what the large one has in memory
// is what the operating system and the database keep of it by themselves.
func TestSessionScale(t *testing.T) {
	users := size(t)
	rounds, asserted := 100, true
	if users == 0 {
		users, rounds, asserted = 1000, 3, false
	}
	each(t, func(t *testing.T, fresh func(testing.TB) string) {
		now := time.Now()
		small := serve(t, fresh(t), Population{Seed: 1, Users: 200, Accounts: 2, Sessions: 5, Now: now})
		large := serve(t, fresh(t), Population{Seed: 2, Users: users, Accounts: 2, Sessions: 5, Now: now})
		small.gets(t, 20*rounds)
		large.gets(t, 20*rounds)
		var few, many times
		for range rounds {
			few = append(few, small.gets(t, 200)...)
			many = append(many, large.gets(t, 200)...)
		}
		ratio := float64(many.at(0.5)) / float64(few.at(0.5))
		t.Logf("GET session: %d sessions: %v; %d sessions: %v; ratio of medians %.2f",
			small.population.live(), few, large.population.live(), many, ratio)
		if asserted && ratio > maxRatio {
			t.Errorf("ratio %.2f is over %.2f", ratio, maxRatio)
		}
	})
}
