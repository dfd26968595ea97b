package counts_test

import (
	"slices"
	"strings"
	"testing"

	"authsvc/internal/test/arena/stores"
)

const (
	warmUps = 5 // people before the measurement: statements get prepared, scripts loaded
	counted = 5 // people measured afterwards; each must cost the same
)

// rewrite is the command that updates the table.
const rewrite = "go test ./internal/test/counts -run TestCounts -update"

// TestCounts compares the requests of each flow to each store, with one client and
// one connection, to the exact numbers in the table.
func TestCounts(t *testing.T) {
	want := readTable(t, "testdata/counts.txt", []string{"store", "flow"}, columns)
	var rows, names []string
	for _, s := range stores.All() {
		names = append(names, s.Name)
	}
	for _, s := range kinds() {
		names = slices.DeleteFunc(names, func(name string) bool { return name == s.name })
		for _, f := range flows() {
			if f.name != "" {
				rows = append(rows, s.name+" "+f.name)
			}
		}
		t.Run(s.name, func(t *testing.T) { countFlows(t, s, want) })
	}
	if len(names) > 0 {
		t.Errorf("what %s are asked is not counted", names)
	}
	if *update {
		want.write(t, rows)
		return
	}
	for _, row := range want.order {
		if !slices.Contains(rows, row) {
			t.Errorf("%s: %s is no longer a flow of a store; %s", want.path, row, rewrite)
		}
	}
}

func countFlows(t *testing.T, k kind, want *table) {
	store, meter := k.open(t)
	w := newWorld(t, newTally(store, meter))
	first := map[string][]string{}
	for n := range warmUps + counted {
		p := w.person(n)
		for i, f := range flows() {
			p.from(n, i)
			got, calls := w.measure(f, p)
			k.lacks(&got)
			if f.name == "" || n < warmUps {
				continue
			}
			cells := got.cells()
			if first[f.name] == nil {
				first[f.name] = cells
				judge(t, k.name+" "+f.name, cells, calls, want)
			} else if !slices.Equal(first[f.name], cells) {
				t.Errorf("%s %s: got %s of person %d, and %s of the first\nasked: %s", k.name, f.name, cells, n, first[f.name], calls)
			}
		}
	}
}

// judge compares a row with the table, or stores it there.
func judge(t *testing.T, row string, cells []string, calls string, want *table) {
	t.Helper()
	if *update {
		want.set(row, cells)
		t.Logf("%s: %s\nasked: %s", row, cells, calls)
		return
	}
	if list := want.differences(row, cells); list != nil {
		t.Errorf("%s\nasked (statements/trips): %s\nif that is intended: %s", strings.Join(list, "\n"), calls, rewrite)
	}
}
