//go:build !linux

package sqlite

func fullDisk(string) { panic("only Linux has the test that needs this") }
