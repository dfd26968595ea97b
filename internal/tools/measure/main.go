// Command measure counts what CONTRIBUTING promises of the shape of this tree.
//
//	go run ./internal/tools/measure          # of this tree
//	go run ./internal/tools/measure DIR      # of another checkout
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := run(ctx, os.Stdout, dir); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// A figure is a row: what was counted, how many, and which.
type figure struct {
	what  string
	count int
	note  string
}

func run(ctx context.Context, out io.Writer, dir string) error {
	t, err := load(ctx, dir)
	if err != nil {
		return err
	}
	rows := t.files()
	rows = append(rows, t.questions()...)
	rows = append(rows, t.surface()...)
	rows = append(rows, t.functions()...)
	rows = append(rows, t.repeated()...)
	for _, more := range []func(context.Context, string) ([]figure, error){walks, embedder, support} {
		f, err := more(ctx, dir)
		if err != nil {
			return err
		}
		rows = append(rows, f...)
	}
	for _, r := range rows {
		fmt.Fprintf(out, "%-52s %7d  %s\n", r.what, r.count, r.note)
	}
	return nil
}
