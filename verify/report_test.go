package verify

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A report collects the lines of a run and prints them as they come.
type report struct {
	t  *testing.T
	mu sync.Mutex

	severities map[string]catalogued // by id
	status     map[string]string     // by id
	deviations []string
	text       strings.Builder
}

func (r *report) severity(c catalogued) {
	if r.severities == nil {
		r.severities, r.status = map[string]catalogued{}, map[string]string{}
	}
	r.severities[c.group+"-"+c.number] = c
}

func (r *report) print(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
	fmt.Fprintf(&r.text, format+"\n", args...)
}

// line returns the line of a check: id, status, reason, figure.
func (r *report) line(id, status, reason, figure string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status[id] = status
	s := fmt.Sprintf("%-12s %s %s", id, status, reason)
	if figure != "" {
		s += " · " + figure
	}
	r.print("%s", s)
}

func (r *report) deviation(mode, id, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deviations = append(r.deviations, fmt.Sprintf("%-12s %s: %s", mode, id, why))
}

// summary counts the checks by group and severity, and lists those that a compat mode
// cannot meet. AUTHSVC_VERIFY_REPORT names a file for everything printed.
func (r *report) summary(all []group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.print("\n%-10s %6s %6s %6s   (P0 / P1 / P2)", "group", "PASS", "FAIL", "SKIP")
	total := map[string]int{}
	for _, g := range all {
		count := map[string][3]int{}
		for id, status := range r.status {
			c := r.severities[id]
			if c.group != g.name {
				continue
			}
			n := count[status]
			n[c.severity[1]-'0']++
			count[status] = n
			total[status+" "+c.severity]++
		}
		r.print("%-10s %6s %6s %6s", g.name, three(count["PASS"]), three(count["FAIL"]), three(count["SKIP"]))
	}
	for _, status := range []string{"PASS", "FAIL", "SKIP"} {
		r.print("%s: %d P0, %d P1, %d P2", status, total[status+" P0"], total[status+" P1"], total[status+" P2"])
	}
	slices.Sort(r.deviations)
	r.print("\nnot met in a compat mode:")
	for _, d := range slices.Compact(r.deviations) {
		r.print("%s", d)
	}
	if file := os.Getenv("AUTHSVC_VERIFY_REPORT"); file != "" {
		if err := os.WriteFile(file, []byte(r.text.String()), 0o644); err != nil {
			r.t.Error(err)
		}
	}
}

func three(n [3]int) string { return fmt.Sprintf("%d/%d/%d", n[0], n[1], n[2]) }
