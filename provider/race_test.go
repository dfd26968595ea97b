//go:build race

package provider_test

// raceFactor is the slowdown allowed for the race detector.
const raceFactor = 20
