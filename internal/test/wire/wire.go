// Package wire runs transcripts of the HTTP interface: requests and the exact answers
// to them. The same files test the embedded handler and the binary. For the format,
// see testdata/wire/README.md.
package wire

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A Transport sends one request to the service under test.
type Transport func(*http.Request) (*http.Response, error)

// A World is the environment of a transcript.
type World struct {
	Origin string // of the service, such as http://localhost:3000
	Send   Transport
	Vars   map[string]string // known at the start
	// Lenient plays a transcript written for another configuration. Differences are
	// not reported, and steps that need an unknown value are skipped.
	Lenient bool
	// Do runs a line that starts with "~": a command and its arguments. Its result is
	// stored under the name after "=".
	Do func(args []string) (string, error)
}

// Run plays a transcript and reports every difference.
func Run(t *testing.T, w World, transcript string) {
	t.Helper()
	p := &player{World: w, t: t, vars: maps.Clone(w.Vars), jars: map[string]map[string]string{}, browser: "somebody"}
	if p.vars == nil {
		p.vars = map[string]string{}
	}
	for _, s := range parse(t, transcript) {
		p.play(s)
	}
}

// A step is one exchange, one command or one change of browser.
type step struct {
	line    int
	command string
	browser string
	request []string
	answer  []string
}

// parse splits a transcript into steps.
func parse(t *testing.T, text string) []step {
	t.Helper()
	var steps []step
	var cur *step
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "@"):
			steps = append(steps, step{line: n, browser: strings.TrimSpace(line[1:])})
			cur = nil
		case strings.HasPrefix(line, "~ "):
			steps = append(steps, step{line: n, command: line[2:]})
			cur = nil
		case strings.HasPrefix(line, ">"):
			if cur == nil || len(cur.answer) > 0 {
				steps = append(steps, step{line: n})
				cur = &steps[len(steps)-1]
			}
			cur.request = append(cur.request, strings.TrimPrefix(strings.TrimPrefix(line, ">"), " "))
		case strings.HasPrefix(line, "<") && cur != nil:
			cur.answer = append(cur.answer, strings.TrimPrefix(strings.TrimPrefix(line, "<"), " "))
		default:
			t.Fatalf("line %d: %q is neither a request, an answer, a command nor a comment", n, line)
		}
	}
	return steps
}

type player struct {
	World
	t       *testing.T
	vars    map[string]string
	jars    map[string]map[string]string
	browser string
	lacking bool // lenient only: the step needs an unknown value
}

// differs reports a difference.
func (p *player) differs(format string, args ...any) {
	p.t.Helper()
	if !p.Lenient {
		p.t.Errorf(format, args...)
	}
}

func (p *player) play(s step) {
	p.t.Helper()
	switch {
	case s.browser != "":
		p.browser = s.browser
	case s.command != "":
		p.command(s)
	default:
		p.exchange(s)
	}
}

// command runs "name arg … = variable".
func (p *player) command(s step) {
	p.t.Helper()
	call, name, _ := strings.Cut(s.command, " = ")
	args := strings.Fields(call)
	for i := range args {
		args[i] = p.fill(s, args[i])
	}
	if p.lacks() {
		return
	}
	got, err := p.Do(args)
	if p.Lenient && err != nil {
		return
	}
	if err != nil {
		p.t.Fatalf("line %d: %s: %v", s.line, s.command, err)
	}
	if name != "" {
		p.vars[strings.TrimSpace(name)] = got
	}
}

var variable = regexp.MustCompile(`\{([a-zA-Z][a-zA-Z0-9-]*)\}`)

// fill replaces each {name} with its known value.
func (p *player) fill(s step, text string) string {
	p.t.Helper()
	return variable.ReplaceAllStringFunc(text, func(m string) string {
		v, ok := p.vars[m[1:len(m)-1]]
		if !ok && p.Lenient {
			p.lacking = true
			return ""
		}
		if !ok {
			p.t.Fatalf("line %d: %s is not known here", s.line, m)
		}
		return v
	})
}

// lacks reports, once, whether the step cannot be played.
func (p *player) lacks() (lacking bool) {
	lacking, p.lacking = p.lacking, false
	return lacking
}

func (p *player) exchange(s step) {
	p.t.Helper()
	r := p.request(s)
	if p.lacks() {
		return
	}
	res, err := p.Send(r)
	if err != nil {
		p.t.Fatalf("line %d: %s: %v", s.line, s.request[0], err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatalf("line %d: %s: %v", s.line, s.request[0], err)
	}
	p.remember(res)
	p.compare(s, res, string(body))
}

// request builds the request of a step.
func (p *player) request(s step) *http.Request {
	p.t.Helper()
	lines := make([]string, len(s.request))
	for i, line := range s.request {
		lines[i] = p.fill(s, line)
	}
	method, target, _ := strings.Cut(lines[0], " ")
	header, body := lines[1:], ""
	if i := slices.Index(header, ""); i >= 0 {
		body = strings.Join(header[i+1:], "\n")
		header = header[:i]
	}
	target = strings.TrimPrefix(target, p.Origin)
	u, err := url.Parse(p.Origin)
	if err != nil {
		p.t.Fatal(err)
	}
	u.Opaque = "//" + u.Host + target
	if parsed, err := url.Parse(p.Origin + target); err == nil {
		u = parsed
	}
	r, err := http.NewRequestWithContext(p.t.Context(), method, u.String(), strings.NewReader(body))
	if err != nil {
		p.t.Fatalf("line %d: %v", s.line, err)
	}
	r.URL = u
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	for _, line := range header {
		name, v, _ := strings.Cut(line, ": ")
		switch {
		case name == "Host":
			r.Host = v
		case v == "":
			r.Header.Del(name)
		default:
			r.Header.Add(name, v)
			if name == "Content-Type" {
				r.Header.Set(name, v)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.jars[p.browser])) {
		r.AddCookie(&http.Cookie{Name: name, Value: p.jars[p.browser][name]})
	}
	return r
}

// remember stores cookies as a browser does.
func (p *player) remember(res *http.Response) {
	jar := p.jars[p.browser]
	if jar == nil {
		jar = map[string]string{}
		p.jars[p.browser] = jar
	}
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 || c.Value == "" {
			delete(jar, c.Name)
		} else {
			jar[c.Name] = c.Value
		}
	}
}

// usual holds the headers that every answer has. A transcript may list them; it must
// list all others.
var usual = map[string]string{
	"Cache-Control": "private, no-cache, no-store", "Pragma": "no-cache", "Expires": "0",
	"X-Content-Type-Options": "nosniff", "Referrer-Policy": "*", "Cross-Origin-Resource-Policy": "same-origin",
	"Content-Security-Policy": "*", "X-Frame-Options": "DENY", "Vary": "*",
	"Cross-Origin-Opener-Policy": "same-origin", "Permissions-Policy": "*",
	"Date": "*", "Content-Length": "*", "Connection": "*",
}

func (p *player) compare(s step, res *http.Response, body string) {
	p.t.Helper()
	if len(s.answer) == 0 {
		return
	}
	want := s.answer
	var wantBody []string
	hasBody := false
	if i := slices.Index(want, ""); i >= 0 {
		want, wantBody, hasBody = want[:i], want[i+1:], true
	}
	if got := fmt.Sprint(res.StatusCode); got != want[0] {
		p.differs("line %d: %s\nstatus %s, want %s\nLocation: %s\n%.600s", s.line, s.request[0], got, want[0], res.Header.Get("Location"), body)
	}
	p.compareHeaders(s, res.Header, want[1:])
	if hasBody {
		p.compareBody(s, body, wantBody)
	}
}

func (p *player) compareHeaders(s step, got http.Header, want []string) {
	p.t.Helper()
	var lines []string
	for name, values := range got {
		for _, v := range values {
			u, known := usual[name]
			listed := slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(w, name+": ") })
			if !listed && known && (u == "*" || u == v) {
				continue
			}
			lines = append(lines, name+": "+v)
		}
	}
	for _, w := range want {
		i := slices.IndexFunc(lines, func(l string) bool { return p.matches(w, l) })
		if i < 0 {
			p.differs("line %d: %s\nmissing  %s\nanswer has\n  %s", s.line, s.request[0], p.partly(w), strings.Join(lines, "\n  "))
			continue
		}
		lines = slices.Delete(lines, i, i+1)
	}
	for _, l := range lines {
		p.differs("line %d: %s\nunlisted %s", s.line, s.request[0], l)
	}
}

// compareBody compares the whole body. For a line that starts with "…", the body only
// needs to contain the rest of the line.
func (p *player) compareBody(s step, body string, want []string) {
	p.t.Helper()
	if len(want) > 0 && !strings.HasPrefix(want[0], "…") {
		if w := strings.Join(want, "\n"); !p.matches(w, strings.TrimSuffix(body, "\n")) {
			p.differs("line %d: %s\nbody %s\nwant %s", s.line, s.request[0], body, p.partly(w))
		}
		return
	}
	for _, line := range want {
		if w := strings.TrimSpace(strings.TrimPrefix(line, "…")); !p.contains(w, body) {
			p.differs("line %d: %s\nbody lacks %s\n%s", s.line, s.request[0], p.partly(w), body)
		}
	}
	if len(want) == 0 && body != "" {
		p.differs("line %d: %s\nbody %.300s, want none", s.line, s.request[0], body)
	}
}

// matches compares text with a pattern. {name} stands for the value known under that
// name, or learns it.
func (p *player) matches(pattern, text string) bool {
	return p.match("^(?s)"+p.expression(pattern)+"$", pattern, text)
}

func (p *player) contains(pattern, text string) bool {
	return p.match("(?s)"+p.expression(pattern), pattern, text)
}

func (p *player) match(expression, pattern, text string) bool {
	m := regexp.MustCompile(expression).FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for i, name := range p.unknown(pattern) {
		p.vars[name] = m[i+1]
	}
	return true
}

func (p *player) unknown(pattern string) (names []string) {
	for _, m := range variable.FindAllStringSubmatch(pattern, -1) {
		if _, ok := p.vars[m[1]]; !ok && m[1] != "any" && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

func (p *player) expression(pattern string) string {
	var b bytes.Buffer
	seen := map[string]bool{}
	rest := pattern
	for {
		loc := variable.FindStringSubmatchIndex(rest)
		if loc == nil {
			b.WriteString(regexp.QuoteMeta(rest))
			return b.String()
		}
		b.WriteString(regexp.QuoteMeta(rest[:loc[0]]))
		name := rest[loc[2]:loc[3]]
		v, known := p.vars[name]
		switch {
		case known:
			b.WriteString(regexp.QuoteMeta(v))
		case name == "any" || seen[name]:
			b.WriteString(`[^;"<>\s]+`)
		default:
			seen[name] = true
			b.WriteString(`([^;"<>\s]+)`)
		}
		rest = rest[loc[1]:]
	}
}

// partly fills in the known values, for messages.
func (p *player) partly(text string) string {
	return variable.ReplaceAllStringFunc(text, func(m string) string {
		if v, ok := p.vars[m[1:len(m)-1]]; ok {
			return v
		}
		return m
	})
}
