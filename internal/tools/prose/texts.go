package main

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// writeTexts writes the string literals of all Go files of the repository to dir, for
// Vale: x/y.go becomes x/y.go.txt, and each text stands on the line of its literal.
func writeTexts(ctx context.Context, dir string) error {
	list, err := git(ctx, "ls-files", "-z", "*.go")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.Trim(string(list), "\x00"), "\x00") {
		source, err := os.ReadFile(name) // #nosec G304 -- a file of the repository
		if err != nil {
			return err
		}
		said, err := textsOf(name, source)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name+".txt")
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(to, []byte(said), 0o600); err != nil { // #nosec G703 -- dir is the caller's
			return err
		}
	}
	return nil
}

// textsOf returns the string literals of a Go file with more than one word. A sum of
// literals is one text.
func textsOf(name string, source []byte) (string, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(parsed) {
		return "", err
	}
	lines := make([]string, 1+strings.Count(string(source), "\n"))
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		case *ast.BinaryExpr, *ast.BasicLit:
			first := files.Position(n.Pos()).Line - 1
			text := sum(n.(ast.Expr))
			if text == "" {
				return true
			}
			for i, line := range strings.Split(text, "\n") {
				if strings.Contains(strings.TrimSpace(line), " ") {
					at := min(first+i, len(lines)-1)
					lines[at] = strings.TrimSpace(lines[at] + " " + strings.TrimSpace(line))
				}
			}
			return false
		}
		return true
	})
	return strings.Join(lines, "\n"), nil
}

// sum returns the text of a literal or of a sum, in which anything but a literal is "X".
// It returns "" if the sum has no literal.
func sum(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			if err == nil && e.Value[0] == '"' {
				text = strings.ReplaceAll(text, "\n", " ")
			}
			return text
		}
	case *ast.ParenExpr:
		return sum(e.X)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return ""
		}
		left, right := sum(e.X), sum(e.Y)
		switch {
		case left == "" && right == "":
			return ""
		case left == "":
			left = "X"
		case right == "":
			right = "X"
		}
		return left + right
	}
	return ""
}
