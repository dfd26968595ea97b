package counts_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the figures into testdata")

// none marks a figure that a store or a flow does not have.
const none = -1

// figures holds the cost of one flow, in the order of columns.
type figures struct {
	statements   int // commands to the server, or calls of the memory store
	trips        int // round trips to the server
	transactions int // started by their own command
	commits      int // of these, and of writes outside them
	smtp         int // connections to the mail server
	mailBytes    int // size of queued mails
}

var columns = []string{"statements", "trips", "transactions", "commits", "smtp", "mail_bytes"}

func (f figures) list() []int {
	return []int{f.statements, f.trips, f.transactions, f.commits, f.smtp, f.mailBytes}
}

func (f figures) plus(o figures, sign int) figures {
	return figures{f.statements + sign*o.statements, f.trips + sign*o.trips, f.transactions + sign*o.transactions,
		f.commits + sign*o.commits, f.smtp + sign*o.smtp, f.mailBytes + sign*o.mailBytes}
}

func (f figures) cells() (list []string) {
	for _, n := range f.list() {
		if n == none {
			list = append(list, "-")
		} else {
			list = append(list, strconv.Itoa(n))
		}
	}
	return list
}

// A table is a file with one row per line: the names of the row and its cells. Lines
// that start with # are comments and stay.
type table struct {
	path    string
	names   []string // of the first columns, which identify a row
	columns []string
	comment string
	rows    map[string][]string
	order   []string
}

func readTable(t testing.TB, path string, names, columns []string) *table {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b := &table{path: path, names: names, columns: columns, rows: map[string][]string{}}
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			b.comment += line
			continue
		}
		cells := strings.Fields(line)
		if slices.Equal(cells, slices.Concat(names, columns)) {
			continue
		}
		if len(cells) != len(names)+len(columns) {
			t.Fatalf("%s: %q has %d cells, want %d", path, line, len(cells), len(names)+len(columns))
		}
		b.set(strings.Join(cells[:len(names)], " "), cells[len(names):])
	}
	return b
}

func (b *table) set(row string, cells []string) {
	if b.rows[row] == nil {
		b.order = append(b.order, row)
	}
	b.rows[row] = cells
}

// write keeps the rows named in keep, in their order.
func (b *table) write(t testing.TB, keep []string) {
	t.Helper()
	lines := [][]string{slices.Concat(b.names, b.columns)}
	for _, row := range keep {
		if cells := b.rows[row]; cells != nil {
			lines = append(lines, append(strings.Fields(row), cells...))
		}
	}
	width := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, c := range cells {
			width[i] = max(width[i], len(c))
		}
	}
	var out strings.Builder
	out.WriteString(b.comment)
	for _, cells := range lines {
		for i, c := range cells {
			if i < len(b.names) {
				c = fmt.Sprintf("%-*s  ", width[i], c)
			} else {
				c = fmt.Sprintf("%*s  ", width[i], c)
			}
			cells[i] = c
		}
		out.WriteString(strings.TrimRight(strings.Join(cells, ""), " ") + "\n")
	}
	if err := os.WriteFile(b.path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// differences returns the cells of a row that differ from the table.
func (b *table) differences(row string, got []string) (list []string) {
	want := b.rows[row]
	if want == nil {
		return []string{fmt.Sprintf("%s is not in %s", row, b.path)}
	}
	for i, name := range b.columns {
		if got[i] != want[i] {
			list = append(list, fmt.Sprintf("%s: %s: got %s, want %s", row, name, got[i], want[i]))
		}
	}
	return list
}
