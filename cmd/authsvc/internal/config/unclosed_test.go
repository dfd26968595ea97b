package config

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestUnclosed checks that a quote, a bracket or a brace that is not closed is reported
// where it opens, and that its twin, which is closed, is not.
func TestUnclosed(t *testing.T) {
	t.Parallel()
	const after = "log: {format: text} # it's fine\n"
	for name, tt := range map[string]struct {
		file, closing string // closing makes the file valid: it replaces ^
		want          string
	}{
		"quote, first line":        {"url: \"https://a.example^\n" + "listen: 127.0.0.1:1\n", `"`, `F:1: is not YAML: the quote " in this line is not closed; close every quote`},
		"quote, second line":       {validFile + "listen: '127.0.0.1:1^\n" + "log: {format: text}\n", "'", "F:2: is not YAML: the quote ' in this line is not closed"},
		"quote, last line":         {validFile + "listen: \"127.0.0.1:1^", `"`, `F:2: is not YAML: the quote "`},
		"quote before another":     {"url: \"https://a.example^\nlisten: \"127.0.0.1:1\"\n" + after, `"`, `F:1: is not YAML: the quote "`},
		"quote that is escaped":    {"url: \"https://a.example\\\"^\n" + after, `"`, `F:1: is not YAML: the quote "`},
		"quote that is doubled":    {validFile + "secret: 'it''s^\n" + after, "'", "F:2: is not YAML: the quote '"},
		"quote in a list":          {validFile + "allowed_redirects:\n  - https://b.example\n  - \"https://c.example^\n" + after, `"`, `F:4: is not YAML: the quote "`},
		"quote in brackets":        {validFile + "allowed_redirects: [\n  \"https://b.example^,\n  https://c.example]\n", `"`, `F:3: is not YAML: the quote "`},
		"bracket, first line":      {"allowed_redirects: [https://b.example^\n" + validFile, "]", "F:1: is not YAML: the bracket [ in this line is not closed"},
		"bracket, second line":     {validFile + "allowed_redirects: [https://b.example, https://c.example^\n" + after, "]", "F:2: is not YAML: the bracket ["},
		"bracket in braces":        {validFile + "session: {max_age: 1h, store: [a^}\n", "]", "F:2: is not YAML: the bracket ["},
		"brace, first line":        {"log: {format: text^\n" + validFile, "}", "F:1: is not YAML: the brace { in this line is not closed"},
		"brace, second line":       {validFile + "log: {format: text^\nlisten: 127.0.0.1:1\n", "}", "F:2: is not YAML: the brace {"},
		"brace in a list":          {validFile + "providers:\n  - {id: github, client_id: a, client_secret: b}\n  - {id: gitlab, client_id: a, client_secret: b^\n" + after, "}", "F:4: is not YAML: the brace {"},
		"after a block of text":    {validFile + "secret: |\n  don't [\n  \"\nlog: {format: text^\n", "}", "F:5: is not YAML: the brace {"},
		"after marks in a comment": {validFile + "# don't [ {\nlog: {format: text^\n", "}", "F:3: is not YAML: the brace {"},
		"after marks in a text":    {validFile + "secret: don't[{\"x\nlog: {format: text^\n", "}", "F:3: is not YAML: the brace {"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open, closed := strings.Replace(tt.file, "^", "", 1), strings.Replace(tt.file, "^", tt.closing, 1)
			checkMistakes(t, map[string]mistakeCase{"open": {file: open, want: []string{tt.want}}})
			if err := yaml.Unmarshal([]byte(closed), new(yaml.Node)); err != nil {
				t.Errorf("%q: %v", closed, err)
			}
			if o := unclosed([]byte(closed)); o.line != 0 {
				t.Errorf("%q: %s, line %d", closed, o.describe(), o.line)
			}
		})
	}
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if o := unclosed(full); o.line != 0 {
		t.Errorf("full.yaml:%d: %s", o.line, o.describe())
	}
}

// TestUnclosedElsewhere checks files with another mistake: only what is not closed is
// reported, in its line.
func TestUnclosedElsewhere(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]int{
		"allowed_redirects: [${HOST}]\n":                 0,
		"a: [${X}, b]\nb: [c\n":                          2,
		"title: see\n  [the docs\nb: @x\n":               0,
		"title: it\n  'tis\nb: @x\n":                     0,
		"t: \"a \\\n  b\"\nb: @x\n":                      0,
		"- k: |\n    it's [\n  l: \"x\n":                 3,
		"k: |2\n  it's [\nb: @x\n":                       0,
		"k: >-\n\n  it's [\nb: @x\n":                     0,
		"k: # c\n  - [a, 'b''c']\nb: @x\n":               0,
		"? [a, b]\n: c\nb: @x\n":                         0,
		"k: !!str \"x\"\nb: @x\n":                        0,
		"k: &a |\n  it's [\nb: @x\n":                     0,
		"- - |\n    it's [\n- @x\n":                      0,
		"a: {'b':'x', \"c\":[d]}\nb: @x\n":               0,
		"a: b#[c\nb: @x\n":                               0,
		"url: http://[::1]:80/\nb: @x\n":                 0,
		"match: ^/(a|b)[0-9]{2}$\nb: @x\n":               0,
		"hosts:\n  - [a,\n     b]\n  - c\nb: @x\n":       0,
		"---\na: |\n it's [\n...\nb: @x\n":               0,
		"a: 'x\nb: it's\nc: z\n":                         1,
		"a: it\n  continues\nb:\n  - \"x\n  - y\nc: z\n": 4,
	} {
		if got := unclosed([]byte(file)); got.line != want {
			t.Errorf("%q: %c in line %d, want %d", file, got.mark, got.line, want)
		}
	}
}

// TestSyntaxLines checks the line of other mistakes that the YAML library reports.
func TestSyntaxLines(t *testing.T) {
	t.Parallel()
	checkMistakes(t, map[string]mistakeCase{
		"a quote inside quotes":        {file: validFile + "# 'a comment'\ntheme: {site_name: 'Acme's'}\n", want: []string{"F:3: is not YAML: did not find expected ',' or '}'"}},
		"the same in line 1":           {file: "theme: {site_name: 'Acme's'}\n" + validFile, want: []string{"F:1: is not YAML"}},
		"no space, line 1":             {file: "url:https://a.example\nlisten: 127.0.0.1:1\n", want: []string{"F:1: has no space after url:; write a space"}},
		"no space, in a list":          {file: validFile + "providers:\n  - id:github\n    client_id: a\n", want: []string{"F:3: has no space after id:"}},
		"a URL, not a key":             {file: validFile + "allowed_redirects:\n  - https://b.example\n"},
		"a mapping in place of a list": {file: validFile + "sign_in: {allow: {domains: [example.com]}}\n", want: []string{"F:2: sign_in.allow is a mapping, not a list; write a list, such as [{domains: [example.com]}]"}},
	})
}

func FuzzUnclosed(f *testing.F) {
	f.Add("a: [${X}, 'b''\n  - \"c\\\nd: |\n {")
	f.Fuzz(func(t *testing.T, file string) {
		if got := unclosed([]byte(file)); got.line < 0 || got.line > strings.Count(file, "\n")+1 {
			t.Errorf("line %d", got.line)
		}
	})
}
