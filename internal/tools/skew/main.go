// Command skew runs checks of verify with shifted clocks. The clocks of the attacked
// service and of its attacker run half a minute ahead of the stores' clocks, then
// half a minute behind. A second replica's clock is off in the other direction; a
// third replica's is right.
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
