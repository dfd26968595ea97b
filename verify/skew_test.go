package verify

import (
	"fmt"
	"os"
	"sync"
	"time"

	"authsvc"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/skewed"
)

// skewVariable has by how much the clock of checks, and of the services that they
// start, is off. Of further replicas one is off the other way, and one is right; so is
// that of stores and of neighbours. Stores are then those that have a clock, and
// PostgreSQL where a check has none of its own. It takes `make skew`.
const skewVariable = "AUTHSVC_VERIFY_SKEW"

var theSkew = sync.OnceValue(func() time.Duration {
	v := os.Getenv(skewVariable)
	if v == "" && !skewed.Works() {
		return 0
	}
	d, err := time.ParseDuration(v)
	if err != nil || d == 0 || !skewed.Works() {
		fmt.Fprintf(os.Stderr, "%s=%s: make skew runs the checks with clocks that are off\n", skewVariable, v)
		os.Exit(2)
	}
	return d
})

// onServer has a world that would have its users in memory have them at PostgreSQL,
// where clocks are off.
func onServer(t *T, tune func(*authsvc.Config)) func(*authsvc.Config) {
	if theSkew() == 0 {
		return tune
	}
	return func(c *authsvc.Config) {
		given := c.Adapter
		tune(c)
		if c.Adapter == given {
			c.Adapter = stores.All()[2].Open(t)
		}
	}
}

// ofOneMachine ends a check whose replicas can have one clock only.
func (t *T) ofOneMachine() {
	t.Helper()
	if theSkew() != 0 {
		t.Want("the replicas of a file are on one machine, which has one clock")
	}
}
