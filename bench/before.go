package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// product lists, as git pathspecs, the files that go into the binary.
var product = []string{"*.go", "go.mod", "cmd", "internal",
	":(exclude)*_test.go", ":(exclude,glob)**/testdata/**", ":(exclude)internal/test", ":(exclude)bench", ":(exclude)verify", ":(exclude)e2e", ":(exclude)tools", ":(exclude)examples"}

// buildBefore builds the binary to compare the new one with: the commit of -old, else
// the last tag, else the commit before the last one that changed the product.
func (b *bench) buildBefore(ctx context.Context, root string) error {
	revision, why := b.old, "by -old"
	if revision == "" {
		if revision, why = git(ctx, root, "describe", "--tags", "--abbrev=0", "HEAD^"), "the last tag"; revision == "" {
			last := git(ctx, root, append([]string{"log", "-1", "--format=%H", "--"}, product...)...)
			revision, why = last+"^", "before the last change of the product"
		}
	}
	commit := git(ctx, root, "rev-parse", "--verify", "--short", revision+"^{commit}")
	if commit == "" {
		return fmt.Errorf("no commit %q to compare with: -check needs the history, or -old REVISION", revision)
	}
	dir := filepath.Join(b.dir, "before")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	archive := filepath.Join(b.dir, "before.tar")
	for _, argv := range [][]string{{"git", "-C", root, "archive", "--output", archive, commit}, {"tar", "-xf", archive, "-C", dir}} {
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil { // #nosec G204 -- own names
			return fmt.Errorf("%s: %w: %s", argv[0], err, out)
		}
	}
	b.before = filepath.Join(b.dir, "authsvc-before")
	if err := goBuild(ctx, dir, b.before, "./cmd/authsvc"); err != nil {
		return fmt.Errorf("%s: %w", commit, err)
	}
	fmt.Printf("compared with %s (%s)\n", commit, why)
	return errors.Join(os.RemoveAll(dir), os.Remove(archive))
}

// git returns the output of a git command, or "" if it fails.
func git(ctx context.Context, dir string, args ...string) string {
	cmd := exec.CommandContext(ctx, "git", args...) // #nosec G204 -- own names
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
