package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A habit is a phrase that English documentation hardly uses. wanted is its upper bound
// per 1000 words of comments, or its lower bound if least is set. Matches of except do
// not count.
type habit struct {
	name   string
	match  *regexp.Regexp
	except *regexp.Regexp
	wanted float64
	least  bool
}

// matches returns the number of uses in a text.
func (h habit) matches(text string) (n int) {
	for _, use := range h.match.FindAllString(text, -1) {
		if h.except == nil || !h.except.MatchString(use) {
			n++
		}
	}
	return n
}

var habits = []habit{
	{"is what, are what", regexp.MustCompile(`(?i)\b(is|are) what\b`), nil, 0.2, false},
	{"a clause that begins with what", regexp.MustCompile(`(?:^|[.;:] )What (is|has|they|it|was|does|a|the|others|other)\b|; what (is|has|they|it)\b`), nil, 0.2, false},
	{"those of, that of, that, which", regexp.MustCompile(`(?i)\b(those of|that of|that, which)\b`), nil, 0.5, false},
	{"somebody, anybody, nobody, everybody", regexp.MustCompile(`(?i)\b(some|any|no|every)body\b`), nil, 0.4, false},
	{"is no", regexp.MustCompile(`(?i)(\bthere )?\b(is|are) no \w+`), regexp.MustCompile(`(?i)^there|no (longer|more|such|less)$`), 0.3, false},
	{"goes on", regexp.MustCompile(`(?i)\b(goes|go|going|went) on\b`), nil, 0.05, false},
	{"whoever", regexp.MustCompile(`(?i)\bwhoever\b`), nil, 0.05, false},
	{"must", regexp.MustCompile(`(?i)\bmust\b`), nil, 1.5, true},
}

// rates holds the uses of each habit per 1000 words.
type rates struct {
	words int
	uses  []int
}

func (r rates) of(i int) float64 { return 1000 * float64(r.uses[i]) / float64(max(1, r.words)) }

func (r rates) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-40s %8s %8s\n", fmt.Sprintf("per 1000 of %d words of comments", r.words), "is", "wanted")
	for i, h := range habits {
		bound := "≤"
		if h.least {
			bound = "≥"
		}
		fmt.Fprintf(&b, "%-40s %8.2f %6s %.2f\n", h.name, r.of(i), bound, h.wanted)
	}
	return b.String()
}

// count reads the comments of all Go files of the repository at dir except tests.
func count(ctx context.Context, dir string) (r rates, err error) {
	list, err := git(ctx, "-C", dir, "ls-files", "-z", "*.go")
	if err != nil {
		return r, err
	}
	r.uses = make([]int, len(habits))
	for name := range strings.SplitSeq(strings.Trim(string(list), "\x00"), "\x00") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(dir, name)) // #nosec G304 -- a file of the repository
		if err != nil {
			return r, err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return r, err
		}
		if !ast.IsGenerated(parsed) {
			r.add(parsed)
		}
	}
	return r, nil
}

func (r *rates) add(file *ast.File) {
	for _, group := range file.Comments {
		text := strings.Join(strings.Fields(group.Text()), " ")
		r.words += len(strings.Fields(text))
		for i, h := range habits {
			r.uses[i] += h.matches(text)
		}
	}
}
