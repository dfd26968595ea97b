package verify

import (
	"database/sql"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/process"
	"authsvc/internal/test/servertest"
)

var crashChecks = checks{
	"01": {title: "kill -9 under write load, SQLite", once: true, alone: true, run: crash01},
	"02": {title: "Power-loss model", not: "needs a block layer that drops writes; synchronous=FULL is documented, and crash-01 kills only the process"},
	"03": {title: "kill -9 of the service and of its database server", once: true, alone: true, least: ci, run: crash03},
	"04": {title: "database servers are killed and restarted under load", once: true, alone: true, least: ci, run: crash04},
	"05": {title: "a store that hangs", once: true, alone: true, least: ci, run: crash05},
	"06": {title: "disk full", once: true, least: ci, run: crash06},
	"07": {title: "a store that accepts no writes", once: true, least: ci, run: crash07},
	"08": {title: "file descriptors run out", once: true, alone: true, least: ci, needs: []need{program("prlimit")}, run: crash08},
	"09": {title: "backup under load, and restore", once: true, least: ci, run: crash09},
	"10": {title: "a damaged SQLite file", once: true, run: crash10},
}

// crashStart limits the time until a killed service is ready again.
const crashStart = 2 * time.Second

// crashKills repeatedly kills a service under load and restarts it.
func crashKills(t *T, b *crashBook, p *process.Process, cycles int) {
	t.Helper()
	longest := time.Duration(0)
	for range cycles {
		stop := b.load(4)
		time.Sleep(30*time.Millisecond + rand.N(400*time.Millisecond))
		p.Kill()
		stop()
		begun := time.Now()
		p.Start()
		p.Ready(patience)
		longest = max(longest, time.Since(begun))
		b.sample()
		if t.Failed() {
			return
		}
	}
	if measures() && longest > crashStart {
		t.Errorf("a start took %v", longest)
	}
	t.Figure("starts took at most %d ms", longest.Milliseconds())
}

func crash01(t *T) {
	cycles := t.Scale("kills under load", 5, 100, 200)
	near := process.NewNeighbours(t)
	dir := t.TempDir()
	env := []string{"AUTHSVC_STORAGE_URL=sqlite:" + dir + "/auth.db"}
	p := process.Serve(t, near.YAML(""), env...)
	b := newCrashBook(t, near, p)
	crashKills(t, b, p, cycles)
	b.all()
	p.Kill()
	crashIntegrity(t, dir+"/auth.db")
	storeWhole(t, storeAt(t, env))
	t.Figure("%s", b.size())
	if len(b.alive) == 0 || len(b.dead) == 0 || len(b.redeemed) == 0 || len(b.linked) == 0 {
		t.Error("the load was too little to show anything")
	}
}

// crashIntegrity runs SQLite's integrity check.
func crashIntegrity(t testing.TB, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity_check: %s, %v", verdict, err)
	}
	orphans, err := db.QueryContext(t.Context(), "PRAGMA foreign_key_check")
	if err != nil {
		t.Fatal(err)
	}
	defer orphans.Close()
	if orphans.Next() || orphans.Err() != nil {
		t.Errorf("rows without their user: %v", orphans.Err())
	}
}

// A crashServer starts a database server that makes acknowledged writes durable, and
// describes how to reach it.
type crashServer struct {
	name  string
	start func(t testing.TB) *servertest.Server
}

var crashServers = []crashServer{
	{"postgres", servertest.OwnPostgres},
	{"mysql", servertest.OwnMySQL},
	{"mongodb", servertest.OwnFerretDB},
	{"redis", func(t testing.TB) *servertest.Server { return servertest.OwnRedis(t) }},
}

// crashLack returns why a kind of server is not available, or "".
func crashLack(name string) string {
	switch name {
	case "postgres":
		if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) > 0 {
			return ""
		}
		return program("initdb").lack()
	case "mysql":
		if _, err := os.Stat("/usr/sbin/mariadbd"); err == nil {
			return ""
		}
		return program("mariadbd").lack()
	case "mongodb":
		if os.Getenv("AUTHSVC_TEST_FERRETDB_BIN") != "" {
			return ""
		}
		return program("ferretdb").lack()
	}
	return program("redis-server").lack()
}

// crashPresent returns the available kinds. If all are required, a missing one is a
// failure.
func crashPresent(t *T) (list []crashServer) {
	t.Helper()
	for _, s := range crashServers {
		lack := crashLack(s.name)
		if lack == "" {
			list = append(list, s)
			continue
		}
		t.figures.add("without " + s.name + ": " + lack)
		if demanded() {
			t.Errorf("%s: %s", s.name, lack)
		}
	}
	return list
}

// crashEach runs f with each available kind of server.
func crashEach(t *T, f func(t *T, s crashServer)) {
	t.Helper()
	for _, s := range crashPresent(t) {
		t.Run(s.name, func(t *T) { f(t, s) })
	}
}

// crashEnv returns the variables that make a service use a server of [crashServers].
func crashEnv(t testing.TB, s *servertest.Server) []string {
	t.Helper()
	url := s.URL
	if strings.HasPrefix(url, "mongodb:") {
		url = arena.InTurn(t, url)
	}
	return []string{"AUTHSVC_STORAGE_URL=" + url}
}

func crash03(t *T) {
	many := t.Scale("kills of the service with PostgreSQL", 1, 20, 50)
	some := t.Scale("with each of the other servers", 1, 5, 50)
	servers := t.Scale("kills of each server", 1, 3, 50)
	crashEach(t, func(t *T, s crashServer) {
		server := s.start(t)
		near := process.NewNeighbours(t)
		env := crashEnv(t, server)
		p := process.Serve(t, near.YAML(""), env...)
		b := newCrashBook(t, near, p)
		cycles := some
		if s.name == "postgres" {
			cycles = many
		}
		crashKills(t, b, p, cycles)
		crashServerKills(t, b, p, server, servers)
		b.all()
		storeWhole(t, storeAt(t, env))
		t.Figure("%s: %s", s.name, b.size())
	})
	t.Run("everysec is warned about", crashEverySecond)
	kills := t.Scale("kills of one of two replicas on one store", 1, 10, 50)
	t.Stores(func(t *T, kind stores.Kind) {
		if kind.Name == "sqlite" || kind.Name == "postgres" {
			crashReplicas(t, kind.Env(t, t.TempDir()), kills)
		}
	})
}

// crashServerKills kills the database server under load. The service keeps running.
func crashServerKills(t *T, b *crashBook, p *process.Process, server *servertest.Server, kills int) {
	t.Helper()
	b.strict = false // requests fail while the server is away
	pid := p.PID()
	for range kills {
		stop := b.load(4)
		time.Sleep(100*time.Millisecond + rand.N(400*time.Millisecond))
		server.Kill()
		server.Start()
		p.Ready(patience)
		stop()
		b.sample()
	}
	if !p.Running() || p.PID() != pid {
		t.Error("the service did not survive")
	}
}

// crashEverySecond checks that the service warns about a Redis that may lose a second
// of writes, and not about one that loses nothing.
func crashEverySecond(t *T) {
	for fsync, warned := range map[string]bool{"everysec": true, "always": false} {
		server := servertest.OwnRedis(t, "--appendfsync", fsync)
		p := process.Serve(t, process.NewNeighbours(t).YAML(""), crashEnv(t, server)...)
		if got := strings.Contains(p.Logs.String(), "may lose the last second"); got != warned {
			t.Errorf("%s: warned %v\n%s", fsync, got, p.Logs)
		}
	}
}
