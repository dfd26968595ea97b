// Package allocs counts the allocations of a function.
package allocs

import "testing"

// PerRun returns how many allocations f makes, as [testing.AllocsPerRun] counts them.
// It takes the least of ten rounds: other goroutines count too, and a garbage
// collection empties pools.
func PerRun(f func()) float64 {
	least := testing.AllocsPerRun(200, f)
	for range 9 {
		least = min(least, testing.AllocsPerRun(200, f))
	}
	return least
}
