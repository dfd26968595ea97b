// Command fill fills an empty store with as many users as a large site has, for
// measurements. See CONTRIBUTING.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"authsvc/internal/test/scale"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fill", flag.ExitOnError)
	storage := flags.String("storage", "", "storage.url of an empty store")
	p := scale.Population{Now: time.Now()}
	flags.Uint64Var(&p.Seed, "seed", 1, "seed from which cookies and ids are derived")
	flags.IntVar(&p.Users, "users", 1_000_000, "users")
	flags.IntVar(&p.Accounts, "accounts", 2, "accounts of each user")
	flags.IntVar(&p.Sessions, "sessions", 5, "live sessions of each user")
	flags.IntVar(&p.Ended, "ended", 0, "expired sessions in addition")
	print := flags.Int("cookies", 0, "number of cookies of live sessions to print at the end")
	_ = flags.Parse(args) // exits on errors
	start := time.Now()
	if err := scale.Fill(ctx, *storage, p, func(line string) { fmt.Fprintln(os.Stderr, line) }); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "filled in %.0f s\n", time.Since(start).Seconds())
	for i := range min(*print, p.Users*p.Sessions) {
		fmt.Println(p.Cookie(i))
	}
	return nil
}
