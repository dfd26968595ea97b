package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// nested adds licences that apply to one package of a module: licence files in its
// folder or the folders above, and notices in its source files.
func (m *module) nested(root, dir string, files []string) error {
	folder, err := filepath.Rel(root, dir)
	if err != nil {
		return err
	}
	for at := folder; at != "."; at = filepath.Dir(at) {
		more, err := licencesOf(root, at)
		if err != nil {
			return err
		}
		for _, l := range more {
			m.add(l)
		}
	}
	if translated[m.path] {
		return nil
	}
	for _, file := range files {
		found, err := notices(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		for _, text := range found {
			if err := m.notice(path.Join(filepath.ToSlash(folder), file), text); err != nil {
				return err
			}
		}
	}
	return nil
}

// translated lists modules translated from C. They repeat the comments of the C
// sources, some from the GNU C Library, from which they take names, numbers and
// layouts. They collect the notices in a file, which is listed.
var translated = map[string]bool{"modernc.org/libc": true}

// add adds a licence unless the same file or text exists.
func (m *module) add(l licence) {
	if !slices.ContainsFunc(m.licences, func(known licence) bool {
		return known.file == l.file || normal(known.text) == normal(l.text)
	}) {
		m.licences = append(m.licences, l)
	}
}

// notice adds the notice of a file, unless the module's licences already name its
// copyright holders.
func (m *module) notice(file, text string) error {
	if pointer.MatchString(space.ReplaceAllString(text, " ")) && !terms.MatchString(text) {
		return nil // points to a licence file, which is listed
	}
	holders := holder.FindAllString(text, -1)
	if !slices.ContainsFunc(holders, func(h string) bool { return !m.names(h) }) && !terms.MatchString(text) {
		return nil
	}
	if terms.MatchString(text) {
		id, err := classify(file, text)
		if err != nil {
			return err
		}
		m.add(licence{file: file, id: id, text: text})
		return nil
	}
	if word := forbidden.FindString(text); word != "" && !strings.Contains(space.ReplaceAllString(text, " "), exempt) {
		return fmt.Errorf("%s is not allowed: it mentions the %q", file, word)
	}
	m.add(licence{file: file, text: text})
	return nil
}

// names reports whether a licence of the module contains a holder's line.
func (m *module) names(line string) bool {
	return slices.ContainsFunc(m.licences, func(l licence) bool {
		return strings.Contains(space.ReplaceAllString(l.text, " "), strings.TrimSpace(space.ReplaceAllString(line, " ")))
	})
}

// exempt is in the notices of headers of GCC. It permits programs that use them to have
// any licence. The code of SQLite for Windows repeats such a notice.
const exempt = "permissions described in the GCC Runtime Library Exception"

var (
	holder  = regexp.MustCompile(`(?im)copyright .*(\d{4}|\(c\)|©).*$`)
	pointer = regexp.MustCompile(`(?i)licen[cs]e that can be found in the`)
	terms   = regexp.MustCompile(`(?i)permission is hereby granted|redistribution and use in source|permission to use, copy|http://www\.apache\.org/licenses/`)
)

// notices returns the comments of a file that name a copyright holder.
func notices(file string) (texts []string, err error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, group := range parsed.Comments {
		if text := group.Text(); holder.MatchString(text) {
			texts = append(texts, text)
		}
	}
	return texts, nil
}
