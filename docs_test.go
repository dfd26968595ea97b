package authsvc_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDocumentedCode checks that every Go block in the documentation is compiled, and
// mostly run, by a test: it must be a region of these files between "// docs: NAME" and
// "// docs", word for word except for its indentation. Every region must also be in the
// documentation.
func TestDocumentedCode(t *testing.T) {
	t.Parallel()
	regions := map[string]string{} // code to its file and name
	for _, pattern := range []string{"example*_test.go", "*/example_test.go", "examples/*/*.go", "adapter/memory/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			for name, code := range docRegions(t, file) {
				regions[code] = file + ": " + name
			}
		}
	}
	used := map[string]bool{}
	for _, page := range docPages(t) {
		for _, code := range goBlocks(t, page) {
			used[code] = true
			if regions[code] == "" {
				t.Errorf("%s has Go that no example has:\n%s", page, code)
			}
		}
	}
	for code, where := range regions {
		if !used[code] {
			t.Errorf("%s is on no page:\n%s", where, code)
		}
	}
	if len(regions) < 15 {
		t.Errorf("%d regions", len(regions))
	}
}

func docPages(t *testing.T) (pages []string) {
	t.Helper()
	pages = []string{"README.md", "CONTRIBUTING.md"}
	err := filepath.WalkDir("docs", func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(pages, filepath.Join("docs", "manual", "README.md")) {
		t.Errorf("the manual is not among %d pages", len(pages))
	}
	return pages
}

// docRegions returns the marked regions of a source file by name.
func docRegions(t *testing.T, file string) map[string]string {
	t.Helper()
	regions := map[string]string{}
	var name, indent string
	var code strings.Builder
	for _, line := range textLines(t, file) {
		bare := strings.TrimLeft(line, "\t")
		switch marker, starts := strings.CutPrefix(bare, "// docs: "); {
		case starts && name == "":
			name, indent = marker, strings.TrimSuffix(line, bare)
			code.Reset()
		case bare == "// docs" && name != "":
			if regions[name] != "" {
				t.Errorf("%s has %q twice", file, name)
			}
			regions[name], name = code.String(), ""
		case starts, bare == "// docs":
			t.Errorf("%s: %s within %q", file, bare, name)
		case name != "":
			code.WriteString(strings.TrimPrefix(line, indent) + "\n")
		}
	}
	if name != "" {
		t.Errorf("%s: %q does not end", file, name)
	}
	return regions
}

// goBlocks returns the Go blocks of a page.
func goBlocks(t *testing.T, page string) (blocks []string) {
	t.Helper()
	var code strings.Builder
	in := false
	for _, line := range textLines(t, page) {
		switch {
		case strings.TrimSpace(line) == "```go":
			in = true
			code.Reset()
		case in && strings.TrimSpace(line) == "```":
			in = false
			blocks = append(blocks, code.String())
		case in:
			code.WriteString(line + "\n")
		}
	}
	return blocks
}

func textLines(t *testing.T, file string) []string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(raw), "\n")
}
