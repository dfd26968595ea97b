package scale

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// fillPostgres fills a database with COPY in one transaction. If it fails, the
// database stays empty.
func fillPostgres(ctx context.Context, storage string, p Population, progress func(string)) error {
	config, err := pgx.ParseConfig(storage)
	if err != nil {
		return errURL // the driver's error repeats the password
	}
	for name := range config.RuntimeParams {
		if strings.HasPrefix(name, "pool_") { // parameters of the adapter itself
			delete(config.RuntimeParams, name)
		}
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return postgresLoader{tx, progress}.fill(ctx, p) })
	if err != nil {
		return err
	}
	// Without VACUUM, the first reads would write hint bits for committed rows.
	progress("vacuum")
	_, err = c.Exec(ctx, `VACUUM`)
	return err
}

type postgresLoader struct {
	tx       pgx.Tx
	progress func(string)
}

// fill drops the constraints and indexes of the tables. Building them from existing
// rows is faster.
func (l postgresLoader) fill(ctx context.Context, p Population) error {
	encode := func(t time.Time) any { return t.UTC() }
	plain := func(name string) string { return name } // the driver quotes it
	tables, err := p.tables(encode, plain)
	if err != nil {
		return err
	}
	again, err := l.strip(ctx, tables)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := l.copy(ctx, t, meter(t, l.progress)); err != nil {
			return err
		}
	}
	if _, err := l.tx.Exec(ctx, `SET LOCAL maintenance_work_mem = '512MB'`); err != nil {
		return err
	}
	for _, statement := range again {
		if err := timed(statement, l.progress, func() error { return l.exec(ctx, statement) }); err != nil {
			return err
		}
	}
	return nil
}

func (l postgresLoader) exec(ctx context.Context, statement string) error {
	_, err := l.tx.Exec(ctx, statement)
	return err
}

func (l postgresLoader) copy(ctx context.Context, t table, tick func(int)) error {
	done := 0
	_, err := l.tx.CopyFrom(ctx, pgx.Identifier{t.name}, strings.Split(t.columns, ", "), pgx.CopyFromFunc(func() ([]any, error) {
		if done == t.rows {
			return nil, nil
		}
		done++
		if done%1000 == 0 {
			tick(done)
		}
		return t.row(done - 1), nil
	}))
	tick(done)
	return err
}

// strip drops first foreign keys, then unique constraints and indexes. It returns the
// statements that create them again.
func (l postgresLoader) strip(ctx context.Context, tables []table) (again []string, err error) {
	const rules = `WITH filled AS (SELECT format('%I', name)::regclass AS id FROM unnest($1::text[]) name)
		SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
			format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)), contype <> 'f'
		FROM pg_constraint WHERE contype IN ('u', 'p') AND conrelid IN (SELECT id FROM filled)
			OR contype = 'f' AND (conrelid IN (SELECT id FROM filled) OR confrelid IN (SELECT id FROM filled))
		UNION ALL
		SELECT format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid), true
		FROM pg_index JOIN filled ON id = indrelid WHERE indexrelid NOT IN (SELECT conindid FROM pg_constraint)
		ORDER BY 3`
	var names, drops []string
	for _, t := range tables {
		names = append(names, t.name)
	}
	rows, err := l.tx.Query(ctx, rules, names)
	if err != nil {
		return nil, err
	}
	var drop, add string
	_, err = pgx.ForEachRow(rows, []any{&drop, &add, nil}, func() error {
		drops, again = append(drops, drop), append([]string{add}, again...)
		return nil
	})
	for _, statement := range drops {
		if err == nil {
			err = l.exec(ctx, statement)
		}
	}
	return again, err
}
