package authsvc_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inlineLink matches a link or an image outside of code.
var inlineLink = regexp.MustCompile(`!?\[[^\]]*\]\(([^)\s]+)\)`)

// allPages returns the pages of this repository that people read.
func allPages(t *testing.T) []string {
	return append(docPages(t), "SECURITY.md", "CHANGELOG.md", filepath.Join("clients", "js", "README.md"), filepath.Join("examples", "react", "README.md"))
}

// prose returns the lines of a page without its code blocks.
func prose(t *testing.T, page string) (lines []string) {
	code := false
	for _, line := range textLines(t, page) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code, line = !code, ""
		}
		if code {
			line = ""
		}
		lines = append(lines, line)
	}
	return lines
}

// anchors returns the anchors of a page's headings, as GitHub makes them.
func anchors(t *testing.T, page string) (all []string) {
	dropped := regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	for _, line := range prose(t, page) {
		if text, heading := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); heading && strings.HasPrefix(line, "#") {
			all = append(all, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(text), ""), " ", "-"))
		}
	}
	return all
}

// TestDocumentedLinks checks that every link within the repository leads to an existing
// page and heading.
func TestDocumentedLinks(t *testing.T) {
	t.Parallel()
	n := 0
	for _, page := range allPages(t) {
		for _, line := range prose(t, page) {
			for _, m := range inlineLink.FindAllStringSubmatch(line, -1) {
				if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
					continue
				}
				n++
				path, anchor, _ := strings.Cut(m[1], "#")
				file := page
				if path != "" {
					file = filepath.Join(filepath.Dir(page), path)
				}
				if _, err := os.Stat(file); err != nil {
					t.Errorf("%s leads to %s, which is not there", page, m[1])
				} else if anchor != "" && !slices.Contains(anchors(t, file), anchor) {
					t.Errorf("%s leads to %s, and there is no such heading", page, m[1])
				}
			}
		}
	}
	if n < 200 {
		t.Errorf("%d links", n)
	}
}

// TestDocumentedIndex checks that docs/README.md links to every page, except the pages
// of providers, which their own index links to, and that each page begins with its
// purpose.
func TestDocumentedIndex(t *testing.T) {
	t.Parallel()
	const index = "docs/README.md"
	linked := map[string]bool{filepath.Clean(index): true}
	for _, from := range []string{index, "docs/providers/README.md"} {
		for _, line := range prose(t, from) {
			for _, m := range inlineLink.FindAllStringSubmatch(line, -1) {
				linked[filepath.Join(filepath.Dir(from), m[1])] = true
			}
		}
	}
	for _, page := range docPages(t) {
		if !linked[page] && strings.HasPrefix(page, "docs") {
			t.Errorf("%s does not lead to %s", index, page)
		}
		lines := textLines(t, page)
		if len(lines) < 3 || !strings.HasPrefix(lines[0], "# ") || lines[1] != "" || lines[2] == "" || strings.ContainsAny(lines[2][:1], "#`|<") && !strings.HasPrefix(lines[2], "`") || strings.HasPrefix(lines[2], "```") {
			t.Errorf("%s does not begin with a title and a sentence", page)
		}
	}
}

// TestDocumentedTables checks that each row of a table has as many cells as its head;
// otherwise it would be shown as text.
func TestDocumentedTables(t *testing.T) {
	t.Parallel()
	cells := func(row string) int {
		code := regexp.MustCompile("`[^`]*`").ReplaceAllStringFunc(row, func(s string) string { return strings.ReplaceAll(s, `\|`, "") })
		return strings.Count(strings.ReplaceAll(code, `\|`, ""), "|") - 1
	}
	for _, page := range allPages(t) {
		columns := 0
		lines := prose(t, page)
		for i, line := range lines {
			switch {
			case !strings.HasPrefix(line, "|"):
				columns = 0
			case columns == 0:
				columns = cells(line)
				if i+1 >= len(lines) || strings.Trim(lines[i+1], "|-: ") != "" || cells(lines[i+1]) != columns {
					t.Errorf("%s:%d: a table without a head: %s", page, i+1, line)
				}
			case cells(line) != columns:
				t.Errorf("%s:%d: %d cells in a table of %d", page, i+1, cells(line), columns)
			}
		}
	}
}
