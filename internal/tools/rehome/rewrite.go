package main

import (
	"bytes"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
)

// A changed file.
type changed struct {
	name string
	data []byte
	mode fs.FileMode
}

// rewriteAll returns the tracked files that differ in the new home.
func rewriteAll(dir string, tracked []string, from, to home) ([]changed, error) {
	r := rules{from: from, to: to, folders: packageFolders(tracked)}
	var all []changed
	for _, name := range tracked {
		file := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Lstat(file)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		old, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if bytes.IndexByte(old, 0) >= 0 {
			continue // a picture or another binary file
		}
		data, err := r.rewrite(name, string(old))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if data != string(old) {
			all = append(all, changed{file, []byte(data), info.Mode().Perm()})
		}
	}
	return all, nil
}

// ownFolder has this command, whose tests show paths before and after a move.
const ownFolder = "internal/tools/rehome/"

// rules changes the files of one home to those of another.
type rules struct {
	from, to home
	folders  map[string]bool // folders of the root that have packages
}

// rewrite returns the text of a file in the new home. The order matters: later rules
// write the new path, which earlier ones must not see.
func (r rules) rewrite(name, text string) (string, error) {
	if r.from == r.to || strings.HasPrefix(name, ownFolder) {
		return text, nil
	}
	base := path.Base(name)
	switch {
	case base == "go.mod":
		return r.goMod(name, text)
	case base == "go.sum":
		return text, nil
	}
	text = replace(text, r.from.npm, r.to.npm, func(before, after string) bool {
		return (alone(before) || strings.HasSuffix(before, "node_modules/")) && !startsWord(after)
	})
	text = regexp.MustCompile(`(?m)(^|[^\w.@-])`+regexp.QuoteMeta(packFile(r.from.npm))+`(-\d[\w.-]*\.tgz)`).ReplaceAllString(text, "${1}"+packFile(r.to.npm)+"${2}")
	if r.from.path != r.to.path {
		text = r.get(text, path.Ext(name))
		text = r.bare(text, path.Ext(name))
		text = replace(text, r.from.path, r.to.path, r.isModule)
	}
	switch {
	case name == packageFile:
		text = r.repository(text)
	case name == "docs/openapi.yaml":
		text = r.described(text)
	case strings.HasPrefix(base, "Containerfile"), strings.HasPrefix(base, "Dockerfile"):
		text = imageSource.ReplaceAllString(text, "${1}https://"+r.to.path)
	}
	if path.Ext(name) != ".go" {
		return text, nil
	}
	// The imports of a group are sorted by path.
	formatted, err := format.Source([]byte(text))
	return string(formatted), err
}

// packFile returns how npm pack names the file of a package, without the version.
func packFile(name string) string { return strings.NewReplacer("@", "", "/", "-").Replace(name) }

// replace replaces old by new wherever fits approves of the text before and after it.
func replace(text, old, new string, fits func(before, after string) bool) string {
	var out strings.Builder
	for done := 0; ; {
		i := strings.Index(text[done:], old)
		if i < 0 {
			return out.String() + text[done:]
		}
		out.WriteString(text[done : done+i])
		if done += i; fits(text[:done], text[done+len(old):]) {
			out.WriteString(new)
		} else {
			out.WriteString(old)
		}
		done += len(old)
	}
}

// isModule reports whether the old path between two texts is the module. A path with a
// host is unmistakable. A word such as authsvc is the module only before the folder of
// a package.
func (r rules) isModule(before, after string) bool {
	if strings.Contains(r.from.path, "/") {
		return (alone(before) || strings.HasSuffix(before, "//")) && !startsWord(after)
	}
	rest, below := strings.CutPrefix(after, "/")
	folder := rest[:len(rest)-len(strings.TrimLeft(rest, wordBytes))]
	return alone(before) && below && r.folders[folder]
}

const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// alone reports whether a name that follows the text is not the end of a longer name or
// path.
func alone(before string) bool {
	return before == "" || !strings.Contains(wordBytes+"./@", before[len(before)-1:])
}

func startsWord(after string) bool {
	return after != "" && strings.Contains(wordBytes, after[:1])
}

// packageFolders returns the folders of the root that have Go files.
func packageFolders(tracked []string) map[string]bool {
	folders := map[string]bool{}
	for _, name := range tracked {
		if folder, _, nested := strings.Cut(name, "/"); nested && path.Ext(name) == ".go" {
			folders[folder] = true
		}
	}
	return folders
}

// bare changes places where the path stands alone: imports, which have a line of their
// own in files and examples, and go doc.
func (r rules) bare(text, ext string) string {
	old := regexp.QuoteMeta(r.from.path)
	switch ext {
	case ".go", ".md", ".html", ".txtar":
		line := regexp.MustCompile(`(?m)^[ \t]*(?:import )?(?:[\w.]+ )?"` + old + `"[ \t]*(?://.*)?$`)
		text = line.ReplaceAllStringFunc(text, func(line string) string {
			if strings.HasPrefix(strings.TrimSpace(line), "return ") { // the name of the program
				return line
			}
			return strings.Replace(line, `"`+r.from.path+`"`, `"`+r.to.path+`"`, 1)
		})
	}
	return regexp.MustCompile(`\b(go doc )`+old+`\b`).ReplaceAllString(text, "${1}"+r.to.path)
}

// get replaces the commands that import the module from a clone by go get: on a page
// with their paragraph, in HTML the command alone.
func (r rules) get(text, ext string) string {
	old := "-replace=" + regexp.QuoteMeta(r.from.path) + "="
	switch ext {
	case ".md":
		cloned := regexp.MustCompile("(?m)^[^\n]+\n\n```sh\n[^`]*" + old + "[^`]*```\n")
		return cloned.ReplaceAllLiteralString(text, "To import authsvc:\n\n```sh\ngo get "+r.to.path+"\n```\n")
	case ".html":
		return regexp.MustCompile("(?m)^go mod edit .*"+old+".*$").ReplaceAllLiteralString(text, "go get "+r.to.path)
	}
	return text
}

// goMod changes the paths in a go.mod file: its own, and in requirements and
// replacements.
func (r rules) goMod(name, text string) (string, error) {
	f, err := modfile.Parse(name, []byte(text), nil)
	if err != nil {
		return "", err
	}
	moved := false
	move := func(line *modfile.Line) {
		for i, word := range line.Token {
			quoted := strings.Trim(word, "\"`")
			if rest, ours := strings.CutPrefix(quoted, r.from.path); ours && (rest == "" || rest[0] == '/') {
				line.Token[i], moved = r.to.path+rest, true
			}
		}
	}
	for _, statement := range f.Syntax.Stmt {
		switch s := statement.(type) {
		case *modfile.Line:
			move(s)
		case *modfile.LineBlock:
			for _, line := range s.Line {
				move(line)
			}
		}
	}
	if !moved {
		return text, nil
	}
	if f, err = modfile.Parse(name, modfile.Format(f.Syntax), nil); err != nil {
		return "", err
	}
	f.SortBlocks()
	return string(modfile.Format(f.Syntax)), nil
}

var (
	imageSource    = regexp.MustCompile(`(org\.opencontainers\.image\.(?:source|url|documentation)\s*=\s*["']?)[^\s"'\\]*`)
	repositoryLine = regexp.MustCompile(`(?m)^  "repository": \{[^}]*\},\n`)
	licenceLine    = regexp.MustCompile(`(?m)^  "license": .*\n`)
	externalDocs   = regexp.MustCompile(`(?m)^externalDocs:\n(?:  .*\n)*`)
	serversLine    = regexp.MustCompile(`(?m)^servers:\n`)
)

// repository sets the address of the repository in package.json.
func (r rules) repository(text string) string {
	line := "  \"repository\": {\n    \"type\": \"git\",\n    \"url\": \"git+https://" + r.to.path + ".git\",\n    \"directory\": \"clients/js\"\n  },\n"
	if repositoryLine.MatchString(text) {
		return repositoryLine.ReplaceAllLiteralString(text, line)
	}
	return licenceLine.ReplaceAllStringFunc(text, func(licence string) string { return licence + line })
}

// described sets the address of the documentation in the OpenAPI document.
func (r rules) described(text string) string {
	block := "externalDocs:\n  description: Source and documentation\n  url: https://" + r.to.path + "\n"
	if externalDocs.MatchString(text) {
		return externalDocs.ReplaceAllLiteralString(text, block)
	}
	return serversLine.ReplaceAllStringFunc(text, func(servers string) string { return block + servers })
}
