package postgres

import (
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/test/sqltest"
)

const people = `
INSERT INTO "User" VALUES ('cl1', 'Ann', 'ann@example.com', '2030-01-01 00:00:00.123', NULL, 'kept');
INSERT INTO "Session" VALUES ('s1', 'tok1', 'cl1', '2030-01-01 00:00:00.123');`

func TestAdoptsPrismaDatabase(t *testing.T) {
	t.Parallel()
	location := with(testDatabase.With(t, prisma+people), "TimeZone=Asia/Kolkata")
	s := sqltest.Adopts(t, testDatabase, location)
	moment := time.Date(2030, 1, 1, 0, 0, 0, 123e6, time.UTC)
	record, u, err := s.GetSession(t.Context(), "tok1", "d")
	if err != nil {
		t.Fatal(err)
	}
	if u.ID != "cl1" || !record.Expires.Equal(moment) || !u.EmailVerified.Equal(moment) {
		t.Errorf("got %+v of %+v", record, u)
	}
	if n, err := s.Sweep(t.Context(), moment, 10); n != 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	later := moment.Add(time.Millisecond)
	if _, err := s.UpdateUser(t.Context(), "cl1", adapter.UserUpdate{EmailVerified: &later}); err != nil {
		t.Fatal(err)
	}
	if got := sqltest.Query(t, testDatabase.Connected(t, location), `SELECT "emailVerified"::text, extra FROM "User"`); got[0] != "2030-01-01 00:00:00.124 kept" {
		t.Errorf("got %s", got)
	}
	if n, err := s.Sweep(t.Context(), later, 10); n != 1 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
}

func TestRefusesTables(t *testing.T) {
	const users = `INSERT INTO "User" ("id", "email") VALUES ('u1', 'a@b.c'), ('u2', 'a@b.c');`
	sqltest.RefusesTables(t, testDatabase, map[string]sqltest.SchemaCase{
		"a column is missing":       {Schema: sqltest.Replace(t, prisma, `"image" TEXT, `, ``), Want: "table User has no column image"},
		"a column in another case":  {Schema: sqltest.Replace(t, prisma, `"image" TEXT, `, `"Image" TEXT, `), Want: "table User has no column image"},
		"an extra column":           {Schema: sqltest.Replace(t, prisma, `"image" TEXT, `, `"image" TEXT, "role" TEXT NOT NULL, `), Want: "table User has a column role that requires a value"},
		"duplicate values":          {Schema: sqltest.Replace(t, prisma, `CREATE UNIQUE INDEX "User_email_key" ON "User"("email");`, users), Want: "table User has 1 value of (email) that occurs more than once"},
		"an ID without a generator": {Schema: sqltest.Replace(t, prisma, `CREATE TABLE "Session" ("id" TEXT`, `CREATE TABLE "Session" ("id" INTEGER`), Want: "that the database does not generate"},
	})
}

func TestAddsIndexes(t *testing.T) {
	const email = `CREATE UNIQUE INDEX "User_email_key" ON "User"("email")`
	sqltest.AddsIndexes(t, testDatabase, map[string]sqltest.SchemaCase{
		"as created by Prisma":      {Schema: sqltest.Replace(t, prisma, email, email), Want: ""},
		"not unique":                {Schema: sqltest.Replace(t, prisma, email, `CREATE INDEX "User_email_key" ON "User"("email")`), Want: "authsvc_user_email"},
		"a constraint":              {Schema: sqltest.Replace(t, prisma, email, `ALTER TABLE "User" ADD UNIQUE ("email")`), Want: ""},
		"partially unique":          {Schema: sqltest.Replace(t, prisma, email, email+` WHERE "id" > ''`), Want: "authsvc_user_email"},
		"unique on an expression":   {Schema: sqltest.Replace(t, prisma, email, `CREATE UNIQUE INDEX x ON "User"(lower("email"))`), Want: "authsvc_user_email"},
		"unique on an extra column": {Schema: sqltest.Replace(t, prisma, email, `CREATE UNIQUE INDEX x ON "User"("email", "id")`), Want: "authsvc_user_email"},
		"includes another column":   {Schema: sqltest.Replace(t, prisma, email, `CREATE UNIQUE INDEX x ON "User"("email") INCLUDE ("id")`), Want: ""},
		"other order":               {Schema: sqltest.Replace(t, prisma, `ON "Account"("provider", "providerAccountId")`, `ON "Account"("providerAccountId", "provider")`), Want: ""},
		"not valid":                 {Schema: sqltest.Replace(t, prisma, email, email+`; UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"User_email_key"'::regclass`), Want: "authsvc_user_email"},
	})
}

func TestOpenDoesNotMigrate(t *testing.T) { sqltest.OpenDoesNotMigrate(t, testDatabase) }

func TestStatements(t *testing.T) { sqltest.Statements(t, testDatabase) }

func TestDownKeepsPeople(t *testing.T) { sqltest.DownKeepsUsers(t, testDatabase) }

func TestRefusesNewerSchema(t *testing.T) { sqltest.RefusesNewerSchema(t, testDatabase) }

func TestConcurrentOpen(t *testing.T) { sqltest.ConcurrentOpen(t, testDatabase) }

func TestMigrationFailingHalfway(t *testing.T) { sqltest.MigrationFailingHalfway(t, testDatabase) }
