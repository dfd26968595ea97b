package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A mutation takes one check out of one file.
type mutation struct {
	name        string
	file        string // from the root of the module
	find        string // stands in the file exactly once
	replacement string
	pkg         string // whose tests have to notice
}

// apply returns the file's text without the check.
func (m mutation) apply(source string) (string, error) {
	switch n := strings.Count(source, m.find); {
	case m.find == m.replacement:
		return "", errors.New("the mutation changes nothing")
	case n != 1:
		return "", fmt.Errorf("%s holds %q %d times; once is needed, the table is out of date", m.file, m.find, n)
	}
	return strings.Replace(source, m.find, m.replacement, 1), nil
}

// overlay writes the changed file into dir, and the description that go's
// -overlay flag takes, whose path it returns.
func (m mutation) overlay(dir string) (string, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	changed, err := m.apply(string(source))
	if err != nil {
		return "", err
	}
	from, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(to, []byte(changed), 0o600); err != nil {
		return "", err
	}
	raw, err := json.Marshal(map[string]any{"Replace": map[string]string{from: to}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, raw, 0o600)
}
