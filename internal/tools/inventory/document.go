package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// document returns THIRD_PARTY_LICENSES.md: a table, then every text once.
func document(modules []module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Third-party licences\n\n" +
		"Made by `make licences`; CI fails if it is stale, or if a licence is not allowed (" + allowed() + ").\n\n" +
		"The browser client (`clients/js`), the pages and their symbols belong to this project, under its [LICENSE](LICENSE): the client has no dependencies. " +
		"The marks of providers are trademarks of their owners, shown to name the service: Google's G and Microsoft's logo in the form of their branding guidelines for sign-in buttons, " +
		"the others with the outlines of Simple Icons (CC0-1.0), in the version that `internal/tools/marks` pins. Providers without a mark have the first letter of their name.\n\n" +
		"| Module | Version | Licence |\n| --- | --- | --- |\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m.path, m.version, m.expression())
	}
	standard, err := goLicence()
	if err != nil {
		return nil, err
	}
	b.WriteString("| Go's standard library and runtime | of the toolchain | BSD-3-Clause |\n")
	writeTexts(&b, append(slices.Clone(modules), module{path: "Go's standard library and runtime", licences: []licence{standard}}))
	return b.Bytes(), nil
}

// goLicence returns the licence of the running toolchain, whose code is in every
// program.
func goLicence() (licence, error) {
	root, err := goRoot()
	if err != nil {
		return licence{}, err
	}
	raw, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return licence{}, err
	}
	id, err := classify("LICENSE", string(raw))
	return licence{file: "LICENSE", id: id, text: string(raw)}, err
}

// expression returns the SPDX expression of a module.
func (m module) expression() string {
	var ids []string
	for _, l := range m.licences {
		for id := range strings.SplitSeq(l.id, " AND ") {
			if id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return strings.Join(ids, " AND ")
}

// writeTexts prints every text below the modules that use it.
func writeTexts(b *bytes.Buffer, modules []module) {
	var order []string
	users := map[string][]string{}
	for _, m := range modules {
		for _, l := range m.licences {
			text := normal(l.text)
			if users[text] == nil {
				order = append(order, text)
			}
			users[text] = append(users[text], m.path+" ("+l.file+")")
		}
	}
	for _, text := range order {
		b.WriteString("\n## " + strings.Join(users[text], ", ") + "\n\n")
		for line := range strings.Lines(text) {
			b.WriteString(strings.TrimRight("    "+line, " \t\n") + "\n")
		}
	}
}

// normal makes texts equal that differ only in line ends and trailing white space.
func normal(text string) string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		lines = append(lines, strings.TrimRight(line, " \t\n"))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n") + "\n"
}

// allowed lists the licences known to classify.
func allowed() string {
	var ids []string
	for _, m := range marks {
		ids = append(ids, m.id)
	}
	return strings.Join(ids, ", ")
}
