package servertest

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
)

var errChanged = errors.New("the tables were changed")

// restoreMySQL restores the rows of a copy. If its tables were changed, it returns an
// error.
func restoreMySQL(ctx context.Context, c mysqlConn, database string, copies []string) error {
	now, err := copyStatements(ctx, c, database)
	if err != nil {
		return err
	}
	if !slices.Equal(creations(now), creations(copies)) {
		return errChanged
	}
	tables, err := c.column(ctx, `SELECT table_name FROM information_schema.tables WHERE table_schema = '`+database+`'`)
	if err != nil {
		return err
	}
	statements := []string{"USE " + database, "SET foreign_key_checks = 0"}
	for _, table := range tables {
		statements = append(statements, "DELETE FROM `"+strings.ReplaceAll(table, "`", "``")+"`")
	}
	for _, statement := range copies {
		if strings.HasPrefix(statement, "INSERT ") {
			statements = append(statements, statement)
		}
	}
	return all(statements...)(ctx, c)
}

// counter matches the next id in a CREATE TABLE statement.
var counter = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// creations returns the CREATE TABLE statements of copyStatements.
func creations(statements []string) (list []string) {
	for _, s := range statements {
		if !strings.HasPrefix(s, "INSERT ") {
			list = append(list, counter.ReplaceAllString(s, ""))
		}
	}
	return list
}
