// Command skew runs checks of verify with clocks that are off: those of the services
// that are attacked and of who attacks them are half a minute ahead of the stores', and
// then as much behind. Of a second replica the clock is off the other way, of a third
// it is right.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"time"

	"authsvc/internal/test/skewed"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "skew:", err)
		os.Exit(1)
	}
}

// run takes the arguments of the tests, such as -test.run TestVerify/race.
func run(args []string) error {
	dir, err := os.MkdirTemp("", "authsvc-skew-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := skewed.BuildTest(dir, "authsvc/verify")
	if err != nil {
		return err
	}
	for _, skew := range []time.Duration{30 * time.Second, -30 * time.Second} {
		begun := time.Now()
		tests := exec.Command(binary, args...)
		tests.Dir, tests.Stdout, tests.Stderr = "verify", os.Stdout, os.Stderr
		tests.Env = append(tests.Environ(), "AUTHSVC_VERIFY_SKEW="+skew.String())
		if err := tests.Run(); err != nil {
			return fmt.Errorf("clocks off by %v: %w", skew, err)
		}
		fmt.Printf("clocks off by %v: passed in %v\n", skew, time.Since(begun).Round(time.Second))
	}
	return nil
}
