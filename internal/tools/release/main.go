// Command release builds what a release consists of: an archive of the program for each
// target, its SBOM, the npm package of the JavaScript client, and SHA256SUMS.
//
//	go run ./internal/tools/release                        # all targets, into out/release
//	go run ./internal/tools/release -version v0.1.0        # fails unless the commit has this tag
//	go run ./internal/tools/release -key ~/.ssh/id_ed25519 # also SHA256SUMS.sig
//	go run ./internal/tools/release -twice                 # builds in two clones and compares the bytes
//
// Everything in the files depends on the commit alone. Times are those of the commit.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"authsvc/internal/tools/target"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options says what to build, and from which tree.
type options struct {
	tree    string // root of a clone without changes
	out     string // the folder for the files, which must not exist or be empty
	version string // the tag that the commit must have; empty: none
	key     string // a key of ssh-keygen that signs; empty: no signature
	cache   string // Go's build cache; empty: the usual one
	targets []target.Target
	log     io.Writer
}

func run(ctx context.Context, log io.Writer, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(log)
	o := options{log: log}
	flags.StringVar(&o.tree, "tree", ".", "the repository")
	flags.StringVar(&o.out, "out", filepath.Join("out", "release"), "folder for the files")
	flags.StringVar(&o.version, "version", "", "fail unless the commit has this `tag`")
	flags.StringVar(&o.key, "key", "", "sign SHA256SUMS with this private `key` of ssh-keygen")
	names := flags.String("targets", "all", "targets such as linux/amd64,darwin/arm64, or host")
	twice := flags.Bool("twice", false, "build in two clones, one with an empty cache, and compare the bytes; writes nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if *names == "host" {
		*names = host().String()
	}
	if o.targets, err = target.Parse(*names); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *twice {
		if o.key != "" {
			return errors.New("-twice writes nothing: leave out -key")
		}
		return compareTwo(ctx, o)
	}
	_, err = build(ctx, o)
	return err
}
