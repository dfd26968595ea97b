package skewed

import (
	"testing"
	"time"
)

// TestClocks checks that in a program built here, a goroutine and those that it
// starts have the clock that was set. In any other program, the clock is right.
func TestClocks(t *testing.T) {
	t.Parallel()
	if Works() {
		t.Log("this is the program that was built")
	}
	right := time.Now()
	off := func() time.Duration { return between(time.Now(), right) }
	want := func(by time.Duration) time.Duration {
		if Works() {
			return by
		}
		return 0
	}
	At(30*time.Second, func() {
		if got := off(); got != want(30*time.Second) || Here() != got {
			t.Errorf("off by %v, and said to be by %v", got, Here())
		}
		done := make(chan time.Duration)
		go func() { done <- off() }()
		if got := <-done; got != want(30*time.Second) {
			t.Errorf("what it started is off by %v", got)
		}
		At(-30*time.Second, func() {
			if got := off(); got != want(-30*time.Second) {
				t.Errorf("within: off by %v", got)
			}
		})
		if got := off(); got != want(30*time.Second) {
			t.Errorf("afterwards: off by %v", got)
		}
	})
	if got := off(); got != 0 || Here() != 0 {
		t.Errorf("in the end: off by %v", got)
	}
}
