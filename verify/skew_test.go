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

// skewVariable names the variable that holds the clock offset of the checks and of
// the services that they start. One further replica is off in the other direction.
// The clocks of another replica, of stores and of neighbours are right. Only stores
// with their own clock are used; checks without a store use PostgreSQL. `make skew`
// sets it.
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

// onServer puts a world that would keep its users in memory on PostgreSQL if clocks
// are off.
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

// ofOneMachine ends a check whose replicas must share a clock.
func (t *T) ofOneMachine() {
	t.Helper()
	if theSkew() != 0 {
		t.Want("the replicas of a file are on one machine, which has one clock")
	}
}
