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
			c.Starts[i] = append(c.Starts[i], s.start.Clock)
			c.StartCPU[i] = append(c.StartCPU[i], s.start.CPU)
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

// print writes a comparison as text.
func (c *comparison) print(w io.Writer) {
	ratio, low, high := c.Ratio()
	fmt.Fprintf(w, "\n%s: %.2f of the floor (%.2f to %.2f)\n", c.Name, ratio, low, high)
	fmt.Fprintf(w, "  %-10s %10s %9s %9s %9s %8s %6s %12s %12s %9s %9s %8s\n", "", "answers/s", "p50", "p99", "max", "CPU µs", "busy", "MiB", "anonymous", "start", "its CPU", "others")
	for i, s := range [][]sample{c.Service, c.Floor} {
		fmt.Fprintf(w, "  %-10s %10.0f %9s %9s %9s %8.1f %5.0f%% %5.0f → %4.0f %5.1f → %4.1f %9s %9s %7.1f%%\n", []string{"authsvc", "floor"}[i],
			medianOf(s, func(s sample) float64 { return s.Rate }),
			round(medianOf(s, func(s sample) time.Duration { return s.P50 })),
			round(medianOf(s, func(s sample) time.Duration { return s.P99 })),
			round(medianOf(s, func(s sample) time.Duration { return s.Max })),
			medianOf(s, func(s sample) float64 { return s.CPU }),
			100*medianOf(s, func(s sample) float64 { return s.Busy }),
			c.Idle[i], medianOf(s, func(s sample) float64 { return s.RSS }),
			c.IdleAnon[i], medianOf(s, func(s sample) float64 { return s.Anon }),
			round(median(c.Starts[i])), round(median(c.StartCPU[i])), 100*medianOf(s, func(s sample) float64 { return s.Others }))
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
}

// round keeps three digits of a duration.
func round(d time.Duration) time.Duration {
	unit := time.Microsecond
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit)
}
