package servertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// stepTimeout limits the creation or removal of one database. A busy machine with
// many parallel tests needs most of it.
const stepTimeout = time.Minute

// A sqlServer is a shared server on which SQL creates databases.
type sqlServer struct {
	kind  *kind
	open  func(ctx context.Context, server string) (sqlConn, error)
	names string // query that lists the databases
	drop  string // statement; %s stands for the name
	swept sync.Once
}

// A sqlConn is one connection. It is small enough for any driver to implement.
type sqlConn interface {
	exec(ctx context.Context, statement string) error
	// column returns the first column of all rows.
	column(ctx context.Context, query string) ([]string, error)
	close()
}

// ping reports whether a server accepts our login.
func (s *sqlServer) ping(ctx context.Context, server string) error {
	c, err := s.open(ctx, server)
	if err == nil {
		c.close()
	}
	return err
}

// do runs steps on a new connection. A kept connection would break when a test
// restarts the server.
func (s *sqlServer) do(server string, steps func(context.Context, sqlConn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	c, err := s.open(ctx, server)
	if err != nil {
		return discreet(server, err)
	}
	defer c.close()
	return steps(ctx, c)
}

// create creates a database with statements, in which %[1]s stands for its name. It
// returns the database's URL and drops the database when t ends.
func (s *sqlServer) create(t testing.TB, statements ...string) string {
	t.Helper()
	server := s.kind.server(t)
	s.swept.Do(func() { s.sweep(t, server) })
	name := newName()
	database, err := withDatabase(server, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.do(server, all(fmt.Sprintf(s.drop, name))); err != nil {
			t.Errorf("%s: drop a database: %v", s.kind.name, err)
		}
	})
	for i := range statements {
		statements[i] = fmt.Sprintf(statements[i], name)
	}
	if err := s.do(server, all(statements...)); err != nil {
		t.Fatalf("%s: make a database: %v; %s", s.kind.name, err, s.kind.setUp())
	}
	return database
}

// all executes statements until one fails.
func all(statements ...string) func(context.Context, sqlConn) error {
	return func(ctx context.Context, c sqlConn) error {
		for _, statement := range statements {
			if err := c.exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
}

// sweep drops the databases of processes that died before their cleanup.
func (s *sqlServer) sweep(t testing.TB, server string) {
	t.Helper()
	err := s.do(server, func(ctx context.Context, c sqlConn) error {
		names, err := c.column(ctx, s.names)
		for _, name := range names {
			if orphan(name) {
				// Another process may sweep too. The second one finds nothing to
				// drop.
				_ = c.exec(ctx, fmt.Sprintf(s.drop, name))
			}
		}
		return err
	})
	if err != nil {
		t.Fatalf("%s: list the databases: %v", s.kind.name, err)
	}
}
