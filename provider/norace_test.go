//go:build !race

package provider_test

const raceFactor = 1
