package servertest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// onSQL runs statements on a database and returns the result of query.
func onSQL(t testing.TB, s *sqlServer, database, query string, statements ...string) (values []string) {
	t.Helper()
	err := s.do(database, func(ctx context.Context, c sqlConn) (err error) {
		if err := all(statements...)(ctx, c); err != nil {
			return err
		}
		values, err = c.column(ctx, query)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestSharedSQL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		server *sqlServer
		fresh  func(testing.TB) string
	}{
		{"PostgreSQL", postgres, Postgres},
		{"MySQL", mysqlServer, MySQL},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var name string
			t.Run("use", func(t *testing.T) {
				one, other := test.fresh(t), test.fresh(t)
				name = databaseOf(one)
				onSQL(t, test.server, one, `SELECT 1`, `CREATE TABLE thing (id INT)`)
				onSQL(t, test.server, other, `SELECT 1`, `CREATE TABLE thing (id INT)`)
				if !slices.Contains(onSQL(t, test.server, one, test.server.names), name) {
					t.Error("the database is not in the list")
				}
			})
			server := test.server.kind.server(t)
			if slices.Contains(onSQL(t, test.server, server, test.server.names), name) {
				t.Error("the database is still there after its test")
			}
		})
	}
}

func TestSQLFrom(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		server *sqlServer
		from   func(testing.TB, func(string) error) func(testing.TB) string
	}{
		{"PostgreSQL", postgres, PostgresFrom},
		{"MySQL", mysqlServer, MySQLFrom},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			prepared := 0
			fresh := test.from(t, func(database string) error {
				prepared++
				return test.server.do(database, all(
					`CREATE TABLE z_person (id INT PRIMARY KEY, name VARCHAR(20) UNIQUE)`,
					`CREATE TABLE a_session (id INT, person INT, FOREIGN KEY (person) REFERENCES z_person (id) ON DELETE CASCADE)`,
					`INSERT INTO z_person VALUES (1, 'Ada')`))
			})
			for i := range 6 {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					t.Parallel()
					database := fresh(t)
					// A row of another copy, or a missing foreign key, would show
					// here.
					left := onSQL(t, test.server, database, `SELECT id FROM a_session`,
						`INSERT INTO a_session VALUES (7, 1)`, `DELETE FROM z_person WHERE name = 'Ada'`)
					if len(left) > 0 {
						t.Errorf("sessions left: %v", left)
					}
				})
			}
			if prepared != 1 {
				t.Errorf("prepared %d times", prepared)
			}
		})
	}
}

func TestMySQLFromRefusesViews(t *testing.T) {
	t.Parallel()
	database := MySQL(t)
	onSQL(t, mysqlServer, database, `SELECT 1`, `CREATE VIEW one AS SELECT 1`)
	err := mysqlServer.do(database, func(ctx context.Context, c sqlConn) error {
		return onlyTables(ctx, c, databaseOf(database))
	})
	if err == nil || !strings.Contains(err.Error(), `"one"`) {
		t.Errorf("got %v, want an error that names the view", err)
	}
}

func TestSharedRedis(t *testing.T) {
	t.Parallel()
	var kept, deleted string
	_, outer := Redis(t)
	client := redisClient(t, redisKind.server(t))
	t.Run("use", func(t *testing.T) {
		_, inner := Redis(t)
		kept, deleted = outer+"key", inner+"key"
		for _, key := range []string{kept, deleted} {
			if err := client.Set(t.Context(), key, "v", time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
		}
	})
	for key, want := range map[string]int64{kept: 1, deleted: 0} {
		if got := client.Exists(t.Context(), key).Val(); got != want {
			t.Errorf("%q exists: %d, want %d", key, got, want)
		}
	}
}

func redisClient(t testing.TB, server string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(server)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	return client
}

func TestSharedMongoDB(t *testing.T) {
	t.Parallel()
	for _, server := range MongoDBs() {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			var database string
			t.Run("use", func(t *testing.T) {
				database = server.New(t)
				insertMongo(t, database)
				if !slices.Contains(listMongo(t, database), databaseOf(database)) {
					t.Error("the database is not in the list")
				}
			})
			if database == "" {
				t.SkipNow() // as the inner test, which gave the reason
			}
			if slices.Contains(listMongo(t, database), databaseOf(database)) {
				t.Error("the database is still there after its test")
			}
		})
	}
}

func insertMongo(t testing.TB, database string) {
	t.Helper()
	_, err := mongoCommand(t.Context(), database, databaseOf(database), bson.D{
		{Key: "insert", Value: "thing"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: "a"}}}}})
	if err != nil {
		t.Fatal(err)
	}
}

func listMongo(t testing.TB, server string) []string {
	t.Helper()
	names, err := mongoDatabases(server)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestOrphan(t *testing.T) {
	t.Parallel()
	if name := newName(); orphan(name) {
		t.Errorf("%s, which is new, is an orphan", name)
	}
	for name, want := range map[string]bool{
		"authsvc_test_1000000000_abc": true,
		"authsvc_test_abc":            false,
		"authsvc":                     false,
		"1000000000_abc":              false,
	} {
		if got := orphan(name); got != want {
			t.Errorf("orphan(%q) = %v", name, got)
		}
	}
}

func TestDiscreet(t *testing.T) {
	t.Parallel()
	harmless := errors.New("connection refused")
	for _, test := range []struct {
		server    string
		err, want error
	}{
		{"mysql://u:secret@h/", harmless, harmless},
		{"mysql://h/", harmless, harmless},
		{"mysql://u:secret@h/", errors.New("cannot parse u:secret@h"), errURL},
		{"mysql://u:sec%ret@h/", errors.New("invalid escape"), errURL},
	} {
		if got := discreet(test.server, test.err); got != test.want {
			t.Errorf("discreet(%q, %q) = %v, want %v", test.server, test.err, got, test.want)
		}
	}
}

// TestNamedServerMustAnswer checks that a named server that does not answer causes a
// failure, not a skip.
func TestNamedServerMustAnswer(t *testing.T) {
	const variable = "AUTHSVC_TEST_NOWHERE_URL"
	for _, test := range []struct{ value, want string }{
		{"", ""},
		{"redis://127.0.0.1:1/0", variable + ": Redis does not answer"},
	} {
		t.Setenv(variable, test.value)
		k := &kind{name: "Redis", variable: variable, fallback: []string{"redis://127.0.0.1:2/0"}, ping: pingRedis}
		server, err := k.find()
		if got := fmt.Sprint(err); test.want != "" && !strings.Contains(got, test.want) || test.want == "" && (err != nil || server != "") {
			t.Errorf("with %q: %q, %v; want %q", test.value, server, err, test.want)
		}
	}
}

// TestServerThatRefuses checks that the report about a server that refuses logins
// explains how to set it up, whether the variable names it or it has the default
// port.
func TestServerThatRefuses(t *testing.T) {
	locked := miniredis.RunT(t)
	locked.RequireAuth("secret")
	open := miniredis.RunT(t)
	url := func(m *miniredis.Miniredis) string { return "redis://" + m.Addr() + "/0" }
	mongo := "mongodb://" + lockedMongo(t) + "/"
	const variable = "AUTHSVC_TEST_LOCKED_URL"
	for name, c := range map[string]struct {
		named    string
		fallback string
		ping     func(context.Context, string) error
		want     []string // empty: the server is used
	}{
		"named":         {url(locked), "", pingRedis, []string{variable + ": ", "NOAUTH", "set " + variable, `eval "$(.ci/servers)"`}},
		"found":         {"", url(locked), pingRedis, []string{"the Thing on 127.0.0.1:1 lets no tests in", "NOAUTH", "set " + variable}},
		"MongoDB":       {"", mongo, pingMongoDB, []string{"lets no tests in", "requires authentication", "set " + variable}},
		"no server":     {"", "redis://127.0.0.1:1/0", pingRedis, []string{"no Thing: set " + variable}},
		"named, usable": {url(open), "", pingRedis, nil},
		"found, usable": {"", url(open), pingRedis, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(variable, c.named)
			k := &kind{name: "Thing", variable: variable, port: "1", fallback: []string{c.fallback}, ping: c.ping}
			server, err := k.find()
			said := k.lack()
			if err != nil {
				said = err.Error()
			}
			if c.want == nil && (err != nil || server != url(open)) || c.want != nil && err == nil && server != "" {
				t.Errorf("got %q, %v", server, err)
			}
			for _, want := range c.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not in %q", want, said)
				}
			}
		})
	}
}

// lockedMongo is a server that answers only a ping.
func lockedMongo(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			head := make([]byte, messageHead)
			io.ReadFull(conn, head) //nolint:errcheck // then the answer is of no use
			body := make([]byte, binary.LittleEndian.Uint32(head)-messageHead)
			io.ReadFull(conn, body) //nolint:errcheck
			answer := bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: "Command requires authentication"}}
			if bytes.Contains(body, []byte("ping")) {
				answer = bson.D{{Key: "ok", Value: 1.0}}
			}
			writeCommand(conn, answer) //nolint:errcheck
			conn.Close()
		}
	}()
	return l.Addr().String()
}
