package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
)

// sameCode compares two versions of a Go file without comments and string literals.
func sameCode(name string, old, now []byte) error {
	was, err := codeOf(name, old)
	if err != nil {
		return err
	}
	is, err := codeOf(name, now)
	if err != nil {
		return err
	}
	for i := range max(len(was), len(is)) {
		if i == len(was) || i == len(is) || was[i].text != is[i].text {
			line := 1
			if i < len(is) {
				line = is[i].line
			}
			return fmt.Errorf("%s:%d: the code differs", name, line)
		}
	}
	return nil
}

// A piece is one token of a file.
type piece struct {
	text string
	line int
}

// codeOf returns the tokens of a file. It drops comments except directives. All
// string literals count as equal, except import paths and field tags.
func codeOf(name string, source []byte) (all []piece, err error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	kept := map[int]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			kept[files.Position(n.Path.Pos()).Offset] = true
		case *ast.Field:
			if n.Tag != nil {
				kept[files.Position(n.Tag.Pos()).Offset] = true
			}
		}
		return true
	})
	var s scanner.Scanner
	file := token.NewFileSet().AddFile(name, -1, len(source))
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		pos, kind, literal := s.Scan()
		text := literal
		switch {
		case kind == token.EOF:
			return all, nil
		case kind == token.COMMENT:
			if text = directive(literal); text == "" {
				continue
			}
		case kind == token.SEMICOLON && literal == "\n":
			text = ";"
		case kind == token.STRING && !kept[file.Offset(pos)]:
			text = `""`
		case literal == "":
			text = kind.String()
		}
		all = append(all, piece{text, file.Line(pos)})
	}
}

// directive returns the part of a comment that tools obey, or "": the whole of a
// //go: line, or the linter names after //nolint and #nosec.
func directive(comment string) string {
	switch {
	case strings.HasPrefix(comment, "//go:"), strings.HasPrefix(comment, "//line "), strings.HasPrefix(comment, "// +build"), strings.Contains(comment, "Code generated"):
		return comment
	case strings.HasPrefix(comment, "//nolint"), strings.HasPrefix(comment, "//lint:"):
		word, _, _ := strings.Cut(comment, " ")
		return word
	case strings.HasPrefix(comment, "// #nosec"):
		word, _, _ := strings.Cut(comment, " --")
		return word
	}
	return ""
}
