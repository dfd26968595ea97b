package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// compareTwo builds the commit in two clones in different places, the second one with
// an empty build cache, and returns an error if any file differs.
func compareTwo(ctx context.Context, o options) error {
	work, err := os.MkdirTemp("", "authsvc-twice-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	from, err := filepath.Abs(o.tree)
	if err != nil {
		return err
	}
	var outs [2]string
	for i, place := range []string{"one", filepath.Join("a", "longer", "way", "to", "two")} {
		clone := o
		clone.tree = filepath.Join(work, place)
		clone.out = filepath.Join(work, fmt.Sprint("out", i))
		if i == 1 {
			clone.cache = filepath.Join(work, "cache")
		}
		if _, err := output(exec.CommandContext(ctx, "git", "clone", "--quiet", from, clone.tree), work); err != nil {
			return err
		}
		if _, err := build(ctx, clone); err != nil {
			return err
		}
		outs[i] = clone.out
	}
	n, err := same(outs[0], outs[1])
	if err != nil {
		return err
	}
	fmt.Fprintf(o.log, "reproducible: %d files twice\n", n)
	return nil
}

// same compares the files of two folders byte by byte, and returns how many there are.
// It reports every difference.
func same(one, two string) (int, error) {
	read := func(dir string) (map[string][]byte, error) {
		all := map[string][]byte{}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			all[name], err = os.ReadFile(path) // #nosec G122 -- a folder of this process
			return err
		})
		return all, err
	}
	first, err := read(one)
	if err != nil {
		return 0, err
	}
	second, err := read(two)
	if err != nil {
		return 0, err
	}
	var differ []error
	for name, data := range first {
		if other, ok := second[name]; !ok || !bytes.Equal(data, other) {
			differ = append(differ, fmt.Errorf("%s differs, or is in the first folder alone", name))
		}
	}
	for name := range second {
		if _, ok := first[name]; !ok {
			differ = append(differ, fmt.Errorf("%s is in the second folder alone", name))
		}
	}
	if len(first) == 0 {
		differ = append(differ, errors.New("there are no files to compare"))
	}
	return len(first), errors.Join(differ...)
}
