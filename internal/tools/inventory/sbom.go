package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// goRoot is where the toolchain that go runs here is.
func goRoot() (string, error) {
	raw, err := exec.Command("go", "env", "GOROOT").Output()
	return strings.TrimSpace(string(raw)), err
}

// The members of CycloneDX 1.6 that we write. There is no serial number and no
// time, so that two builders of one binary get equal bytes.
// https://cyclonedx.org/docs/1.6/json/
type bom struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string       `json:"type"`
	Ref        string       `json:"bom-ref"`
	Name       string       `json:"name"`
	Version    string       `json:"version"`
	PURL       string       `json:"purl,omitempty"`
	Hashes     []hash       `json:"hashes,omitempty"`
	Licences   []expression `json:"licenses,omitempty"`
	Properties []property   `json:"properties,omitempty"`
}

type (
	hash       struct{ Alg, Content string }
	expression struct {
		Expression string `json:"expression"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
)

// MarshalJSON implements [json.Marshaler].
func (h hash) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"alg": h.Alg, "content": h.Content})
}

// writeSBOM describes what the binary itself says that it is made of. A module
// in it that modules does not have, or in another version, is an error: the
// binary is of another tree.
func writeSBOM(out io.Writer, modules []module, binary, file string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	b, err := describe(info, modules)
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(file, append(raw, '\n'), 0o644); err != nil { // #nosec G306 -- a document
		return err
	}
	fmt.Fprintf(out, "sbom: %d components in %s\n", len(b.Components), file)
	return nil
}

func describe(info *debug.BuildInfo, modules []module) (*bom, error) {
	known := map[string]module{}
	for _, m := range modules {
		known[m.path] = m
	}
	self := component{Type: "application", Ref: "pkg:golang/" + info.Main.Path, Name: info.Main.Path, Version: info.Main.Version,
		PURL: "pkg:golang/" + info.Main.Path, Licences: []expression{{"Apache-2.0"}}}
	for _, s := range info.Settings {
		self.Properties = append(self.Properties, property{"build:" + s.Key, s.Value})
	}
	standard := component{Type: "library", Ref: "pkg:golang/std@" + info.GoVersion, Name: "std", Version: info.GoVersion,
		PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"), Licences: []expression{{"BSD-3-Clause"}}}
	b := &bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{self}, Components: []component{standard}}
	refs := []string{standard.Ref}
	for _, d := range info.Deps {
		m, ok := known[d.Path]
		if !ok || m.version != d.Version || d.Replace != nil {
			return nil, fmt.Errorf("the binary has %s %s, which this tree has not", d.Path, d.Version)
		}
		c := describeModule(d, m)
		b.Components, refs = append(b.Components, c), append(refs, c.Ref)
	}
	if len(info.Deps) != len(modules) {
		return nil, errors.New("the binary lacks modules that this tree has")
	}
	b.Dependencies = []dependency{{Ref: self.Ref, DependsOn: refs}}
	return b, nil
}

// describeModule gives the h1 of go.sum as a property: it is a hash of hashes,
// for which CycloneDX has no algorithm.
func describeModule(d *debug.Module, m module) component {
	purl := "pkg:golang/" + d.Path + "@" + d.Version
	c := component{Type: "library", Ref: purl, Name: d.Path, Version: d.Version, PURL: purl,
		Properties: []property{{"go:sum", d.Sum}}}
	if id := m.expression(); id != "" {
		c.Licences = []expression{{spdx(id)}}
	}
	return c
}

// spdx writes what has no SPDX id as a reference.
func spdx(id string) string {
	return strings.ReplaceAll(id, "public domain", "LicenseRef-public-domain")
}
