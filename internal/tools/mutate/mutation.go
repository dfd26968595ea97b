package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A mutation removes one check from one package.
type mutation struct {
	name        string
	dir         string // package path from the module root
	find        string // occurs exactly once in the package or folder of scripts
	replacement string
	pkg         string // its tests must notice
}

// apply returns the file that contains the check, and its text without the check.
func (m mutation) apply() (file, changed string, err error) {
	if m.find == m.replacement {
		return "", "", errors.New("the mutation changes nothing")
	}
	files, err := filepath.Glob(filepath.Join(m.dir, "*"))
	if err != nil {
		return "", "", err
	}
	count := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") || filepath.Ext(f) != ".go" && filepath.Ext(f) != ".lua" {
			continue
		}
		source, err := os.ReadFile(f)
		if err != nil {
			return "", "", err
		}
		if n := strings.Count(string(source), m.find); n > 0 {
			count += n
			file, changed = f, strings.Replace(string(source), m.find, m.replacement, 1)
		}
	}
	if count != 1 {
		return "", "", fmt.Errorf("%s contains %q %d times instead of once: the table is out of date", m.dir, m.find, count)
	}
	return file, changed, nil
}

// A change is the place of a check.
type change struct {
	file  string // from the module root
	lines span
}

// place returns the lines of a source that the mutation changes.
func (m mutation) place(source string) span {
	before := 0 // bytes that find and replacement have in common
	for before < min(len(m.find), len(m.replacement)) && m.find[before] == m.replacement[before] {
		before++
	}
	after := 0
	for after < min(len(m.find), len(m.replacement))-before && m.find[len(m.find)-1-after] == m.replacement[len(m.replacement)-1-after] {
		after++
	}
	at := strings.Index(source, m.find)
	line := func(offset int) int { return 1 + strings.Count(source[:offset], "\n") }
	return span{line(at + before), line(at + len(m.find) - after)}
}

// overlay writes the changed file and the description for go's -overlay flag to dir.
// It returns the place of the check, and the path of the description.
func (m mutation) overlay(dir string) (c change, path string, err error) {
	file, changed, err := m.apply()
	if err != nil {
		return change{}, "", err
	}
	source, err := os.ReadFile(file) // #nosec G304 -- of the table
	if err != nil {
		return change{}, "", err
	}
	c = change{file, m.place(string(source))}
	from, err := filepath.Abs(file)
	if err != nil {
		return change{}, "", err
	}
	to := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(to, []byte(changed), 0o600); err != nil {
		return change{}, "", err
	}
	raw, err := json.Marshal(map[string]any{"Replace": map[string]string{from: to}})
	if err != nil {
		return change{}, "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return c, path, os.WriteFile(path, raw, 0o600)
}
