// Command bench compares the cost of authsvc with that of a minimal program that does
// the same, in one run on this machine. See docs/performance.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

const usage = `bench measures authsvc beside the smallest programs that do the same ("floors").

Without -growth, -latency or -peers it compares the routes and whole sign-ins
with their floors. It needs two cores, taskset, and wrk for the load; PostgreSQL
is the server that AUTHSVC_TEST_POSTGRES_URL names; Redis is started by bench. It
reports programs that are missing, and skips their cases.

`

// options holds the flags.
type options struct {
	rounds  int
	length  time.Duration
	conns   int
	users   int
	only    *regexp.Regexp
	all     bool
	growth  bool
	latency bool
	peers   bool
	check   bool
	old     string
	out     string
	from    string
	plots   string

	profiles string
	page     string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parseOptions(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// parseOptions reads the command line. Errors are only returned, not printed; help
// goes to w.
func parseOptions(args []string, w io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&o.rounds, "rounds", 5, "`rounds` of each comparison")
	flags.DurationVar(&o.length, "time", 3*time.Second, "`length` of one run of the load, in whole seconds")
	flags.IntVar(&o.conns, "conns", 16, "`connections`")
	flags.IntVar(&o.users, "users", 1_000_000, "`users` in the largest store of -growth, each with five sessions")
	flags.BoolVar(&o.growth, "growth", false, "measure the cost as the number of sessions, providers, connections and processes grows")
	flags.BoolVar(&o.latency, "latency", false, "measure response times at fractions of the rate that saturates the service")
	flags.BoolVar(&o.peers, "peers", false, "measure next-auth 4, PocketBase and Ory Kratos")
	flags.BoolVar(&o.all, "all", false, "compare, and all of the above")
	flags.BoolVar(&o.check, "check", false, "compare the processor time with the previous binary and with the floors; fail if all three passes exceed a limit")
	flags.StringVar(&o.old, "old", "", "the `revision` that -check compares with: the last tag, or the commit before the last change of the product")
	only := flags.String("only", "", "measure only cases whose name matches this regular `expression`")
	flags.StringVar(&o.profiles, "profiles", "", "write a CPU profile of the service in each comparison into this `directory` (pprof)")
	flags.StringVar(&o.out, "out", "", "write the raw results to this `file` (JSON)")
	flags.StringVar(&o.from, "from", "", "measure nothing; read the raw results from this `file`")
	flags.StringVar(&o.plots, "plots", "", "draw the results into this `directory` (SVG)")
	flags.StringVar(&o.page, "page", "", "write the tables into this `page` (Markdown)")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(w, usage)
			flags.SetOutput(w)
			flags.PrintDefaults()
		}
		return o, err
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	return o, o.validate(flags.Args())
}

// validate checks the values.
func (o *options) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q is not a flag: see bench -help", rest[0])
	case o.rounds < 1 || o.conns < 1 || o.users < people:
		return fmt.Errorf("-rounds and -conns must be at least 1, -users at least %d", people)
	case o.length < time.Second || o.length%time.Second != 0:
		return errors.New("-time must be a whole number of seconds")
	case o.check && (o.all || o.growth || o.latency || o.peers):
		return errors.New("-check cannot be combined with -all, -growth, -latency or -peers")
	case o.old != "" && !o.check:
		return errors.New("-old requires -check")
	case o.from != "" && (o.check || o.out != ""):
		return errors.New("-from measures nothing: use it with -plots and -page")
	}
	return nil
}

func run(ctx context.Context, o options) error {
	var all *results
	var err error
	if o.from != "" {
		all, err = readResults(o.from)
	} else {
		all, err = measureAll(ctx, o)
	}
	if err != nil {
		return err
	}
	if o.out != "" {
		text, err := json.MarshalIndent(all, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.out, append(text, '\n'), 0o644); err != nil { // #nosec G306 -- figures, public
			return err
		}
	}
	if o.plots != "" {
		if err := all.draw(o.plots); err != nil {
			return err
		}
	}
	if o.page != "" {
		return all.writePage(o.page)
	}
	return nil
}

// results holds all measurements of one run.
type results struct {
	Machine     machine
	Sizes       sizes
	Comparisons []*comparison `json:",omitempty"`
	Checks      []*check      `json:",omitempty"`
	Crowd       *crowd        `json:",omitempty"`
	Latency     []*curve      `json:",omitempty"`
	Space       []*space      `json:",omitempty"`
	Growth      []*growth     `json:",omitempty"`
	Peers       []*peer       `json:",omitempty"`
	LeftOut     []string      `json:",omitempty"`
}

func readResults(file string) (*results, error) {
	text, err := os.ReadFile(file) // #nosec G304 -- the caller's
	if err != nil {
		return nil, err
	}
	var r results
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s has no results: %w", file, err)
	}
	return &r, nil
}
