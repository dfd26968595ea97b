package verify

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the parts of docs/security.md that follow from the checks")

// TestSecurityPage: docs/security.md lists the deviations of the compat modes
// and what is not run as they are in the code, and names no check that does
// not exist.
func TestSecurityPage(t *testing.T) {
	t.Parallel()
	const path = "../docs/security.md"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := fill(t, fill(t, string(raw), "deviations", deviationTable()), "not run", notRunTable())
	switch {
	case page == string(raw):
	case *update:
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("docs/security.md is stale: run go test ./verify -run TestSecurityPage -update")
	}
	known := map[string]bool{}
	for _, c := range catalogue(t) {
		known[c.group+"-"+c.number] = true
	}
	for _, id := range regexp.MustCompile(`\b[a-z]+\d?-\d\d\b`).FindAllString(page, -1) {
		if !known[id] {
			t.Errorf("docs/security.md names %s, which is no check", id)
		}
	}
}

// fill replaces what stands between the comments of a part.
func fill(t *testing.T, page, part, text string) string {
	t.Helper()
	before, rest, ok := strings.Cut(page, "<!-- "+part+": ")
	line, rest, found := strings.Cut(rest, "-->\n")
	_, after, closed := strings.Cut(rest, "<!-- end -->")
	if !ok || !found || !closed {
		t.Fatalf("docs/security.md has no part %q", part)
	}
	return before + "<!-- " + part + ": " + line + "-->\n" + text + "<!-- end -->" + after
}

// deviationTable has the modes that one reason holds for in one row.
func deviationTable() string {
	type row struct{ modes, ids []string }
	rows, reasons := map[string]*row{}, []string(nil)
	for _, g := range groups() {
		for number, c := range g.checks {
			for mode, why := range c.except {
				if rows[why] == nil {
					rows[why] = &row{}
					reasons = append(reasons, why)
				}
				rows[why].modes, rows[why].ids = append(rows[why].modes, mode), append(rows[why].ids, g.name+"-"+number)
			}
		}
	}
	var b strings.Builder
	fmt.Fprint(&b, "| Checks | Mode | Why |\n|---|---|---|\n")
	lines := []string{}
	for _, why := range reasons {
		lines = append(lines, fmt.Sprintf("| %s | %s | %s |\n", sorted(rows[why].ids), sorted(rows[why].modes), why))
	}
	slices.Sort(lines)
	return b.String() + strings.Join(lines, "")
}

func sorted(list []string) string {
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ", ")
}

func notRunTable() string {
	ids := map[string][]string{}
	for _, g := range groups() {
		for number, c := range g.checks {
			if c.run == nil {
				ids[c.not] = append(ids[c.not], g.name+"-"+number)
			}
		}
	}
	lines := []string{}
	for why, list := range ids {
		lines = append(lines, fmt.Sprintf("| %s | %s |\n", sorted(list), why))
	}
	slices.Sort(lines)
	return "| Checks | Why |\n|---|---|\n" + strings.Join(lines, "")
}
