package migratefrom

import (
	"slices"
	"strings"
	"unicode"
)

// drizzleTables are the tables of @auth/drizzle-adapter by the options that replace
// them.
var drizzleTables = []struct{ logical, option, usual string }{
	{"User", "usersTable", "user"}, {"Account", "accountsTable", "account"},
	{"Session", "sessionsTable", "session"}, {"VerificationToken", "verificationTokensTable", "verificationToken"},
}

// readDrizzle reads the second argument of DrizzleAdapter(db, {usersTable: users, …})
// and the definitions of the tables. A table that is not given has the adapter's own
// name.
func (r *reader) readDrizzle(call node) {
	given := map[string]node{}
	switch {
	case len(call.items) > 1 && r.resolve(call.items[1]).kind == objectNode:
		given = r.flat(call.items[1], "tables", true)
	case len(call.items) > 1 && r.resolve(call.items[1]).kind == nameNode && r.isNamespace(call.items[1]):
		for _, t := range drizzleTables { // DrizzleAdapter(db, schema)
			given[t.option] = call.items[1].member(t.option)
		}
	case len(call.items) > 1: // a function that makes the tables, in early versions
		r.add(Open, "tables", call.items[1], "not understood: the second argument of the adapter names the tables; set storage.tables and storage.columns")
	}
	casing := r.drizzleCasing(call)
	for _, t := range drizzleTables {
		r.adapter.tables[t.logical] = t.usual
		if n, ok := given[t.option]; ok {
			r.drizzleTable(t.logical, n, casing)
		}
	}
}

// isNamespace reports whether a name stands for all exports of a file.
func (r *reader) isNamespace(n node) bool {
	return n.kind == nameNode && n.in != nil && len(n.path) == 1 && n.in.imports[n.path[0]].name == "*"
}

// drizzleCasing returns the option casing of drizzle(…), which names the columns.
func (r *reader) drizzleCasing(call node) string {
	if len(call.items) == 0 {
		return ""
	}
	db := r.resolve(call.items[0])
	if db.kind != callNode {
		return ""
	}
	for _, arg := range db.items {
		if n, ok := r.resolve(arg).get("casing"); ok {
			return r.resolve(n).text
		}
	}
	return ""
}

// drizzleTable reads the definition of a table: pgTable("user", {id: text("id")}).
func (r *reader) drizzleTable(logical string, n node, casing string) {
	call, _ := r.resolve(n).chain()
	if call.kind != callNode || len(call.items) < 2 {
		r.add(Open, "tables", n, "not understood: the table of %s; set storage.tables: {%s: NAME}", logical, logical)
		return
	}
	name, ok := r.drizzleName(call)
	if !ok {
		r.add(Open, "tables", call, "not understood: the name of the table of %s; set storage.tables: {%s: NAME}", logical, logical)
		return
	}
	r.adapter.tables[logical] = name
	r.drizzleDialect(call)
	columns := r.resolve(call.items[1])
	if columns.kind == functionNode {
		if value, found := columns.result(); found {
			columns = value
		}
	}
	if columns.kind != objectNode {
		r.add(Open, "tables", call, "not understood: the columns of %s", name)
		return
	}
	r.drizzleColumns(logical, columns, casing)
}

// drizzleName returns the name of a table. The callee may be a function that adds a
// prefix: pgTableCreator((name) => `app_${name}`).
func (r *reader) drizzleName(call node) (string, bool) {
	name := r.resolve(call.items[0])
	if name.kind != textNode {
		return "", false
	}
	if call.of.kind == memberNode || len(call.of.path) == 2 { // pgSchema("auth").table(…)
		r.drizzleSchema(*call.of)
		return name.text, true
	}
	creator := r.resolve(*call.of)
	if creator.kind != callNode || !strings.HasSuffix(creator.of.name(), "TableCreator") {
		return name.text, creator.kind == nameNode
	}
	if len(creator.items) == 0 {
		return "", false
	}
	value, ok := r.resolve(creator.items[0]).result()
	if !ok {
		return "", false
	}
	return r.filled(value, name.text)
}

// filled returns a template whose expressions are all one parameter.
func (r *reader) filled(value node, argument string) (string, bool) {
	switch value.kind {
	case nameNode:
		return argument, len(value.path) == 1
	case templateNode:
		text := value.parts[0]
		for i, item := range value.items {
			part := argument
			if local := item.in.decls[item.name()] != nil; item.kind == nameNode && local {
				constant := r.resolve(item)
				if constant.kind != textNode {
					return "", false
				}
				part = constant.text
			} else if item.kind != nameNode || len(item.path) != 1 {
				return "", false
			}
			text += part + value.parts[i+1]
		}
		return text, true
	}
	return "", false
}

// drizzleSchema reports a table in a schema of PostgreSQL.
func (r *reader) drizzleSchema(callee node) {
	of := node{kind: nameNode, in: callee.in, line: callee.line}
	if callee.kind == memberNode {
		of = *callee.of
	} else {
		of.path = callee.path[:1]
	}
	made := r.resolve(of)
	if made.kind == callNode && len(made.items) == 1 && r.resolve(made.items[0]).kind == textNode {
		schema := r.resolve(made.items[0]).text
		r.add(Open, "tables", made, "the tables are in the schema %s: add search_path=%s to storage.url", schema, schema)
		return
	}
	r.add(Open, "tables", callee, "not understood: the schema of the table; if it is not public, add search_path to storage.url")
}

// drizzleDialect takes the database from the name of the function or its package.
func (r *reader) drizzleDialect(call node) {
	from, name := r.origin(node{kind: nameNode, in: call.in, path: call.of.path[:min(1, len(call.of.path))]})
	if creator := r.resolve(*call.of); creator.kind == callNode {
		from, name = r.origin(*creator.of)
	}
	for prefix, scheme := range map[string]string{"pg": "postgres", "mysql": "mysql", "sqlite": "sqlite"} {
		if strings.HasPrefix(name, prefix) || strings.HasSuffix(from, "/"+prefix+"-core") {
			r.adapter.scheme = scheme
		}
	}
}

// drizzleColumns reads the columns of a table: names, and values that authsvc does not
// know.
func (r *reader) drizzleColumns(logical string, columns node, casing string) {
	var further []string
	seen := map[string]bool{}
	r.each(columns, "tables", func(key string, n node) {
		seen[key] = true
		call, methods := n.chain()
		column := key
		if casing == "snake_case" {
			column = drizzleSnake(key)
		}
		switch {
		case call.kind != callNode:
			r.add(Open, "tables", n, "not understood: the column %s of %s", key, logical)
			return
		case len(call.items) > 0 && call.items[0].kind == textNode:
			column = call.items[0].text
		}
		if slices.Contains(logicalColumns[logical], key) {
			if column != key {
				r.adapter.columns[logical+"."+key] = column
			}
			return
		}
		if logical == "User" {
			r.adapter.fields[key] = column
			further = append(further, column)
		}
		filled := slices.ContainsFunc(methods, func(m string) bool {
			return strings.HasPrefix(m, "default") || strings.HasPrefix(m, "generated") || m == "autoincrement"
		})
		if slices.Contains(methods, "notNull") && !filled && !strings.Contains(strings.ToLower(call.of.name()), "serial") {
			r.add(Open, "tables", n, "%s.%s needs a value that authsvc does not know; give it a default in the database", logical, key)
		}
	})
	for _, column := range logicalColumns[logical] {
		if !seen[column] && (column != "id" || logical == "User") {
			r.add(Open, "tables", columns, "%s has no column %s: add it", logical, column)
		}
	}
	if slices.Sort(further); len(further) > 0 {
		r.add(OK, "columns", columns, "further columns of %s: %s", r.adapter.tables["User"], listed(further))
	}
}

// drizzleSnake names a column as Drizzle does: isVIP becomes is_vip.
func drizzleSnake(key string) string {
	// A capital begins a word after a small letter or a digit, and before a small letter.
	small := func(c byte) bool { return c >= 'a' && c <= 'z' }
	capital := func(c byte) bool { return c >= 'A' && c <= 'Z' }
	var b strings.Builder
	for i := range len(key) {
		c := key[i]
		if i > 0 && key[i-1] != '_' && (capital(c) && (!capital(key[i-1]) || i+1 < len(key) && small(key[i+1])) || c >= '0' && c <= '9' && capital(key[i-1])) {
			b.WriteByte('_')
		}
		b.WriteByte(c)
	}
	return strings.ToLower(b.String())
}

// snake turns emailVerified into email_verified.
func snake(camel string) string {
	var b strings.Builder
	for i, c := range camel {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
