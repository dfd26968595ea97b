package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

func TestSameCode(t *testing.T) {
	t.Parallel()
	const old = "package x\n\nimport \"os\"\n\n// A T is what is.\ntype T struct {\n\tA int `json:\"a\"` // what is counted\n}\n\nfunc f() string { return \"is no\" + os.Args[0] } //nolint:x // why\n"
	for name, c := range map[string]struct {
		from, to string
		same     bool
	}{
		"a comment":            {"A T is what is.", "T holds a count.", true},
		"a longer comment":     {"// A T is what is.\n", "// T\n//\n// holds.\n", true},
		"a comment less":       {" // what is counted", "", true},
		"a string":             {"is no", "is not a", true},
		"a reason":             {"// why\n", "// because\n", true},
		"a tag":                {`json:"a"`, `json:"b"`, false},
		"an import":            {`"os"`, `"io"`, false},
		"a name":               {"func f", "func g", false},
		"an operator":          {`" + os`, `" ; os`, false},
		"what is switched off": {"//nolint:x", "//nolint:y", false},
		"code":                 {"{ return", "{ os.Exit(1); return", false},
		"a directive":          {"func f", "//go:noinline\nfunc f", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(old, c.from) {
				t.Fatal("nothing to replace")
			}
			err := sameCode("x.go", []byte(old), []byte(strings.Replace(old, c.from, c.to, 1)))
			if (err == nil) != c.same {
				t.Errorf("%v, want the same: %t", err, c.same)
			}
		})
	}
}

func TestHabits(t *testing.T) {
	t.Parallel()
	const text = "package x\n\n// A token is what somebody\n// must send. Whoever has that of another goes on; it is no use, and is no longer; there is no other. What is left stays.\nvar x int\n"
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	r := rates{uses: make([]int, len(habits))}
	r.add(file)
	for i, h := range habits {
		if r.uses[i] != 1 {
			t.Errorf("%s: %d", h.name, r.uses[i])
		}
	}
	if r.words != 30 || ast.IsGenerated(file) {
		t.Errorf("%d words", r.words)
	}
}

// TestComments holds the comments of this module to the bounds.
func TestComments(t *testing.T) {
	t.Parallel()
	r, err := count(t.Context(), filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range habits {
		if rate := r.of(i); h.least && rate < h.wanted || !h.least && rate > h.wanted {
			t.Errorf("%s: %.2f per 1000 words of comments, want %.2f", h.name, rate, h.wanted)
		}
	}
	if r.words < 50_000 {
		t.Errorf("%d words", r.words)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"same", "--output=x"}, {"same", "a", "b"}, {"counts", "x"}, {"other"}} {
		if err := run(t.Context(), nil, args); err == nil || !strings.Contains(err.Error(), "usage") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
