package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"authsvc"
	"authsvc/internal/levenshtein"
)

// A Mistake is one thing that is wrong with the configuration.
type Mistake struct {
	Place   string // file:line, an environment variable or a flag
	Key     string // such as session.max_age; may be empty
	Problem string
	Fix     string // what to do
}

// String returns the mistake in one line.
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

// Mistakes are all the mistakes of a configuration, in the order of the file.
type Mistakes []Mistake

// maxMistakes is how many are kept; a file of another kind would have
// thousands.
const maxMistakes = 50

func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i := range m {
		lines[i] = m[i].String()
	}
	return strings.Join(lines, "\n")
}

// Merge adds mistakes that were found later in the same settings, and sorts all
// in the order of the file. It leaves out those that only follow from another
// one: they are about the same key, at the same place as one of m, or about
// providers while one of them could not be understood.
func (m Mistakes) Merge(later Mistakes) Mistakes {
	all := slices.Clone(m)
	for _, l := range later {
		follows := slices.ContainsFunc(m, func(e Mistake) bool {
			return e.Place == l.Place || strings.HasPrefix(e.subject(), "providers") && strings.HasPrefix(l.Key, "providers")
		}) || slices.ContainsFunc(all, func(e Mistake) bool { return e.Key == l.Key })
		if !follows && len(all) < maxMistakes {
			all = append(all, l)
		}
	}
	slices.SortStableFunc(all, func(a, b Mistake) int { return cmp.Compare(a.line(), b.line()) })
	return all
}

// line returns the line of the file; mistakes elsewhere come first.
func (m Mistake) line() int {
	_, number, _ := strings.Cut(m.Place, ":")
	n, _ := strconv.Atoi(number)
	return n
}

var unknownKey = regexp.MustCompile(`^key "([^"]*)"`)

// subject returns the key that a mistake concerns, known or not.
func (m Mistake) subject() string {
	if k := unknownKey.FindStringSubmatch(m.Problem); k != nil && m.Key == "" {
		return k[1]
	}
	return m.Key
}

// sources remember where each key came from.
type sources struct {
	file      string            // "" without one
	places    map[string]string // by key: file:line, variable or flag
	variables map[string]string // by key: the environment variable that could give it
}

func (s sources) fileName() string {
	if s.file == "" {
		return "environment (there is no " + DefaultPath + ")"
	}
	return s.file
}

var lastSegment = regexp.MustCompile(`(\[\d+\]|\.[^.\[]*)$`)

// Explain places the mistakes that the engine found. Other errors are
// returned as they are.
func (s *Settings) Explain(err error) error {
	found := authsvc.ConfigErrors(err)
	if len(found) == 0 {
		return err
	}
	var list Mistakes
	for _, e := range found {
		list = append(list, s.Mistake(keyOf(e.Field), inKeys(e.Problem), s.fix(e)))
	}
	return list
}

// Mistake makes a mistake at a key, placed at the key or at what is around it.
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

// quote returns what somebody wrote in quotes, shortened and on one line.
func quote(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(s, "�"))
}

// closest returns the element of names that looks most like name, "" if none
// does.
func closest(name string, names []string) string {
	if len(name) > 60 {
		return ""
	}
	best, least := "", len(name)/3+1
	for _, n := range names {
		if d := levenshtein.Distance(strings.ToLower(name), strings.ToLower(n)); d <= least && (best == "" || d < least) {
			best, least = n, d
		}
	}
	return best
}
