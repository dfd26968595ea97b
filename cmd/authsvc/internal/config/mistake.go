package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"authsvc"
	"authsvc/internal/text"
)

// A Mistake is one mistake in the configuration.
type Mistake struct {
	Place   string // file:line, also of a file that the configuration names; an environment variable; or a flag
	Key     string // such as session.max_age; may be empty
	Problem string
	Fix     string // what to do
	Excerpt string // lines that show the place in a text; empty: none

	with []string // other keys that the mistake depends on
}

// String returns the mistake on one line.
func (m Mistake) String() string {
	s := m.Problem
	if m.Key != "" {
		s = m.Key + " " + s
	}
	if m.Place != "" {
		s = m.Place + ": " + s
	}
	if m.Fix != "" {
		s += "; " + m.Fix
	}
	return s
}

// Text returns the mistake and its excerpt, on several lines.
func (m Mistake) Text() string {
	if m.Excerpt == "" {
		return m.String()
	}
	return m.String() + "\n" + m.Excerpt
}

// Mistakes holds all mistakes of a configuration, in the order of the file.
type Mistakes []Mistake

// maxMistakes limits how many mistakes are kept, because a file of another kind would
// have thousands.
const maxMistakes = 100

// Error returns all mistakes, on several lines.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i := range m {
		lines[i] = m[i].Text()
	}
	return strings.Join(lines, "\n")
}

// Add adds mistakes that were found later in the same settings, and sorts all of them
// in the order of the file. It omits mistakes that are about, or depend on, a value
// that could not be read.
func (s *Settings) Add(before, later Mistakes) Mistakes {
	all := slices.Clone(before)
	for _, m := range later {
		if !s.follows(m) && len(all) < maxMistakes {
			all = append(all, m)
		}
	}
	for _, m := range later {
		if m.Key != "" {
			s.unread[m.Key] = true
		}
	}
	slices.SortStableFunc(all, func(a, b Mistake) int { return cmp.Compare(a.line(), b.line()) })
	return all
}

// follows reports whether a mistake is about, or depends on, a value that is not known.
func (s *Settings) follows(m Mistake) bool {
	for unread := range s.unread {
		for _, key := range append([]string{m.Key}, m.with...) {
			of := strings.TrimPrefix(key, unread)
			if key == unread || of != key && (of[0] == '.' || of[0] == '[') {
				return true
			}
			if of := strings.TrimPrefix(unread, key); of != unread && ofList.FindString(of) == of { // an element of the list
				return true
			}
		}
	}
	return false
}

// line returns the line of the file. It returns 0 for other places, so that they sort
// first.
func (m Mistake) line() int {
	_, number, _ := strings.Cut(m.Place, ":")
	number, _, _ = strings.Cut(number, ":") // removes a column
	n, _ := strconv.Atoi(number)
	return n
}

// sources records where each key came from.
type sources struct {
	file      string            // "" without a file
	places    map[string]string // by key: file:line, variable or flag
	variables map[string]string // by key: the environment variable that can set it
	unread    map[string]bool   // keys whose value is not known because of a mistake
	lines     []string          // of the file
}

func (s sources) fileName() string {
	if s.file == "" {
		return "environment (there is no " + DefaultPath + ")"
	}
	return s.file
}

var lastSegment = text.LazyRegexp(`(\[\d+\]|\.[^.\[]*)$`)

// IsSet reports whether the file, a variable or a flag sets a key.
func (s *Settings) IsSet(key string) bool { return s.places[key] != "" }

// ForgetPlaces frees the memory of the places and the text of the file, which only
// mistakes need: 11 MB for 500 hosts with 50 rules each. Mistakes found later name the
// file alone.
func (s *Settings) ForgetPlaces() { s.sources = sources{file: s.file} }

// Explain adds the places to the mistakes that the engine found. It returns other
// errors unchanged.
func (s *Settings) Explain(err error) error {
	found := authsvc.ConfigErrors(err)
	if len(found) == 0 {
		return err
	}
	var list Mistakes
	for _, e := range found {
		problem, fix := s.remedy(e)
		m := s.Mistake(keyOf(e.Field), problem, fix)
		for _, field := range e.With {
			m.with = append(m.with, keyOf(field))
		}
		list = append(list, m)
	}
	return list
}

// Mistake returns a mistake about a key. Its place is the place of the key or of the
// nearest enclosing key.
func (s *Settings) Mistake(key, problem, fix string) Mistake {
	m := Mistake{Key: key, Problem: problem, Fix: fix}
	for at := key; at != ""; at = lastSegment.ReplaceAllString(at, "") {
		if m.Place = s.places[at]; m.Place != "" || !lastSegment.MatchString(at) {
			break
		}
	}
	variable := s.variables[key]
	switch {
	case s.places[key] != "" || variable == "":
	case s.file == "" || strings.HasPrefix(m.Place, "AUTHSVC_"):
		m.Place = variable
	default:
		m.Fix += " (or set " + variable + ")"
	}
	if m.Place == "" {
		m.Place = s.fileName()
	}
	return m
}

// quote returns an operator's text in quotes, shortened and on one line.
func quote(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(s, "�"))
}

// isTypo reports whether name is surely a typo of meant.
func isTypo(name, meant string) bool {
	plain := strings.NewReplacer("_", "", "-", "")
	name, meant = strings.ToLower(plain.Replace(name)), strings.ToLower(plain.Replace(meant))
	if meant == "" || len(name) > 60 {
		return false
	}
	d := text.Distance(name, meant)
	return d <= 1 || d == 2 && len(meant) >= 6
}

// Closest returns the element of names that most resembles name, or "" if none does.
func Closest(name string, names []string) string {
	if len(name) > 60 {
		return ""
	}
	best, least := "", len(name)/3+1
	for _, n := range names {
		if d := text.Distance(strings.ToLower(name), strings.ToLower(n)); d <= least && (best == "" || d < least) {
			best, least = n, d
		}
	}
	return best
}
