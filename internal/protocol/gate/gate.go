// Package gate decides which requests to other programs pass. It knows hosts, the rules
// for their paths, and every way in which servers may read a path.
package gate

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"authsvc/internal/protocol/weburl"
)

// A Host is an origin behind the gate.
type Host struct {
	Origin  string // https://one.example, or https://*.example.com for every name one label below
	Default Allow  // if no rule matches
	Rules   []Rule
}

// A Rule says who may make the requests that a pattern matches.
type Rule struct {
	Match string // as in net/http.ServeMux, without a host
	Allow Allow
}

// Limits of a table.
const (
	MaxHosts = 500
	MaxRules = 200 // of one host
)

// A Problem is a mistake in a table. Field is its place, such as
// Hosts[0].Rules[1].Match.
type Problem struct{ Field, Problem, Fix string }

// A Table finds hosts by Host header.
type Table struct {
	hosts map[string]*Site // by Host header
	below map[string]*Site // of wildcards, by the Host header without its first label
}

// A Site is a compiled host.
type Site struct {
	Origin   string // as configured, in canonical spelling
	position int    // of the host
	wildcard bool
	host     *Host
	*index
}

// An index finds the rules that match. Hosts with the same patterns share it.
type index struct {
	rules  []rule // more specific rules come first
	exact  firsts
	folded firsts // empty if no rule has capital letters
}

type rule struct {
	*pattern
	number int // in Host.Rules
}

// firsts holds the numbers of rules by their first segment, in ascending order.
type firsts struct {
	literal map[string][]int
	others  []int // that begin with a wildcard
}

// Compile makes a table of hosts, and returns all mistakes in them.
func Compile(hosts []Host) (*Table, []Problem) {
	t := &Table{hosts: map[string]*Site{}, below: map[string]*Site{}}
	var problems []Problem
	note := func(field, problem, fix string) { problems = append(problems, Problem{field, problem, fix}) }
	if len(hosts) > MaxHosts {
		note("Hosts", fmt.Sprintf("has %d hosts", len(hosts)),
			fmt.Sprintf("write at most %d; hosts with the same rules can share one entry, such as https://*.apps.example.com", MaxHosts))
	}
	shared := map[string]*index{} // by the patterns
	for i := range hosts {
		at, patterns := fmt.Sprintf("Hosts[%d]", i), patternsOf(&hosts[i])
		s := &Site{position: i, host: &hosts[i], index: shared[patterns]}
		if s.index == nil {
			before := len(problems)
			if s.index = compileRules(&hosts[i], at, note); len(problems) == before { // otherwise the other hosts have the same mistakes
				shared[patterns] = s.index
			}
		}
		t.add(s, hosts[i].Origin, at+".Origin", note)
	}
	return t, problems
}

// add registers a host under its names.
func (t *Table) add(s *Site, origin, field string, note func(field, problem, fix string)) {
	scheme, host, _ := strings.Cut(origin, "://")
	host, s.wildcard = strings.CutPrefix(host, "*.")
	clean, ok := weburl.ExactOrigin(scheme + "://" + host)
	scheme, host, _ = strings.Cut(clean, "://")
	if !ok || s.wildcard && !strings.Contains(host, ".") {
		note(field, fmt.Sprintf("%.80q is not an origin", origin), "write scheme, host and port only, such as https://app.example.com, or https://*.apps.example.com for every direct subdomain")
		return
	}
	into, star := t.hosts, ""
	if s.wildcard {
		into, star = t.below, "*."
	}
	s.Origin = scheme + "://" + star + host
	names := []string{host}
	if port := map[string]string{"https": ":443", "http": ":80"}[scheme]; !strings.Contains(host[strings.LastIndexByte(host, ']')+1:], ":") {
		names = append(names, host+port)
	}
	for _, name := range names {
		if other := into[name]; other != nil {
			note(field, fmt.Sprintf("%.80q has the same host as Hosts[%d]", origin, other.position), "keep one entry per host; requests do not say which scheme they used")
			return
		}
		into[name] = s
	}
}

// patternsOf returns a text that is equal for hosts with the same patterns.
func patternsOf(h *Host) string {
	var b strings.Builder
	for i := range h.Rules {
		fmt.Fprintf(&b, "%d:%s", len(h.Rules[i].Match), h.Rules[i].Match)
	}
	return b.String()
}

func compileRules(h *Host, at string, note func(field, problem, fix string)) *index {
	s := &index{}
	before := firsts{literal: map[string][]int{}} // in the order of Rules, ignoring case
	if len(h.Rules) > MaxRules {
		note(at+".Rules", fmt.Sprintf("has %d rules", len(h.Rules)), fmt.Sprintf("write at most %d", MaxRules))
		return s
	}
	for i := range h.Rules {
		field := fmt.Sprintf("%s.Rules[%d].Match", at, i)
		p, err := parsePattern(h.Rules[i].Match)
		if err != nil {
			note(field, fmt.Sprintf("%.80q %v", h.Rules[i].Match, err), "write a pattern such as /admin/, GET /public/ or /users/{id}")
			continue
		}
		first := p.segments[0].folded
		if j, clash := s.clash(p, before.near(first)); clash {
			note(field, fmt.Sprintf("%.80q and %.80q match the same paths, or overlap and neither is more specific", p.text, s.rules[j].text),
				"change one of the two; the more specific pattern wins, and paths that differ only in case are the same")
		}
		before.add(len(s.rules), first)
		s.rules = append(s.rules, rule{p, i})
	}
	slices.SortStableFunc(s.rules, func(a, b rule) int { return b.rank() - a.rank() })
	s.sortByFirst()
	return s
}

// clash returns the first of the numbered rules that clashes with p.
func (s *index) clash(p *pattern, numbers iter.Seq[int]) (first int, clash bool) {
	for j := range numbers {
		if (!clash || j < first) && p.clashes(s.rules[j].pattern) {
			first, clash = j, true
		}
	}
	return first, clash
}

// sortByFirst indexes the rules by their first segments.
func (s *index) sortByFirst() {
	s.exact.literal, s.folded.literal = map[string][]int{}, map[string][]int{}
	folds := slices.ContainsFunc(s.rules, func(r rule) bool {
		return slices.ContainsFunc(r.segments, func(g segment) bool { return g.literal != g.folded })
	})
	for i, r := range s.rules {
		first := r.segments[0]
		s.exact.add(i, first.literal)
		if folds {
			s.folded.add(i, first.folded)
		}
	}
}

func (f *firsts) add(i int, literal string) {
	if literal == "" {
		f.others = append(f.others, i)
		return
	}
	f.literal[literal] = append(f.literal[literal], i)
}

// near returns the rules that may match a path beginning with a literal, or all rules
// if literal is empty.
func (f *firsts) near(literal string) iter.Seq[int] {
	return func(yield func(int) bool) {
		lists := [][]int{f.others, f.literal[literal]}
		if literal == "" {
			lists = slices.AppendSeq(lists, maps.Values(f.literal))
		}
		for _, list := range lists {
			for _, i := range list {
				if !yield(i) {
					return
				}
			}
		}
	}
}

// Find returns the host that a Host header names, and its origin. If no such host is
// configured, it returns nil.
func (t *Table) Find(host string) (s *Site, origin string) {
	if t == nil {
		return nil, ""
	}
	host = lower(host)
	if s := t.hosts[host]; s != nil {
		return s, s.Origin
	}
	label, parent, ok := strings.Cut(host, ".")
	s = t.below[parent]
	if !ok || s == nil || !isLabel(label) {
		return nil, ""
	}
	return s, strings.Replace(s.Origin, "*", label, 1)
}

// Index returns the number of the host in the list passed to Compile.
func (s *Site) Index() int { return s.position }

// Has reports whether an origin, in canonical spelling, belongs to a host.
func (t *Table) Has(origin string) bool {
	_, host, _ := strings.Cut(origin, "://")
	s, own := t.Find(host)
	return s != nil && own == origin
}

// isLabel reports whether s is a lower-case label of a host name (RFC 1123 section
// 2.1).
func isLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') })
}

// rulesOf returns the rules for all readings of a target with the given methods, each
// once. It returns false if the target cannot be judged.
func (s *Site) rulesOf(target string, methods []string, room []*Allow) ([]*Allow, bool) {
	path, ok := pathOf(target)
	if !ok {
		return nil, false
	}
	var paths [maxReadings + 8]string
	all, ok := readings(path, paths[:0])
	if !ok {
		return nil, false
	}
	list := room[:0]
	var parts [32]string
	for _, reading := range all {
		for _, method := range methods {
			list = s.rulesFor(list, method, reading, parts[:0])
		}
	}
	return list, true
}

// rulesFor adds the rules for one reading.
func (s *Site) rulesFor(list []*Allow, method, reading string, room []string) []*Allow {
	list = s.ask(list, &s.exact, method, reading, room, false)
	if len(s.folded.others)+len(s.folded.literal) > 0 && lowerPath(reading) == reading {
		list = s.ask(list, &s.folded, method, reading, room, true)
	}
	return list
}

// ask adds the rules for a reading as it is, and for the same path with its final slash
// added or removed. If a rule matches the path as it is but not the other form, a wider
// rule for the other form is ignored. Otherwise, a host with a closed default could
// only open whole subtrees.
func (s *Site) ask(list []*Allow, f *firsts, method, reading string, room []string, fold bool) []*Allow {
	segments := segmentsOf(reading, room)
	i := s.find(f, method, segments, fold)
	j := s.find(f, method, otherEnd(segments), fold)
	list = appendOnce(list, s.allow(i))
	if i != j && i < len(s.rules) && (j == len(s.rules) || s.rules[i].compare(s.rules[j].pattern, fold) == within) {
		return list
	}
	return appendOnce(list, s.allow(j))
}

func appendOnce(list []*Allow, a *Allow) []*Allow {
	if slices.Contains(list, a) {
		return list
	}
	return append(list, a)
}

// allow returns the Allow of rule i, or the default if i is the number of rules.
func (s *Site) allow(i int) *Allow {
	if i == len(s.rules) {
		return &s.host.Default
	}
	return &s.host.Rules[s.rules[i].number].Allow
}

// find returns the most specific rule that matches, or the number of rules if none
// does.
func (s *index) find(f *firsts, method string, path []string, fold bool) int {
	best := len(s.rules)
	for _, numbers := range [2][]int{f.literal[path[0]], f.others} {
		for _, i := range numbers {
			if i >= best {
				break
			}
			if s.rules[i].matches(method, path, fold) {
				best = i
				break
			}
		}
	}
	return best
}
