// Package allocs counts what a function allocates.
package allocs

import "testing"

// PerRun is how many allocations f makes, as [testing.AllocsPerRun] counts them: the
// least of ten rounds, since whatever runs beside it counts too, and a collection
// empties pools.
func PerRun(f func()) float64 {
	least := testing.AllocsPerRun(200, f)
	for range 9 {
		least = min(least, testing.AllocsPerRun(200, f))
	}
	return least
}
