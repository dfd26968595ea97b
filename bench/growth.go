package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"authsvc/internal/test/scale"
	"authsvc/provider"
)

// A growth is one figure of the service while something grows.
type growth struct {
	Name   string
	X      string
	Points []growthPoint
}

type growthPoint struct {
	X     float64
	Label string  // replaces X if it is not a number
	Size  float64 // MiB of the store; 0: not measured
	sample
}

// Ratio returns how much more an answer costs at the worst point than at the first.
func (g *growth) Ratio() float64 {
	worst := 1.0
	for _, p := range g.Points {
		worst = max(worst, g.Points[0].Rate/p.Rate)
	}
	return worst
}

func (p growthPoint) label() string {
	if p.Label != "" {
		return p.Label
	}
	return number(p.X)
}

func (g *growth) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s: at worst %.2f times the cost of the first\n", g.Name, g.Ratio())
	for _, p := range g.Points {
		fmt.Fprintf(w, "  %10s %-12s %8.0f/s  p50 %8s  p99 %8s  %5.0f MiB  others %4.1f%%\n",
			p.label(), g.X, p.Rate, round(p.P50), round(p.P99), p.RSS, 100*p.Others)
	}
}

// measureGrowth measures each growing quantity.
func (b *bench) measureGrowth(ctx context.Context) error {
	for _, g := range []struct {
		name    string
		measure func(context.Context) (*growth, error)
	}{
		{"connections", b.byConnections},
		{"providers configured", b.byProviders},
		{"sessions, " + onSQLite, func(ctx context.Context) (*growth, error) { return b.bySessions(ctx, onSQLite) }},
		{"sessions, " + onPostgres, func(ctx context.Context) (*growth, error) { return b.bySessions(ctx, onPostgres) }},
		{"processes on one PostgreSQL", b.byProcesses},
		{"rows swept meanwhile, " + onSQLite, func(ctx context.Context) (*growth, error) { return b.bySweep(ctx, onSQLite) }},
		{"rows swept meanwhile, " + onPostgres, func(ctx context.Context) (*growth, error) { return b.bySweep(ctx, onPostgres) }},
	} {
		if !b.only.MatchString(g.name) {
			continue
		}
		one, err := g.measure(ctx)
		if err != nil {
			if err = b.leftOut(g.name, err); err != nil {
				return fmt.Errorf("%s: %w", g.name, err)
			}
			continue
		}
		one.Name = g.name
		one.print(os.Stdout)
		b.results.Growth = append(b.results.Growth, one)
	}
	return nil
}

// An arm is one of the alternatives that a growth compares.
type arm struct {
	x      float64
	size   float64
	server *server
	run    runner
}

// inTurn measures the arms in turn, so that other work on the machine affects all of
// them, and takes the best round of each: other work only makes rounds worse.
func (b *bench) inTurn(ctx context.Context, arms []arm) ([]growthPoint, error) {
	points := make([]growthPoint, len(arms))
	for range b.rounds {
		for i, a := range arms {
			one, err := measure(ctx, a.server, a.run, b.length)
			if err != nil {
				return nil, err
			}
			if one.Rate > points[i].Rate {
				points[i] = growthPoint{X: a.x, Size: a.size, sample: one}
			}
		}
	}
	return points, nil
}

// warm starts a service with a configuration and a small load. pins moves the
// database's processes; nil: there are none.
func (b *bench) warm(ctx context.Context, config string, run runner, pins func() []int) (*server, error) {
	s, err := b.serve(ctx, config)
	if err != nil {
		return nil, err
	}
	if _, err := run(ctx, s.addr, warmUp); err != nil {
		s.stop()
		return nil, err
	}
	s.pins = pins
	return s, nil
}

// byConnections loads one server over more and more connections. A single connection
// waits for its own answers, so its figure is shown but not compared.
func (b *bench) byConnections(ctx context.Context) (*growth, error) {
	cookies, err := jweCookies(nil)
	if err != nil {
		return nil, err
	}
	var arms []arm
	for _, n := range []int{16, 500, 1} {
		l := load{path: sessionPath, cookies: cookies, conns: n, dir: b.dir}
		arms = append(arms, arm{x: float64(n), run: l.run})
	}
	s, err := b.warm(ctx, jwtConfig, arms[0].run, nil)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	for i := range arms {
		arms[i].server = s
	}
	points, err := b.inTurn(ctx, arms)
	if err != nil {
		return nil, err
	}
	alone := points[2]
	fmt.Printf("\na single connection: %.0f/s, p50 %s\n", alone.Rate, round(alone.P50))
	return &growth{X: "connections", Points: points[:2]}, nil
}

// byProviders configures more and more providers.
func (b *bench) byProviders(ctx context.Context) (*growth, error) {
	cookies, err := jweCookies(nil)
	if err != nil {
		return nil, err
	}
	l := load{path: sessionPath, cookies: cookies, conns: b.conns, dir: b.dir}
	var arms []arm
	for _, n := range []int{1, 10, len(provider.All())} {
		s, err := b.warm(ctx, jwtConfig+providersConfig(n), l.run, nil)
		if err != nil {
			return nil, err
		}
		defer s.stop()
		arms = append(arms, arm{x: float64(n), server: s, run: l.run})
	}
	points, err := b.inTurn(ctx, arms)
	return &growth{X: "providers", Points: points}, err
}

// providersConfig returns the configuration of the first n providers.
func providersConfig(n int) string {
	var b strings.Builder
	b.WriteString("providers:\n")
	for _, e := range provider.All()[:n] {
		fmt.Fprintf(&b, "- id: %s\n", e.ID)
		if !e.NoClient {
			b.WriteString("  client_id: a\n")
		}
		if !e.NoSecret {
			fmt.Fprintf(&b, "  client_secret: %s\n", secret) // HS256 needs 32 bytes
		}
		for _, o := range e.Options {
			if o.Required {
				fmt.Fprintf(&b, "  %s: %q\n", o.Key, o.Example)
			}
		}
	}
	return b.String()
}

// bySessions compares a store of 1000 sessions with a store of many.
func (b *bench) bySessions(ctx context.Context, kind string) (*growth, error) {
	var arms []arm
	for _, n := range []int{people, b.users} {
		s, err := b.openStore(ctx, kind, n, 0)
		if err != nil {
			return nil, err
		}
		defer s.close()
		size, err := s.size(ctx)
		if err != nil {
			return nil, err
		}
		l := load{path: sessionPath, cookies: s.cookies(), conns: b.conns, dir: b.dir}
		one, err := b.warm(ctx, databaseConfig(s.url), l.run, s.pins)
		if err != nil {
			return nil, err
		}
		defer one.stop()
		arms = append(arms, arm{x: float64(n * 5), size: size, server: one, run: l.run})
	}
	points, err := b.inTurn(ctx, arms)
	return &growth{X: "sessions", Points: points}, err
}

// byProcesses shares one PostgreSQL and one core between more and more processes.
func (b *bench) byProcesses(ctx context.Context) (*growth, error) {
	s, err := b.openStore(ctx, onPostgres, people, 0)
	if err != nil {
		return nil, err
	}
	defer s.close()
	g := &growth{X: "processes"}
	for _, n := range []int{1, 2, 4} {
		one, err := b.processes(ctx, s, n)
		if err != nil {
			return nil, err
		}
		g.Points = append(g.Points, growthPoint{X: float64(n), sample: one})
	}
	return g, nil
}

// processes loads n services on one store at once. Rates are totals; times are the
// slowest service's.
func (b *bench) processes(ctx context.Context, s *store, n int) (sample, error) {
	var all []*server
	for range n {
		one, err := b.serve(ctx, databaseConfig(s.url))
		if err != nil {
			return sample{}, err
		}
		defer one.stop()
		all = append(all, one)
	}
	together := func(ctx context.Context, _ string, length time.Duration) (total result, err error) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i, one := range all {
			dir := fmt.Sprintf("%s/load%d", b.dir, i)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return total, err
			}
			wg.Go(func() {
				l := load{path: sessionPath, cookies: s.cookies(), conns: max(b.conns/n, 1), dir: dir}
				r, e := l.run(ctx, one.addr, length)
				mu.Lock()
				defer mu.Unlock()
				total.Rate += r.Rate
				total.P50, total.P90, total.P99, total.Max = max(total.P50, r.P50), max(total.P90, r.P90), max(total.P99, r.P99), max(total.Max, r.Max)
				if e != nil {
					err = e
				}
			})
		}
		wg.Wait()
		return total, err
	}
	if _, err := together(ctx, "", warmUp); err != nil {
		return sample{}, err
	}
	for _, other := range all[1:] {
		all[0].beside = append(all[0].beside, other.cmd.Process.Pid)
	}
	all[0].beside = append(all[0].beside, s.pins()...)
	return b.best(ctx, all[0], together)
}

// bySweep reads sessions with and without the removal of expired rows, in the
// engine's batches and with its pauses.
func (b *bench) bySweep(ctx context.Context, kind string) (*growth, error) {
	const ended = 100_000
	s, err := b.openStore(ctx, kind, people, ended)
	if err != nil {
		return nil, err
	}
	defer s.close()
	l := load{path: sessionPath, cookies: s.cookies(), conns: b.conns, dir: b.dir}
	service, err := b.warm(ctx, databaseConfig(s.url), l.run, s.pins)
	if err != nil {
		return nil, err
	}
	defer service.stop()
	quiet, err := measure(ctx, service, l.run, b.length)
	if err != nil {
		return nil, err
	}
	swept := 0
	during := func(ctx context.Context, addr string, length time.Duration) (result, error) {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		var failed error
		wg.Go(func() { swept, failed = sweep(ctx, s.url) })
		r, err := l.run(ctx, addr, length)
		cancel()
		wg.Wait()
		if err == nil {
			err = failed
		}
		return r, err
	}
	busy, err := measure(ctx, service, during, b.length)
	if err != nil {
		return nil, err
	}
	return &growth{X: "rows/s", Points: []growthPoint{
		{Label: "none", sample: quiet}, {X: float64(swept) / b.length.Seconds(), sample: busy},
	}}, nil
}

// Settings of the engine's sweep.
const (
	sweepBatch = 500
	sweepPause = 50 * time.Millisecond
)

// sweep removes expired rows until ctx ends.
func sweep(ctx context.Context, url string) (rows int, err error) {
	s, err := scale.Open(context.WithoutCancel(ctx), url)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	for ctx.Err() == nil {
		n, err := s.Sweep(context.WithoutCancel(ctx), time.Now(), sweepBatch)
		if err != nil {
			return rows, err
		}
		rows += n
		time.Sleep(sweepPause)
	}
	return rows, nil
}

// best returns the round with the most answers: other work on the machine only makes
// rounds worse.
func (b *bench) best(ctx context.Context, s *server, run runner) (top sample, err error) {
	for range b.rounds {
		one, err := measure(ctx, s, run, b.length)
		if err != nil {
			return sample{}, err
		}
		if one.Rate > top.Rate {
			top = one
		}
	}
	return top, nil
}
