package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// A curve holds response times by load.
type curve struct {
	Name       string
	Saturation float64 // answers a second
	Points     []loadPoint
	Floor      loadPoint // the floor at servedShare of its saturation
}

// A loadPoint holds the results at one constant rate.
type loadPoint struct {
	Share  float64 // of saturation
	Others float64 // share of either core used by other programs
	result
}

// shares lists the shares of saturation at which latency is measured.
var shares = []float64{0.1, 0.3, 0.5, 0.7, 0.85}

// mostStalled is the share of the time that the load's core may stand still. Beyond
// one percent, p99 would measure the machine.
const mostStalled = 0.002

// servedShare is the share of saturation at which a service should run.
const servedShare = 0.7

// measureLatency reads sessions from every store at constant rates.
func (b *bench) measureLatency(ctx context.Context) error {
	for _, c := range cases() {
		if c.path != sessionPath || c.floor == "" || !b.only.MatchString(c.name) {
			continue
		}
		one, err := b.latency(ctx, c)
		if err != nil {
			if err = b.leftOut("latency, "+c.name, err); err != nil {
				return fmt.Errorf("latency, %s: %w", c.name, err)
			}
			continue
		}
		one.print(os.Stdout)
		b.results.Latency = append(b.results.Latency, one)
	}
	return nil
}

// latency measures the response times of a case's service by load.
func (b *bench) latency(ctx context.Context, c benchCase) (*curve, error) {
	s := &store{}
	if c.store != "" {
		var err error
		if s, err = b.openStore(ctx, c.store, people, 0); err != nil {
			return nil, err
		}
		defer s.close()
	}
	config, l, err := b.sessionLoad(c, s)
	if err != nil {
		return nil, err
	}
	service, err := b.serve(ctx, config)
	if err != nil {
		return nil, err
	}
	defer service.stop()
	one := &curve{Name: c.title()}
	if one.Saturation, one.Points, err = b.points(ctx, s, service, l, shares); err != nil {
		return nil, err
	}
	floor, err := b.serveFloor(ctx, c.floor, c.path, s.location)
	if err != nil {
		return nil, err
	}
	defer floor.stop()
	_, points, err := b.points(ctx, s, floor, l, []float64{servedShare})
	if err != nil {
		return nil, err
	}
	one.Floor = points[0]
	return one, nil
}

// points measures a server at shares of its saturation rate.
func (b *bench) points(ctx context.Context, s *store, one *server, l load, shares []float64) (saturation float64, points []loadPoint, err error) {
	if _, err := l.run(ctx, one.addr, warmUp); err != nil {
		return 0, nil, err
	}
	one.pins = s.pins
	top, err := b.best(ctx, one, l.run)
	if err != nil {
		return 0, nil, err
	}
	for _, share := range shares {
		p, err := b.point(ctx, one, l, share, top.Rate)
		if err != nil {
			return 0, nil, err
		}
		points = append(points, p)
	}
	return top.Rate, points, nil
}

// point measures one share and keeps the round that other programs disturbed least.
func (b *bench) point(ctx context.Context, s *server, l load, share, saturation float64) (calm loadPoint, err error) {
	at := func(ctx context.Context, addr string, length time.Duration) (result, error) {
		return l.constant(ctx, addr, share*saturation, length)
	}
	calm.Others = 2
	for range mostRepeats + 1 {
		one, err := measure(ctx, s, at, b.length)
		if err != nil {
			return calm, err
		}
		if one.Others+one.Stalled < calm.Others+calm.Stalled {
			calm = loadPoint{share, one.Others, one.result}
		}
		if calm.Others <= mostOthers && calm.Stalled <= mostStalled {
			break
		}
	}
	return calm, nil
}

// print writes the points.
func (c *curve) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s: %.0f/s saturate\n", c.Name, c.Saturation)
	for _, p := range c.Points {
		fmt.Fprintf(w, "  at %2.0f%% (%6.0f/s): p50 %8s  p99 %8s  max %8s  others %4.1f%%  stalled %4.1f%%\n",
			100*p.Share, p.Rate, round(p.P50), round(p.P99), round(p.Max), 100*p.Others, 100*p.Stalled)
	}
	fmt.Fprintf(w, "  the floor at 70%% of its own (%.0f/s): p50 %s  p99 %s  others %.1f%%  stalled %.1f%%\n",
		c.Floor.Rate, round(c.Floor.P50), round(c.Floor.P99), 100*c.Floor.Others, 100*c.Floor.Stalled)
}
