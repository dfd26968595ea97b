package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"authsvc/internal/tools/target"
)

// A module is a module whose code is in the program.
type module struct {
	path, version string
	indirect      bool
	licences      []licence
}

// A licence is a licence file of a module, with its SPDX id and its text.
type licence struct{ file, id, text string }

// linked lists the modules whose packages the program imports on one of the targets,
// except our own, sorted by path.
func linked(ctx context.Context, targets ...target.Target) ([]module, error) {
	found, read := map[string]module{}, map[string]bool{}
	for _, t := range targets {
		if err := link(ctx, t, found, read); err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
	}
	return sorted(found), nil
}

// link adds the modules of a target. It does not read a file twice: read has the files
// that earlier targets needed.
func link(ctx context.Context, t target.Target, found map[string]module, read map[string]bool) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Module,Dir,GoFiles", program)
	cmd.Stderr = os.Stderr
	cmd.Env = append(cmd.Environ(), t.Env()...)
	raw, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(raw)); ; {
		var p struct {
			Dir     string
			GoFiles []string
			Module  *struct {
				Path, Version, Dir string
				Main, Indirect     bool
			}
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		m, known := found[p.Module.Path]
		if !known {
			m = module{path: p.Module.Path, version: p.Module.Version, indirect: p.Module.Indirect}
			if m.licences, err = licencesOf(p.Module.Dir, ""); err == nil && !m.licensed() {
				err = errors.New("no licence file")
			}
			if err != nil {
				return fmt.Errorf("%s: %w", m.path, err)
			}
		}
		files := slices.DeleteFunc(p.GoFiles, func(name string) bool {
			path := filepath.Join(p.Dir, name)
			known := read[path]
			read[path] = true
			return known
		})
		if err := m.nested(p.Module.Dir, p.Dir, files); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
		found[m.path] = m
	}
}

func sorted(found map[string]module) []module {
	modules := make([]module, 0, len(found))
	for _, m := range found {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return modules
}

// licenceName matches the names of licence and notice files.
var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)

func (m *module) licensed() bool {
	return slices.ContainsFunc(m.licences, func(l licence) bool { return l.id != "" })
}

// licencesOf reads the licence files in one folder of a module.
func licencesOf(root, folder string) ([]licence, error) {
	dir := filepath.Join(root, folder)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []licence
	for _, e := range entries {
		if e.IsDir() || !licenceName.MatchString(e.Name()) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		id, err := classify(e.Name(), string(raw))
		if err != nil {
			return nil, err
		}
		all = append(all, licence{file: path.Join(filepath.ToSlash(folder), e.Name()), id: id, text: string(raw)})
	}
	return all, nil
}
