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
	"strings"
	"text/template"

	"authsvc/internal/lazyregexp"
	"authsvc/internal/pages"
)

// A Mistake is one of the operator's in a template.
type Mistake struct {
	File    string // the template's name, with the line if it is known
	Problem string
	Fix     string
}

// Mistakes are all that was found.
type Mistakes []Mistake

// Error implements error: one line for each mistake.
func (m Mistakes) Error() string {
	var lines []string
	for _, one := range m {
		lines = append(lines, one.String())
	}
	return strings.Join(lines, "\n")
}

// String is "FILE:LINE: problem; fix".
func (m Mistake) String() string {
	place := ""
	if m.File != "" {
		place = m.File + ": "
	}
	return place + m.Problem + "; " + m.Fix
}

// The names of the files that Parse reads.
const (
	SubjectFile = "subject.txt"
	TextFile    = "mail.txt"
	HTMLFile    = "mail.html"
)

const (
	languageFix = "name the folder after a language, such as de or pt-BR"
	fileFix     = "the files are " + SubjectFile + ", " + TextFile + " and " + HTMLFile
	maxFile     = 256 << 10 // bytes of a template
	maxSubject  = 300       // bytes, with the site's name
)

// Parse reads templates from the files subject.txt, mail.txt and mail.html, of
// which each may be missing, and from folders that are named after languages
// and hold the same. It fails with Mistakes, all of them.
func Parse(fsys fs.FS) (Templates, error) {
	t, found := parseFolder(fsys, ".")
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
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
		found = append(found, Mistake{"", "is empty", fileFix})
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
		if e.Name() != SubjectFile && e.Name() != TextFile && e.Name() != HTMLFile {
			found = append(found, Mistake{name, "is not read", fileFix})
			continue
		}
		raw, err := fs.ReadFile(fsys, name)
		if err == nil && len(raw) > maxFile {
			err = fmt.Errorf("has %d bytes; at most %d", len(raw), maxFile)
		}
		if err != nil {
			found = append(found, Mistake{name, "cannot be read: " + err.Error(), "make it a file that this program may read"})
			continue
		}
		switch e.Name() {
		case SubjectFile:
			t.Subject, err = template.New(name).Parse(string(raw)) // nil with an error
		case TextFile:
			t.Text, err = template.New(name).Parse(string(raw))
		case HTMLFile:
			t.HTML, err = htmltemplate.New(name).Parse(string(raw))
		}
		if err != nil {
			found = append(found, explain(name, err))
		}
	}
	return t, append(found, check(t)...)
}

// sample is a mail to try templates with. Its link has what has to be escaped.
func sample() Data {
	colours := pages.MailColours{Page: "#f6f7f9", Card: "#ffffff", Text: "#16181d", Muted: "#5b6270", Line: "#e3e6eb", Brand: "#3b5bdb", OnBrand: "#ffffff"}
	return Data{URL: "https://host.example/api/auth/callback/email?callbackUrl=https%3A%2F%2Fhost.example%2F&token=0123456789abcdef&email=a%40b.example",
		Code: "1234 5678", Host: "host.example", Site: "Site", Email: "a@b.example", Minutes: 10, Lifetime: "10 minutes", Language: "en", Device: "Firefox on Linux", Network: "203.0.113.0/24",
		BrandColor: colours.Brand, ButtonText: colours.OnBrand, Logo: "https://host.example/logo.png",
		Look: pages.MailLook{Logo: "https://host.example/logo.png", ColorScheme: "light dark", Colours: colours, Dark: &colours}}
}

// check fills the templates that there are.
func check(t Templates) (found Mistakes) {
	d := sample()
	if t.Subject != nil {
		s, err := fill(t.Subject, d)
		switch s = oneLine(s); {
		case err != nil:
			found = append(found, explain(t.Subject.Name(), err))
		case s == "" || len(s) > maxSubject:
			found = append(found, Mistake{t.Subject.Name(), fmt.Sprintf("makes a subject of %d bytes", len(s)), fmt.Sprintf("write 1 to %d, such as: Sign in to {{.Site}}", maxSubject)})
		}
	}
	if t.Text != nil {
		s, err := fill(t.Text, d)
		if err != nil {
			found = append(found, explain(t.Text.Name(), err))
		} else if !strings.Contains(s, d.URL) {
			found = append(found, Mistake{t.Text.Name(), "makes a mail without the link", "write {{.URL}} on a line of its own"})
		}
	}
	if t.HTML != nil {
		s, err := fill(t.HTML, d)
		if err != nil {
			found = append(found, explain(t.HTML.Name(), err))
		} else if !hasLink(s, d.URL) {
			found = append(found, Mistake{t.HTML.Name(), "makes a mail without the link", `write <a href="{{.URL}}">Sign in</a>`})
		}
	}
	return found
}

// hasLink reports whether a document of html/template, which drops comments, has a
// link to an address.
func hasLink(document, address string) bool {
	for _, m := range link.FindAllStringSubmatch(document, -1) {
		if html.UnescapeString(cmp.Or(m[1], m[2], m[3])) == address {
			return true
		}
	}
	return false
}

var (
	link         = lazyregexp.New(`(?i)<a\s(?:[^>]*\s)?href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))`)
	inTemplate   = lazyregexp.New(`^(?:html/)?template: ?(.+?:[0-9]+)(?::[0-9]+)?: ?(.*)$`)
	missingField = lazyregexp.New(`can't evaluate field ([A-Za-z0-9_]+) in type (mailtext\.Data|\*?pages\.)`)
	executing    = lazyregexp.New(`^executing "[^"]*" at <[^>]*>: `)
)

// explain says in the operator's words what package template found.
func explain(name string, err error) Mistake {
	var escape *htmltemplate.Error
	m := Mistake{File: name, Problem: err.Error(), Fix: "correct the template; its language is that of Go's text/template"}
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

// fields are what templates can use.
func fields() []string {
	var names []string
	for f := range reflect.TypeFor[Data]().Fields() {
		if f.Name != "Look" {
			names = append(names, "{{."+f.Name+"}}")
		}
	}
	return names
}
