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

var (
	update  = flag.Bool("update", false, "write the generated parts of docs/security.md")
	figured = flag.String("figures", "", "with -update, write the figures of this report of make verify there, too")
)

// TestSecurityPage checks that docs/security.md lists the deviations of the compat
// modes and the checks that do not run, as the code has them, and that it names no
// unknown check.
func TestSecurityPage(t *testing.T) {
	t.Parallel()
	const path = "../docs/security.md"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := fill(t, fill(t, string(raw), "deviations", deviationTable()), "not run", notRunTable())
	page = fill(t, page, "where", whereTable())
	if *update && *figured != "" {
		page = fill(t, page, "figures", figureTable(t, *figured))
	}
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
			t.Errorf("docs/security.md names %s, which is not a check", id)
		}
	}
}

// fill replaces the text between the markers of a part.
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

// deviationTable lists the deviations. One row covers all modes with the same reason.
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

// whereTable lists which checks run in the landing check and which run only in make
// full.
func whereTable() string {
	var landing int
	var full, browser []string
	for _, g := range groups() {
		for number, c := range g.checks {
			switch id := g.name + "-" + number; {
			case c.run == nil:
			case c.least > quick:
				full = append(full, id)
			default:
				landing++
				if c.browser != nil {
					browser = append(browser, id)
				}
			}
		}
	}
	return fmt.Sprintf("| Where | Checks |\n|---|---|\n| landing check and `make full` | %d: on memory and SQLite in the landing check, on every store in `make full` |\n"+
		"| `make full` only | %s |\n| `make full` only: the parts of these checks that need a browser | %s |\n", landing, sorted(full), sorted(browser))
}

// shown lists the checks whose figures are on the page.
var shown = strings.Fields(`cookies-08 redirect-01 redirect-02 session-07 session-08 jwe-04 email-11 email-14
	httpwire-05 httpwire-06 abuse-02 abuse-03 race-01 race-02 race-06 race-10 crash-01 crash-03 crash-04 crash-05 crash-07
	idpfault-04 smtpfault-02 lifecycle-01 lifecycle-02 lifecycle-06 tokens-04 audit-01`)

// figureTable lists the figures that the shown checks printed in a run.
func figureTable(t *testing.T, report string) string {
	t.Helper()
	raw, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprint(&b, "| Check | What was done and measured |\n|---|---|\n")
	counts := []string{}
	lines := strings.Split(string(raw), "\n")
	for _, id := range shown {
		for _, line := range lines {
			said, figure, ok := strings.Cut(line, " · ")
			if words := strings.Fields(said); ok && words[0] == id && words[1] == "PASS" {
				fmt.Fprintf(&b, "| %s: %s | %s |\n", id, strings.Join(words[2:], " "), figure)
			}
		}
	}
	for _, line := range lines {
		if regexp.MustCompile(`^(PASS|FAIL|SKIP): \d`).MatchString(line) {
			counts = append(counts, line)
		}
	}
	if len(counts) != 3 {
		t.Fatalf("%s is not the report of a whole run", report)
	}
	return b.String() + "\n" + strings.Join(counts, "; ") + ".\n"
}
