package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestStillRunning: work that takes long is reported until it ends, short work is not.
func TestStillRunning(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]string{
		9 * time.Second:  "",
		25 * time.Second: "still running after 10s\nstill running after 20s\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var said strings.Builder
			stop := (&program{stderr: &said}).stillRunning()
			time.Sleep(took)
			stop()
			time.Sleep(time.Hour)
			if said.String() != want {
				t.Errorf("%v: %q, want %q", took, said.String(), want)
			}
		})
	}
}
