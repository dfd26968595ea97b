package main

import (
	"fmt"
	"os"
	"strings"
)

const runOf = 6 // lines; fewer are a coincidence

// repeated counts the runs of six lines and more that the product has twice.
// Blank lines, comments, imports and lone punctuation do not count as lines.
func (t *tree) repeated() []figure {
	type place struct{ file, line int }
	var text [][]string
	seen := map[string][]place{}
	for _, p := range t.all {
		for _, f := range p.Syntax {
			source, err := os.ReadFile(t.set.File(f.FileStart).Name())
			if err != nil {
				continue // it was there when it was parsed
			}
			lines := telling(string(source))
			text = append(text, lines)
			for i := 0; i+runOf <= len(lines); i++ {
				key := strings.Join(lines[i:i+runOf], "\n")
				seen[key] = append(seen[key], place{len(text) - 1, i})
			}
		}
	}
	runs, lines := 0, 0
	for _, at := range seen {
		for i, a := range at {
			for _, b := range at[i+1:] {
				// A longer run begins where the lines before differ.
				if a.line > 0 && b.line > 0 && text[a.file][a.line-1] == text[b.file][b.line-1] {
					continue
				}
				runs++
				n := 0
				for a.line+n < len(text[a.file]) && b.line+n < len(text[b.file]) && text[a.file][a.line+n] == text[b.file][b.line+n] {
					n++
				}
				lines += n
			}
		}
	}
	return []figure{{fmt.Sprintf("runs of %d lines and more that stand twice", runOf), runs, fmt.Sprintf("%d lines", lines)}}
}

// telling leaves out what says nothing.
func telling(source string) (list []string) {
	imports := false
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		switch {
		case line == "import (":
			imports = true
		case imports:
			imports = line != ")"
		case line == "", strings.HasPrefix(line, "//"), strings.HasPrefix(line, "package "), strings.HasPrefix(line, "import "):
		case strings.Trim(line, "(){}[],;") == "":
		default:
			list = append(list, line)
		}
	}
	return list
}
