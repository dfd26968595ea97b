package engine

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestErrorsPage checks that docs/errors.md lists every error code, reason, problem and
// exported Go error, each with a cause and a fix, and no others.
func TestErrorsPage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	words := append(typedConstants(t, "ErrorCode"), "Signin", string(plainErrorCode("?")))
	for _, word := range onPages {
		if !slices.Contains(words, string(word)) {
			t.Errorf("the word %s of pages is not among %v", word, words)
		}
	}
	for title, want := range map[string][]string{"Word": words, "Reason": typedConstants(t, "hint"),
		"Name": typedConstants(t, "problemName"), "Error": publicErrors(t)} {
		got := firstCells(t, string(raw), title)
		slices.Sort(want)
		if listed := slices.Sorted(maps.Keys(got)); !slices.Equal(listed, want) {
			t.Errorf("docs/errors.md, table %q\nhas  %v\nwant %v", title, listed, want)
		}
		for name, cells := range got {
			if title != "Error" && len(strings.TrimSpace(strings.Join(cells, ""))) < 20 || cells[0] == "" {
				t.Errorf("docs/errors.md: %s has no cause or no mend: %q", name, cells)
			}
		}
	}
	for name, p := range problems {
		if row := firstCells(t, string(raw), "Name")[string(name)]; len(row) < 3 || !strings.Contains(row[0], fmt.Sprint(p.status)) || p.text == "" || http.StatusText(p.status) == "" {
			t.Errorf("docs/errors.md: %s is %d, not %q", name, p.status, row)
		}
	}
	if len(problems) != len(typedConstants(t, "problemName")) {
		t.Errorf("%d problems for the names %v", len(problems), typedConstants(t, "problemName"))
	}
}

// firstCells reads the table whose first column has the given title. It maps the name in
// the first cell of each row to the other cells.
func firstCells(t *testing.T, page, title string) map[string][]string {
	t.Helper()
	_, table, found := strings.Cut(page, "| "+title+" |")
	if !found {
		t.Fatalf("docs/errors.md has no table %q", title)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`|]+)` \\|(.*)\\|$").FindAllStringSubmatch(table, -1) {
		if rows[m[1]] != nil {
			t.Errorf("docs/errors.md has %s twice", m[1])
		}
		for cell := range strings.SplitSeq(m[2], "|") {
			rows[m[1]] = append(rows[m[1]], strings.TrimSpace(cell))
		}
	}
	return rows
}

// typedConstants returns the values of the constants of type typ, from this package and
// package authsvc.
func typedConstants(t *testing.T, typ string) (values []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	words, err2 := filepath.Glob("../*.go")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Concat(files, words) {
		eachValue(t, file, token.CONST, func(v *ast.ValueSpec) {
			id, ok := v.Type.(*ast.Ident)
			if s, of := v.Type.(*ast.SelectorExpr); of {
				id, ok = s.Sel, true
			}
			if ok && id.Name == typ && len(v.Values) == 1 {
				if lit, ok := v.Values[0].(*ast.BasicLit); ok {
					values = append(values, strings.Trim(lit.Value, `"`))
				}
			}
		})
	}
	if len(values) < 3 {
		t.Errorf("constants of type %s: %v", typ, values)
	}
	return values
}

// publicErrors returns the names of the Err… variables in packages that programs import.
func publicErrors(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && path != ".." && (slices.Contains([]string{"internal", "node_modules", "testdata", "cmd", "bench", "e2e", "verify", "tools", "examples"}, d.Name()) || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		eachValue(t, path, token.VAR, func(v *ast.ValueSpec) {
			if name := v.Names[0].Name; strings.HasPrefix(name, "Err") {
				if dir := filepath.Base(filepath.Dir(path)); dir != ".." {
					name = dir + "." + name
				}
				names = append(names, name)
			}
		})
		return nil
	})
	if err != nil || len(names) < 15 {
		t.Fatalf("%v: %v", names, err)
	}
	return slices.DeleteFunc(names, func(name string) bool { // package authsvc has them, too
		short, of := strings.CutPrefix(name, "adapter.")
		return of && slices.Contains(names, short)
	})
}

// eachValue calls visit for each constant or variable that a file declares, depending on
// kind. It skips test files.
func eachValue(t *testing.T, file string, kind token.Token, visit func(*ast.ValueSpec)) {
	t.Helper()
	if strings.HasSuffix(file, "_test.go") {
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == kind {
			for _, s := range g.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					visit(v)
				}
			}
		}
	}
}
