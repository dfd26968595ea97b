package postgres

import (
	"context"
	"net/url"
	"strings"

	"authsvc/internal/sql/sqlschema"
)

// named restricts a query to the tables that unqualified names resolve to.
const named = ` c.relname = ANY ($1::text[]) AND c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) `

// catalog describes tables found through the search_path. Names are case-sensitive.
var catalog = sqlschema.Catalog{
	// b is the base type of a domain, which may be a domain itself. CHAR(n) ignores
	// trailing blanks. An extension's type has a schema in its name if search_path lacks it.
	Columns: `SELECT c.relname, a.attname,
			format_type(a.atttypid, a.atttypmod) || CASE WHEN co.oid IS NULL OR a.attcollation = t.typcollation THEN ''
				ELSE ' COLLATE ' || quote_ident(cn.nspname) || '.' || quote_ident(co.collname) END,
			b.typname IN ('int2', 'int4', 'int8'),
			b.typname = 'uuid',
			CASE WHEN b.typname IN ('int2', 'int4', 'int8') THEN b.typlen
				WHEN b.typname NOT IN ('varchar', 'bpchar') THEN 0
				WHEN t.typtype = 'd' THEN greatest(t.typtypmod - 4, 0) ELSE greatest(a.atttypmod - 4, 0) END,
			b.typname IN ('citext', 'bpchar') OR NOT COALESCE(co.collisdeterministic, true),
			a.attnotnull AND NOT a.atthasdef AND a.attidentity = '',
			a.atthasdef OR a.attidentity <> '',
			CASE WHEN b.typtype = 'e' THEN 'enum' WHEN b.typtype = 'd' THEN 'domain' WHEN b.typname = 'citext' THEN 'citext' ELSE format_type(b.oid, NULL) END,
			a.attnotnull OR t.typnotnull,
			a.attgenerated <> ''
		FROM pg_class c
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		JOIN pg_type t ON t.oid = a.atttypid
		JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
		LEFT JOIN pg_collation co ON co.oid = a.attcollation
		LEFT JOIN pg_namespace cn ON cn.oid = co.collnamespace
		WHERE` + named + `ORDER BY c.relname, a.attnum`,
	// Partial indexes are excluded, and so are indexes that a failed CREATE INDEX
	// CONCURRENTLY left invalid.
	Indexes: `SELECT c.relname, ic.relname, i.indisunique, COALESCE(a.attname, ''),
			COALESCE(at.typname IN ('citext', 'bpchar'), false) OR NOT COALESCE(co.collisdeterministic, true)
		FROM pg_class c
		JOIN pg_index i ON i.indrelid = c.oid
		JOIN pg_class ic ON ic.oid = i.indexrelid
		JOIN pg_attribute k ON k.attrelid = i.indexrelid AND k.attnum > 0 AND k.attnum <= i.indnkeyatts
		LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND a.attnum = i.indkey[k.attnum - 1]
		LEFT JOIN pg_type at ON at.oid = a.atttypid
		LEFT JOIN pg_collation co ON co.oid = k.attcollation
		WHERE` + named + `AND i.indisvalid AND i.indpred IS NULL
		ORDER BY c.relname, ic.relname, k.attnum`,
	References: `SELECT c.relname, r.relname, a.attname, f.confdeltype = 'c'
		FROM pg_class c
		JOIN pg_constraint f ON f.conrelid = c.oid AND f.contype = 'f' AND array_length(f.conkey, 1) = 1
		JOIN pg_class r ON r.oid = f.confrelid
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = f.conkey[1]
		WHERE` + named,
	Several: true,
}

// allColumns leaves out views, which no unique index can protect, and schemas whose
// tables the user of the URL cannot reach, such as those of another tenant.
const allColumns = `SELECT CASE WHEN pg_table_is_visible(c.oid) THEN '' ELSE n.nspname END, c.relname, a.attname
	FROM pg_class c
	JOIN pg_namespace n ON n.oid = c.relnamespace
	JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	WHERE c.relkind IN ('r', 'p') AND n.nspname NOT LIKE 'pg\_%' AND n.nspname NOT IN ('information_schema', 'crdb_internal')
	AND has_schema_privilege(n.oid, 'USAGE')
	ORDER BY n.nspname, c.relname, a.attnum`

// searchPath returns the parameter of a URL that makes statements find the tables of a
// schema, and those that they find now if keep is set.
func searchPath(ctx context.Context, q sqlschema.Querier, schema string, keep bool) (string, error) {
	path := quote(schema)
	if keep {
		var now string
		const query = `SELECT array_to_string(ARRAY(SELECT quote_ident(s) FROM unnest(current_schemas(false)) s), ',')`
		if err := q.QueryRowContext(ctx, query).Scan(&now); err != nil {
			return "", err
		}
		path = now + "," + path
	}
	return "search_path=" + strings.ReplaceAll(url.QueryEscape(path), "+", "%20"), nil
}

// keyType returns the column type for text that is compared byte for byte. CockroachDB
// always compares bytes, and treats text with a collation as a different type.
func keyType(ctx context.Context, q sqlschema.Querier) (string, error) {
	var version string
	if err := q.QueryRowContext(ctx, `SELECT version()`).Scan(&version); err != nil {
		return "", err
	}
	if strings.Contains(version, "CockroachDB") {
		return "TEXT", nil
	}
	return `TEXT COLLATE "C"`, nil
}
