package main

import (
	"context"
	"fmt"
	"os"
)

// measureComparisons runs the cases.
func (b *bench) measureComparisons(ctx context.Context) error {
	for _, c := range cases() {
		if !b.only.MatchString(c.name) {
			continue
		}
		result, err := b.compare(ctx, c)
		if err != nil {
			if err = b.leftOut(c.name, err); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			continue
		}
		result.print(os.Stdout)
		b.results.Comparisons = append(b.results.Comparisons, result)
	}
	if !b.only.MatchString(crowdName) {
		return nil
	}
	c, err := b.measureCrowd(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", crowdName, err)
	}
	c.print(os.Stdout)
	b.results.Crowd = c
	return nil
}

// compare runs one case.
func (b *bench) compare(ctx context.Context, c benchCase) (*comparison, error) {
	s := &store{}
	if c.store != "" {
		var err error
		if s, err = b.openStore(ctx, c.store, people, 0); err != nil {
			return nil, err
		}
		defer s.close()
	}
	p, err := c.prepare(b, c, s)
	if err != nil {
		return nil, err
	}
	if p.close != nil {
		defer p.close()
	}
	startService := func() (*server, error) { return b.serve(ctx, p.config) }
	startFloor := func() (*server, error) { return b.serveFloor(ctx, c.floor, c.path, s.location) }
	if p.service != nil {
		startService = func() (*server, error) { return p.service(ctx) }
	}
	if p.floor != nil {
		startFloor = func() (*server, error) { return p.floor(ctx) }
	}
	result := &comparison{Name: c.name, Store: c.store}
	if err := result.starts(b.rounds, startService, startFloor); err != nil {
		return nil, err
	}
	service, err := startService()
	if err != nil {
		return nil, err
	}
	defer service.stop()
	floor, err := startFloor()
	if err != nil {
		return nil, err
	}
	defer floor.stop()
	runs, err := p.runs(service, floor)
	if err != nil {
		return nil, err
	}
	for i, one := range []*server{service, floor} {
		result.Idle[i], result.IdleAnon[i] = one.memory()
		if _, err := runs[i].run(ctx, one.addr, warmUp); err != nil {
			return nil, err
		}
	}
	service.pins, floor.pins = s.pins, s.pins
	if err := result.rounds(ctx, b, [2]*server{service, floor}, runs); err != nil || b.profiles == "" {
		return result, err
	}
	return result, b.profile(ctx, c.name, p)
}

// sameAnswer checks that the service and the floor give the same answer.
func sameAnswer(service, floor *server, path, cookie string) error {
	got, err := service.get(path, cookie)
	if err != nil {
		return err
	}
	want, err := floor.get(path, cookie)
	if err != nil {
		return err
	}
	if got != want || len(got) < 50 {
		return fmt.Errorf("the service answers %s, the floor %s", got, want)
	}
	return nil
}
