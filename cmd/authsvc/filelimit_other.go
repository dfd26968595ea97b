//go:build !unix

package main

// fileLimit is how many files the process may open; 0: nobody knows.
func fileLimit() uint64 { return 0 }
