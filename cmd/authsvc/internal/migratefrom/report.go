// Package migratefrom reads the folder of an application that uses NextAuth.js, and
// proposes a configuration of authsvc. It has no engine for JavaScript: it reads the
// literals, names and calls that configurations consist of, and reports every part that
// it does not understand. It executes nothing and writes nothing.
package migratefrom

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"authsvc/internal/text/plainlog"
)

// A Verdict says what a finding asks of the reader.
type Verdict string

// The verdicts.
const (
	OK   Verdict = "ok"   // the proposal has it
	Note Verdict = "note" // to read; nothing is left out
	Open Verdict = "open" // the reader must decide: it has no counterpart, or is not understood
)

// A Finding is a line of the report.
type Finding struct {
	Verdict Verdict
	Part    string // such as "provider github"
	Text    string
	Place   string // file:line in the application's folder, or ""
}

// String returns the finding on one line, without control characters.
func (f Finding) String() string {
	text := fmt.Sprintf("%-5s %s: %s", f.Verdict, f.Part, f.Text)
	if f.Place != "" {
		text += " (" + f.Place + ")"
	}
	return plainlog.Text(text)
}

// A Variable is an environment variable that the proposal names.
type Variable struct {
	Name  string
	Files []string // the .env files of the application that set it
	Use   string   // a description of its value
}

// A Report describes an application, and proposes a configuration.
type Report struct {
	Findings  []Finding
	Variables []Variable
	Config    []byte // the proposed authsvc.yaml
	BasePath  string // such as /api/auth
	Compat    string // next-auth-v4 or authjs-v5
	Storage   Storage
	Exposed   []string // names in session.expose

	seen map[any]bool // findings and names of variables
}

// once reports whether it is the first call with a finding or a name.
func (r *Report) once(v any) bool {
	if r.seen == nil {
		r.seen = map[any]bool{}
	}
	before := r.seen[v]
	r.seen[v] = true
	return !before
}

// Storage says where the application keeps its records.
type Storage struct {
	// Variable is the environment variable with the URL, and File the .env file that
	// sets it; both may be empty.
	Variable, File string
	// URL is the URL in that file. It may contain a password, and is not part of the
	// findings or the proposal.
	URL string
	// Tables and Columns rename tables and columns of the preset: User, User.email.
	// Tables is nil if the adapter is not known.
	Tables, Columns map[string]string
	Preset          string // storage.naming; "" is prisma
	// UserColumns lists the columns that GET session shows.
	UserColumns []string
}

// Undecided reports whether a finding asks the reader to decide.
func (r *Report) Undecided() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Verdict == Open })
}

// add records a finding about a node.
func (r *Report) add(v Verdict, part string, at node, format string, args ...any) {
	r.addAt(v, part, placeOf(at), format, args...)
}

// placeOf returns file:line of a node, or "" if it is in no file.
func placeOf(n node) string {
	if n.in == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", n.in.file, n.line)
}

func (r *Report) addAt(v Verdict, part, place, format string, args ...any) {
	f := Finding{v, part, fmt.Sprintf(format, args...), place}
	if r.once(f) {
		r.Findings = append(r.Findings, f)
	}
}

// EnvFile returns the .env file that sets the most of the variables, or "". Examples do
// not count.
func (r *Report) EnvFile() (file string) {
	count := map[string]int{}
	for _, v := range r.Variables {
		for _, name := range v.Files {
			example := slices.ContainsFunc([]string{"example", "sample", "template", "dist"}, func(word string) bool { return strings.Contains(path.Base(name), word) })
			if count[name]++; !example && (count[name] > count[file] || count[name] == count[file] && name < file) {
				file = name
			}
		}
	}
	return file
}

// use records that the proposal names a variable, and returns the reference.
func (r *Report) use(name, use string) string {
	if r.once(name) {
		r.Variables = append(r.Variables, Variable{Name: name, Use: use})
	}
	return "${" + name + "}"
}

// listed joins names for a sentence.
func listed(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
