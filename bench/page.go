package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Names of the plots, and of the parts of the page generated from results.
const (
	throughputFile = "performance-throughput.svg"
	growthFile     = "performance-growth.svg"
	latencyFile    = "performance-latency.svg"
)

// draw writes the plots of the available results.
func (r *results) draw(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- pictures, public
		return err
	}
	for name, p := range map[string]*plot{
		throughputFile: r.throughputPlot(), growthFile: r.growthPlot(), latencyFile: r.latencyPlot(),
	} {
		if len(p.series) == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(p.svg()), 0o644); err != nil { // #nosec G306 -- as above
			return err
		}
	}
	return nil
}

// throughputPlot has a pair of bars for each store.
func (r *results) throughputPlot() *plot {
	p := &plot{title: "GET /session on one core, beside its floor", y: "answers a second"}
	service, floor := series{name: "authsvc"}, series{name: "floor"}
	for _, c := range r.Comparisons {
		store, ok := strings.CutPrefix(c.Name, "session, ")
		if !ok {
			continue
		}
		store, _, _ = strings.Cut(store, " on ")
		at := float64(len(p.labels))
		p.labels = append(p.labels, store)
		rate := func(s sample) float64 { return s.Rate }
		service.points = append(service.points, [2]float64{at, medianOf(c.Service, rate)})
		floor.points = append(floor.points, [2]float64{at, medianOf(c.Floor, rate)})
	}
	if len(p.labels) > 0 {
		p.series = []series{service, floor}
	}
	return p
}

// growthPlot has a line for each filled store.
func (r *results) growthPlot() *plot {
	p := &plot{title: "GET /session as the store grows", x: "sessions in the store", y: "answers a second", logX: true}
	for _, g := range r.Growth {
		store, ok := strings.CutPrefix(g.Name, "sessions, ")
		if !ok {
			continue
		}
		s := series{name: store}
		for _, point := range g.Points {
			s.points = append(s.points, [2]float64{point.X, point.Rate})
		}
		p.series = append(p.series, s)
	}
	return p
}

// latencyPlot draws p99 by load for each store.
func (r *results) latencyPlot() *plot {
	p := &plot{title: "99 of 100 answers of GET /session come within", x: "share of the rate that saturates one core, %", y: "ms"}
	for _, c := range r.Latency {
		name, _, _ := strings.Cut(c.Name, " on ")
		s := series{name: name}
		for _, point := range c.Points {
			s.points = append(s.points, [2]float64{100 * point.Share, float64(point.P99) / float64(time.Millisecond)})
		}
		p.series = append(p.series, s)
	}
	return p
}

// writePage writes the tables of the available results between the markers of a page.
func (r *results) writePage(file string) error {
	text, err := os.ReadFile(file) // #nosec G304 -- the caller's
	if err != nil {
		return err
	}
	page := string(text)
	for name, table := range map[string]string{
		"promises": promiseTable(), "machine": r.machineText(), "comparisons": r.comparisonTable(), "crowd": r.crowdText(), "costs": r.costTable(),
		"latency": r.latencyTable(), "growth": r.growthTable(), "space": r.spaceTable(), "people": r.peopleTable(), "peers": r.peerTable(),
	} {
		if table == "" {
			continue
		}
		if page, err = replacePart(page, name, table); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return os.WriteFile(file, []byte(page), 0o644) // #nosec G306 -- documentation
}

// replacePart replaces the text between <!-- NAME --> and <!-- /NAME -->.
func replacePart(page, name, text string) (string, error) {
	before, rest, ok := strings.Cut(page, "<!-- "+name+" -->\n")
	_, after, closed := strings.Cut(rest, "<!-- /"+name+" -->")
	if !ok || !closed {
		return "", errors.New("no part " + name)
	}
	return before + "<!-- " + name + " -->\n" + text + "<!-- /" + name + " -->" + after, nil
}

func (r *results) machineText() string {
	m := r.Machine
	var rounds []sample
	for _, c := range r.Comparisons {
		rounds = append(rounds, c.Service...)
	}
	others := medianOf(rounds, func(s sample) float64 { return s.Others })
	return fmt.Sprintf("Measured %s at %s with %s on %s, %d cores, %.0f GiB, %s, in %d rounds of %s; in the median round, other programs used %.1f %% of a core. "+
		"The binary has %.1f MiB; the program with all floors, which has the same drivers, %.1f MiB.\n",
		m.Day, m.Revision, m.Go, m.Processor, m.Cores, m.Memory, m.System, m.Rounds, m.Length, 100*others, r.Sizes.Service, r.Sizes.Floor)
}

// promiseTable lists the limits that -check applies.
func promiseTable() string {
	var b strings.Builder
	b.WriteString("| | processor time, divided by that of the program it is [compared with](#how-it-is-measured) | MiB idle | MiB after load |\n|---|--:|--:|--:|\n")
	most := func(format string, limit float64) string {
		if limit == 0 {
			return "–"
		}
		return fmt.Sprintf("≤ "+format, limit)
	}
	for _, c := range cases() {
		if c.operations > 0 {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.name, most("%.2f", c.promise.floor), most("%.0f", c.promise.idle), most("%.0f", c.promise.after))
		}
	}
	return b.String()
}

func (r *results) comparisonTable() string {
	if len(r.Comparisons) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| | authsvc /s | floor /s | ratio (spread) | p50 | p99 | CPU µs | floor's |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range r.Comparisons {
		ratio, low, high := c.Ratio()
		rate := func(s sample) float64 { return s.Rate }
		cost := func(s sample) float64 { return s.CPU }
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | **%.2f** (%.2f–%.2f) | %s | %s | %.1f | %.1f |\n", c.Name,
			medianOf(c.Service, rate), medianOf(c.Floor, rate), ratio, low, high,
			round(medianOf(c.Service, func(s sample) time.Duration { return s.P50 })),
			round(medianOf(c.Service, func(s sample) time.Duration { return s.P99 })),
			medianOf(c.Service, cost), medianOf(c.Floor, cost))
	}
	return b.String()
}

func (r *results) crowdText() string {
	c := r.Crowd
	if c == nil {
		return ""
	}
	return fmt.Sprintf("If the links of %d sign-ins are opened at once on SQLite, all of them together need %d commits. A single commit takes %s on this disk. All sign-ins are done within %s; for %s of that, the service was idle.\n",
		c.SignIns, c.median(), round(c.OneWrite), round(median(c.Took)), round(median(c.Idle)))
}

// costTable lists the cost of a process before its first request. It leaves out
// columns that were not measured.
func (r *results) costTable() string {
	mib := func(v float64) string { return fmt.Sprintf("%.1f", v) }
	clock := func(v float64) string { return round(time.Duration(v)).String() }
	anon, resident := func(s sample) float64 { return s.Anon }, func(s sample) float64 { return s.RSS }
	columns := []struct {
		head string
		of   func(c *comparison) float64
		cell func(float64) string
	}{
		{"anonymous MiB idle", func(c *comparison) float64 { return c.IdleAnon[0] }, mib},
		{"after load", func(c *comparison) float64 { return medianOf(c.Service, anon) }, mib},
		{"floor's", func(c *comparison) float64 { return medianOf(c.Floor, anon) }, mib},
		{"resident MiB idle", func(c *comparison) float64 { return c.Idle[0] }, mib},
		{"after load", func(c *comparison) float64 { return medianOf(c.Service, resident) }, mib},
		{"floor's after load", func(c *comparison) float64 { return medianOf(c.Floor, resident) }, mib},
		{"processor time of a start", func(c *comparison) float64 { return float64(median(c.StartCPU[0])) }, clock},
		{"floor's", func(c *comparison) float64 { return float64(median(c.StartCPU[1])) }, clock},
		{"start", func(c *comparison) float64 { return float64(median(c.Starts[0])) }, clock},
		{"floor's", func(c *comparison) float64 { return float64(median(c.Starts[1])) }, clock},
	}
	head, line := "|", "|---|"
	var rows []string
	for _, c := range r.Comparisons {
		if name, ok := strings.CutPrefix(c.Name, "session, "); ok {
			rows = append(rows, "| "+name)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	for _, column := range columns {
		var cells []string
		measured := false
		for _, c := range r.Comparisons {
			if strings.HasPrefix(c.Name, "session, ") {
				v := column.of(c)
				cells, measured = append(cells, column.cell(v)), measured || v > 0
			}
		}
		if !measured {
			continue
		}
		head, line = head+" | "+column.head, line+"--:|"
		for i, cell := range cells {
			rows[i] += " | " + cell
		}
	}
	return head + " |\n" + line + "\n" + strings.Join(rows, " |\n") + " |\n"
}

func (r *results) latencyTable() string {
	if len(r.Latency) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| p50 / p99 at a share of saturation |")
	for _, share := range shares {
		fmt.Fprintf(&b, " %.0f %% |", 100*share)
	}
	b.WriteString(" p99 / p50 at 70 % | the floor at 70 % |\n|---|" + strings.Repeat("--:|", len(shares)+2) + "\n")
	for _, c := range r.Latency {
		fmt.Fprintf(&b, "| %s, %.0f/s |", c.Name, c.Saturation)
		ratio := 0.0
		for _, p := range c.Points {
			fmt.Fprintf(&b, " %s / %s |", round(p.P50), round(p.P99))
			if p.Share == servedShare {
				ratio = float64(p.P99) / float64(p.P50)
			}
		}
		fmt.Fprintf(&b, " %.1f | %s / %s |\n", ratio, round(c.Floor.P50), round(c.Floor.P99))
	}
	return b.String()
}

func (r *results) growthTable() string {
	if len(r.Growth) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| | from | to | answers /s | at worst |\n|---|--:|--:|---|--:|\n")
	for _, g := range r.Growth {
		var rates []string
		for _, p := range g.Points {
			rates = append(rates, fmt.Sprintf("%s: %.0f", p.label(), p.Rate))
		}
		fmt.Fprintf(&b, "| %s | %s | %s %s | %s | %.2f× |\n", g.Name, g.Points[0].label(),
			g.Points[len(g.Points)-1].label(), g.X, strings.Join(rates, " · "), g.Ratio())
	}
	return b.String()
}
