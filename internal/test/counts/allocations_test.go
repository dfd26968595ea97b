//go:build !race

package counts_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/adapter/sqlite"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

const rewriteAllocations = "go test ./internal/test/counts -run TestAllocations -update"

// tableOf is the Go version of the table: other versions allocate differently.
const tableOf = "go1.27"

// A load is a flow whose memory is measured, and the number of people to measure.
type load struct {
	name    string
	warmUps int
	people  int
	exact   bool // allocates the same each time, except for effects of the clock
	run     func(*lean, int)
}

func loads() []load {
	return []load{
		{name: "email-first", warmUps: 100, people: 1000, run: (*lean).signInByMail},
		{name: "oidc-first", warmUps: 100, people: 1000, run: (*lean).signInAtProvider},
		{name: "oidc-again", warmUps: returning, people: 1000, run: (*lean).signInAgain},
		{name: "session", warmUps: 1000, people: 20_000, exact: true, run: (*lean).askSession},
	}
}

// TestAllocations compares the allocations of flows, and their bytes, with the table.
// It counts the whole process, with a client that allocates little. A lower figure
// must be recorded in the table, so that it stays low.
func TestAllocations(t *testing.T) {
	want := readTable(t, "testdata/allocations.txt", []string{"flow"}, []string{"allocations", "bytes"})
	if !strings.HasPrefix(runtime.Version(), tableOf) {
		if *update {
			t.Fatalf("the table is of %s, not of %s", tableOf, runtime.Version())
		}
		t.Skipf("the table is of %s, which make takes; this is %s", tableOf, runtime.Version())
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as in the program
	var rows []string
	for _, l := range loads() {
		rows = append(rows, l.name)
		t.Run(l.name, func(t *testing.T) {
			mallocs, bytes := l.measure(t)
			t.Logf("%.2f allocations, %.0f bytes", mallocs, bytes)
			if *update {
				want.set(l.name, []string{fmt.Sprintf("%.1f", mallocs), fmt.Sprintf("%.0f", bytes)})
				return
			}
			within(t, want, l.name, 0, mallocs, l.exact)
			within(t, want, l.name, 1, bytes, false)
		})
	}
	if *update {
		want.write(t, rows)
	}
}

// within compares a figure with the table. A saving of more than 5 % must be
// recorded.
func within(t *testing.T, want *table, row string, column int, got float64, exact bool) {
	t.Helper()
	if want.rows[row] == nil {
		t.Fatalf("%s is not in %s: %s", row, want.path, rewriteAllocations)
	}
	is, err := strconv.ParseFloat(want.rows[row][column], 64)
	if err != nil {
		t.Fatal(err)
	}
	more, less := [2]float64{0.02, 0.05}[column]*is, 0.05*is
	if exact {
		more, less = 0.5, 0.5
	}
	switch name := want.columns[column]; {
	case got > is+more:
		t.Errorf("%s: %s: got %.1f, want at most %.1f (%.1f of the table and %.1f); if that is intended: %s", row, name, got, is+more, is, more, rewriteAllocations)
	case got < is-less:
		t.Errorf("%s: %s: got %.1f, and %.1f are in the table; lower the table, so that it stays so: %s", row, name, got, is, rewriteAllocations)
	}
}

// BenchmarkSignIn signs people in on SQLite, one after the other.
func BenchmarkSignIn(b *testing.B) {
	for _, l := range loads() {
		b.Run(l.name, func(b *testing.B) {
			c := newLean(b, opened(b)(sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "auth.db"), sqlite.Options{Migrate: true})))
			n := 0
			for ; n < l.warmUps; n++ {
				l.run(c, n)
			}
			b.ReportAllocs()
			for ; b.Loop(); n++ {
				l.run(c, n)
			}
		})
	}
}

// measure returns the allocations and bytes per person.
func (l load) measure(t *testing.T) (mallocs, bytes float64) {
	var store adapter.Adapter = memory.New()
	if l.exact {
		store = opened(t)(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "auth.db"), sqlite.Options{Migrate: true}))
	}
	c := newLean(t, store)
	for n := range l.warmUps {
		l.run(c, n)
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := range l.people {
		l.run(c, l.warmUps+n)
	}
	runtime.ReadMemStats(&after)
	per := func(before, after uint64) float64 {
		return math.Round(100*float64(after-before)/float64(l.people)) / 100
	}
	return per(before.Mallocs, after.Mallocs), per(before.TotalAlloc, after.TotalAlloc)
}

// A lean is a service with the default limits, except for the total of mails, and a
// client that allocates little. Each person comes from a different address.
type lean struct {
	leanClient
	t    testing.TB
	op   *leanProvider
	mail chan string // links of sent mails
	asks *http.Request
}

func newLean(t testing.TB, store adapter.Adapter) *lean {
	t.Helper()
	c := &lean{t: t, op: newLeanProvider(t), mail: make(chan string, 1)}
	s, err := engine.New(authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Adapter: store, Logger: slog.New(slog.DiscardHandler),
		RateLimit: authsvc.RateLimit{EmailTotal: authsvc.Rate{N: 1_000_000, Per: time.Hour}},
		Outbound:  authsvc.Outbound{DangerousTransport: c.op},
		Notices:   authsvc.NoticeOptions{IgnoreNewBrowsers: true}, // as for browsers that are known
		Providers: []authsvc.Provider{
			&authsvc.OAuth{ID: "op", OpenID: true, Issuer: leanIssuer, Client: authsvc.Client{ID: "app", Secret: arena.ClientSecret}},
			&authsvc.Email{From: "Acme <no-reply@app.test>", Send: func(_ context.Context, m authsvc.Message) error {
				c.mail <- arena.Link(t, m)
				return nil
			}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	c.start(t, s)
	return c
}

// in fails unless the client has just signed in.
func (c *lean) in(n int, location string) {
	if location != arena.Origin || !c.has(arena.SessionName) {
		c.t.Fatalf("sign-in %d leads to %q", n, location)
	}
}

func (c *lean) signInByMail(n int) {
	c.person(n)
	if to := c.do(http.MethodPost, "/api/auth/signin/email", c.form+"&email=mail"+strconv.Itoa(10_000+n)+"%40example.com"); to == "" {
		c.t.Fatalf("no link is sent to person %d", n)
	}
	c.in(n, c.do(http.MethodGet, <-c.mail, ""))
}

func (c *lean) signInAtProvider(n int) {
	c.person(n)
	c.signInAs(n)
}

// returning is the number of people who return in turn.
const returning = 100

func (c *lean) signInAgain(n int) {
	c.person(n)
	c.signInAs(n % returning)
}

func (c *lean) signInAs(n int) {
	back := c.op.approve(c.t, n, c.do(http.MethodPost, "/api/auth/signin/op", c.form))
	c.in(n, c.do(http.MethodGet, back, ""))
}

func (c *lean) askSession(int) {
	if c.asks == nil {
		c.signInAtProvider(0)
		c.asks = c.request(http.MethodGet, "/api/auth/session", "")
	}
	clear(c.answer.header)
	c.answer.written = 0
	if c.service.ServeHTTP(&c.answer, c.asks); c.answer.written < len(`{"user":{}}`) {
		c.t.Fatal("not signed in")
	}
}
