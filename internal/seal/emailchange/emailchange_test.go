package emailchange

import (
	"fmt"
	"testing"
	"time"

	"authsvc/internal/seal"
)

// TestDue covers all cases of a change: who agreed, how it was requested, and how long
// ago.
func TestDue(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for _, c := range []Change{{}, {AsksOld: true}, {AsksOld: true, Strong: true}} {
		for _, proved := range []bool{false, true} {
			for _, allowed := range []bool{false, true} {
				for after, silent := range map[time.Duration]bool{0: false, 7*day - 1: false, 7 * day: true, 8 * day: true, 14*day - 1: true, 14 * day: false} {
					c := c
					c.Asked, c.NewProved, c.OldAllowed = asked.UnixMilli(), proved, allowed
					want := proved && after < 14*day && (!c.AsksOld || c.Strong || allowed || silent)
					if got := c.Due(asked.Add(after)); got != want {
						t.Errorf("%+v after %s: %v", c, after, got)
					}
				}
			}
		}
	}
}

func TestProve(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		end    End
		after  time.Duration
		proved bool // the new end had agreed before
		want   bool
	}{
		{New, 0, false, true}, {New, NewLife - 1, false, true}, {New, NewLife, false, false}, {New, NewLife - 1, true, true}, {New, NewLife, true, false},
		{Old, 0, false, true}, {Old, NewLife, false, false}, {Old, OldLife - 1, true, true}, {Old, OldLife, true, false},
	} {
		c := Change{AsksOld: true, Asked: asked.UnixMilli(), NewProved: tt.proved}
		if got := c.Prove(tt.end, asked.Add(tt.after)); got != tt.want || c.OldAllowed != (tt.end == Old && tt.want) || c.NewProved != (tt.proved || tt.end == New && tt.want) {
			t.Errorf("%+v: %v, %+v", tt, got, c)
		}
	}
}

// TestLinksExpireBeforeTheSilence checks that no link counts any more when a change
// becomes due because the old address did not object.
func TestLinksExpireBeforeTheSilence(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	c := Change{AsksOld: true, Asked: asked.UnixMilli(), NewProved: true}
	for _, end := range []End{New, Old} {
		if !c.CanProve(end, asked) || c.CanProve(end, c.NotBefore()) {
			t.Errorf("the link to the %s address: %v at first, %v when the change is due", end, c.CanProve(end, asked), c.CanProve(end, c.NotBefore()))
		}
	}
}

func TestEndOf(t *testing.T) {
	t.Parallel()
	c := Change{New: seal.Digest("n"), Old: seal.Digest("o")}
	none := Change{New: seal.Digest("n")}
	for name, tt := range map[string]struct {
		c     Change
		token string
		want  string
	}{"new": {c, "n", "new true"}, "old": {c, "o", "old true"}, "neither": {c, "x", " false"}, "empty": {c, "", " false"}, "the digest": {c, c.New, " false"}, "no old": {none, "", " false"}} {
		end, ok := tt.c.EndOf(tt.token)
		if got := fmt.Sprint(end, " ", ok); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
