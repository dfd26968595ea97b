// Package quiet reports whether a test may compare times, rates and memory. It
// imports only the standard library, because embedders also build the engine's tests.
package quiet

import "time"

// Limit returns the time limit for a step that a test measures. In a run of make
// full, it is d. Otherwise it is ten times d and at least a minute, so that only code
// that hangs or grows without bounds exceeds it.
func Limit(d time.Duration) time.Duration {
	if Full {
		return d
	}
	return max(10*d, time.Minute)
}
