package main

import (
	"context"
	"math"
	"slices"
	"syscall"
	"time"
)

// A sample is one run of the load against one server.
type sample struct {
	result
	CPU    float64 // µs of its processor for each answer, its database's included
	Busy   float64 // share of the core that it and its database used
	Others float64 // share of the server's core, or of the load's, that others had
	RSS    float64 // MiB resident, afterwards
	Anon   float64 // of those, MiB that are no file
}

// mostOthers is the share of either core that others may have had in a round that
// counts; a round in which they had more is repeated, mostRepeats times at most.
const (
	mostOthers  = 0.05
	mostRepeats = 3
)

// measure loads s once.
func measure(ctx context.Context, s *server, run runner, length time.Duration) (sample, error) {
	computed, processes := s.computed()
	programs, stolen := coreTicks(serverCore)
	loads, loadStolen, load := loadTicks()
	begin := time.Now()
	r, err := run(ctx, s.addr, length)
	if err != nil {
		return sample{}, err
	}
	elapsed := time.Since(begin).Seconds()
	computed2, processes2 := s.computed()
	programs2, stolen2 := coreTicks(serverCore)
	loads2, loadStolen2, load2 := loadTicks()
	used := (computed2 - computed).Seconds()
	others := max(float64(programs2-programs)/ticksPerSecond-used, 0) + float64(stolen2-stolen)/ticksPerSecond
	loadOthers := float64(max(loads2-loads-(load2-load), 0)+loadStolen2-loadStolen) / ticksPerSecond
	if processes2 > processes { // a pool opens connections when it needs them
		others = elapsed // it had more than its core
	}
	one := sample{
		result: r,
		CPU:    used * 1e6 / (r.Rate * length.Seconds()),
		Busy:   used / elapsed,
		Others: max(others, loadOthers) / elapsed,
	}
	one.RSS, one.Anon = s.memory()
	return one, nil
}

// loadTicks is how long programs ran on loadCore, how long the machine beneath
// took it away, and how long this program and the wrk that it ran did.
func loadTicks() (programs, stolen, own int64) {
	programs, stolen = coreTicks(loadCore)
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			own += (u.Utime.Nano() + u.Stime.Nano()) * ticksPerSecond / int64(time.Second)
		}
	}
	return programs, stolen, own
}

// A comparison is what rounds of a service and its floor, in turn, showed.
type comparison struct {
	Name     string
	Store    string
	Service  []sample
	Floor    []sample
	Starts   [2][]time.Duration // of service and floor, from exec to the first answer
	StartCPU [2][]time.Duration // processor time of those
	Idle     [2]float64         // MiB resident before the first load
	IdleAnon [2]float64         // of those, MiB that are no file
	Repeated int                // rounds that others disturbed
}

// rounds measures service and floor in turn. Which of them is first changes.
func (c *comparison) rounds(ctx context.Context, b *bench, servers [2]*server, runs [2]loader) error {
	for len(c.Service) < b.rounds {
		var pair [2]sample
		for k := range 2 {
			which := (k + len(c.Service)) % 2
			var err error
			if pair[which], err = measure(ctx, servers[which], runs[which].run, b.length); err != nil {
				return err
			}
		}
		if disturbed(pair[0], pair[1]) && c.Repeated < mostRepeats {
			c.Repeated++
			continue
		}
		c.Service, c.Floor = append(c.Service, pair[0]), append(c.Floor, pair[1])
	}
	return nil
}

// disturbed reports whether others had too much of a core.
func disturbed(service, floor sample) bool {
	return max(service.Others, floor.Others) > mostOthers
}

// Ratio is the median, over the rounds, of the service's rate to the floor's,
// with the smallest and the largest. In a round that others disturbed it is that
// of the processor time for an answer, which they hardly change.
func (c *comparison) Ratio() (median, low, high float64) {
	var all []float64
	for i, s := range c.Service {
		f := c.Floor[i]
		if disturbed(s, f) && s.CPU > 0 {
			all = append(all, f.CPU/s.CPU)
		} else {
			all = append(all, s.Rate/f.Rate)
		}
	}
	slices.Sort(all)
	if len(all) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	return all[len(all)/2], all[0], all[len(all)-1]
}

// medianOf is the median of a figure of samples.
func medianOf[T int64 | float64 | time.Duration](samples []sample, figure func(sample) T) T {
	var all []T
	for _, s := range samples {
		all = append(all, figure(s))
	}
	return median(all)
}
