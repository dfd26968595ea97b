package migratefrom

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// An adapter is where the application keeps its users.
type adapter struct {
	name string // of the package; "" without one
	at   node
	// scheme is that of storage.url, if it is known: postgres, mysql, sqlite, mongodb.
	scheme string
	preset string // storage.naming
	tables map[string]string
	// columns are the renamed ones, as in User.image: avatar.
	columns map[string]string
	// fields holds the further columns of User by the name that the program uses.
	fields   map[string]string
	variable string // environment variable of the URL
	unusable bool   // authsvc has no such store
}

// An adapterKind describes a package with an adapter.
type adapterKind struct {
	scheme, preset string
	tables         map[string]string
	read           func(r *reader, call node) // reads the names of tables
	instead        string                     // why authsvc cannot use it, and what to do
}

// adapterKinds returns the adapters by the last part of the package's name.
func adapterKinds() map[string]adapterKind {
	tokens := map[string]string{"VerificationToken": "verification_tokens"}
	const moved = "authsvc has no such store: move users and accounts to one that it has (docs/stores.md)"
	return map[string]adapterKind{
		"prisma-adapter":         {read: (*reader).readPrisma},
		"drizzle-adapter":        {read: (*reader).readDrizzle},
		"pg-adapter":             {scheme: "postgres", preset: "authjs"},
		"neon-adapter":           {scheme: "postgres", preset: "authjs"},
		"kysely-adapter":         {},
		"typeorm-adapter":        {preset: "authjs", tables: tokens},
		"typeorm-legacy-adapter": {preset: "authjs", tables: tokens},
		"mongodb-adapter":        {scheme: "mongodb"},
		"supabase-adapter":       {scheme: "postgres", preset: "authjs", tables: tokens, read: (*reader).readSupabase},
		"sequelize-adapter":      {preset: "snake", tables: tokens},
		"upstash-redis-adapter":  {instead: "authsvc keeps its own records in Redis, in another form, so people would be new users: move them to a SQL database or MongoDB first"},
		"redis-adapter":          {instead: "authsvc keeps its own records in Redis, in another form, so people would be new users: move them to a SQL database or MongoDB first"},
		"d1-adapter":             {instead: "Cloudflare's D1 is reached from Workers only: export it to a SQLite file"},
		"unstorage-adapter":      {instead: moved},
		"dynamodb-adapter":       {instead: moved},
		"firebase-adapter":       {instead: moved},
		"fauna-adapter":          {instead: moved},
		"edgedb-adapter":         {instead: moved},
		"gel-adapter":            {instead: moved},
		"hasura-adapter":         {instead: "its tables are in PostgreSQL, which authsvc can use directly: set storage.url, and storage.tables and storage.columns to their names"},
		"azure-tables-adapter":   {instead: moved},
		"surrealdb-adapter":      {instead: moved},
		"xata-adapter":           {instead: moved},
		"dgraph-adapter":         {instead: moved},
		"neo4j-adapter":          {instead: moved},
		"pouchdb-adapter":        {instead: moved},
		"mikro-orm-adapter":      {instead: "its names of tables follow your entities: set storage.url, storage.tables and storage.columns"},
	}
}

// readAdapter finds the adapter and the names of its tables.
func (r *reader) readAdapter() {
	r.adapter = adapter{tables: map[string]string{}, columns: map[string]string{}, fields: map[string]string{}}
	n, ok := r.given("adapter")
	if !ok {
		r.add(OK, "adapter", node{}, "none")
		return
	}
	a := &r.adapter
	a.at, a.name = n, "unknown"
	call := r.resolve(n)
	if call.kind == objectNode { // { ...PrismaAdapter(db), createUser: … }
		call = r.wrapped(call)
	}
	if call.kind != callNode {
		r.add(Open, "adapter", n, "not understood: set storage.url, and the names of its tables if they differ from Prisma's")
		return
	}
	from, _ := r.origin(*call.of)
	a.name = from
	kind, known := adapterKinds()[path.Base(from)]
	known = known && (strings.HasPrefix(from, "@auth/") || strings.HasPrefix(from, "@next-auth/"))
	switch {
	case !known:
		r.add(Open, "adapter", n, "%s is not known: set storage.url, and the names of its tables if they differ from Prisma's", quotedName(from, call.of.name()))
		return
	case kind.instead != "":
		r.add(Open, "adapter", n, "%s: %s", from, kind.instead)
		a.unusable = true
		return
	}
	r.add(OK, "adapter", n, "%s", from)
	a.scheme, a.preset = kind.scheme, kind.preset
	for logical, name := range kind.tables {
		a.tables[logical] = name
	}
	if kind.read != nil {
		kind.read(r, call)
	} else if len(call.items) > 1 { // {collections: …}, {models: …}, {entities: …}
		r.add(Open, "tables", call.items[1], "the second argument of the adapter is not read: if it renames tables, columns or the database, set storage.tables, storage.columns and storage.url")
	}
	r.readDatabaseURL()
	r.reportTables()
}

func quotedName(from, name string) string {
	if from != "" {
		return from
	}
	return "the function " + name
}

// wrapped returns the adapter that an object spreads, and reports the methods that the
// application replaces.
func (r *reader) wrapped(object node) (call node) {
	for _, m := range object.members {
		if m.spread {
			call = r.resolve(m.value)
			continue
		}
		r.add(Open, "adapter", m.value, "the method %s is the application's own: authsvc does not call it", m.key)
	}
	return call
}

func (r *reader) readSupabase(call node) {
	r.add(Open, "storage", call, "the tables are in the schema next_auth: add search_path=next_auth to storage.url")
}

// readDatabaseURL finds the environment variable with the URL of the database.
func (r *reader) readDatabaseURL() {
	a := &r.adapter
	if a.variable == "" {
		a.variable = "DATABASE_URL"
		for _, name := range []string{"DATABASE_URL", "POSTGRES_URL", "POSTGRES_PRISMA_URL", "MONGODB_URI", "MONGODB_URL", "MYSQL_URL", "TURSO_DATABASE_URL"} {
			if r.env.mentions(name) {
				a.variable = name
				break
			}
		}
	}
	r.Storage.Variable = a.variable
	r.Storage.URL, r.Storage.File = r.env.value(a.variable)
	scheme, _, _ := strings.Cut(r.Storage.URL, ":")
	switch scheme {
	case "postgres", "postgresql":
		a.scheme = "postgres"
	case "mysql", "mariadb":
		a.scheme = "mysql"
	case "mongodb", "mongodb+srv":
		a.scheme = "mongodb"
	case "file", "sqlite":
		a.scheme = "sqlite"
	case "libsql", "prisma", "prisma+postgres", "sqlserver":
		r.addAt(Open, "storage", r.Storage.File, "%s has the scheme %s, which authsvc does not speak: set storage.url to a database that it does (docs/stores.md)", a.variable, scheme)
	}
	r.Storage.Tables, r.Storage.Columns, r.Storage.Preset = a.tables, a.columns, a.preset
}

// storageKeys returns the mapping storage.
func (r *reader) storageKeys() mapping {
	a := &r.adapter
	if a.name == "" || a.unusable {
		if !r.needsStorage() {
			return mapping{{key: "url", value: literal("none")}}
		}
		r.add(Note, "storage", node{}, "the application has no database that authsvc can use; authsvc makes authsvc.db for its own records")
		return nil
	}
	keys := mapping{{key: "url", value: r.storageURL()}}
	if a.scheme == "mongodb" && strings.Contains(a.name, "prisma") {
		a.preset = "prisma" // there, the default has the names of the adapter for MongoDB
	}
	if a.preset != "" {
		keys.set("naming", literal(a.preset))
	}
	if len(a.tables) > 0 {
		keys.set("tables", sorted(a.tables))
	}
	if len(a.columns) > 0 {
		keys.set("columns", sorted(a.columns))
	}
	if len(r.columns) > 0 {
		slices.Sort(r.columns)
		keys.set("user_columns", texts(r.columns))
		r.Storage.UserColumns = r.columns
	}
	return keys
}

// storageURL returns storage.url: a reference, or the file of SQLite, which is not a
// secret.
func (r *reader) storageURL() string {
	a := &r.adapter
	if a.variable == "" {
		a.variable = "DATABASE_URL"
	}
	if a.scheme == "sqlite" {
		if file := r.sqliteFile(); file != "" {
			r.Storage.URL = "sqlite:" + file
			return literally(r.Storage.URL)
		}
		r.addAt(Note, "storage", r.Storage.File, "set AUTHSVC_STORAGE_URL to sqlite: and the path of the database file")
		return r.use("AUTHSVC_STORAGE_URL", "sqlite:FILE, the database of the application")
	}
	if odd := foreignParameters(a.scheme, r.Storage.URL); len(odd) > 0 {
		advice := "leave them out"
		if slices.Contains(odd, "schema") {
			advice = "write search_path for schema, and leave the others out"
		}
		r.addAt(Note, "storage", r.Storage.File, "%s has parameters that only the application's driver knows (%s): set AUTHSVC_STORAGE_URL to the same address, but %s",
			a.variable, strings.Join(odd, ", "), advice)
		return r.use("AUTHSVC_STORAGE_URL", "the URL of the database without the parameters "+strings.Join(odd, ", "))
	}
	return r.use(a.variable, "the URL of the database: postgres://…, mysql://…, mongodb://… or sqlite:FILE")
}

// ownParameters are the parameters of a URL that Prisma and other drivers of JavaScript
// invented.
var ownParameters = []string{"schema", "connection_limit", "pool_timeout", "pgbouncer", "socket_timeout", "statement_cache_size", "sslaccept", "sslidentity", "sslcert", "ssl", "uselibpqcompat", "multiSchema"}

// foreignParameters returns those that a URL has.
func foreignParameters(scheme, raw string) (found []string) {
	_, query, _ := strings.Cut(raw, "?")
	values, err := url.ParseQuery(query)
	if err != nil || scheme != "postgres" && scheme != "mysql" {
		return nil
	}
	for _, name := range ownParameters {
		if values.Has(name) {
			found = append(found, name)
		}
	}
	return found
}

// WithoutForeignParameters returns the URL of a PostgreSQL or MySQL server as the report
// advises to write it: without the parameters that only drivers of JavaScript know, and
// with search_path for schema. Other URLs remain as they are.
func WithoutForeignParameters(location string) string {
	scheme, _, _ := strings.Cut(location, ":")
	address, query, _ := strings.Cut(location, "?")
	if !slices.Contains([]string{"postgres", "postgresql", "mysql", "mariadb"}, scheme) || query == "" {
		return location
	}
	var kept []string
	for parameter := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(parameter, "=")
		switch {
		case name == "schema" && strings.HasPrefix(scheme, "postgres"):
			kept = append(kept, "search_path="+value)
		case !slices.Contains(ownParameters, name):
			kept = append(kept, parameter)
		}
	}
	if len(kept) == 0 {
		return address
	}
	return address + "?" + strings.Join(kept, "&")
}

// sqliteFile returns the path of the database, or "". Prisma's paths begin at the folder
// of the schema.
func (r *reader) sqliteFile() string {
	scheme, file, _ := strings.Cut(r.Storage.URL, ":")
	if scheme != "file" && scheme != "sqlite" { // libsql://USER:PASSWORD@HOST, or a value that dotenvx encrypted
		return ""
	}
	file, _, _ = strings.Cut(strings.TrimPrefix(file, "//"), "?")
	if file == "" || path.IsAbs(file) {
		return file
	}
	base := path.Dir(r.Storage.File)
	inPrisma := path.Join(base, "prisma", file)
	if strings.Contains(r.adapter.name, "prisma") {
		if _, err := r.root.Lstat(path.Join(base, file)); err != nil {
			return path.Join(filepath.ToSlash(r.dir), inPrisma)
		}
	}
	return path.Join(filepath.ToSlash(r.dir), base, file)
}

// reportTables reports the names of the shared tables.
func (r *reader) reportTables() {
	a := &r.adapter
	if a.scheme == "mongodb" && !strings.Contains(a.name, "prisma") {
		r.add(OK, "tables", a.at, "users, accounts, sessions, verification_tokens")
		return
	}
	var names []string
	for _, logical := range logicalTables {
		names = append(names, logical+" is "+a.table(logical))
	}
	r.add(OK, "tables", a.at, "%s", strings.Join(names, ", "))
}

var logicalTables = []string{"User", "Account", "Session", "VerificationToken"}

// table returns the name of a table in the database.
func (a *adapter) table(logical string) string {
	if name := a.tables[logical]; name != "" {
		return name
	}
	switch {
	case a.preset == "authjs" && logical == "VerificationToken":
		return "verification_token"
	case a.preset == "authjs", a.preset == "snake":
		return strings.ToLower(logical) + "s"
	default:
		return logical
	}
}
