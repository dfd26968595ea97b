package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// starts starts each program n times.
func (c *comparison) starts(n int, service, floor func() (*server, error)) error {
	for range n {
		for i, start := range []func() (*server, error){service, floor} {
			s, err := start()
			if err != nil {
				return err
			}
			s.stop()
			c.Starts[i] = append(c.Starts[i], s.start)
		}
	}
	return nil
}

func median[T int64 | float64 | time.Duration](list []T) T {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// startRatio is how much longer than the floor the service takes to its first
// answer.
func (c *comparison) startRatio() float64 {
	return float64(median(c.Starts[0])) / float64(median(c.Starts[1]))
}

// after is the resident memory of the service after load in MiB.
func (c *comparison) after() float64 {
	return medianOf(c.Service, func(s sample) float64 { return s.RSS })
}

// misses says what of the promise is not held. A margin of 0.05 lets all figures
// be a twentieth worse.
func (c *comparison) misses(margin float64) (lines []string) {
	ratio, _, _ := c.Ratio()
	p := c.Promise
	if p.Ratio > 0 && ratio < p.Ratio-margin {
		lines = append(lines, fmt.Sprintf("%s: %.2f of the floor, not %.2f", c.Name, ratio, p.Ratio))
	}
	for _, figure := range []struct {
		what      string
		got, most float64
	}{
		{"times the floor's start", c.startRatio(), p.Start},
		{"MiB idle", c.Idle[0], p.Idle},
		{"MiB after load", c.after(), p.After},
	} {
		if figure.most > 0 && figure.got > figure.most*(1+margin) {
			lines = append(lines, fmt.Sprintf("%s: %.2f %s, over %.2f", c.Name, figure.got, figure.what, figure.most))
		}
	}
	return lines
}

// print writes a comparison for people.
func (c *comparison) print(w io.Writer) {
	ratio, low, high := c.Ratio()
	fmt.Fprintf(w, "\n%s: %.2f of the floor (%.2f to %.2f), start %.2f times the floor's\n", c.Name, ratio, low, high, c.startRatio())
	fmt.Fprintf(w, "  %-10s %10s %9s %9s %9s %8s %6s %12s %9s %8s\n", "", "answers/s", "p50", "p99", "max", "CPU µs", "busy", "MiB", "start", "others")
	for i, s := range [][]sample{c.Service, c.Floor} {
		fmt.Fprintf(w, "  %-10s %10.0f %9s %9s %9s %8.1f %5.0f%% %5.0f → %4.0f %9s %7.1f%%\n", []string{"authsvc", "floor"}[i],
			medianOf(s, func(s sample) float64 { return s.Rate }),
			round(medianOf(s, func(s sample) time.Duration { return s.P50 })),
			round(medianOf(s, func(s sample) time.Duration { return s.P99 })),
			round(medianOf(s, func(s sample) time.Duration { return s.Max })),
			medianOf(s, func(s sample) float64 { return s.CPU }),
			100*medianOf(s, func(s sample) float64 { return s.Busy }),
			c.Idle[i], medianOf(s, func(s sample) float64 { return s.RSS }),
			round(median(c.Starts[i])), 100*medianOf(s, func(s sample) float64 { return s.Others }))
	}
	by := 0
	for i, s := range c.Service {
		if disturbed(s, c.Floor[i]) {
			by++
		}
	}
	if by > 0 {
		fmt.Fprintf(w, "  %d rounds compared by processor time: others disturbed them\n", by)
	}
	if c.Repeated > 0 {
		fmt.Fprintf(w, "  %d rounds repeated: others had more than %.0f%% of a core\n", c.Repeated, 100*mostOthers)
	}
	for _, line := range c.misses(0) {
		fmt.Fprintf(w, "  MISSED: %s\n", line)
	}
}

// round leaves three digits of a duration.
func round(d time.Duration) time.Duration {
	unit := time.Microsecond
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit)
}
