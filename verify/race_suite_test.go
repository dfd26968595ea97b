package verify

import (
	"database/sql"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/sqlite"
	"authsvc/internal/test/arena"
)

// raceProgram has a data race.
const raceProgram = `package main

func main() {
	n, done := 0, make(chan bool)
	go func() { n++; done <- true }()
	n++
	<-done
	println(n)
}
`

// race09 checks that the landing check and the full check run shuffled tests with the
// race detector, that a finding fails them, and that the detector works here.
func race09(t *T) {
	for target, packages := range map[string]string{"test": "./...", "check": "go list ./...", "race": "./verify"} {
		out, err := exec.Command("make", "-n", "-C", "..", target).CombinedOutput()
		if line := string(out); err != nil || !strings.Contains(line, "go test -race -shuffle=on") || !strings.Contains(line, packages) {
			t.Errorf("make %s: %s, %v", target, line, err)
		}
	}
	for script, target := range map[string]string{".ci/run": "check", ".ci/full": "race"} {
		if !regexp.MustCompile(`make --no-print-directory (-k -j2 -O )?` + target + `\n`).MatchString(supplyText(t, script)) {
			t.Errorf("%s does not run make %s", script, target)
		}
	}
	if theScale() == quick {
		return
	}
	raceDetects(t)
}

// raceBuild reports whether this program was built with the race detector.
func raceBuild() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// raceDetects checks that the detector finds an existing race.
func raceDetects(t *T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(raceProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", "-race", file).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "WARNING: DATA RACE") {
		t.Errorf("the race detector finds nothing: %v\n%s", err, out)
	}
}

// race10 renews sessions, one write each, at services with separate connections to
// one file, while a reader reads it all the time.
func race10(t *T) {
	t.ofOneMachine()
	each := t.Scale("writes of each of 64 clients", 3, 30, 1000)
	path := filepath.Join(t.TempDir(), "auth.db")
	open := func() adapter.Adapter {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	w := &raceWorld{World: t.Enter(func(c *authsvc.Config) { c.Adapter, c.Session.UpdateAge = open(), -1 })}
	first := w.Config.Adapter
	w.Config.Adapter = open()
	w.services = []*arena.Replica{w.First(), w.Replica(t)}
	w.Config.Adapter = first
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	defer raceReader(t, path)()

	// Two services share no queue: SQLite makes one of them sleep and retry. No
	// request fails, but some wait long. That figure is only printed.
	_, shared := raceWriters(t, w, b, each)
	w.services = w.services[:1]
	median, p99 := raceWriters(t, w, b, each)
	// On a busy machine, all requests wait long. A request that waits for a lock
	// waits much longer than the others.
	limit := max(raceWrite, 4*median)
	t.Figure("p99 %d ms, median %d ms; with two services on the file p99 %d ms", p99.Milliseconds(), median.Milliseconds(), shared.Milliseconds())
	if measures() && p99 > limit && !raceBuild() {
		t.Errorf("p99 of a write is %v, the median %v", p99, median)
	}
	if strings.Contains(w.Logs.String(), "locked") {
		t.Errorf("a client met a lock:\n%.2000s", w.Logs)
	}
	// Simultaneous requests for one session share a write.
	if n := len(w.Ledger.Written()); n < each {
		t.Errorf("%d writes: the reads did not write", n)
	}
}

// raceWrite limits 99 of 100 writes.
const raceWrite = 500 * time.Millisecond

// raceWriters makes 64 clients write at once and returns how long a write took.
func raceWriters(t *T, w *raceWorld, b *arena.Browser, each int) (median, p99 time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var took []time.Duration
	together(crowd, func(i int) {
		c := w.at(i, b.Clone())
		for range each {
			begun := time.Now()
			a := c.Get("/api/auth/session")
			d := time.Since(begun)
			if a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "ada@example.com") {
				t.Errorf("%d %s", a.StatusCode, a.Text)
			}
			mu.Lock()
			took = append(took, d)
			mu.Unlock()
		}
	})
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

// raceReader holds a read transaction open until the returned function is called, so
// that the write-ahead log cannot be reset.
func raceReader(t *T, path string) (end func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow(`SELECT COUNT(*) FROM Session`).Scan(&n); err != nil || n != 1 {
		t.Fatalf("%d sessions, %v", n, err)
	}
	return func() {
		tx.Rollback()
		db.Close()
	}
}
