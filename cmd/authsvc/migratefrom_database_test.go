package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"authsvc/cmd/authsvc/internal/migratefrom"
	"authsvc/internal/test/servertest"
)

// TestMigrateFromDatabase compares databases with the tables that a folder names: ones
// that fit, ones under other names, and ones with columns that are wrong.
func TestMigrateFromDatabase(t *testing.T) {
	t.Parallel()
	for name, driver := range map[string]string{"sqlite": "sqlite", "postgres": "pgx"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := filepath.Join(t.TempDir(), "app.db")
			location := "sqlite:" + source
			if name == "postgres" {
				location = servertest.Postgres(t)
				source = location
			}
			db, err := sql.Open(driver, source)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for statement := range strings.SplitSeq(`CREATE TABLE users (id TEXT PRIMARY KEY, name TEXT, email TEXT, "emailVerified" TIMESTAMP, image TEXT, role TEXT, tenant TEXT NOT NULL);
				CREATE TABLE account (id TEXT PRIMARY KEY);
				CREATE TABLE app_session ("sessionToken" TEXT PRIMARY KEY, "userId" TEXT NOT NULL, expires TIMESTAMP NOT NULL);
				CREATE TABLE posts (id TEXT PRIMARY KEY);
				INSERT INTO users (id, tenant) VALUES ('1', 'a'), ('2', 'b')`, ";") {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(statement, err)
				}
			}
			r := &migratefrom.Report{Storage: migratefrom.Storage{UserColumns: []string{"role", "plan"},
				Tables: map[string]string{"User": "users", "Account": "account"}, Columns: map[string]string{"User.image": "avatar"}}}
			p := &program{ctx: t.Context()}
			tables, problem := p.readDatabase(location)
			if problem != "" {
				t.Fatal(problem)
			}
			r.Compare(tables)
			want := []string{
				"open  database: users has no column avatar: add it, or set storage.columns: {User.image: NAME}",
				"open  database: users has no column plan, which storage.user_columns lists",
				"open  database: users.tenant needs a value that authsvc does not know: give it a default",
				"open  database: account has no column userId: add it, or set storage.columns: {Account.userId: NAME}",
				"open  database: there is no table Session, but app_session (0 rows): set storage.tables: {Session: NAME}, or search_path in storage.url",
				"note  database: there is no table VerificationToken; authsvc makes it",
			}
			all := ""
			for _, f := range r.Findings {
				all += f.String() + "\n"
			}
			for _, line := range want {
				if !strings.Contains(all, line+"\n") {
					t.Errorf("no line %q in\n%s", line, all)
				}
			}
			fits := &migratefrom.Report{Storage: migratefrom.Storage{Tables: map[string]string{"User": "users"}}}
			fits.Compare([]migratefrom.Table{{Name: "users", Visible: true, Rows: 2, Columns: []migratefrom.Column{
				{Name: "id", Required: true}, {Name: "name"}, {Name: "email"}, {Name: "emailVerified"}, {Name: "image"}, {Name: "role"}}}})
			if have := fits.Findings[0].String(); have != "ok    database: users (2 rows), further columns: role" {
				t.Error(have)
			}
			if _, err := db.ExecContext(t.Context(), "INSERT INTO posts VALUES ('1')"); err != nil {
				t.Errorf("the database was left locked: %v", err)
			}
		})
	}
}

// TestMigrateFromPrismaURL: --database takes the URL of Prisma with its parameters, from
// the application's .env file or written out.
func TestMigrateFromPrismaURL(t *testing.T) {
	t.Parallel()
	location := servertest.Postgres(t)
	db, err := sql.Open("pgx", location)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `CREATE SCHEMA shop; CREATE TABLE shop."User" (id TEXT PRIMARY KEY, name TEXT, email TEXT, "emailVerified" TIMESTAMP(3), image TEXT)`); err != nil {
		t.Fatal(err)
	}
	mark := "?"
	if strings.Contains(location, "?") {
		mark = "&"
	}
	location += mark + "schema=shop&connection_limit=5"
	app := t.TempDir()
	for name, text := range map[string]string{
		"package.json":         `{"dependencies": {"@auth/prisma-adapter": "^2.11.2", "next-auth": "5.0.0-beta.30"}}`,
		"auth.js":              "import NextAuth from \"next-auth\"\nimport { PrismaAdapter } from \"@auth/prisma-adapter\"\nexport const { handlers } = NextAuth({ adapter: PrismaAdapter(prisma), providers: [] })\n",
		"prisma/schema.prisma": "datasource db {\n  provider = \"postgresql\"\n  url = env(\"DATABASE_URL\")\n}\n",
		".env":                 "DATABASE_URL=\"" + location + "\"\n",
	} {
		writeFile(t, filepath.Join(app, name), []byte(text))
	}
	for _, database := range []string{"auto", location} {
		_, out := runCommand(t, nil, "migrate-from", "next-auth", app, "--database", database, "-o", "-")
		for _, line := range []string{
			"note  storage: DATABASE_URL has parameters that only the application's driver knows (schema, connection_limit)",
			"ok    database: User (0 rows)",
		} {
			if !strings.Contains(out, line) {
				t.Errorf("no line %q in\n%s", line, out)
			}
		}
	}
}

// TestMigrateFromColumns: columns that only the database has are used for the proposal.
func TestMigrateFromColumns(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "app.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE "User" (id TEXT PRIMARY KEY, name TEXT, email TEXT, "emailVerified" TIMESTAMP, image TEXT, role TEXT)`); err != nil {
		t.Fatal(err)
	}
	app := t.TempDir()
	writeFile(t, filepath.Join(app, "auth.js"), []byte("import NextAuth from 'next-auth'\nimport { KyselyAdapter } from '@auth/kysely-adapter'\n"+
		"export const { handlers } = NextAuth({ adapter: KyselyAdapter(db), providers: [], session: { strategy: 'jwt' }, callbacks: {\n"+
		"jwt({ token, user }) { if (user) { token.role = user.role; token.plan = user.plan }; return token },\n"+
		"session({ session, token }) { session.user.role = token.role; session.user.plan = token.plan; return session } } })\n"))
	const missing = "open  callback session: session.user.%: no column % of the users table was found"
	for _, c := range []struct {
		database     string
		want, absent []string
	}{
		{"", []string{strings.ReplaceAll(missing, "%", "role"), strings.ReplaceAll(missing, "%", "plan")}, []string{"user_columns: [role]"}},
		{"sqlite:" + file, []string{
			"ok    callback session: session.user.role becomes session.expose: {role: User.role}", strings.ReplaceAll(missing, "%", "plan"),
			"must read token.authsvc_session?.columns ? token.authsvc_session.columns.role : token.role",
			"ok    database: User (0 rows), further columns: role\n", "user_columns: [role]\n", "expose: {role: User.role}\n",
		}, []string{strings.ReplaceAll(missing, "%", "role")}},
	} {
		args := []string{"migrate-from", "next-auth", app, "-o", "-"}
		if c.database != "" {
			args = append(args, "--database", c.database)
		}
		_, out := runCommand(t, nil, args...)
		for _, text := range c.want {
			if !strings.Contains(out, text) {
				t.Errorf("database %q: no %q in\n%s", c.database, text, out)
			}
		}
		for _, text := range c.absent {
			if strings.Contains(out, text) {
				t.Errorf("database %q: %q in\n%s", c.database, text, out)
			}
		}
	}
}

// TestReadsOnly: no statement can change a row of a database that is opened to be read.
func TestReadsOnly(t *testing.T) {
	t.Parallel()
	for name, location := range map[string]string{"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "app.db"), "postgres": servertest.Postgres(t), "mysql": servertest.MySQL(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, out := runCommand(t, nil, "migrate", "up", "--config", storageConfig(t, location)); code != exitOK {
				t.Fatal(out)
			}
			tables, err := readTables(t.Context(), location)
			if err != nil || len(tables) < 4 {
				t.Fatalf("%d tables, %v", len(tables), err)
			}
			db, _, _, err := openReadOnly(location)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback() //nolint:errcheck // it changes nothing
			if _, err := tx.ExecContext(t.Context(), "DELETE FROM authsvc_meta"); err == nil {
				t.Error("rows were deleted")
			}
		})
	}
}

// TestReadsWALOnly: a database in WAL mode is read without a new file beside it. While
// a program has it open, the rows in its journal count.
func TestReadsWALOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "app.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	execute := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(statement, err)
		}
	}
	execute("PRAGMA journal_mode=WAL")
	execute(`CREATE TABLE "User" (id TEXT)`)
	execute(`INSERT INTO "User" VALUES ('1')`)
	for _, open := range []bool{true, false} {
		if !open {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		before, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := readTables(t.Context(), "sqlite:"+file)
		if err != nil || len(tables) != 1 || tables[0].Rows != 1 {
			t.Errorf("open %t: %v, %v", open, tables, err)
		}
		after, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(before) != len(after) || !open && len(after) != 1 {
			t.Errorf("open %t: the folder had %v and has %v", open, before, after)
		}
	}
}
