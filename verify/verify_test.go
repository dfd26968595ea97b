package verify

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"authsvc/internal/test/atonce"
	"authsvc/internal/test/process"
	"authsvc/internal/test/skewed"
)

func TestMain(m *testing.M) {
	flag.Parse()
	theSkew()
	code := atonce.Run(m)
	process.RemoveBinary()
	closeBrowsers()
	os.Exit(code)
}

// A check is one row of the catalogue.
type check struct {
	title string

	// run attacks. It is called once per compat mode, except the modes in except,
	// which gives the reason why they cannot meet the check. If once is set, it is
	// called once, for checks that do not depend on the mode.
	run    func(t *T)
	once   bool
	except map[string]string

	// browser is the part of the check that needs a real browser, from inBrowser.
	browser func(t *T)

	// alone marks checks of time and load, beside which nothing else may run.
	alone bool

	// least is the smallest scale that runs the check.
	least scale

	// needs lists what the machine must have.
	needs []need

	// not gives the reason why the check cannot run: the feature does not exist, or
	// no machine here can do it.
	not string
}

// checks holds the checks of a group by number, "01".
type checks map[string]check

type group struct {
	name   string
	checks checks
}

// groups returns all groups in the order in which they run, with their browser
// checks.
var groups = sync.OnceValue(func() []group {
	all := []group{
		{"cookies", cookiesChecks}, {"csrf", csrfChecks}, {"redirect", redirectChecks}, {"session", sessionChecks},
		{"jwe", jweChecks}, {"oauth2", oauth2Checks}, {"oidc", oidcChecks}, {"oauth1", oauth1Checks},
		{"email", emailChecks}, {"code", codeChecks}, {"account", accountChecks}, {"httpwire", httpwireChecks}, {"headers", headersChecks},
		{"outbound", outboundChecks}, {"config", configChecks}, {"abuse", abuseChecks}, {"store", storeChecks},
		{"race", raceChecks}, {"crash", crashChecks}, {"idpfault", idpfaultChecks}, {"smtpfault", smtpfaultChecks},
		{"lifecycle", lifecycleChecks}, {"tokens", tokensChecks}, {"token", tokenChecks}, {"gate", gateChecks}, {"logout", logoutChecks}, {"passkey", passkeyChecks},
		{"password", passwordChecks}, {"totp", totpChecks}, {"rules", rulesChecks}, {"hook", hookChecks}, {"audit", auditChecks}, {"supply", supplyChecks},
		{"e2e", e2eChecks},
	}
	for id, b := range inBrowser {
		name, number, _ := strings.Cut(id, "-")
		g := all[slices.IndexFunc(all, func(g group) bool { return g.name == name })]
		c, ok := g.checks[number]
		if !ok {
			c = check{title: b.title, once: true, run: func(*T) {}, alone: b.alone, least: ci, needs: append([]need{needsChromium}, b.needs...)}
		}
		c.browser = b.run
		g.checks[number] = c
	}
	return all
})

// A catalogued check is an id with its severity, from testdata/checks.txt.
type catalogued struct {
	group, number, severity string
	core                    bool // must pass before a release
}

func catalogue(t *testing.T) []catalogued {
	t.Helper()
	f, err := os.Open("testdata/checks.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []catalogued
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		group, number, _ := strings.Cut(words[0], "-")
		list = append(list, catalogued{group, number, words[1], len(words) > 2})
	}
	return list
}

// TestCatalogue checks that every P0 and P1 check of the catalogue exists here, has a
// reason why not, or is in testdata/pending.txt, and that the catalogue has every
// check here.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/pending.txt")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	pending := strings.Fields(string(text))
	known := map[string]checks{}
	for _, g := range groups() {
		known[g.name] = g.checks
	}
	severity := map[string]string{}
	for _, c := range catalogue(t) {
		id := c.group + "-" + c.number
		severity[id] = c.severity
		k, ok := known[c.group][c.number]
		switch {
		case ok && slices.Contains(pending, id):
			t.Errorf("%s is here, and in testdata/pending.txt", id)
		case !ok && c.severity != "P2" && !slices.Contains(pending, id):
			t.Errorf("%s (%s) is missing", id, c.severity)
		case ok && k.run == nil && k.not == "":
			t.Errorf("%s neither runs nor gives a reason", id)
		case ok && k.run == nil && c.severity == "P0":
			t.Errorf("%s is P0 and does not run: %s", id, k.not)
		}
	}
	for name, list := range known {
		for number := range list {
			if severity[name+"-"+number] == "" {
				t.Errorf("%s-%s is not in the catalogue", name, number)
			}
		}
	}
}

// TestVerify runs the checks: first those that must run alone, group by group, then
// all others, six at a time. A quick run measures nothing, so no check runs alone.
// With -failfast, which parallel tests ignore, groups run one after another.
func TestVerify(t *testing.T) {
	r := &report{t: t}
	t.Cleanup(func() { r.summary(groups()) }) // after the parallel subtests
	for _, c := range catalogue(t) {
		r.severity(c)
	}
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) { g.run(t, r) })
	}
}

func (g group) run(t *testing.T, r *report) {
	numbers := slices.Sorted(func(yield func(string) bool) {
		for n := range g.checks {
			if !yield(n) {
				return
			}
		}
	})
	slices.SortStableFunc(numbers, func(a, b string) int { return cmp.Compare(rank(g.checks[a]), rank(g.checks[b])) })
	beside := failFast()
	for _, n := range numbers {
		c := g.checks[n]
		alone := c.alone && theScale() > quick
		if !alone && !beside {
			beside = true
			t.Parallel() // continues once no group has checks left that must run alone
		}
		t.Run(n, func(t *testing.T) {
			if !alone {
				t.Parallel()
			}
			c.verify(&T{T: t, id: g.name + "-" + n, report: r, figures: &figures{}})
		})
	}
}

func failFast() bool {
	f := flag.Lookup("test.failfast")
	return f != nil && f.Value.String() == "true"
}

func rank(c check) int {
	if c.alone {
		return 0
	}
	return 1
}

// verify runs a check in the modes that can meet it and prints its line.
func (c check) verify(t *T) {
	skewed.Set(theSkew())
	if c.run == nil {
		t.report.line(t.id, "SKIP", c.title+": "+c.not, "")
		return
	}
	if theScale() < c.least {
		t.report.line(t.id, "SKIP", fmt.Sprintf("runs at scale %s and above", c.least), "")
		return
	}
	t.Cleanup(func() { // after the parallel subtests
		status := "PASS"
		switch {
		case t.Failed():
			status = "FAIL"
		case t.Skipped():
			status = "SKIP"
		}
		t.report.line(t.id, status, cmp.Or(t.figures.want(), c.title), t.figures.String())
	})
	t.require(c)
	if c.browser != nil && theScale() >= ci {
		defer c.inBrowser(t)
	}
	if c.once {
		c.run(t)
		return
	}
	for _, mode := range modes {
		if why, excepted := c.except[mode]; excepted {
			t.report.deviation(mode, t.id, why)
			continue
		}
		t.Run(mode, func(inner *T) {
			inner.Mode = mode
			c.run(inner)
		})
		if os.Getenv("AUTHSVC_VERIFY") == "" && theScale() == quick {
			return // go test ./... runs each once anyway
		}
	}
}

// inBrowser runs the part that needs a real browser.
func (c check) inBrowser(t *T) {
	lack := needsChromium.lack()
	if lack == "" {
		t.Run("browser", c.browser)
		return
	}
	if demanded() {
		t.Errorf("the browser part %s", lack)
	}
	t.Figure("without its browser part")
}

// require skips a check for which the machine lacks something.
func (t *T) require(c check) {
	t.Helper()
	for _, n := range c.needs {
		if lack := n.lack(); lack != "" {
			t.lacks(lack)
		}
	}
}

// A scale sets how much is done.
type scale int

const (
	quick scale = iota
	ci
	full
)

func (s scale) String() string { return []string{"quick", "ci", "full"}[s] }

var theScale = sync.OnceValue(func() scale {
	switch v := os.Getenv("AUTHSVC_VERIFY"); v {
	case "quick":
		return quick
	case "ci":
		return ci
	case "full":
		return full
	case "":
		if f := flag.Lookup("test.run"); f != nil && strings.Contains(f.Value.String(), "TestVerify") {
			return ci
		}
		return quick
	default:
		fmt.Fprintf(os.Stderr, "AUTHSVC_VERIFY must be quick, ci or full, not %q\n", v)
		os.Exit(2)
		return 0
	}
})
