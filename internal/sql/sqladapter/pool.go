package sqladapter

import (
	"database/sql"
	"database/sql/driver"
	"time"
)

// A Pool sets the limits of the connections to a database.
type Pool struct {
	Size               int
	IdleTime, Lifetime time.Duration // 0: unlimited
}

// DefaultPool returns the limits for a database server. More connections make a small
// server slower and hardly help a large one.
func DefaultPool() Pool { return Pool{Size: 10, IdleTime: 5 * time.Minute, Lifetime: time.Hour} }

// Open makes the pool. It does not connect.
func (p Pool) Open(c driver.Connector, hooks TestHooks) *sql.DB {
	if hooks.Connector != nil {
		c = hooks.Connector(c)
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(p.Size)
	db.SetMaxIdleConns(p.Size)
	db.SetConnMaxIdleTime(p.IdleTime)
	db.SetConnMaxLifetime(p.Lifetime)
	return db
}

// TestHooks lets the tests of a database insert layers between its store and its
// driver. The zero value inserts nothing.
type TestHooks struct {
	Connector func(driver.Connector) driver.Connector // for database/sql
	Database  func(Database) Database                 // for other databases
	Dialect   func(*Dialect)
}

// Adjust returns the dialect that the tests need.
func (h TestHooks) Adjust(d Dialect) Dialect {
	if h.Dialect != nil {
		h.Dialect(&d)
	}
	return d
}

// Install inserts the hooks between an open, unused adapter and its databases, for
// tests outside the package that opens it.
func (h TestHooks) Install(a *Adapter) {
	a.writer = h.Wrap(a.writer)
	for _, s := range a.all {
		s.on = h.Wrap(s.on)
	}
}

// Wrap returns the database that the tests need, for a database that does not use
// database/sql.
func (h TestHooks) Wrap(d Database) Database {
	if h.Database != nil {
		return h.Database(d)
	}
	return d
}
