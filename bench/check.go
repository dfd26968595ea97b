package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"
)

// Settings of -check. A case that exceeds a limit is measured again after the others,
// since other work on the machine varies. A promise is broken only if every pass
// exceeds it.
const (
	checkPasses = 3
	checkBlocks = 8
	checkStarts = 15
	checkTime   = 10 * time.Minute // after this, a failed check is not repeated
	mostOfOld   = 1.15             // times the processor time of the earlier binary
)

// The programs that a pass compares.
const (
	theFloor = iota
	theOld
	theNew
)

var programs = [3]string{"floor", "before", "now"}

// A check holds the results of a case's passes.
type check struct {
	Name    string
	Passes  []*pass
	promise promise
}

// A pass holds the results of blocks with a fixed number of operations, run by the
// programs in turn. Values not measured are empty or 0.
type pass struct {
	CPU         [3][]float64 // µs of processor time per operation, for each block, databases included
	Start       [3]time.Duration
	Idle, After [3]float64 // MiB of anonymous memory
}

// A figure is a value that a promise limits: the lowest of all passes.
type figure struct {
	name        string
	least, most float64
}

// figures returns the measured values that have a limit.
func (c *check) figures() (list []figure) {
	add := func(name string, most float64, of func(*pass) float64) {
		f := figure{name, math.Inf(1), most}
		for _, p := range c.Passes {
			if got := of(p); got > 0 { // excludes NaN
				f.least = min(f.least, got)
			}
		}
		if most > 0 && !math.IsInf(f.least, 1) {
			list = append(list, f)
		}
	}
	add("new/old", mostOfOld, func(p *pass) float64 { return p.ratio(theOld) })
	add("new/floor", c.promise.floor, func(p *pass) float64 { return p.ratio(theFloor) })
	add("start new/old", mostOfOld, func(p *pass) float64 { return float64(p.Start[theNew]) / float64(p.Start[theOld]) })
	add("MiB idle", c.promise.idle, func(p *pass) float64 { return p.Idle[theNew] })
	add("MiB after load", c.promise.after, func(p *pass) float64 { return p.After[theNew] })
	return list
}

// ratio returns the median, over the blocks, of the new binary's time to another
// program's.
func (p *pass) ratio(to int) float64 {
	var all []float64
	for i := range min(len(p.CPU[theNew]), len(p.CPU[to])) {
		all = append(all, p.CPU[theNew][i]/p.CPU[to][i])
	}
	if len(all) == 0 {
		return math.NaN()
	}
	return median(all)
}

// exceeded returns the figures above their limit in every pass.
func (c *check) exceeded() []figure {
	return slices.DeleteFunc(c.figures(), func(f figure) bool { return f.least <= f.most })
}

// checkAll checks the promises of all cases.
func (b *bench) checkAll(ctx context.Context) error {
	begun := time.Now()
	cases := slices.DeleteFunc(cases(), func(c benchCase) bool { return c.operations == 0 || !b.only.MatchString(c.name) })
	if len(cases) == 0 {
		return errors.New("-only leaves nothing to check")
	}
	repeat := map[*check]benchCase{}
	for _, c := range cases {
		one := &check{Name: c.name, promise: c.promise}
		if err := b.another(ctx, one, c); err != nil {
			if err = b.leftOut(c.name, err); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			continue
		}
		b.results.Checks, repeat[one] = append(b.results.Checks, one), c
	}
	failed := 0
	for _, one := range b.results.Checks {
		for len(one.exceeded()) > 0 && len(one.Passes) < checkPasses && (failed == 0 || time.Since(begun) < checkTime) {
			if err := b.another(ctx, one, repeat[one]); err != nil {
				return fmt.Errorf("%s: %w", one.Name, err)
			}
		}
		if one.failed() {
			failed++
		}
	}
	fmt.Printf("\nchecked in %s; lowest value of each figure over all passes:\n", round(time.Since(begun)))
	b.results.summarize(os.Stdout)
	if failed > 0 {
		return fmt.Errorf("%d of the cases above exceed a limit in each of %d passes", failed, checkPasses)
	}
	return nil
}

func (c *check) failed() bool { return len(c.Passes) == checkPasses && len(c.exceeded()) > 0 }

// another measures another pass.
func (b *bench) another(ctx context.Context, one *check, c benchCase) error {
	p, err := b.pass(ctx, c)
	if err != nil {
		return err
	}
	one.Passes = append(one.Passes, p)
	one.print(os.Stdout)
	return nil
}

// An entrant is a program in a pass, with its own store.
type entrant struct {
	start   func() (*server, error)
	runs    func(service, floor *server) ([2]loader, error)
	server  *server
	asks    loader
	idle    float64 // MiB of anonymous memory before the first load
	cleanUp []func()
}

func (e *entrant) close() {
	if e.server != nil {
		e.server.stop()
		e.server = nil
	}
	for _, f := range slices.Backward(e.cleanUp) {
		f()
	}
	e.cleanUp = nil
}

// enter prepares one program.
func (b *bench) enter(ctx context.Context, c benchCase, which int) (e *entrant, err error) {
	e = &entrant{}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	s := &store{}
	if c.store != "" {
		if s, err = b.openStore(ctx, c.store, people, 0); err != nil {
			return nil, err
		}
		e.cleanUp = append(e.cleanUp, s.close)
	}
	service := *b
	if which == theOld {
		service.binary = b.before
	}
	p, err := c.prepare(&service, c, s)
	if err != nil {
		return nil, err
	}
	if p.close != nil {
		e.cleanUp = append(e.cleanUp, p.close)
	}
	start := p.service
	switch {
	case which == theFloor && p.floor != nil:
		start = p.floor
	case which == theFloor:
		start = func(ctx context.Context) (*server, error) { return b.serveFloor(ctx, c.floor, c.path, s.location) }
	case start == nil:
		start = func(ctx context.Context) (*server, error) { return service.serve(ctx, p.config) }
	}
	e.runs, e.start = p.runs, func() (*server, error) {
		started, err := start(ctx)
		if err == nil {
			started.pins = s.pins
		}
		return started, err
	}
	return e, nil
}

// pass compares the programs once. It leaves the earlier binary out of cases that it
// cannot run.
func (b *bench) pass(ctx context.Context, c benchCase) (*pass, error) {
	var all [3]*entrant
	defer func() {
		for _, e := range all {
			if e != nil {
				e.close()
			}
		}
	}()
	for _, which := range []int{theFloor, theNew, theOld} {
		err := b.begin(ctx, c, &all, which)
		if err == nil {
			continue
		}
		if which != theOld || ctx.Err() != nil {
			return nil, err
		}
		fmt.Printf("\n%s: without the previous binary, which cannot run it: %v\n", c.name, err)
		if e := all[theOld]; e != nil {
			e.close()
			all[theOld] = nil
		}
	}
	p := &pass{}
	if err := p.blocks(ctx, c, all); err != nil {
		return nil, err
	}
	if c.path != sessionPath || c.floor == "" {
		return p, nil
	}
	return p, p.starts(all)
}

// begin starts a program and sends a small load. The floor and the new binary start
// before the old one.
func (b *bench) begin(ctx context.Context, c benchCase, all *[3]*entrant, which int) error {
	e, err := b.enter(ctx, c, which)
	if err != nil {
		return err
	}
	all[which] = e
	if e.server, err = e.start(); err != nil || which == theFloor {
		return err
	}
	runs, err := e.runs(e.server, all[theFloor].server)
	if err != nil {
		return err
	}
	e.asks = runs[0]
	_, e.idle = e.server.memory()
	if which == theNew {
		floor := all[theFloor]
		_, floor.idle = floor.server.memory()
		if runs, err = floor.runs(e.server, floor.server); err != nil {
			return err
		}
		floor.asks = runs[1]
	}
	return e.asks.times(ctx, e.server.addr, c.operations/10)
}

// settled is the time that a program gets for work after its last answer.
const settled = 10 * time.Millisecond

// blocks measures processor time and memory.
func (p *pass) blocks(ctx context.Context, c benchCase, all [3]*entrant) error {
	for i, e := range all {
		if e == nil {
			continue
		}
		p.Idle[i] = e.idle
		if err := e.asks.times(ctx, e.server.addr, c.operations); err != nil {
			return err
		}
	}
	for i := range checkBlocks {
		for k := range 3 {
			which := (i + k) % 3
			if i%2 == 1 { // reverses the order
				which = (i + 3 - k) % 3
			}
			e := all[which]
			if e == nil {
				continue
			}
			before, _ := e.server.computed()
			if err := e.asks.times(ctx, e.server.addr, c.operations); err != nil {
				return fmt.Errorf("%s: %w", programs[which], err)
			}
			time.Sleep(settled)
			after, _ := e.server.computed()
			if after <= before {
				return errors.New("the system does not report how long threads ran (/proc/PID/task/*/schedstat)")
			}
			p.CPU[which] = append(p.CPU[which], float64(after-before)/float64(time.Microsecond)/float64(c.operations))
		}
	}
	for i, e := range all {
		if e != nil {
			_, p.After[i] = e.server.memory()
		}
	}
	return nil
}

// starts measures the lowest processor time from exec to the first answer.
func (p *pass) starts(all [3]*entrant) error {
	for _, e := range all {
		if e != nil {
			e.server.stop()
			e.server = nil
		}
	}
	for i := range checkStarts {
		for which, e := range all {
			if e == nil {
				continue
			}
			s, err := e.start()
			if err != nil {
				return err
			}
			s.stop()
			if i == 0 || s.start.CPU < p.Start[which] {
				p.Start[which] = s.start.CPU
			}
		}
	}
	return nil
}

// print writes the last pass as text.
func (c *check) print(w io.Writer) {
	p := c.Passes[len(c.Passes)-1]
	fmt.Fprintf(w, "\n%s, pass %d: %.2f of the floor", c.Name, len(c.Passes), p.ratio(theFloor))
	if len(p.CPU[theOld]) > 0 {
		fmt.Fprintf(w, ", %.2f of the previous binary", p.ratio(theOld))
	}
	fmt.Fprintln(w)
	fmt.Fprintf(w, "  %-8s %8s %8s %15s %9s\n", "", "CPU µs", "least", "MiB anonymous", "start CPU")
	for i, name := range programs {
		if len(p.CPU[i]) == 0 {
			continue
		}
		start := "–"
		if p.Start[i] > 0 {
			start = round(p.Start[i]).String()
		}
		fmt.Fprintf(w, "  %-8s %8.1f %8.1f   %4.1f → %6.1f %9s\n", name, median(p.CPU[i]), slices.Min(p.CPU[i]), p.Idle[i], p.After[i], start)
	}
	for _, f := range c.exceeded() {
		fmt.Fprintf(w, "  %s: %.2f, over %.2f\n", f.name, f.least, f.most)
	}
}

// summarize writes a JSON line and a text line for each case.
func (r *results) summarize(w io.Writer) {
	worst, at, failed := 0.0, "", 0
	for _, c := range r.Checks {
		least, most := map[string]float64{}, map[string]float64{}
		for _, f := range c.figures() {
			least[f.name], most[f.name] = math.Round(1000*f.least)/1000, f.most
			if f.name == "new/old" && f.least > worst {
				worst, at = f.least, c.Name
			}
		}
		if c.failed() {
			failed++
		}
		text, _ := json.Marshal(struct { // only texts and numbers
			Case    string             `json:"case"`
			Passed  bool               `json:"passed"`
			Passes  int                `json:"passes"`
			Figures map[string]float64 `json:"figures"`
			Most    map[string]float64 `json:"most"`
		}{c.Name, !c.failed(), len(c.Passes), least, most})
		fmt.Fprintf(w, "summary: %s\n", text)
	}
	line := "figure: nothing to compare with"
	if at != "" {
		line = fmt.Sprintf("figure: new/old worst %.2f (%s)", worst, at)
	}
	if failed > 0 {
		line += fmt.Sprintf(", %d of %d cases over a limit", failed, len(r.Checks))
	}
	fmt.Fprintln(w, line)
}
