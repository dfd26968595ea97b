package mailtext

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	htmltemplate "html/template"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"authsvc/internal/text"
	"authsvc/internal/text/pages"
)

// A Mistake describes an error of the operator in a template.
type Mistake struct {
	File    string // the template's name, and the line if it is known
	Problem string
	Fix     string
}

// Mistakes lists all errors found.
type Mistakes []Mistake

// Error returns one line for each mistake.
func (m Mistakes) Error() string {
	var lines []string
	for _, one := range m {
		lines = append(lines, one.String())
	}
	return strings.Join(lines, "\n")
}

// String returns "FILE:LINE: problem; fix".
func (m Mistake) String() string {
	place := ""
	if m.File != "" {
		place = m.File + ": "
	}
	return place + m.Problem + "; " + m.Fix
}

const layoutFile = "layout.html" // part of the built-in HTML

const (
	languageFix = "name the folder after a language, such as de or pt-BR"
	maxFile     = 256 << 10 // bytes of a template
	maxSubject  = 300       // bytes, including the name of the site
)

// Parse reads templates from the files of all kinds of mails, and from folders with the
// same files that are named after languages. Each file may be missing. If Parse fails,
// its error is Mistakes with all mistakes.
func Parse(fsys fs.FS) (Templates, error) {
	t, found := parseFolder(fsys, ".")
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		if path := (*fs.PathError)(nil); errors.As(err, &path) { // its path is "."
			err = path.Err
		}
		return t, Mistakes{{Problem: "cannot be read: " + err.Error(), Fix: "make it a folder that this program may read"}}
	}
	files := 0
	for _, e := range entries {
		files++
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if _, err := pages.NewChooser(e.Name()); err != nil {
			found = append(found, Mistake{e.Name(), "is not a language", languageFix})
			continue
		}
		own, more := parseFolder(fsys, e.Name())
		if found = append(found, more...); t.Languages == nil {
			t.Languages = map[string]Templates{}
		}
		t.Languages[e.Name()] = own
	}
	if files == 0 {
		found = append(found, Mistake{"", "is empty", "the files are " + fileNames()})
	}
	if len(found) > 0 {
		return t, found
	}
	return t, nil
}

// parseFolder reads and checks the files of one folder.
func parseFolder(fsys fs.FS, dir string) (t Templates, found Mistakes) {
	entries, _ := fs.ReadDir(fsys, dir)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() && dir == "." || strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), "~") {
			continue
		}
		text, markup := t.place(e.Name())
		if text == nil && markup == nil {
			found = append(found, Mistake{name, "is not the name of a template", "the files are " + fileNames()})
			continue
		}
		raw, err := fs.ReadFile(fsys, name)
		if err == nil && len(raw) > maxFile {
			err = fmt.Errorf("has %d bytes, but must have at most %d", len(raw), maxFile)
		}
		if err != nil {
			found = append(found, Mistake{name, "cannot be read: " + err.Error(), "make it a file that this program may read"})
			continue
		}
		if text != nil { // nil after an error
			*text, err = template.New(name).Parse(string(raw))
		} else {
			*markup, err = htmltemplate.New(name).Parse(string(raw))
		}
		if err != nil {
			found = append(found, explain(name, err))
		}
	}
	return t, append(found, check(t)...)
}

// check fills the existing templates with every sample of their kind.
func check(t Templates) (found Mistakes) {
	for _, k := range kinds {
		for _, d := range k.samples() {
			for _, m := range k.of(&t).check(d, k) {
				if !slices.Contains(found, m) {
					found = append(found, m)
				}
			}
		}
	}
	return found
}

// check fills the templates of t, which are of kind k, with d.
func (t *Set) check(d Data, k *kind) (found Mistakes) {
	if t.Subject != nil {
		s, err := fill(t.Subject, d)
		switch s = oneLine(s); {
		case err != nil:
			found = append(found, explain(t.Subject.Name(), err))
		case s == "" || len(s) > maxSubject:
			found = append(found, Mistake{t.Subject.Name(), fmt.Sprintf("has a subject of %d bytes", len(s)), fmt.Sprintf("write 1 to %d bytes, such as: %s", maxSubject, k.goodSubject)})
		}
	}
	var text, markup string
	var textErr, markupErr error
	if t.Text != nil {
		if text, textErr = fill(t.Text, d); textErr != nil {
			found = append(found, explain(t.Text.Name(), textErr))
		}
	}
	if t.HTML != nil {
		if markup, markupErr = fill(t.HTML, d); markupErr != nil {
			found = append(found, explain(t.HTML.Name(), markupErr))
		}
	}
	for _, n := range k.needs {
		address := reflect.ValueOf(d).FieldByName(n.field).String()
		if t.Text != nil && textErr == nil && !strings.Contains(text, address) {
			found = append(found, Mistake{t.Text.Name(), "must always contain " + n.what, "write {{." + n.field + "}} on a line of its own"})
		}
		switch {
		case t.HTML == nil || markupErr != nil:
		case n.label == "" && !strings.Contains(markup, address):
			found = append(found, Mistake{t.HTML.Name(), "must always contain " + n.what, "write {{." + n.field + "}}"})
		case n.label != "" && address != "" && !hasLink(markup, address):
			found = append(found, Mistake{t.HTML.Name(), "must always contain " + n.what, `write <a href="{{.` + n.field + `}}">` + n.label + `</a>`})
		}
	}
	return found
}

// hasLink reports whether an HTML document has a link to an address. html/template has
// dropped the comments of the document.
func hasLink(document, address string) bool {
	for _, m := range link.FindAllStringSubmatch(document, -1) {
		if html.UnescapeString(cmp.Or(m[1], m[2], m[3])) == address {
			return true
		}
	}
	return false
}

var (
	link         = text.LazyRegexp(`(?i)<a\s(?:[^>]*\s)?href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))`)
	inTemplate   = text.LazyRegexp(`^(?:html/)?template: ?(.+?:[0-9]+)(?::[0-9]+)?: ?(.*)$`)
	missingField = text.LazyRegexp(`can't evaluate field ([A-Za-z0-9_]+) in type (mailtext\.Data|\*?pages\.)`)
	executing    = text.LazyRegexp(`^executing "[^"]*" at <[^>]*>: `)
)

// explain translates an error of package template into a Mistake for the operator.
func explain(name string, err error) Mistake {
	var escape *htmltemplate.Error
	m := Mistake{File: name, Problem: err.Error(), Fix: "correct the template; it uses the syntax of Go's text/template"}
	if errors.As(err, &escape) && escape.Line > 0 {
		m.File, m.Problem = fmt.Sprintf("%s:%d", name, escape.Line), escape.Description
	} else if match := inTemplate.FindStringSubmatch(err.Error()); match != nil {
		m.File, m.Problem = match[1], strings.TrimPrefix(match[2], executing.FindString(match[2]))
	}
	if match := missingField.FindStringSubmatch(m.Problem); match != nil {
		m.Problem, m.Fix = "there is no {{."+match[1]+"}}", "use "+strings.Join(fields(), ", ")
	}
	return m
}

// fields lists the fields that templates can use.
func fields() []string {
	var names []string
	for f := range reflect.TypeFor[Data]().Fields() {
		if f.Name != "Look" && f.Name != "About" {
			names = append(names, "{{."+f.Name+"}}")
		}
	}
	return names
}
