package freeport

import "testing"

// TestPick: ports of one caller are not those of another.
func TestPick(t *testing.T) {
	t.Parallel()
	taken := map[int]bool{}
	for _, n := range []int{1, 2, 1, 3, 2, 1, 1} {
		first, err := Pick(n)
		if err != nil {
			t.Fatal(err)
		}
		for port := first; port < first+n; port++ {
			if taken[port] {
				t.Errorf("port %d is given twice", port)
			}
			taken[port] = true
		}
	}
}
