package gate

import (
	"fmt"
	"testing"
	"time"
)

// TestOverdue checks that a cookie is reported once: at the third time or later, after
// a minute or more.
func TestOverdue(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	for name, tt := range map[string]struct {
		seconds []int // of one cookie
		want    int   // number of the call that reports, from 1; 0: none
	}{
		"in time":   {[]int{0}, 0},
		"at once":   {[]int{0, 0, 0, 1, 2, 30}, 0},
		"twice":     {[]int{0, 120}, 0},
		"late":      {[]int{0, 30, 60, 90}, 3},
		"at last":   {[]int{0, 1, 2, 3, 61, 200}, 5},
		"much late": {[]int{0, 86400, 172800}, 3},
	} {
		var o Overdue
		got := 0
		for i, s := range tt.seconds {
			if o.Again("a", at.Add(time.Duration(s)*time.Second)) {
				if got != 0 {
					t.Errorf("%s: noticed twice", name)
				}
				got = i + 1
			}
		}
		if got != tt.want {
			t.Errorf("%s: noticed at %d, want %d", name, got, tt.want)
		}
	}
	var o Overdue
	for i := range 10 * maxOverdue {
		if o.Again(fmt.Sprint(i), at.Add(time.Duration(i)*time.Second)) || len(o.seen) > maxOverdue {
			t.Fatal("cookies that all came once")
		}
	}
}
