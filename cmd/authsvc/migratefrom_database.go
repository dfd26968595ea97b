package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	mysqldriver "github.com/go-sql-driver/mysql"

	"authsvc/adapter/mysql"
	"authsvc/adapter/postgres"
	"authsvc/cmd/authsvc/internal/migratefrom"
	"authsvc/internal/protocol/weburl"
)

// readDatabase lists the tables of the application's database, or says why it cannot. It
// changes nothing, and never prints the URL.
func (p *program) readDatabase(location string) (tables []migratefrom.Table, problem string) {
	if location == "" {
		return nil, "no URL was found; give it with --database URL"
	}
	ctx, cancel := context.WithTimeout(p.ctx, checkTimeout)
	defer cancel()
	tables, err := readTables(ctx, location)
	if err != nil {
		return nil, "cannot be read: " + oneLine(err)
	}
	return tables, ""
}

// readTables lists the tables of a SQL database with their columns, in a transaction
// that only reads.
func readTables(ctx context.Context, location string) (found []migratefrom.Table, err error) {
	db, query, quote, err := openReadOnly(location)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // it only reads
	if found, err = listTables(ctx, tx, query); err != nil {
		return nil, err
	}
	for i := range found {
		if t := &found[i]; migratefrom.Resembles(t.Name) {
			count := "SELECT count(*) FROM " + quote(t.Schema, t.Name) // #nosec G202 -- a quoted name of the catalog
			if err := tx.QueryRowContext(ctx, count).Scan(&t.Rows); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// listTables reads rows of schema, whether names resolve to it, table, column and
// whether the column needs a value.
func listTables(ctx context.Context, tx *sql.Tx, query string) (found []migratefrom.Table, err error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var t migratefrom.Table
		var c migratefrom.Column
		if err := rows.Scan(&t.Schema, &t.Visible, &t.Name, &c.Name, &c.Required); err != nil {
			return nil, err
		}
		if last := len(found) - 1; last < 0 || found[last].Schema != t.Schema || found[last].Name != t.Name {
			found = append(found, t)
		}
		t = found[len(found)-1]
		found[len(found)-1].Columns = append(t.Columns, c)
	}
	return found, rows.Err()
}

// openReadOnly opens a database, and returns the query for [listTables] and how to
// quote a table.
func openReadOnly(location string) (db *sql.DB, query string, quote func(schema, name string) string, err error) {
	scheme, _, _ := strings.Cut(location, ":")
	quoted := func(mark string) func(schema, name string) string {
		return func(schema, name string) string {
			word := func(s string) string { return mark + strings.ReplaceAll(s, mark, mark+mark) + mark }
			if schema == "" {
				return word(name)
			}
			return word(schema) + "." + word(name)
		}
	}
	switch scheme {
	case "postgres", "postgresql":
		if db, err = openPostgresToRead(location); err != nil {
			return nil, "", nil, err
		}
		return db, `SELECT table_schema, table_schema = ANY (current_schemas(false)), table_name, column_name,
				is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'
			FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
			ORDER BY table_schema, table_name, ordinal_position`, quoted(`"`), nil
	case "mysql", "mariadb":
		if db, err = openMySQLToRead(location); err != nil {
			return nil, "", nil, err
		}
		return db, `SELECT table_schema, true, table_name, column_name,
				is_nullable = 'NO' AND column_default IS NULL AND extra NOT LIKE '%auto_increment%'
			FROM information_schema.columns WHERE table_schema = database() ORDER BY table_name, ordinal_position`, quoted("`"), nil
	case "sqlite", "file":
		_, file, _ := strings.Cut(location, ":")
		file, _, _ = strings.Cut(strings.TrimPrefix(file, "//"), "?")
		options := "?mode=ro"
		if !hasJournal(file) {
			options += "&immutable=1"
		}
		db, err = sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+options)
		return db, `SELECT '', true, m.name, c.name, c."notnull" AND c.dflt_value IS NULL AND NOT c.pk
			FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid`, quoted(`"`), err
	}
	return nil, "", nil, errors.New("the URL begins with neither postgres://, mysql:// nor sqlite:; `authsvc check` looks into the others")
}

// hasJournal reports whether a SQLite database has a journal beside it, which some
// program writes. Without one, SQLite would make it even to read a database in WAL mode,
// and leave it in the application's folder.
func hasJournal(file string) bool {
	for _, suffix := range []string{"-wal", "-journal"} {
		if _, err := os.Lstat(file + suffix); err == nil {
			return true
		}
	}
	return false
}

// openPostgresToRead opens PostgreSQL with the same demands on TLS as the store.
func openPostgresToRead(location string) (*sql.DB, error) {
	if err := postgres.CheckURL(location); err != nil {
		return nil, err
	}
	u, err := url.Parse(location)
	if err != nil {
		return nil, errors.New("the URL of PostgreSQL cannot be read")
	}
	q := u.Query()
	for _, pool := range []string{"pool_max_conns", "pool_max_conn_idle_time", "pool_max_conn_lifetime"} {
		q.Del(pool)
	}
	if host := u.Hostname(); !q.Has("sslmode") && host != "" && !weburl.Loopback(host) {
		q.Set("sslmode", "verify-full")
	}
	u.RawQuery = q.Encode()
	return sql.Open("pgx", u.String())
}

// openMySQLToRead opens MySQL with the same demands on TLS as the store.
func openMySQLToRead(location string) (*sql.DB, error) {
	if err := mysql.CheckURL(location); err != nil {
		return nil, err
	}
	u, err := url.Parse(location)
	if err != nil {
		return nil, errors.New("the URL of MySQL cannot be read")
	}
	q := u.Query()
	c := mysqldriver.NewConfig()
	c.Net, c.Addr, c.DBName, c.TLSConfig = "tcp", u.Host, strings.TrimPrefix(u.Path, "/"), q.Get("tls")
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	switch {
	case q.Get("tls_ca") != "":
		return nil, fmt.Errorf("tls_ca is not supported here: leave --database out, and run `authsvc check`")
	case q.Get("socket") != "":
		c.Net, c.Addr, c.TLSConfig = "unix", q.Get("socket"), ""
	case c.TLSConfig == "" && !weburl.Loopback(u.Hostname()):
		c.TLSConfig = "true"
	}
	connector, err := mysqldriver.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}
