// Command prose checks the English of this module.
//
//	go run ./internal/tools/prose same          # the working tree changes only prose since HEAD
//	go run ./internal/tools/prose same COMMIT   # so does a commit since its parent
//	go run ./internal/tools/prose commits       # so do all commits that say "Prose: only"
//	go run ./internal/tools/prose counts        # how often comments use words that make readers stumble
//	go run ./internal/tools/prose texts DIR     # writes the string literals as text files, for Vale
//
// A change of prose keeps every Go file the same except its comments and string
// literals, and changes no other code.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	switch {
	case slices.Equal(args, []string{"same"}):
		return same(ctx, "HEAD", "")
	case len(args) == 2 && args[0] == "same" && !strings.HasPrefix(args[1], "-"):
		return same(ctx, args[1]+"^", args[1])
	case slices.Equal(args, []string{"commits"}):
		return commits(ctx, out)
	case slices.Equal(args, []string{"counts"}):
		rates, err := count(ctx, ".")
		if err == nil {
			fmt.Fprint(out, rates)
		}
		return err
	case len(args) == 2 && args[0] == "texts" && !strings.HasPrefix(args[1], "-"):
		return writeTexts(ctx, args[1])
	}
	return errors.New("usage: prose same [COMMIT] | commits | counts | texts DIR")
}

// trailer marks the message of a commit that changes only prose.
const trailer = "Prose: only"

// commits checks all commits with the trailer.
func commits(ctx context.Context, out io.Writer) error {
	list, err := git(ctx, "log", "--format=%H", "--fixed-strings", "--grep="+trailer)
	if err != nil {
		return err
	}
	var errs []error
	all := strings.Fields(string(list))
	for _, commit := range all {
		if err := same(ctx, commit+"^", commit); err != nil {
			errs = append(errs, fmt.Errorf("commit %.9s: %w", commit, err))
		}
	}
	fmt.Fprintf(out, "%d commits change only prose\n", len(all)-len(errs))
	return errors.Join(errs...)
}

// texts lists the extensions of prose files, and of data that tests compare with
// prose.
var texts = []string{".md", ".txt", ".txtar", ".golden", ".json", ".yaml", ".svg", ".tmpl"}

// same checks that two commits differ only in prose. An empty after means the working
// tree.
func same(ctx context.Context, before, after string) error {
	diff := []string{"diff", "--name-only", "--no-renames", "-z", before}
	if after != "" {
		diff = append(diff, after)
	}
	list, err := git(ctx, diff...)
	if err != nil {
		return err
	}
	var errs []error
	for name := range strings.SplitSeq(strings.Trim(string(list), "\x00"), "\x00") {
		if name == "" || slices.Contains(texts, path.Ext(name)) {
			continue
		}
		if path.Ext(name) != ".go" {
			errs = append(errs, fmt.Errorf("%s is not prose", name))
			continue
		}
		old, err := read(ctx, before, name)
		if err != nil {
			return err
		}
		now, err := read(ctx, after, name)
		if err != nil {
			return err
		}
		if err := sameCode(name, old, now); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// read returns a file of a commit, or of the working tree.
func read(ctx context.Context, commit, name string) ([]byte, error) {
	if commit == "" {
		return os.ReadFile(name) // #nosec G304 -- a file of the repository
	}
	return git(ctx, "show", commit+":"+name)
}

func git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...) // #nosec G204 -- of this program
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w\n%s", args[0], err, said.String())
	}
	return out, nil
}
