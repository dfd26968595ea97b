//go:build race

package provider_test

// raceFactor is how much slower the race detector may make things.
const raceFactor = 20
