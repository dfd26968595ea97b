package servertest

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

var mysqlServer = newMySQL()

func newMySQL() *sqlServer {
	s := &sqlServer{
		open:  openMySQL,
		names: `SELECT schema_name FROM information_schema.schemata`,
		drop:  `DROP DATABASE IF EXISTS %s`,
	}
	s.kind = &kind{
		name: "MySQL", variable: "AUTHSVC_TEST_MYSQL_URL", port: "3306",
		fallback: []string{
			"mysql://root@127.0.0.1:3306/",
			"mysql://root@localhost/?socket=/run/mysqld/mysqld.sock",
		},
		ping: s.ping,
	}
	return s
}

// createMySQL sets only the character set. The collation is the server's default, as
// in databases that people create by hand.
const createMySQL = `CREATE DATABASE %[1]s CHARACTER SET utf8mb4`

// MySQL returns the URL of a fresh, empty database, dropped when t ends. It uses the
// server of AUTHSVC_TEST_MYSQL_URL, or else the one on the default port, MariaDB or
// MySQL. If there is neither, it skips t.
func MySQL(t testing.TB) string {
	t.Helper()
	return mysqlServer.create(t, createMySQL)
}

// MySQLFrom prepares one database, for instance with a schema, and returns a function
// that copies its tables and rows. Each call returns the URL of a fresh copy,
// released when its own t ends. Use the function in t and its subtests; they may be
// parallel. Views, triggers and routines are not copied; if there are any, t fails.
func MySQLFrom(t testing.TB, prepare func(url string) error) func(t testing.TB) string {
	t.Helper()
	model := MySQL(t)
	if err := prepare(model); err != nil {
		t.Fatalf("prepare a database: %v", err)
	}
	var copies []string
	err := mysqlServer.do(mysqlServer.kind.server(t), func(ctx context.Context, c sqlConn) (err error) {
		copies, err = copyStatements(ctx, c.(mysqlConn), databaseOf(model))
		return err
	})
	if err != nil {
		t.Fatalf("MySQL: read a schema: %v", err)
	}
	server := mysqlServer.kind.server(t)
	p := &pool{create: func() string {
		database := MySQL(t)
		// Foreign key checks are off for this connection because the tables come in
		// alphabetical order.
		statements := append([]string{"USE " + databaseOf(database), "SET foreign_key_checks = 0"}, copies...)
		if err := mysqlServer.do(server, all(statements...)); err != nil {
			t.Errorf("MySQL: copy a database: %v", err)
		}
		return database
	}, restore: func(database string) error {
		return mysqlServer.do(server, func(ctx context.Context, c sqlConn) error {
			return restoreMySQL(ctx, c.(mysqlConn), databaseOf(database), copies)
		})
	}}
	return p.take
}

// copyStatements returns statements that recreate a database in another one: the
// server's CREATE TABLE statements, and a copy of the rows of tables that have any.
func copyStatements(ctx context.Context, c mysqlConn, source string) ([]string, error) {
	if err := onlyTables(ctx, c, source); err != nil {
		return nil, err
	}
	tables, err := c.column(ctx, `SELECT table_name FROM information_schema.tables WHERE table_schema = '`+source+`' ORDER BY table_name`)
	if err != nil {
		return nil, err
	}
	var statements []string
	for _, table := range tables {
		quoted := "`" + strings.ReplaceAll(table, "`", "``") + "`"
		from := source + "." + quoted
		create, err := c.showCreate(ctx, from)
		if err != nil {
			return nil, err
		}
		statements = append(statements, create)
		rows, err := c.column(ctx, "SELECT 1 FROM "+from+" LIMIT 1")
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			statements = append(statements, fmt.Sprintf("INSERT INTO %s SELECT * FROM %s", quoted, from))
		}
	}
	return statements, nil
}

// onlyTables refuses a database that copyStatements would copy only in part.
func onlyTables(ctx context.Context, c sqlConn, source string) error {
	others, err := c.column(ctx, fmt.Sprintf(`
		SELECT table_name FROM information_schema.views WHERE table_schema = '%[1]s'
		UNION ALL SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = '%[1]s'
		UNION ALL SELECT routine_name FROM information_schema.routines WHERE routine_schema = '%[1]s'`, source))
	if err == nil && len(others) > 0 {
		err = fmt.Errorf("%q are neither tables nor rows and would be missing in the copies", others)
	}
	return err
}
