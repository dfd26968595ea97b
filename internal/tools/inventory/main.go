// Command inventory lists the parts that the program is made of.
//
//	go run ./internal/tools/inventory licences          # writes THIRD_PARTY_LICENSES.md
//	go run ./internal/tools/inventory licences -check   # fails if it is stale
//	go run ./internal/tools/inventory same BINARY       # fails if it is of another tree
//	go run ./internal/tools/inventory count             # modules: direct, indirect
//
// It fails if a licence is not on its list of allowed licences.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"authsvc/internal/tools/target"
)

// program is the package whose modules are listed; licencesFile is the list of their
// licences.
const (
	program      = "./cmd/authsvc"
	licencesFile = "THIRD_PARTY_LICENSES.md"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "inventory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	if len(args) == 0 {
		return errors.New("the first argument must be licences, same or count")
	}
	if args[0] == "same" && len(args) == 2 {
		return same(ctx, out, args[1])
	}
	modules, err := linked(ctx, target.All...)
	if err != nil {
		return err
	}
	switch args[0] {
	case "licences":
		return licences(out, modules, args[1:])
	case "count":
		return count(out, modules)
	}
	return fmt.Errorf("unknown command %q with %d arguments", args[0], len(args)-1)
}

func licences(out io.Writer, modules []module, args []string) error {
	flags := flag.NewFlagSet("licences", flag.ContinueOnError)
	check := flags.Bool("check", false, "compare with the file instead of writing it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	want, err := document(modules)
	if err != nil {
		return err
	}
	if !*check {
		return os.WriteFile(licencesFile, want, 0o644) // #nosec G306 -- a document
	}
	have, err := os.ReadFile(licencesFile)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, want) {
		return errors.New(licencesFile + " is stale: run make licences")
	}
	fmt.Fprintf(out, "licences: %d modules, all allowed, %s is up to date\n", len(modules), licencesFile)
	return nil
}

func count(out io.Writer, modules []module) error {
	direct := 0
	for _, m := range modules {
		if !m.indirect {
			direct++
		}
	}
	fmt.Fprintf(out, "modules in the program: %d direct, %d indirect\n", direct, len(modules)-direct)
	return nil
}
