// Package atonce runs the tests of a package whose tests mostly wait.
package atonce

import (
	"flag"
	"runtime/debug"
)

// Run runs the tests, six at a time or as many as -parallel says. It collects garbage
// as rarely as the program does.
func Run(tests interface{ Run() int }) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", "6") //nolint:errcheck // it is a number
	}
	debug.SetGCPercent(400)
	return tests.Run()
}
