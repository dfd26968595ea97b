package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// How -check measures. What misses its promise is measured again once the others
// are done, since other work on the machine comes and goes, and again as long as
// there is time; at the end it has missed every time.
const (
	checkRounds = 3
	checkLength = time.Second
	checkMargin = 0.05
	checkTime   = 5 * time.Minute
)

// A promised part has what -check holds it to.
type promised struct {
	name    string
	measure func(context.Context) (misses []string, err error)
}

// checkRatios holds the comparisons to their promises.
func (b *bench) checkRatios(ctx context.Context) error {
	b.rounds, b.length = checkRounds, checkLength
	missed := b.promised()
	if len(missed) == 0 {
		return errors.New("-only leaves nothing to check")
	}
	for begun, pass := time.Now(), 1; pass <= 2 || time.Since(begun) < checkTime; pass++ {
		again, lines, err := b.missing(ctx, missed)
		if err != nil {
			return err
		}
		if missed = again; len(missed) == 0 {
			return nil
		}
		fmt.Printf("\nafter %d of each, %s:\n", pass, round(time.Since(begun)))
		for _, line := range lines {
			fmt.Println("  MISSED:", line)
		}
	}
	return fmt.Errorf("%d of the promises above are missed by more than %.2f", len(missed), checkMargin)
}

// missing measures parts and returns those that miss their promise, and how.
func (b *bench) missing(ctx context.Context, parts []promised) (missed []promised, lines []string, err error) {
	for _, p := range parts {
		misses, err := p.measure(ctx)
		if err != nil {
			if err = b.leftOut(p.name, err); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", p.name, err)
			}
			continue
		}
		if len(misses) > 0 {
			missed, lines = append(missed, p), append(lines, misses...)
		}
	}
	return missed, lines, nil
}

// promised lists what has a promise.
func (b *bench) promised() (list []promised) {
	for _, c := range b.cases() {
		if c.promise == (promise{}) || !b.only.MatchString(c.name) {
			continue
		}
		list = append(list, promised{c.name, func(ctx context.Context) ([]string, error) {
			result, err := b.compare(ctx, c)
			if err != nil {
				return nil, err
			}
			result.print(os.Stdout)
			b.results.Comparisons = append(b.results.Comparisons, result)
			return result.misses(checkMargin), nil
		}})
	}
	if b.only.MatchString(crowdName) {
		list = append(list, promised{crowdName, func(ctx context.Context) ([]string, error) {
			c, err := b.measureCrowd(ctx)
			if err != nil {
				return nil, err
			}
			c.print(os.Stdout)
			b.results.Crowd = c
			return c.misses(), nil
		}})
	}
	return list
}
