//go:build !unix

package main

// fileLimit returns how many files the process may open, or 0 if that is unknown.
func fileLimit() uint64 { return 0 }
