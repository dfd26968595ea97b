package servertest

import (
	"context"
	"strings"
)

// A postgresState is the state to which a database must return before it is reused.
type postgresState struct {
	shape string   // of the database's tables
	rows  []string // statements that restore the rows
}

// shapeOfPostgres describes tables, indexes, constraints and settings.
const shapeOfPostgres = `SELECT coalesce(string_agg(x, E'\n' ORDER BY x), '') FROM (
	SELECT concat_ws(' ', table_name, column_name, data_type, column_default, is_nullable, collation_name)
		FROM information_schema.columns WHERE table_schema = 'public'
	UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
	UNION ALL SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
	UNION ALL SELECT setconfig::text FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase WHERE datname = current_database()
) all_of_it (x)`

const tablesOfPostgres = `SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`

// readPostgres records the state of a prepared database.
func readPostgres(ctx context.Context, c sqlConn) (s postgresState, err error) {
	shape, err := c.column(ctx, shapeOfPostgres)
	if err != nil {
		return s, err
	}
	s.shape = strings.Join(shape, "")
	tables, err := c.column(ctx, tablesOfPostgres)
	if err != nil {
		return s, err
	}
	for _, table := range tables {
		rows, err := c.column(ctx, `SELECT format('INSERT INTO %s SELECT * FROM json_populate_recordset(null::%s, %L)', '`+
			table+`', '`+table+`', json_agg(x)) FROM `+table+` x HAVING count(*) > 0`)
		if err != nil {
			return s, err
		}
		s.rows = append(s.rows, rows...)
	}
	return s, nil
}

// restore restores the rows. If the shape of the database has changed, it returns an
// error.
func (s postgresState) restore(ctx context.Context, c sqlConn) error {
	shape, err := c.column(ctx, shapeOfPostgres)
	if err != nil {
		return err
	}
	if strings.Join(shape, "") != s.shape {
		return errChanged
	}
	tables, err := c.column(ctx, tablesOfPostgres)
	if err != nil {
		return err
	}
	statements := []string{"SET session_replication_role = replica"} // turns foreign keys off
	for _, table := range tables {
		statements = append(statements, "DELETE FROM "+table)
	}
	return all(append(statements, s.rows...)...)(ctx, c)
}
