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
	Mend    string // what to do
}

// String is one line.
func (m Mistake) String() string {
	s := m.Problem
	if m.Key != "" {
		s = m.Key + " " + s
	}
	if m.Place != "" {
		s = m.Place + ": " + s
	}
	if m.Mend != "" {
		s += "; " + m.Mend
	}
	return s
}

// Mistakes are all that were found, in the order of the file.
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

// And adds what was found later, of settings that have the mistakes m already,
// and puts all in the order of the file. What only follows from another one is
// left out: it is about the same key, at the same place as one of m, or about
// providers while one of them could not be understood.
func (m Mistakes) And(later Mistakes) Mistakes {
	all := slices.Clone(m)
	for _, l := range later {
		follows := slices.ContainsFunc(m, func(e Mistake) bool {
			return e.Place == l.Place || strings.HasPrefix(e.about(), "providers") && strings.HasPrefix(l.Key, "providers")
		}) || slices.ContainsFunc(all, func(e Mistake) bool { return e.Key == l.Key })
		if !follows && len(all) < maxMistakes {
			all = append(all, l)
		}
	}
	slices.SortStableFunc(all, func(a, b Mistake) int { return cmp.Compare(a.line(), b.line()) })
	return all
}

// line is the line of the file; mistakes elsewhere come first.
func (m Mistake) line() int {
	_, number, _ := strings.Cut(m.Place, ":")
	n, _ := strconv.Atoi(number)
	return n
}

var unknownKey = regexp.MustCompile(`^key "([^"]*)"`)

// about is the key that a mistake concerns, known or not.
func (m Mistake) about() string {
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

func (s sources) name() string {
	if s.file == "" {
		return "environment (there is no " + DefaultPath + ")"
	}
	return s.file
}

var index = regexp.MustCompile(`(\[\d+\]|\.[^.\[]*)$`)

// Explain places the mistakes that the engine found. Other errors are
// returned as they are.
func (s *Settings) Explain(err error) error {
	found := authsvc.ConfigErrors(err)
	if len(found) == 0 {
		return err
	}
	var list Mistakes
	for _, e := range found {
		list = append(list, s.Mistake(e.Key, e.Problem, e.Fix))
	}
	return list
}

// Mistake makes a mistake at a key, placed at the key or at what is around it.
func (s *Settings) Mistake(key, problem, mend string) Mistake {
	key = s.byIndex(key)
	m := Mistake{Key: key, Problem: problem, Mend: mend}
	for at := key; at != ""; at = index.ReplaceAllString(at, "") {
		if m.Place = s.places[at]; m.Place != "" || !index.MatchString(at) {
			break
		}
	}
	variable := s.variables[key]
	switch {
	case s.places[key] != "" || variable == "":
	case s.file == "" || strings.HasPrefix(m.Place, "AUTHSVC_"):
		m.Place = variable
	default:
		m.Mend += " (or set " + variable + ")"
	}
	if m.Place == "" {
		m.Place = s.name()
	}
	return m
}

// byIndex turns providers.ID into providers[N], which is how places are kept.
func (s *Settings) byIndex(key string) string {
	rest, ok := strings.CutPrefix(key, "providers.")
	if !ok {
		return key
	}
	id, rest, deeper := strings.Cut(rest, ".")
	for i, p := range s.Engine.Providers {
		if ProviderID(p) != id {
			continue
		}
		key = fmt.Sprintf("providers[%d]", i)
		if deeper {
			key += "." + rest
		}
		break
	}
	return key
}

// printable quotes what somebody wrote, shortened and on one line.
func printable(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(s, "�"))
}

// nearest returns the one of names that looks most like name, "" if none does.
func nearest(name string, names []string) string {
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
