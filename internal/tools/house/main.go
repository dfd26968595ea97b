// Command house draws the packages of this module as storeys: each package stands
// above the packages that it imports. The engine is one package. Its own storeys and
// rooms come from parts in engine/rooms.go.
//
//	go run ./internal/tools/house          # writes docs/house.svg
//	go run ./internal/tools/house -check   # fails if it is stale
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"html"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
)

// picture is the path of the drawing.
const picture = "docs/house.svg"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	check := flag.Bool("check", false, "compare with the file instead of writing it")
	flag.Parse()
	if err := run(ctx, *check); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, check bool) error {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", `{{.Module.Path}} {{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	rooms, err := os.ReadFile("engine/rooms.go")
	if err != nil {
		return err
	}
	floors, top := parts(string(rooms))
	want := draw(storeys(imports(string(out))), floors, top)
	if !check {
		return os.WriteFile(picture, want, 0o644) // #nosec G306 -- a document
	}
	have, err := os.ReadFile(picture)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, want) {
		return errors.New(picture + " is stale: run go run ./internal/tools/house")
	}
	return nil
}

// groups lists packages that are drawn as one, by path prefix. Tests and tools are
// not drawn.
var groups = []struct{ prefix, name string }{
	{"internal/test", ""}, {"internal/tools", ""}, {"verify", ""}, {"e2e", ""}, {"examples", ""}, {"bench", ""}, {"clients", ""},
	{"engine/internal/fleet", "fleet"}, {"engine/internal/audit", "audit"}, {"engine/internal/limit", "limit"}, {"engine/internal/cookie", "cookie"},
	{"engine", "engine"}, {"adapter", "adapter/*"}, {"cmd", "cmd/authsvc"}, {"internal/dev", "internal/dev"}, {"internal/protocol", "internal/protocol"},
	{"internal/seal", "internal/seal"}, {"internal/sql", "internal/sql"}, {"internal/text", "internal/text"},
}

// groupOf returns the group of a package, or "" if it is not drawn.
func groupOf(module, path string) string {
	rest, ours := strings.CutPrefix(path, module+"/")
	if path == module || ours && (rest == "adapter" || rest == "stats") {
		return "the words"
	}
	if !ours {
		return ""
	}
	for _, g := range groups {
		if rest == g.prefix || strings.HasPrefix(rest, g.prefix+"/") {
			return g.name
		}
	}
	return rest
}

// imports parses the output of go list, with the module in front, into the groups that
// each group uses.
func imports(list string) map[string]map[string]bool {
	uses := map[string]map[string]bool{}
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		from := groupOf(fields[0], fields[1])
		if from == "" {
			continue
		}
		if uses[from] == nil {
			uses[from] = map[string]bool{}
		}
		for _, path := range fields[2:] {
			if to := groupOf(fields[0], path); to != "" && to != from {
				uses[from][to] = true
			}
		}
	}
	return uses
}

// storeys orders groups by the longest import chain below each. Groups that use each
// other stand on the same storey.
func storeys(uses map[string]map[string]bool) (list [][]string) {
	depth := map[string]int{}
	var down func(name string, way []string) int
	down = func(name string, way []string) int {
		if d, known := depth[name]; known {
			return d
		}
		if slices.Contains(way, name) {
			return 0
		}
		d := 0
		for to := range uses[name] {
			if !slices.Contains(way, to) {
				d = max(d, down(to, append(slices.Clone(way), name))+1)
			}
		}
		depth[name] = d
		return d
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		d := down(name, nil)
		for len(list) <= d {
			list = append(list, nil)
		}
		list[d] = append(list[d], name)
	}
	return list
}

var part = regexp.MustCompile(`(?m)^\t\t(?:\{of: h\.(\w+)|(\w+)Part\(h\))`)

// parts returns the storeys and rooms of the engine, from the ground up.
func parts(source string) (floors, rooms []string) {
	for _, m := range part.FindAllStringSubmatch(source, -1) {
		name, isRoom := strings.CutSuffix(m[1], "Room")
		switch {
		case m[2] != "":
			rooms = append(rooms, m[2])
		case isRoom:
			rooms = append(rooms, name)
		default:
			floors = append(floors, name)
		}
	}
	return floors, rooms
}

// Sizes in the drawing's units.
const (
	width, row, gap = 760, 34, 8
)

// draw returns the SVG, with the highest storey first.
func draw(list [][]string, floors, rooms []string) []byte {
	var b bytes.Buffer
	y := gap
	box := func(x, w int, class, text string) {
		fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="5"/><text x="%d" y="%d">%s</text>`+"\n", class, x, y, w, row, x+w/2, y+row/2+5, html.EscapeString(text))
	}
	line := func(class string, names []string) {
		w := (width - gap*(len(names)+1)) / max(1, len(names))
		for i, name := range names {
			box(gap+i*(w+gap), w, class, name)
		}
		y += row + gap
	}
	for _, names := range slices.Backward(list) {
		line("package", names)
		if !slices.Contains(names, "engine") {
			continue
		}
		line("room", rooms)
		for _, floor := range slices.Backward(floors) {
			line("floor", []string{floor})
		}
	}
	return slices.Concat([]byte(fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="The storeys of the module">
<style>rect{fill:#fff;stroke:#667085}.room{fill:#eef4ff;stroke:#3b5bdb}.floor{fill:#f6f8fa;stroke:#3b5bdb}text{font:13px system-ui,sans-serif;text-anchor:middle;fill:#101828}</style>
`, width, y)), b.Bytes(), []byte("</svg>\n"))
}
