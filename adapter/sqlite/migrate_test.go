package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/sqladapter"
	"authsvc/internal/sqlschema"
)

// prisma is what `prisma migrate` makes of the documented NextAuth.js schema.
const prisma = `
CREATE TABLE "Account" ("id" TEXT NOT NULL PRIMARY KEY, "userId" TEXT NOT NULL, "type" TEXT NOT NULL, "provider" TEXT NOT NULL,
	"providerAccountId" TEXT NOT NULL, "refresh_token" TEXT, "access_token" TEXT, "expires_at" INTEGER, "token_type" TEXT, "scope" TEXT,
	"id_token" TEXT, "session_state" TEXT,
	CONSTRAINT "Account_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE "Session" ("id" TEXT NOT NULL PRIMARY KEY, "sessionToken" TEXT NOT NULL, "userId" TEXT NOT NULL, "expires" DATETIME NOT NULL,
	CONSTRAINT "Session_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE "User" ("id" TEXT NOT NULL PRIMARY KEY, "name" TEXT, "email" TEXT, "emailVerified" DATETIME, "image" TEXT, "extra" TEXT DEFAULT 'kept');
CREATE TABLE "VerificationToken" ("identifier" TEXT NOT NULL, "token" TEXT NOT NULL, "expires" DATETIME NOT NULL);
CREATE UNIQUE INDEX "Account_provider_providerAccountId_key" ON "Account"("provider", "providerAccountId");
CREATE UNIQUE INDEX "Session_sessionToken_key" ON "Session"("sessionToken");
CREATE UNIQUE INDEX "User_email_key" ON "User"("email");
CREATE UNIQUE INDEX "VerificationToken_token_key" ON "VerificationToken"("token");
CREATE UNIQUE INDEX "VerificationToken_identifier_token_key" ON "VerificationToken"("identifier", "token");
INSERT INTO "User" VALUES ('cl1', 'Ann', 'ann@example.com', 1893456000123, NULL, 'kept'), ('cl2', NULL, NULL, '2030-01-01T00:00:00.123+00:00', NULL, 'kept');
INSERT INTO "Session" VALUES ('s1', 'tok1', 'cl1', 1893456000123), ('s2', 'tok2', 'cl2', '2030-01-01 01:00:00.123456+01:00');
`

// made is a file that another program made.
func made(t *testing.T, schema string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dev.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	return path
}

func schemaOf(t *testing.T, s *Store) string {
	t.Helper()
	return fmt.Sprint(query(t, s.writer, `SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'authsvc_%' AND tbl_name NOT LIKE 'authsvc_%' ORDER BY name`))
}

func TestAdoptsPrismaDatabase(t *testing.T) {
	t.Parallel()
	path := made(t, prisma)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	before := schemaOf(t, s)
	if n := query(t, s.writer, `SELECT COUNT(*) FROM sqlite_schema WHERE name LIKE 'authsvc_%'`); n[0] != "0" {
		t.Errorf("opening made %s objects", n)
	}
	if err := s.Migrate(t.Context(), Up); err != nil {
		t.Fatal(err)
	}
	if after := schemaOf(t, s); after != before {
		t.Errorf("its tables were changed:\n%s", after)
	}
	moment := time.Date(2030, 1, 1, 0, 0, 0, 123e6, time.UTC)
	for token, id := range map[string]string{"tok1": "cl1", "tok2": "cl2"} {
		record, u, err := s.GetSession(t.Context(), token, "d")
		if err != nil {
			t.Fatal(err)
		}
		if u.ID != id || !record.Expires.Equal(moment) || !u.EmailVerified.Equal(moment) {
			t.Errorf("got %+v of %+v", record, u)
		}
	}
	if n, err := s.Sweep(t.Context(), moment, 10); n != 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if n, err := s.Sweep(t.Context(), moment.Add(time.Millisecond), 10); n != 2 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	name := "Ann B."
	if _, err := s.UpdateUser(t.Context(), "cl1", authsvc.UserUpdate{Name: &name}); err != nil {
		t.Fatal(err)
	}
	if got := query(t, s.writer, `SELECT emailVerified, typeof(emailVerified), extra FROM User WHERE id = 'cl1'`); !strings.HasSuffix(got[0], "text kept") {
		t.Errorf("got %s", got)
	}
}

// rowid is authsvc_session as earlier builds made it.
const rowid = `
CREATE TABLE authsvc_session (digest TEXT NOT NULL PRIMARY KEY,
	session_token TEXT NOT NULL UNIQUE REFERENCES "Session" ("sessionToken") ON DELETE CASCADE ON UPDATE CASCADE,
	user_id TEXT NOT NULL REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
	expires INTEGER NOT NULL, auth_time INTEGER, provider TEXT);
`

// A file of an earlier build, whose tables have row ids, is used as it is.
func TestKeepsTablesWithRowIDs(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), made(t, prisma+rowid), Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	const tables = `SELECT name FROM sqlite_schema WHERE sql LIKE '%WITHOUT ROWID%'`
	if got := query(t, s.writer, tables); len(got) > 0 {
		t.Errorf("made anew: %s", got)
	}
	moment := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	rec := authsvc.SessionRecord{ID: "s9", SessionToken: "tok9", Digest: "d9", UserID: "cl1", Expires: moment, AuthTime: moment, Provider: "p"}
	if _, err := s.CreateSession(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	got, _, err := s.GetSession(t.Context(), "tok9", "d9")
	if err != nil || !got.AuthTime.Equal(moment) || got.Provider != "p" {
		t.Errorf("got %+v, %v", got, err)
	}
	if n, err := s.Sweep(t.Context(), moment.Add(time.Millisecond), 10); n == 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if _, _, err := s.GetSession(t.Context(), "tok9", "d9"); !errors.Is(err, authsvc.ErrNotFound) {
		t.Errorf("after the sweep: %v", err)
	}
}

// looser is the schema of Prisma with one piece replaced.
func looser(t *testing.T, old, changed string) string {
	t.Helper()
	schema, _, _ := strings.Cut(prisma, "INSERT")
	if !strings.Contains(schema, old) {
		t.Fatal("the test does not change the schema")
	}
	return strings.Replace(schema, old, changed, 1)
}

const (
	uniqueEmail    = `CREATE UNIQUE INDEX "User_email_key"`
	uniqueIdentity = `"provider", "providerAccountId");`
	uniqueSession  = `"Session"("sessionToken");`
	uniqueToken    = `"VerificationToken"("token")`
)

// Tables that cannot be used are refused, and nothing is changed.
func TestRefusesTables(t *testing.T) {
	t.Parallel()
	const user = `INSERT INTO "User" ("id", "email") VALUES ('u1', 'a@b.c'), ('u2', 'a@b.c');`
	for name, c := range map[string]struct{ old, new, want string }{
		"identity any case":     {uniqueIdentity, `"provider", "providerAccountId" COLLATE NOCASE);`, "no unique index over (provider, providerAccountId) that compares byte for byte"},
		"a column is missing":   {`"image" TEXT, `, ``, "table User has no column image"},
		"a column has a prefix": {`"id_token" TEXT`, `"my_id_token" TEXT`, "table Account has no column id_token"},
		"a column too much":     {`"image" TEXT, `, `"image" TEXT, "role" TEXT NOT NULL, `, "table User has a column role that must be given a value"},
		"the same twice":        {uniqueEmail + ` ON "User"("email");`, user, "table User has 1 values of (email) more than once"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := made(t, looser(t, c.old, c.new))
			_, err := Open(t.Context(), path, Options{Migrate: true})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
			s, err := Open(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			closeAtEnd(t, s)
			if got := query(t, s.writer, `SELECT name FROM sqlite_schema WHERE name LIKE 'authsvc_%'`); len(got) > 0 {
				t.Errorf("left behind: %s", got)
			}
		})
	}
}

// What a rule needs and is not there is added, beside what is.
func TestAddsIndexes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, want string }{
		"as Prisma makes it": {uniqueEmail, uniqueEmail, ""},
		"email not unique":   {uniqueEmail, `CREATE INDEX "User_email_key"`, "authsvc_user_email"},
		"a default":          {`"image" TEXT, `, `"image" TEXT, "role" TEXT NOT NULL DEFAULT 'user', `, ""},
		"unique in part":     {uniqueSession, `"Session"("sessionToken") WHERE "id" > '';`, "authsvc_session_key"},
		"unique by too much": {uniqueToken, `"VerificationToken"("token", "expires")`, "authsvc_token_key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(t.Context(), made(t, looser(t, c.old, c.new)), Options{Migrate: true})
			if err != nil {
				t.Fatal(err)
			}
			closeAtEnd(t, s)
			const added = `SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE 'authsvc_%' AND tbl_name NOT LIKE 'authsvc_%' ` +
				`AND sql LIKE '%UNIQUE%' ORDER BY name`
			if got := strings.Join(query(t, s.writer, added), " "); got != c.want {
				t.Errorf("added %q, want %q", got, c.want)
			}
		})
	}
}

func TestOpenDoesNotMigrate(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "auth.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	status, err := s.Status(t.Context())
	if err != nil || status.Current != 0 || status.Latest != sqlschema.Latest() || status.Migrations[0].Applied {
		t.Fatalf("got %+v, %v", status, err)
	}
	if got := query(t, s.writer, `SELECT name FROM sqlite_schema`); len(got) > 0 {
		t.Errorf("opening made %s", got)
	}
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "migrate") {
		t.Errorf("ping: %v", err)
	}
	if _, err := s.GetUser(t.Context(), "u"); err == nil || !strings.Contains(err.Error(), "migrated") {
		t.Errorf("get user: %v", err)
	}
	if err := s.Migrate(t.Context(), Up); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.CreateUser(t.Context(), authsvc.User{ID: "u"}); err != nil {
		t.Error(err)
	}
	if status, err = s.Status(t.Context()); err != nil || status.Current != sqlschema.Latest() || !status.Migrations[0].Applied {
		t.Errorf("got %+v, %v", status, err)
	}
}

func TestDownKeepsPeople(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	if _, err := s.CreateUser(t.Context(), authsvc.User{ID: "u"}); err != nil {
		t.Fatal(err)
	}
	for range int(sqlschema.Latest()) {
		if err := s.Migrate(t.Context(), Down); err != nil {
			t.Fatal(err)
		}
	}
	if got := query(t, s.writer, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'authsvc_%' AND name <> ?`, sqlschema.VersionTable); len(got) > 0 {
		t.Errorf("left behind: %s", got)
	}
	if err := s.Migrate(t.Context(), Down); err == nil {
		t.Error("took back what was not there")
	}
	for range 2 { // the second time there is nothing to do
		if err := s.Migrate(t.Context(), Up); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.GetUser(t.Context(), "u"); err != nil {
		t.Error(err)
	}
}

func TestRefusesNewerSchema(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	if err := s.exec(t.Context(), `INSERT INTO `+sqlschema.VersionTable+` (version_id, is_applied) VALUES (99, 1)`); err != nil {
		t.Fatal(err)
	}
	before := s.Dump(t)
	for _, migrate := range []bool{false, true} {
		_, err := Open(t.Context(), s.location, Options{Migrate: migrate})
		if err == nil || !strings.Contains(err.Error(), "version 99") || !strings.Contains(err.Error(), fmt.Sprint("up to ", sqlschema.Latest())) {
			t.Errorf("migrate %v: got %v", migrate, err)
		}
	}
	if s.Dump(t) != before {
		t.Error("data was changed")
	}
}

// Any number of processes may start on a missing or an empty database.
func TestConcurrentOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "auth.db")
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			s, err := Open(t.Context(), path, Options{Migrate: true})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if err := s.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	got := query(t, s.writer, `SELECT version_id, COUNT(*) FROM `+sqlschema.VersionTable+` GROUP BY version_id`)
	if fmt.Sprint(got) != "[0 1 1 1 2 1 3 1 4 1]" {
		t.Errorf("applied: %s", got)
	}
}

// A migration that dies half-way leaves nothing, and the next one passes.
func TestMigrationFailingHalfway(t *testing.T) {
	t.Parallel()
	path := made(t, `CREATE TABLE authsvc_once (id TEXT)`) // in the way of the last file
	if _, err := Open(t.Context(), path, Options{Migrate: true}); err == nil {
		t.Fatal("migrated")
	}
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	if got := query(t, s.writer, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> ?`, sqlschema.VersionTable); fmt.Sprint(got) != "[authsvc_once]" {
		t.Errorf("left behind: %s", got)
	}
	if _, err := s.writer.ExecContext(t.Context(), `DROP TABLE authsvc_once`); err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context(), Up); err != nil {
		t.Error(err)
	}
}
