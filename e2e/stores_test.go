package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"authsvc/adapter"
	"authsvc/adapter/mysql"
	"authsvc/adapter/postgres"
	"authsvc/adapter/sqlite"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/sql/stores"
	"authsvc/internal/test/npm"
	"authsvc/internal/test/servertest"
)

// storesDir holds the npm project with the Auth.js adapters.
const storesDir = "stores"

// A pairing is an Auth.js adapter with the tables that its documentation or tooling
// creates in one database.
type pairing struct {
	name     string
	adapter  string // name in adapters.mjs
	database string // Prisma's name for it
	tables   string // testdata/stores/TABLES.DATABASE.sql
	naming   sqladapter.Naming
	renames  string // SQL that runs afterwards
	env      []string
	narrow   bool // tokens hold at most 255 characters
}

func pairings() (list []pairing) {
	list = []pairing{
		{name: "pg-adapter", adapter: "pg", database: "postgresql", tables: "pg-adapter", naming: sqladapter.Naming{Preset: "authjs"}},
		{name: "kysely/postgresql", adapter: "kysely", database: "postgresql", tables: "kysely"},
		{name: "kysely/mysql", adapter: "kysely", database: "mysql", tables: "kysely", narrow: true},
		{name: "kysely/sqlite", adapter: "kysely", database: "sqlite", tables: "kysely"},
		{name: "prisma/sqlite with numbers", adapter: "prisma", database: "sqlite", tables: "prisma-classic",
			env: []string{"TIMESTAMP_FORMAT=unixepoch-ms"}},
	}
	for _, database := range []string{"postgresql", "mysql", "sqlite"} {
		list = append(list,
			pairing{name: "prisma/" + database, adapter: "prisma", database: database, tables: "prisma-classic"},
			pairing{name: "prisma of today/" + database, adapter: "prisma", database: database, tables: "prisma-current"},
			renamed(pairing{name: "prisma with other names/" + database, adapter: "prisma", database: database, tables: "prisma-classic"}))
	}
	return list
}

// renamed gives one table and one column of each kind a different name.
func renamed(p pairing) pairing {
	p.naming = sqladapter.Naming{Tables: map[string]string{"User": "people"}, Columns: map[string]string{
		"User.image": "avatar", "Account.userId": "owner", "Session.expires": "ends", "VerificationToken.token": "hash"}}
	p.renames = `ALTER TABLE "User" RENAME TO "people"; ALTER TABLE "people" RENAME COLUMN "image" TO "avatar";
		ALTER TABLE "Account" RENAME COLUMN "userId" TO "owner"; ALTER TABLE "Session" RENAME COLUMN "expires" TO "ends";
		ALTER TABLE "VerificationToken" RENAME COLUMN "token" TO "hash";`
	if p.database == "mysql" {
		p.renames = strings.ReplaceAll(p.renames, `"`, "`")
	}
	return p
}

// models returns the Prisma models of the pairing for its database.
func (p pairing) models() (string, error) {
	raw, err := os.ReadFile(filepath.Join(storesDir, "prisma", p.tables[len("prisma-"):]+".prisma"))
	long := "@db.Text"
	if p.database == "sqlite" {
		long = ""
	}
	text := strings.NewReplacer("PROVIDER", p.database, "OUTPUT", "./client", " TEXT", " "+long).Replace(string(raw))
	if p.renames != "" {
		text = strings.NewReplacer(
			"model User {", "model User {\n  @@map(\"people\")",
			"image         String?", `image String? @map("avatar")`,
			"userId            String", `userId String @map("owner")`,
			"expires      DateTime", `expires DateTime @map("ends")`,
			"token      String  ", `token String @map("hash") `).Replace(text)
	}
	return text, err
}

// clientDir returns the directory of the pairing's generated Prisma client.
func (p pairing) clientDir() string {
	name := strings.NewReplacer("/", "-", " ", "-").Replace(p.name)
	return filepath.Join("node_modules", ".clients", name)
}

// generate generates the Prisma client unless it exists.
func (p pairing) generate() error {
	models, err := p.models()
	if err != nil {
		return err
	}
	dir := filepath.Join(storesDir, p.clientDir())
	done := filepath.Join(dir, "done")
	if made, err := os.ReadFile(done); err == nil && string(made) == models {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "schema.prisma"), []byte(models), 0o644); err != nil {
		return err
	}
	if _, err := p.prisma(p.unused(), "generate", "--no-hints"); err != nil {
		return err
	}
	return os.WriteFile(done, []byte(models), 0o644)
}

// unused returns a URL for commands that require one but do not use it.
func (p pairing) unused() string {
	if p.database == "sqlite" {
		return "file:unused.db"
	}
	return p.database + "://127.0.0.1/unused"
}

// prisma runs the command with its WebAssembly engine. The command would also
// download a native engine unless it is told of one, which it never calls.
func (p pairing) prisma(database string, args ...string) ([]byte, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(node, append([]string{filepath.Join("node_modules", "prisma", "build", "index.js")}, args...)...)
	cmd.Dir = storesDir
	cmd.Env = append(os.Environ(), "PRISMA_SCHEMA_ENGINE_BINARY="+node, "PRISMA_HIDE_UPDATE_MESSAGE=1", "CHECKPOINT_DISABLE=1",
		"PRISMA_PROVIDER="+p.database, "PRISMA_SCHEMA="+filepath.Join(p.clientDir(), "schema.prisma"), "DATABASE_URL="+database)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("prisma %s: %w\n%s%s", args[0], err, out, said.String())
	}
	return out, nil
}

// adapters installs the npm packages and generates the Prisma clients.
var adapters = sync.OnceValue(func() error {
	if err := npm.Install(storesDir); err != nil {
		return err
	}
	for _, p := range pairings() {
		if p.adapter != "prisma" {
			continue
		}
		if err := p.generate(); err != nil {
			return err
		}
	}
	return nil
})

// needAdapters makes the Auth.js adapters available, or skips the test.
func needAdapters(t *testing.T) {
	t.Helper()
	needNode(t)
	if err := adapters(); err != nil {
		t.Fatal(err)
	}
}

// A place is a database that both sides use.
type place struct {
	pairing
	url string  // as both sides take it, except for SQLite
	db  *sql.DB // a connection of the test
}

// make creates the tables in a fresh database.
func (p pairing) make(t *testing.T) place {
	t.Helper()
	w := place{pairing: p}
	driver, source := "", ""
	switch p.database {
	case "postgresql":
		w.url = servertest.Postgres(t)
		driver, source = "pgx", w.url
	case "mysql":
		w.url = servertest.MySQL(t)
		if strings.Contains(w.url, "socket=") {
			t.Skip("needs MySQL on a TCP port")
		}
		user, rest, _ := strings.Cut(strings.TrimPrefix(w.url, "mysql://"), "@")
		host, name, _ := strings.Cut(rest, "/")
		name, _, _ = strings.Cut(name, "?")
		driver, source = "mysql", user+"@tcp("+host+")/"+name+"?multiStatements=true"
	case "sqlite":
		w.url = filepath.Join(t.TempDir(), "app.db")
		driver, source = "sqlite", w.url
	}
	var err error
	if w.db, err = sql.Open(driver, source); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.db.Close() })
	tables, err := os.ReadFile(filepath.Join("testdata", "stores", p.tables+"."+p.database+".sql"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.db.ExecContext(t.Context(), string(tables)+p.renames); err != nil {
		t.Fatalf("%s: %v", p.tables, err)
	}
	return w
}

// A store has the methods common to the three SQL stores.
type store interface {
	adapter.Adapter
	Status(context.Context) (stores.Status, error)
	Migrate(context.Context, stores.Direction) error
	Close() error
}

// open opens the database with authsvc's store.
func (w place) open(t *testing.T) store {
	t.Helper()
	var s store
	var err error
	naming := w.naming
	naming.Tables, naming.Columns = maps.Clone(naming.Tables), maps.Clone(naming.Columns)
	switch w.database {
	case "postgresql":
		s, err = postgres.Open(t.Context(), w.url, postgres.Options{Migrate: true, Naming: naming})
	case "mysql":
		s, err = mysql.Open(t.Context(), w.url, mysql.Options{Migrate: true, Naming: naming})
	case "sqlite":
		s, err = sqlite.Open(t.Context(), w.url, sqlite.Options{Migrate: true, Naming: naming})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// theirs opens the database with the Auth.js adapter.
func (w place) theirs(t *testing.T) *theirs {
	t.Helper()
	url := w.url
	if w.database == "sqlite" {
		url = "file:" + url
	}
	args := []string{w.adapter, w.database, url}
	if w.adapter == "prisma" {
		args = append(args, "./"+w.clientDir()+"/client")
	}
	return startAdapter(t, w.env, args...)
}

// eachPairing runs a test on a fresh database of each pairing.
func eachPairing(t *testing.T, test func(t *testing.T, w place)) {
	t.Helper()
	needAdapters(t)
	for _, p := range pairings() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, p.make(t))
		})
	}
}
