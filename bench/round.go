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
	CPU    float64 // µs of processor time per answer, including its database's
	Busy   float64 // share of the core used by the server and its database
	Others float64 // share of the server's or the load's core used by other programs
	RSS    float64 // MiB resident, after the load
	Anon   float64 // MiB of RSS that are not backed by a file
}

// mostOthers is the share of either core that other programs may use in a valid
// round. A round above it is repeated, at most mostRepeats times.
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
	if processes2 > processes { // a pool opens connections on demand
		others = elapsed // used more than its core
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

// loadTicks returns how long programs ran on loadCore, how long the hypervisor took
// it away, and how long this program and its wrk ran.
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

// A comparison holds the results of alternating rounds of a service and its floor.
type comparison struct {
	Name     string
	Store    string
	Service  []sample
	Floor    []sample
	Starts   [2][]time.Duration // of the service and the floor, from exec to the first answer
	StartCPU [2][]time.Duration // processor time of Starts
	Idle     [2]float64         // MiB resident before the first load
	IdleAnon [2]float64         // MiB of Idle that are not backed by a file
	Repeated int                // rounds disturbed by other programs
}

// rounds measures the service and the floor in turn. The order alternates.
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

// disturbed reports whether other programs used too much of a core.
func disturbed(service, floor sample) bool {
	return max(service.Others, floor.Others) > mostOthers
}

// Ratio returns the median of the service's rate to the floor's over the rounds, with
// the lowest and the highest. For a disturbed round, it uses the processor time per
// answer, which other programs hardly affect.
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

// medianOf returns the median of a figure of the samples.
func medianOf[T int64 | float64 | time.Duration](samples []sample, figure func(sample) T) T {
	var all []T
	for _, s := range samples {
		all = append(all, figure(s))
	}
	return median(all)
}
