// Package quiet says whether a test may compare times, rates and memory. It
// imports nothing but the standard library, as embedders build the tests of
// the engine too.
package quiet

import "time"

// Limit returns how long something may take that a test times: d in a run of
// make full, elsewhere ten times as long and at least a minute, which only
// what hangs or grows out of bounds exceeds.
func Limit(d time.Duration) time.Duration {
	if Full {
		return d
	}
	return max(10*d, time.Minute)
}
