package servertest

import (
	"context"
	"database/sql"
	"io"
	"log"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"
)

type mysqlConn struct {
	db *sql.DB
	*sql.Conn
}

// openMySQL accepts mysql://user:password@host:port/database, and ?socket= instead of
// the host. It ignores the parameters meant for stores.
func openMySQL(ctx context.Context, server string) (sqlConn, error) {
	config, err := mysqlConfig(server)
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, err
	}
	return mysqlConn{db, conn}, nil
}

func mysqlConfig(server string) (*mysql.Config, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "mysql" {
		return nil, errURL
	}
	c := mysql.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.DBName = strings.TrimPrefix(u.Path, "/")
	c.Net, c.Addr = "tcp", u.Host
	if u.Port() == "" {
		c.Addr += ":3306"
	}
	if socket := u.Query().Get("socket"); socket != "" {
		c.Net, c.Addr = "unix", socket
	}
	// The driver's own log lines about connections that a test broke are noise.
	c.Logger = log.New(io.Discard, "", 0)
	return c, nil
}

func (c mysqlConn) exec(ctx context.Context, statement string) error {
	_, err := c.ExecContext(ctx, statement)
	return err
}

func (c mysqlConn) column(ctx context.Context, query string) (values []string, err error) {
	rows, err := c.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, rows.Err()
}

// showCreate returns the statement that creates a table.
func (c mysqlConn) showCreate(ctx context.Context, table string) (create string, err error) {
	var name string
	err = c.QueryRowContext(ctx, "SHOW CREATE TABLE "+table).Scan(&name, &create)
	return create, err
}

// close also ends the connection, which closing the pool does not do while it is in
// use.
func (c mysqlConn) close() {
	c.Conn.Close() //nolint:errcheck // of a test
	c.db.Close()
}
