package sqlite

import (
	"errors"
	"strings"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/sqltest"
)

// prisma is the result of `prisma migrate` with the documented NextAuth.js schema.
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

func TestAdoptsPrismaDatabase(t *testing.T) {
	t.Parallel()
	path := testDatabase.With(t, prisma)
	s := sqltest.Adopts(t, testDatabase, path)
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
	if _, err := s.UpdateUser(t.Context(), "cl1", adapter.UserUpdate{Name: &name}); err != nil {
		t.Fatal(err)
	}
	if got := sqltest.Query(t, testDatabase.Connected(t, path), `SELECT emailVerified, typeof(emailVerified), extra FROM User WHERE id = 'cl1'`); !strings.HasSuffix(got[0], "text kept") {
		t.Errorf("got %s", got)
	}
}

// rowid is the authsvc_session table of earlier builds.
const rowid = `
CREATE TABLE authsvc_session (digest TEXT NOT NULL PRIMARY KEY,
	session_token TEXT NOT NULL UNIQUE REFERENCES "Session" ("sessionToken") ON DELETE CASCADE ON UPDATE CASCADE,
	user_id TEXT NOT NULL REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
	expires INTEGER NOT NULL, auth_time INTEGER, provider TEXT);
`

// TestKeepsTablesWithRowIDs checks that a file of an earlier build, whose tables have
// row ids, is used unchanged.
func TestKeepsTablesWithRowIDs(t *testing.T) {
	t.Parallel()
	s := opened(t, testDatabase.With(t, prisma+rowid), Options{Migrate: true}, sqladapter.TestHooks{})
	const tables = `SELECT name FROM sqlite_schema WHERE sql LIKE '%WITHOUT ROWID%' AND name = 'authsvc_session'`
	if got := sqltest.Query(t, s.db, tables); len(got) > 0 {
		t.Errorf("created again: %s", got)
	}
	moment := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	rec := adapter.SessionRecord{ID: "s9", SessionToken: "tok9", Digest: "d9", UserID: "cl1", Expires: moment, Began: moment, Provider: "p"}
	if _, err := s.CreateSession(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	got, _, err := s.GetSession(t.Context(), "tok9", "d9")
	if err != nil || !got.Began.Equal(moment) || got.Provider != "p" {
		t.Errorf("got %+v, %v", got, err)
	}
	if n, err := s.Sweep(t.Context(), moment.Add(time.Millisecond), 10); n == 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if _, _, err := s.GetSession(t.Context(), "tok9", "d9"); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("after the sweep: %v", err)
	}
}

// prismaWith returns Prisma's schema with one piece replaced.
func prismaWith(t *testing.T, old, changed string) string {
	t.Helper()
	schema, _, _ := strings.Cut(prisma, "INSERT")
	return sqltest.Replace(t, schema, old, changed)
}

const (
	uniqueEmail    = `CREATE UNIQUE INDEX "User_email_key"`
	uniqueIdentity = `"provider", "providerAccountId");`
	uniqueSession  = `"Session"("sessionToken");`
	uniqueToken    = `"VerificationToken"("token")`
)

func TestRefusesTables(t *testing.T) {
	const users = `INSERT INTO "User" ("id", "email") VALUES ('u1', 'a@b.c'), ('u2', 'a@b.c');`
	sqltest.RefusesTables(t, testDatabase, map[string]sqltest.SchemaCase{
		"identity ignores case": {Schema: prismaWith(t, uniqueIdentity, `"provider", "providerAccountId" COLLATE NOCASE);`), Want: "no unique index over (provider, providerAccountId) that compares byte for byte"},
		"a column is missing":   {Schema: prismaWith(t, `"image" TEXT, `, ``), Want: "table User has no column image"},
		"a column has a prefix": {Schema: prismaWith(t, `"id_token" TEXT`, `"my_id_token" TEXT`), Want: "table Account has no column id_token"},
		"an extra column":       {Schema: prismaWith(t, `"image" TEXT, `, `"image" TEXT, "role" TEXT NOT NULL, `), Want: "table User has a column role that requires a value"},
		"duplicate values":      {Schema: prismaWith(t, uniqueEmail+` ON "User"("email");`, users), Want: "table User has 1 value of (email) that occurs more than once"},
	})
}

func TestAddsIndexes(t *testing.T) {
	sqltest.AddsIndexes(t, testDatabase, map[string]sqltest.SchemaCase{
		"as created by Prisma":      {Schema: prismaWith(t, uniqueEmail, uniqueEmail), Want: ""},
		"email not unique":          {Schema: prismaWith(t, uniqueEmail, `CREATE INDEX "User_email_key"`), Want: "authsvc_user_email"},
		"email without an index":    {Schema: prismaWith(t, uniqueEmail+` ON "User"("email");`, ``), Want: "authsvc_user_email"},
		"a default":                 {Schema: prismaWith(t, `"image" TEXT, `, `"image" TEXT, "role" TEXT NOT NULL DEFAULT 'user', `), Want: ""},
		"partially unique":          {Schema: prismaWith(t, uniqueSession, `"Session"("sessionToken") WHERE "id" > '';`), Want: "authsvc_session_key"},
		"unique on an extra column": {Schema: prismaWith(t, uniqueToken, `"VerificationToken"("token", "expires")`), Want: "authsvc_token_key"},
	})
}

// TestIndexFails checks that the error of an index that cannot be created has its
// statement.
func TestIndexFails(t *testing.T) {
	t.Parallel()
	url := testDatabase.With(t, prismaWith(t, uniqueEmail+` ON "User"("email");`, `CREATE VIEW authsvc_user_email AS SELECT 1;`))
	s, err := testDatabase.Open(t.Context(), url, true)
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), `its owner must first run: CREATE UNIQUE INDEX authsvc_user_email ON "User" ("email")`) {
		t.Errorf("got %v", err)
	}
}

func TestOpenDoesNotMigrate(t *testing.T) { sqltest.OpenDoesNotMigrate(t, testDatabase) }

func TestStatements(t *testing.T) { sqltest.Statements(t, testDatabase) }

func TestDownKeepsPeople(t *testing.T) { sqltest.DownKeepsUsers(t, testDatabase) }

func TestRefusesNewerSchema(t *testing.T) { sqltest.RefusesNewerSchema(t, testDatabase) }

func TestConcurrentOpen(t *testing.T) { sqltest.ConcurrentOpen(t, testDatabase) }

// TestOpenWaits checks that Open waits longer for the migrations of other processes than
// a connection waits for the write lock.
func TestOpenWaits(t *testing.T) {
	t.Parallel()
	path := testDatabase.Empty(t)
	if err := opened(t, path, Options{Migrate: true}, sqladapter.TestHooks{}).Migrate(t.Context(), Down); err != nil {
		t.Fatal(err)
	}
	other := testDatabase.Connected(t, path)
	other.SetMaxOpenConns(1)
	if _, err := other.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	freed := make(chan error, 1)
	time.AfterFunc(busyTimeout+busyTimeout/4, func() {
		_, err := other.Exec(`ROLLBACK`)
		freed <- err
	})
	s, err := Open(t.Context(), path, Options{Migrate: true})
	if err != nil {
		t.Error(errors.Join(err, <-freed))
		return
	}
	if err := errors.Join(<-freed, s.Close()); err != nil {
		t.Error(err)
	}
}

func TestMigrationFailingHalfway(t *testing.T) { sqltest.MigrationFailingHalfway(t, testDatabase) }
