package verify

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/sqlite"
	"authsvc/internal/seal"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
)

func session05(t *T) {
	n := t.Scale("sign-ins with each strategy", 300, 5000, 1_000_000)
	t.Strategies(func(t *T, strategy string) {
		seen := make(map[[32]byte]bool, n)
		var ones [256]int
		for len(seen) < n {
			for _, id := range sessionIdentifiers(t, strategy, min(n-len(seen), 20_000)) {
				raw, err := base64.RawURLEncoding.Strict().DecodeString(id)
				if err != nil || len(raw) != 32 || seen[[32]byte(raw)] {
					t.Fatalf("identifier %q: %v, or it occurred before", id, err)
				}
				seen[[32]byte(raw)] = true
				for i := range ones {
					ones[i] += int(raw[i/8] >> (i % 8) & 1)
				}
			}
		}
		// A bit with a meaning, such as a version bit in a UUID, has a bias. A random
		// bit exceeds 6 standard deviations once in 10⁹ times.
		for i, count := range ones {
			if lean := math.Abs(float64(count)-float64(n)/2) / (math.Sqrt(float64(n)) / 2); lean > 6 {
				t.Errorf("bit %d is set %d times of %d", i, count, n)
			}
		}
	})
	session05Source(t)
}

// sessionIdentifiers signs in n times and returns the session identifiers: the
// cookie, or its claim sid.
func sessionIdentifiers(t *T, strategy string, n int) []string {
	w := t.EnterOffline(func(c *authsvc.Config) {
		c.Session.Strategy, c.Logger = authsvc.Strategy(strategy), slog.New(slog.DiscardHandler)
	})
	anonymous := w.Browser()
	token := anonymous.CSRF()
	var bench *jweBench
	if strategy == "jwt" {
		bench = newJWEBench(t, w)
	}
	list := make([]string, n)
	for i := range list {
		b := anonymous.Clone()
		b.Login("ada", "csrfToken", token)
		list[i] = b.Cookies[w.SessionCookie()]
		if bench != nil {
			var claims struct{ SID string }
			if err := json.Unmarshal(bench.open(t, list[i]), &claims); err != nil {
				t.Fatal(err)
			}
			list[i] = claims.SID
		}
	}
	return list
}

// session05Source checks that packages that make identifiers do not import math/rand,
// except files that spread waiting times.
func session05Source(t *T) {
	for _, dirs := range []string{"..", "../engine", "../engine/internal/*", "../internal/seal"} {
		files, err := filepath.Glob(dirs + "/*.go")
		if err != nil || len(files) < 10 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || slices.Contains([]string{"../engine/credentials_turn.go", "../engine/internal/limit/queue.go"}, name) {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range f.Imports {
				if strings.HasPrefix(i.Path.Value, `"math/rand`) {
					t.Errorf("%s imports %s", name, i.Path.Value)
				}
			}
		}
	}
}

func session06(t *T) {
	t.Stores(func(t *T, kind stores.Kind) {
		dir := t.TempDir()
		w := t.Enter(func(c *authsvc.Config) {
			c.Session.Strategy = "database"
			if c.Adapter = nil; kind.Name == "sqlite" {
				c.Adapter = sessionFile(t, filepath.Join(dir, "auth.db"))
			} else {
				c.Adapter = kind.Open(t)
			}
		})
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		cookie := b.Cookies[w.SessionCookie()]
		records, err := w.Store.ListSessions(t.Context(), w.Person(t, b))
		if err != nil || len(records) != 1 {
			t.Fatalf("twin: %d sessions, %v", len(records), err)
		}
		dump := w.Ledger.Lasting() + fmt.Sprintf("%+v", records) + sessionBytes(t, dir)
		if !strings.Contains(dump, records[0].Digest) {
			t.Fatal("twin: the session is not in the dump")
		}
		raw, err := base64.RawURLEncoding.DecodeString(cookie)
		if err != nil {
			t.Fatal(err)
		}
		for _, spelled := range []string{cookie, hex.EncodeToString(raw), string(raw), base64.StdEncoding.EncodeToString(raw)} {
			if strings.Contains(dump, spelled) {
				t.Errorf("the store holds the cookie's value as %q", spelled)
			}
		}
		for _, v := range []string{records[0].SessionToken, records[0].Digest, records[0].ID, "sha256:" + cookie} {
			sessionSignedOut(t, w, "what the store holds", v)
		}
		if b.Email() != "ada@example.com" {
			t.Error("twin: the cookie itself is not valid")
		}
	})
}

// sessionFile opens a SQLite store in the given file.
func sessionFile(t *T, path string) adapter.Adapter {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// sessionBytes returns the contents of all files of a directory.
func sessionBytes(t *T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// session20 corrupts rows of the shared tables behind the service's back.
func session20(t *T) {
	cells := map[string]string{
		"user missing":       `DELETE FROM "User"`,
		"user null":          `UPDATE "Session" SET "userId" = ''`,
		"expires text":       `UPDATE "Session" SET expires = 'never'`,
		"expires empty":      `UPDATE "Session" SET expires = ''`,
		"expires blob":       `UPDATE "Session" SET expires = x'ff00'`,
		"expires null":       `UPDATE "Session" SET expires = NULL`,
		"expires zero":       `UPDATE "Session" SET expires = 0`,
		"expires negative":   `UPDATE "Session" SET expires = -9223372036854775808`,
		"auth_time text":     `UPDATE authsvc_session SET auth_time = 'long ago'`,
		"auth_time negative": `UPDATE authsvc_session SET auth_time = -9223372036854775808`,
	}
	if theScale() == quick && t.Mode != modeNone { // the modes differ only in the token's form
		cells = map[string]string{"expires text": cells["expires text"]}
	}
	for name, spoil := range cells {
		t.Run(name, func(t *T) { session20Row(t, spoil) })
	}
	t.Run("record without anything", session20Empty)
}

func session20Row(t *T, spoil string) {
	path := filepath.Join(t.TempDir(), "auth.db")
	raw, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	raw.SetMaxOpenConns(1)
	run := func(statement string) {
		t.Helper()
		if _, err := raw.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	// Another program may have created the table like this, without NOT NULL.
	run(`CREATE TABLE "Session" (id TEXT NOT NULL UNIQUE, "sessionToken" TEXT NOT NULL PRIMARY KEY, "userId" TEXT, expires DATETIME)`)
	w := t.Enter(func(c *authsvc.Config) { c.Adapter, c.Session.Strategy = sessionFile(t, path), "database" })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	if b.Clone().Email() != "ada@example.com" {
		t.Fatal("twin: no session")
	}
	run(`PRAGMA foreign_keys = OFF`)
	run(spoil)
	cookie := b.Cookies[w.SessionCookie()]
	for range 2 {
		if a := sessionRaw(w, w.SessionCookie()+"="+cookie); a.StatusCode != http.StatusOK || a.Text != sessionEmpty(t) || len(a.Header["Set-Cookie"]) == 0 {
			t.Errorf("%d %s %v", a.StatusCode, a.Text, a.Header["Set-Cookie"])
		}
	}
	if w.Person(t, b) != "" {
		t.Error("it counts as a session")
	}
	if _, err := w.Store.Sweep(t.Context(), time.Now().Add(31*24*time.Hour), 100); err != nil {
		t.Errorf("the sweep stumbles over it: %v", err)
	}
	var left int
	if err := raw.QueryRowContext(t.Context(), `SELECT count(*) FROM "Session"`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows are left, %v", left, err)
	}
	if b.SignIn(w.OP, "grace"); b.Email() != "grace@example.com" {
		t.Error("twin: cannot sign in afterwards")
	}
}

// A sessionOdd store answers with an empty record.
type sessionOdd struct {
	adapter.Adapter
	odd atomic.Bool
}

func (s *sessionOdd) GetSession(ctx context.Context, token, digest string) (adapter.SessionRecord, authsvc.User, error) {
	if s.odd.Load() {
		return adapter.SessionRecord{}, authsvc.User{}, nil
	}
	return s.Adapter.GetSession(ctx, token, digest)
}

func session20Empty(t *T) {
	store := &sessionOdd{}
	w := t.EnterOffline(func(c *authsvc.Config) {
		store.Adapter = c.Adapter
		c.Adapter, c.Session.Strategy = store, "database"
	})
	b := w.Browser()
	b.Login("ada")
	if b.Email() != "ada@app.test" {
		t.Fatal("twin: no session")
	}
	store.odd.Store(true)
	if a := b.Get("/api/auth/session"); a.StatusCode != http.StatusOK || a.Text != sessionEmpty(t) {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
}

// session22 checks that the service removes expired sessions in batches while live
// ones are read.
func session22(t *T) {
	t.Run("by itself", func(t *T) { sessionBubble(t, session22Itself) })
	rows := t.Scale("expired rows", 1_000, 40_000, 1_000_000)
	for _, kind := range stores.All()[:2] {
		t.Run(kind.Name, func(t *T) { session22Load(t, kind, rows) })
	}
}

// session22Itself waits for the service's own sweep.
func session22Itself(t *T) {
	w := t.EnterOffline(sessionStrategy("database"))
	b := w.Browser()
	b.Login("ada")
	sessionExpired(t, w.Store, 2500)
	time.Sleep(62 * time.Second)
	if list, err := w.Store.ListSessions(t.Context(), "bob-id"); err != nil || len(list) != 0 {
		t.Errorf("%d are left, %v", len(list), err)
	}
	if b.Email() != "ada@app.test" {
		t.Error("twin: a live session was removed")
	}
}

// sessionExpired creates n expired sessions of bob.
func sessionExpired(t *T, store adapter.Adapter, n int) {
	t.Helper()
	for range n {
		digest := seal.Token()
		if _, err := store.CreateSession(t.Context(), adapter.SessionRecord{ID: digest, SessionToken: "sha256:" + digest, Digest: digest, UserID: "bob-id",
			Expires: time.Now().Add(-time.Hour), Began: time.Now().Add(-48 * time.Hour), Provider: "credentials"}); err != nil {
			t.Fatal(err)
		}
	}
}

// session22Load reads live sessions without and with the sweep, in the service's
// batches and with its pauses, and compares the 99th percentiles.
func session22Load(t *T, kind stores.Kind, rows int) {
	path := filepath.Join(t.TempDir(), "auth.db")
	w := t.EnterOffline(func(c *authsvc.Config) {
		c.Session.Strategy = "database"
		if kind.Name == "sqlite" {
			c.Adapter = sessionFile(t, path)
		}
	})
	jars := make([]*arena.Browser, 20)
	for i := range jars {
		jars[i] = w.Browser()
		jars[i].Login("ada")
	}
	quiet, busy := session22Sweep(t, w, jars, path, kind, rows)
	for range 2 { // a busy machine fails once, a slow sweep every time
		if !measures() || busy-quiet <= session22Most {
			break
		}
		quiet, busy = session22Sweep(t, w, jars, path, kind, rows)
	}
	if measures() && busy-quiet > session22Most {
		t.Errorf("p99 %v without, %v with the sweep, in three measurements", quiet, busy)
	}
	for i, b := range jars {
		if b.Email() != "ada@app.test" {
			t.Errorf("live session %d was removed", i)
		}
	}
	t.Figure("%s: p99 of GET session %v, %v during the sweep", kind.Name, quiet.Round(time.Microsecond), busy.Round(time.Microsecond))
}

// session22Most limits how much the sweep may increase the 99th percentile.
const session22Most = 50 * time.Millisecond

// session22Sweep creates expired rows and sweeps them. It returns the 99th percentile
// of reads before and during the sweep.
func session22Sweep(t *T, w *arena.World, jars []*arena.Browser, path string, kind stores.Kind, rows int) (quiet, busy time.Duration) {
	t.Helper()
	if kind.Name == "sqlite" {
		sessionRows(t, path, rows)
	} else {
		sessionExpired(t, w.Store, rows)
	}
	quiet = sessionReads(t, jars, time.After(time.Second))
	stop := make(chan struct{})
	var swept atomic.Int64
	go func() {
		defer close(stop)
		for {
			n, err := w.Store.Sweep(t.Context(), time.Now(), 500)
			swept.Add(int64(n))
			if err != nil || n > 500 {
				t.Errorf("a batch of %d, %v", n, err)
			}
			if n < 500 {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	busy = sessionReads(t, jars, stop)
	if int(swept.Load()) < rows {
		t.Errorf("%d of %d swept", swept.Load(), rows)
	}
	return quiet, busy
}

// sessionReads reads about a thousand sessions a second until done, and returns the
// 99th percentile.
func sessionReads[E any](t *T, jars []*arena.Browser, done <-chan E) time.Duration {
	var took []time.Duration
	for i := 0; ; i++ {
		began := time.Now()
		if a := jars[i%len(jars)].Get("/api/auth/session"); !strings.Contains(a.Text, "ada@app.test") {
			t.Fatalf("live session: %d %s", a.StatusCode, a.Text)
		}
		took = append(took, time.Since(began))
		select {
		case <-done:
			slices.Sort(took)
			return took[len(took)*99/100]
		case <-time.After(time.Millisecond):
		}
	}
}

// sessionRows does the same as sessionExpired in one statement.
func sessionRows(t *T, path string, n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	past := strconv.FormatInt(time.Now().Add(-time.Hour).UnixMilli(), 10)
	many := fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) `, n)
	for _, statement := range []string{`PRAGMA busy_timeout = 20000`,
		`INSERT INTO "Session" (id, "sessionToken", "userId", expires) ` + many + `SELECT 'old' || i, 'sha256:old' || i, 'bob-id', ` + past + ` FROM n`,
		`INSERT INTO authsvc_session (digest, session_token, user_id, expires, auth_time, provider) ` + many + `SELECT 'old' || i, 'sha256:old' || i, 'bob-id', ` + past + `, ` + past + `, 'credentials' FROM n`} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}
