package servertest

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A mysqlPool keeps copies of a database for the next test, since making
// tables takes MariaDB ten times as long as emptying them.
type mysqlPool struct {
	server string
	copies []string // statements that make the tables and fill them

	mu    sync.Mutex
	spare []string // URLs
}

// take returns a copy that t uses until its end. A new one belongs to outer.
func (p *mysqlPool) take(t, outer testing.TB) string {
	t.Helper()
	database := p.kept()
	if database == "" {
		database = MySQL(outer)
		// Off for this connection: the tables come in alphabetical order.
		statements := append([]string{"USE " + databaseOf(database), "SET foreign_key_checks = 0"}, p.copies...)
		if err := mysqlServer.do(p.server, all(statements...)); err != nil {
			t.Fatalf("MySQL: copy a database: %v", err)
		}
	}
	t.Cleanup(func() {
		if p.restore(database) == nil {
			p.keep(database)
		}
	})
	return database
}

func (p *mysqlPool) kept() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.spare) == 0 {
		return ""
	}
	last := p.spare[len(p.spare)-1]
	p.spare = p.spare[:len(p.spare)-1]
	return last
}

func (p *mysqlPool) keep(database string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spare = append(p.spare, database)
}

// restore brings the rows back to what they were. One whose tables were
// changed is an error, and not used again.
func (p *mysqlPool) restore(database string) error {
	return mysqlServer.do(p.server, func(ctx context.Context, c sqlConn) error {
		now, err := copyStatements(ctx, c.(mysqlConn), databaseOf(database))
		if err != nil {
			return err
		}
		if !slices.Equal(creations(now), creations(p.copies)) {
			return errChanged
		}
		tables, err := c.column(ctx, `SELECT table_name FROM information_schema.tables WHERE table_schema = '`+databaseOf(database)+`'`)
		if err != nil {
			return err
		}
		statements := []string{"USE " + databaseOf(database), "SET foreign_key_checks = 0"}
		for _, table := range tables {
			statements = append(statements, "DELETE FROM `"+strings.ReplaceAll(table, "`", "``")+"`")
		}
		for _, statement := range p.copies {
			if strings.HasPrefix(statement, "INSERT ") {
				statements = append(statements, statement)
			}
		}
		return all(statements...)(ctx, c)
	})
}

var errChanged = errors.New("the tables were changed")

// counter is what CREATE TABLE says of ids that were given out.
var counter = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// creations are the CREATE TABLE statements of copyStatements.
func creations(statements []string) (list []string) {
	for _, s := range statements {
		if !strings.HasPrefix(s, "INSERT ") {
			list = append(list, counter.ReplaceAllString(s, ""))
		}
	}
	return list
}
