package servertest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

var postgres = newPostgres()

func newPostgres() *sqlServer {
	s := &sqlServer{
		open:  openPostgres,
		names: `SELECT datname FROM pg_database`,
		drop:  `DROP DATABASE IF EXISTS %s WITH (FORCE)`,
	}
	s.kind = &kind{
		name: "PostgreSQL", variable: "AUTHSVC_TEST_POSTGRES_URL", port: "5432",
		fallback: []string{
			"postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable",
			"postgres://postgres@/postgres?host=/run/postgresql",
		},
		ping: s.ping,
	}
	return s
}

// Postgres returns the URL of a fresh, empty database, dropped when t ends. It uses
// the server of AUTHSVC_TEST_POSTGRES_URL, or else the one on the default port. If
// there is neither, it skips t.
func Postgres(t testing.TB) string {
	t.Helper()
	// template0 accepts no connections. PostgreSQL cannot copy a database that has
	// any.
	return copyPostgres(t, "template0")
}

func copyPostgres(t testing.TB, model string) string {
	t.Helper()
	postgres.kind.server(t) // skips t before copyStrategy asks for the version
	return postgres.create(t, `CREATE DATABASE %[1]s TEMPLATE `+model+copyStrategy())
}

// copyStrategy returns the clause with which CREATE DATABASE of PostgreSQL 15 or later
// copies files instead of logging each page. With fsync off, creating a database then
// takes about 40 ms instead of 80. A schema for each test would cost as much with seven
// tables or more, and would isolate less. Servers before 15 always copy files and do
// not know the option.
var copyStrategy = sync.OnceValue(func() (strategy string) {
	server, err := postgres.kind.find()
	if err != nil || server == "" {
		return ""
	}
	_ = postgres.do(server, func(ctx context.Context, c sqlConn) error {
		newer, err := c.column(ctx, `SELECT 'x' WHERE current_setting('server_version_num')::int >= 150000`)
		if len(newer) > 0 {
			strategy = ` STRATEGY file_copy`
		}
		return err
	})
	return strategy
})

// PostgresFrom prepares one database, for instance with a schema, and returns a
// function that copies it. Each call returns the URL of a fresh copy, released when
// its own t ends. Use the function in t and its subtests; they may be parallel.
func PostgresFrom(t testing.TB, prepare func(url string) error) func(t testing.TB) string {
	t.Helper()
	model := Postgres(t)
	if err := prepare(model); err != nil {
		t.Fatalf("prepare a database: %v", err)
	}
	var state postgresState
	err := postgres.do(model, func(ctx context.Context, c sqlConn) (err error) {
		state, err = readPostgres(ctx, c)
		return err
	})
	if err != nil {
		t.Fatalf("PostgreSQL: read a database: %v", err)
	}
	name := databaseOf(model)
	// Close the database to new connections, and end the remaining ones, such as a
	// pool's last.
	err = postgres.do(postgres.kind.server(t), all(
		fmt.Sprintf(`ALTER DATABASE %s ALLOW_CONNECTIONS false`, name),
		fmt.Sprintf(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'`, name),
	))
	if err != nil {
		t.Fatalf("PostgreSQL: close a database: %v", err)
	}
	p := &pool{create: func() string { return copyPostgres(t, name) },
		restore: func(database string) error { return postgres.do(database, state.restore) }}
	return p.take
}

type postgresConn struct{ conn *pgx.Conn }

func openPostgres(ctx context.Context, server string) (sqlConn, error) {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return nil, err
	}
	return postgresConn{conn}, nil
}

func (c postgresConn) exec(ctx context.Context, statement string) error {
	_, err := c.conn.PgConn().Exec(ctx, statement).ReadAll()
	return err
}

func (c postgresConn) column(ctx context.Context, query string) ([]string, error) {
	rows, err := c.conn.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func (c postgresConn) close() {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	_ = c.conn.Close(ctx)
}
