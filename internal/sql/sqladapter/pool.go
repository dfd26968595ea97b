package sqladapter

import (
	"database/sql"
	"database/sql/driver"
	"time"
)

// A Pool has the limits of the connections to a database.
type Pool struct {
	Size               int
	IdleTime, Lifetime time.Duration // 0: for ever
}

// DefaultPool is that of a database server. More connections than these make a
// small server slower and bring a large one little.
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

// TestHooks let the tests of a database put something between its store and
// its driver. The zero value puts nothing there.
type TestHooks struct {
	Connector func(driver.Connector) driver.Connector // of database/sql
	Database  func(Database) Database                 // of others
	Dialect   func(*Dialect)
}

// Adjust is a dialect as the tests want it.
func (h TestHooks) Adjust(d Dialect) Dialect {
	if h.Dialect != nil {
		h.Dialect(&d)
	}
	return d
}

// Install puts the hooks between an adapter that is open, and not in use yet, and
// its databases, for tests that are not of the package that opens it.
func (h TestHooks) Install(a *Adapter) {
	a.writer = h.Wrap(a.writer)
	for _, s := range a.all {
		s.on = h.Wrap(s.on)
	}
}

// Wrap is a database that does not go through database/sql as the tests want it.
func (h TestHooks) Wrap(d Database) Database {
	if h.Database != nil {
		return h.Database(d)
	}
	return d
}
