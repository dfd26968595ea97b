package verify

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/chromium"
	"authsvc/internal/test/servertest"
)

// The compat modes. A check runs in each mode unless it gives a reason.
const (
	modeNone = "none"
	modeV4   = "next-auth-v4"
	modeV5   = "authjs-v5"
)

var modes = []string{modeNone, modeV4, modeV5}

// T is the [testing.T] of a check.
type T struct {
	*testing.T
	Mode string // value of compat; empty in checks that run once

	id      string
	report  *report
	figures *figures
}

// Run runs a subtest, which reports for the check.
func (t *T) Run(name string, f func(*T)) bool {
	return t.T.Run(name, func(inner *testing.T) {
		f(&T{T: inner, Mode: t.Mode, id: t.id, report: t.report, figures: t.figures})
	})
}

// Enter starts a world in the check's compat mode. tune may be nil.
func (t *T) Enter(tune func(*authsvc.Config)) *arena.World {
	t.Helper()
	return arena.Enter(t, onServer(t, t.inMode(tune)))
}

// EnterOffline works like Enter, but without a network, for synctest bubbles.
func (t *T) EnterOffline(tune func(*authsvc.Config)) *arena.World {
	t.Helper()
	return arena.EnterOffline(t, t.inMode(tune))
}

func (t *T) inMode(tune func(*authsvc.Config)) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		if t.Mode != "" && t.Mode != modeNone {
			c.Compat = authsvc.Compat(t.Mode)
		}
		if tune != nil {
			tune(c)
		}
	}
}

// Strategies runs f with strategy database and jwt.
func (t *T) Strategies(f func(t *T, strategy string)) {
	for _, s := range []string{"database", "jwt"} {
		t.Run(s, func(t *T) { f(t, s) })
	}
}

// Stores runs f with every available kind of store. At scale quick, these are memory
// and sqlite.
func (t *T) Stores(f func(t *T, kind stores.Kind)) {
	t.Helper()
	t.eachStore(stores.All(), f)
}

// CombinedStores works like Stores, and adds SQLite with sessions in Redis.
func (t *T) CombinedStores(f func(t *T, kind stores.Kind)) {
	t.Helper()
	t.eachStore(stores.Combined(), f)
}

func (t *T) eachStore(kinds []stores.Kind, f func(t *T, kind stores.Kind)) {
	t.Helper()
	for _, k := range kinds {
		if theSkew() != 0 && (k.Name == "memory" || k.Name == "sqlite" || k.Name == stores.BesideRedis) {
			t.figures.add("without " + k.Name + ", which has no clock")
			continue
		}
		if theScale() == quick && k.Name != "memory" && k.Name != "sqlite" && (theSkew() == 0 || k.Name != "postgres") {
			t.figures.add("without " + k.Name)
			continue
		}
		if lack := lackOf(k.Name); lack != "" {
			if demanded() {
				t.Errorf("%s: %s", k.Name, lack)
			}
			t.figures.add("without " + k.Name)
			continue
		}
		t.Run(k.Name, func(t *T) { f(t, k) })
	}
}

// lackOf returns why a store has no server, or "".
func lackOf(store string) string {
	if store == stores.BesideRedis {
		store = "redis"
	}
	return servertest.Missing(store)
}

// Scale returns the number of repetitions at this scale, and prints it with what.
func (t *T) Scale(what string, atQuick, atCI, atFull int) int {
	n := []int{atQuick, atCI, atFull}[theScale()]
	t.figures.add(fmt.Sprintf("%d %s", n, what))
	return n
}

// Stride returns the distance between tried items at this scale, and prints which part
// of them is tried.
func (t *T) Stride(items string, atQuick, atCI, atFull int) int {
	n := []int{atQuick, atCI, atFull}[theScale()]
	if n == 1 {
		t.figures.add("all " + items)
	} else {
		t.figures.add(fmt.Sprintf("1 of %d %s", n, items))
	}
	return n
}

// patience limits the wait for events that must happen.
const patience = time.Minute

// measures reports whether checks compare times, rates and memory. At scale quick
// they do not, because it must pass on a machine of any speed.
func measures() bool { return theScale() > quick }

// within returns the time limit of a measured step. At scale quick, it is ten times
// the limit and at least a minute, so that only code that hangs exceeds it.
func within(limit time.Duration) time.Duration {
	if measures() {
		return limit
	}
	return max(10*limit, patience)
}

// Figure prints a measurement.
func (t *T) Figure(format string, args ...any) { t.figures.add(fmt.Sprintf(format, args...)) }

// Want ends a check that does not run here, with the reason. Use it for checks that a
// scale leaves out.
func (t *T) Want(format string, args ...any) {
	t.Helper()
	t.figures.wants(fmt.Sprintf(format, args...))
	if demanded() && theScale() >= ci {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// lacks ends a check because the machine lacks something. If everything is required,
// this is a failure.
func (t *T) lacks(what string) {
	t.Helper()
	t.Want("%s", what)
}

// demanded reports whether everything is required: CI has everything and skips
// nothing.
func demanded() bool { return os.Getenv("AUTHSVC_E2E") == "1" }

// A need is something that a machine may lack.
type need struct {
	lack func() string // the reason, or "" if nothing is missing
}

// program needs one of the named programs.
func program(names ...string) need {
	return need{func() string {
		for _, n := range names {
			if _, err := exec.LookPath(n); err == nil {
				return ""
			}
		}
		return "needs " + strings.Join(names, " or ")
	}}
}

var needsChromium = program(chromium.Names...)

// figures collects the measurements of a check, each once.
type figures struct {
	mu     sync.Mutex
	list   []string
	reason string
}

func (f *figures) add(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(f.list, s) {
		return
	}
	f.list = append(f.list, s)
}

func (f *figures) wants(reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reason = reason
}

func (f *figures) want() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reason
}

func (f *figures) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.list, "; ")
}
