// Command authsvc runs the engine as a service: configuration out of a file,
// the environment and flags, and the commands of the operator.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
