package servertest

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ownServers lists the four servers, with functions that write a value and read it
// back.
var ownServers = []struct {
	name  string
	start func(testing.TB) *Server
	put   func(testing.TB, *Server)
	get   func(testing.TB, *Server) bool
}{
	{"PostgreSQL", OwnPostgres, putSQL(postgres), getSQL(postgres)},
	{"MySQL", OwnMySQL, putSQL(mysqlServer), getSQL(mysqlServer)},
	{"Redis", func(t testing.TB) *Server { return OwnRedis(t) }, putRedis, getRedis},
	{"FerretDB", OwnFerretDB, func(t testing.TB, s *Server) { insertMongo(t, s.URL) }, getMongo},
}

func putSQL(kind *sqlServer) func(testing.TB, *Server) {
	return func(t testing.TB, s *Server) {
		t.Helper()
		onSQL(t, kind, s.URL, `SELECT 1`, `CREATE TABLE thing (id INT)`, `INSERT INTO thing VALUES (1)`)
	}
}

func getSQL(kind *sqlServer) func(testing.TB, *Server) bool {
	return func(t testing.TB, s *Server) bool {
		t.Helper()
		return len(onSQL(t, kind, s.URL, `SELECT 'x' FROM thing`)) == 1
	}
}

func putRedis(t testing.TB, s *Server) {
	t.Helper()
	if err := redisClient(t, s.URL).Set(t.Context(), "key", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
}

func getRedis(t testing.TB, s *Server) bool {
	t.Helper()
	return redisClient(t, s.URL).Get(t.Context(), "key").Val() == "v"
}

func getMongo(t testing.TB, s *Server) bool {
	t.Helper()
	answer, err := mongoCommand(t.Context(), s.URL, databaseOf(s.URL), bson.D{{Key: "count", Value: "thing"}})
	if err != nil {
		t.Fatal(err)
	}
	n, _ := answer.Lookup("n").AsInt64OK()
	return n == 1
}

// ping pings once.
func ping(t testing.TB, s *Server, timeout time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	return s.ping(ctx, s.URL)
}

func TestOwnServer(t *testing.T) {
	t.Parallel()
	const soon, patient = 300 * time.Millisecond, time.Minute
	for _, test := range ownServers {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := test.start(t)
			test.put(t, s)

			s.Freeze()
			if ping(t, s, soon) == nil {
				t.Error("a frozen server answers")
			}
			s.Thaw()
			if err := ping(t, s, patient); err != nil {
				t.Errorf("a thawed server does not answer: %v", err)
			}

			for name, end := range map[string]func(){"Kill": s.Kill, "Stop": s.Stop} {
				end()
				if ping(t, s, soon) == nil {
					t.Errorf("after %s the server answers", name)
				}
				s.Start()
				if !test.get(t, s) {
					t.Errorf("after %s and Start the data is gone", name)
				}
			}
		})
	}
}

// TestOwnServerLeavesNothing ends tests in each state of a server.
func TestOwnServerLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, server := range ownServers {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			for name, leave := range map[string]func(*Server){
				"running": func(*Server) {},
				"frozen":  (*Server).Freeze,
				"killed":  (*Server).Kill,
				"stopped": (*Server).Stop,
			} {
				var s *Server
				var pids []int
				t.Run(name, func(t *testing.T) {
					s = server.start(t)
					pids = s.running.pids()
					leave(s)
				})
				if s == nil {
					t.SkipNow() // as the inner test, which gave the reason
				}
				for _, pid := range pids {
					if alive(pid) {
						t.Errorf("%s: process %d is left", name, pid)
					}
				}
				if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
					t.Errorf("%s: the directory is left: %v", name, err)
				}
			}
		})
	}
}

// TestOwnPostgresChildren checks that all processes are frozen: a running backend
// would answer on an open connection.
func TestOwnPostgresChildren(t *testing.T) {
	t.Parallel()
	s := OwnPostgres(t)
	c, err := postgres.open(t.Context(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	ask := func(timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		_, err := c.column(ctx, `SELECT 'x'`)
		return err
	}
	if err := ask(time.Minute); err != nil {
		t.Fatal(err)
	}
	s.Freeze()
	if ask(300*time.Millisecond) == nil {
		t.Error("an open connection to a frozen server answers")
	}
	s.Thaw()
}

// TestOwnRedisOptions checks that the caller's options reach the server.
func TestOwnRedisOptions(t *testing.T) {
	t.Parallel()
	s := OwnRedis(t, "--maxmemory", "7mb")
	got := redisClient(t, s.URL).ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"]
	if want := "7340032"; strings.TrimSpace(got) != want {
		t.Errorf("maxmemory %q, want %q", got, want)
	}
}
