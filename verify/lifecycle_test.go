package verify

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc/internal/dev/idp"
	"authsvc/internal/sql/sqlschema"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	"authsvc/internal/test/servertest"
)

var lifecycleChecks = checks{
	"01": {title: "SIGTERM under load: requests in flight are answered", once: true, alone: true, run: lifecycle01},
	"02": {title: "replicas are replaced under load", once: true, alone: true, least: ci, run: lifecycle02},
	"03": {title: "a second signal stops the service at once", once: true, run: lifecycle03},
	"04": {title: "reloads under load", once: true, alone: true, run: lifecycle04},
	"05": {title: "replicas that start at once migrate once", once: true, alone: true, run: lifecycle05},
	"06": {title: "a migration that is killed midway", once: true, alone: true, least: ci, run: lifecycle06},
	"07": {title: "a newer schema is refused and left alone", once: true, run: lifecycle07},
	"08": {title: "migration with data, under traffic", once: true, alone: true, run: lifecycle08},
	"09": {title: "the service starts before its store", once: true, least: ci, run: lifecycle09},
	"10": {title: "readiness follows the store, liveness does not", once: true, least: ci, run: lifecycle10},
	"11": {title: "Leak soak", not: "needs 24 hours of mixed load; internal/test/scale, crash-05 and crash-08 look for leaks after faults"},
	"13": {title: "replicas whose clocks are half a minute off, behind nginx", once: true, least: ci, needs: []need{program("nginx", "/usr/sbin/nginx")}, run: lifecycle13},
	"14": {title: "two processes on one SQLite file are restarted behind nginx", once: true, alone: true, least: ci, needs: []need{program("nginx", "/usr/sbin/nginx")}, run: lifecycle14},
}

// lifecycleStores runs f with each kind of store that has a schema.
func lifecycleStores(t *T, f func(t *T, kind stores.Kind)) {
	t.Helper()
	t.Stores(func(t *T, kind stores.Kind) {
		if kind.Name != "memory" && kind.Name != "redis" {
			f(t, kind)
		}
	})
}

// lifecycleAll returns all migrations, each once, in the format of lifecycleVersions.
func lifecycleAll() string {
	var all []int64
	for v := range sqlschema.Latest() {
		all = append(all, v+1)
	}
	return fmt.Sprint(all)
}

// lifecycleVersions returns the rows of goose's table, or nil if there is none.
func lifecycleVersions(t *T, env []string) []int64 {
	t.Helper()
	storage, _ := storeURL(env)
	db := storeSQL(t, storage)
	if db == nil {
		return nil
	}
	rows, err := db.QueryContext(t.Context(), `SELECT version_id FROM authsvc_goose WHERE version_id > 0 ORDER BY version_id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []int64
	for rows.Next() {
		var v int64
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// lifecycle05 starts replicas on an empty store and on one of the last version.
func lifecycle05(t *T) {
	replicas := t.Scale("replicas at once", 3, 10, 10)
	near := process.NewNeighbours(t)
	lifecycleStores(t, func(t *T, kind stores.Kind) {
		env := kind.Env(t, t.TempDir())
		for _, from := range []string{"empty", "N-1"} {
			if from == "N-1" {
				if out, code := process.Prepare(t, near.YAML(""), env...).Command("migrate", "down", "--yes"); code != 0 {
					t.Fatalf("migrate down: %d %s", code, out)
				}
			}
			var all []*process.Process
			for range replicas {
				all = append(all, process.Prepare(t, near.YAML(""), env...))
			}
			for _, p := range all {
				p.Start()
			}
			for _, p := range all {
				p.Ready(60 * time.Second)
			}
			if err := browser.New(all[replicas-1].URL, nil).SignIn(near.OP, "ada"); err != nil {
				t.Errorf("%s: %v", from, err)
			}
			if got := lifecycleVersions(t, env); got != nil && fmt.Sprint(got) != lifecycleAll() {
				t.Errorf("%s: migrations that were applied: %v", from, got)
			}
			for _, p := range all {
				p.Signal(syscall.SIGTERM)
			}
			for _, p := range all {
				if code := p.Wait(patience); code != 0 {
					t.Errorf("%s: exit %d\n%s", from, code, p.Logs)
				}
			}
		}
		storeWhole(t, storeAt(t, env))
	})
}

// lifecycle06 kills the service at many points between its first piece of data to the
// database and the last one before it is ready. If the database is a file, it kills
// at as many instants. The next start must finish the work.
func lifecycle06(t *T) {
	trials := t.Scale("kills during a migration, for each store", 0, 8, 150)
	near := process.NewNeighbours(t)
	lifecycleStores(t, func(t *T, kind stores.Kind) {
		if kind.Name != "sqlite" { // with SQLite, time decides when to kill
			t.Parallel() // most of the time is spent waiting for a dead process's lock
		}
		whole := lifecycleKill(t, process.Prepare(t, near.YAML(""), kind.Env(t, t.TempDir())...), lifecycleNever)
		reached := 0
		var killed []*process.Process
		for i := range trials {
			p := process.Prepare(t, near.YAML(""), kind.Env(t, t.TempDir())...)
			if at := whole * float64(i+1) / float64(trials+1); lifecycleKill(t, p, at) >= at {
				reached++
			}
			killed = append(killed, p)
		}
		for _, p := range killed { // at the same time: a dead process's lock lasts 10 s
			p.Start()
		}
		for i, p := range killed {
			lifecycleResume(t, p)
			if err := browser.New(p.URL, nil).SignIn(near.OP, "ada"); err != nil {
				t.Errorf("trial %d: %v", i, err)
			}
			if got := lifecycleVersions(t, p.Env()); got != nil && fmt.Sprint(got) != lifecycleAll() {
				t.Errorf("trial %d: migrations that were applied: %v", i, got)
			}
			p.Kill()
		}
		if reached == 0 && trials > 0 {
			t.Errorf("%d of %d kills were before it was ready", reached, trials)
		}
		t.Figure("%s: %d before it was ready", kind.Name, reached)
	})
}

const lifecycleNever = 1e9

// lifecycleResume waits until p is ready. If p refuses a file that was created but is
// still empty, it follows the advice in the error.
func lifecycleResume(t *T, p *process.Process) {
	t.Helper()
	storage, _ := storeURL(p.Env())
	if path, file := strings.CutPrefix(storage, "sqlite:"); file {
		for deadline := time.Now().Add(5 * time.Second); p.Running() && !lifecycleReady(p) && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		if !p.Running() && strings.Contains(p.Logs.String(), "is empty, perhaps truncated: restore it, or remove it to start with a new database") {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			p.Start()
		}
	}
	p.Ready(60 * time.Second)
}

// lifecycleKill starts a service and kills it at a point. It returns how far the
// service got until it was ready: in pieces sent, or in milliseconds for a file.
func lifecycleKill(t *T, p *process.Process, at float64) float64 {
	t.Helper()
	storage, _ := storeURL(p.Env())
	if path, file := strings.CutPrefix(storage, "sqlite:"); file {
		return lifecycleKillFile(t, p, path, at)
	}
	u := arena.MustURL(t, storage)
	var pieces atomic.Int64
	hit := make(chan struct{})
	var once sync.Once
	proxy := arena.NewProxy(t, u.Host, func(n int64) bool {
		if float64(n) < at {
			pieces.Store(n)
			return true
		}
		pieces.Store(int64(at) + 1)
		once.Do(func() { close(hit) })
		return false
	})
	u.Host = proxy.Addr
	p.Setenv("AUTHSVC_STORAGE_URL=" + u.String())
	p.Start()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline) && !lifecycleHit(hit) && !lifecycleReady(p); {
		time.Sleep(5 * time.Millisecond)
	}
	p.Kill()
	p.Setenv("AUTHSVC_STORAGE_URL=" + storage)
	return float64(pieces.Load())
}

func lifecycleHit(hit <-chan struct{}) bool {
	select {
	case <-hit:
		return true
	default:
		return false
	}
}

// lifecycleKillFile counts from the moment when the file exists.
func lifecycleKillFile(t *T, p *process.Process, path string, at float64) float64 {
	t.Helper()
	p.Start()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Microsecond) {
		if _, err := os.Stat(path); err == nil {
			break
		}
	}
	begun := time.Now()
	if at < lifecycleNever {
		time.Sleep(time.Duration(at * float64(time.Millisecond)))
		p.Kill()
		if strings.Contains(p.Logs.String(), "authsvc serves") {
			return 0 // it was ready
		}
		return at
	}
	p.Ready(patience)
	d := time.Since(begun)
	p.Kill()
	return d.Seconds() * 1000
}

func lifecycleReady(p *process.Process) bool { return lifecycleStatus(p, "/readyz") == http.StatusOK }

// lifecycleStatus returns the status of a path, or 0 without an answer.
func lifecycleStatus(p *process.Process, path string) int {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+path, nil)
	if err != nil {
		return 0
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// lifecycle07 writes the version of a later build into the store.
func lifecycle07(t *T) {
	near := process.NewNeighbours(t)
	lifecycleStores(t, func(t *T, kind stores.Kind) {
		env := kind.Env(t, t.TempDir())
		s := storeAt(t, env)
		storeTwins(t, s)
		twin := process.Serve(t, near.YAML(""), env...)
		twin.Kill()
		lifecycleNewer(t, env)
		for _, args := range [][]string{{"serve"}, {"migrate", "up"}, {"migrate", "down", "--yes"}} {
			p := process.Prepare(t, near.YAML(""), env...)
			var out string
			code := 1
			if args[0] == "serve" {
				out = crashRefusal(t, p)
			} else {
				out, code = p.Command(args...)
			}
			if code == 0 || !strings.Contains(out, "99") || !strings.Contains(out, "newer build") {
				t.Errorf("%v: exit %d\n%s", args, code, out)
			}
		}
		for _, x := range []string{"a", "b"} {
			if _, u, err := s.GetSession(t.Context(), "token-"+x, "digest-"+x); err != nil || u.Email != x+"@app.test" {
				t.Errorf("the data was touched: %+v, %v", u, err)
			}
		}
	})
}

func lifecycleNewer(t *T, env []string) {
	t.Helper()
	storage, _ := storeURL(env)
	if db := storeSQL(t, storage); db != nil {
		flag := map[bool]string{true: "TRUE", false: "1"}[strings.HasPrefix(storage, "postgres")]
		if _, err := db.ExecContext(t.Context(), `INSERT INTO authsvc_goose (version_id, is_applied) VALUES (99, `+flag+`)`); err != nil {
			t.Fatal(err)
		}
		return
	}
	client, err := mongo.Connect(options.Client().ApplyURI(storage))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Disconnect(context.WithoutCancel(t.Context())) })
	name := strings.TrimPrefix(arena.MustURL(t, storage).Path, "/")
	r, err := client.Database(name).Collection("authsvc_meta").UpdateOne(t.Context(), bson.D{{Key: "_id", Value: "authsvc_schema"}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "version", Value: int64(99)}}}})
	if err != nil || r.MatchedCount != 1 {
		t.Fatal(r, err)
	}
}

// lifecycle09 starts the service before its store. It must be alive but not ready,
// and become ready soon after the store starts, in the same process.
func lifecycle09(t *T) {
	away := time.Duration(t.Scale("seconds until the store starts", 0, 3, 60)) * time.Second
	near := process.NewNeighbours(t)
	crashEach(t, func(t *T, s crashServer) {
		server := s.start(t)
		server.Stop()
		p := process.Prepare(t, near.YAML(""), crashEnv(t, server)...)
		p.Start()
		pid, appears := p.PID(), time.Now().Add(away)
		for time.Now().Before(appears) || lifecycleStatus(p, "/healthz") != http.StatusOK {
			if time.Since(appears) > 10*time.Second {
				t.Fatal("not alive without its store")
			}
			time.Sleep(100 * time.Millisecond)
			if lifecycleReady(p) || !p.Running() {
				t.Fatalf("ready, or ended, without its store\n%s", p.Logs)
			}
		}
		server.Start()
		begun := time.Now()
		p.Ready(patience)
		t.Figure("%s: ready after %.1f s", s.name, time.Since(begun).Seconds())
		if err := browser.New(p.URL, nil).SignIn(near.OP, "ada"); err != nil || p.PID() != pid {
			t.Error(err)
		}
	})
}

// lifecycle10 tests readiness when the store is away, when the identity provider is
// away, and when the disk is full.
func lifecycle10(t *T) {
	near := process.NewNeighbours(t)
	server := servertest.OwnRedis(t)
	p := process.Serve(t, near.YAML(""), crashEnv(t, server)...)
	expect := func(when string, ready int) {
		t.Helper()
		var got int
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			if got = lifecycleStatus(p, "/readyz"); got == ready {
				break
			}
		}
		if alive := lifecycleStatus(p, "/healthz"); got != ready || alive != http.StatusOK {
			t.Errorf("%s: readiness %d, want %d, liveness %d", when, got, ready, alive)
		}
	}
	expect("all is healthy", http.StatusOK)
	near.OP.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointDiscovery: 503, idp.EndpointToken: 503, idp.EndpointJWKS: 503, idp.EndpointAuthorize: 503}})
	if err := browser.New(p.URL, nil).SignIn(near.OP, "ada"); err == nil {
		t.Error("the identity provider is not down")
	}
	time.Sleep(1200 * time.Millisecond) // the store's answer is cached for 1 s
	expect("identity provider down", http.StatusOK)
	near.OP.SetFault(idp.Fault{})
	server.Kill()
	expect("store down", http.StatusServiceUnavailable)
	server.Start()
	expect("store up", http.StatusOK)
	err := browser.New(p.URL, nil).SignIn(near.OP, "ada")
	for deadline := time.Now().Add(crashDeadline); err != nil && time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		err = browser.New(p.URL, nil).SignIn(near.OP, "ada") // the service does not ask a provider again at once after a failure
	}
	if err != nil {
		t.Error(err)
	}
	lifecycleFull(t, near)
}

// lifecycleFull checks that a full disk does not make the service unready: reads
// continue.
func lifecycleFull(t *T, near *process.Neighbours) {
	t.Helper()
	d := newCrashDisk(t, 4)
	p := process.Serve(t, near.YAML(""), d.env()...)
	d.fill(t)
	time.Sleep(1200 * time.Millisecond)
	if ready, alive := lifecycleStatus(p, "/readyz"), lifecycleStatus(p, "/healthz"); ready != http.StatusOK || alive != http.StatusOK {
		t.Errorf("disk full: readiness %d, liveness %d", ready, alive)
	}
}
