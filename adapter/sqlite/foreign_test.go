package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/adaptertest"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/sqltest"
)

// prismaToday is Prisma's result for the models that Auth.js documents today, except
// that addresses may be absent. Accounts and sessions have no id, and updatedAt has no
// default.
const prismaToday = `
CREATE TABLE "User" ("id" TEXT NOT NULL PRIMARY KEY, "name" TEXT, "email" TEXT, "emailVerified" DATETIME, "image" TEXT,
	"createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, "updatedAt" DATETIME NOT NULL);
CREATE TABLE "Account" ("userId" TEXT NOT NULL, "type" TEXT NOT NULL, "provider" TEXT NOT NULL, "providerAccountId" TEXT NOT NULL,
	"refresh_token" TEXT, "access_token" TEXT, "expires_at" INTEGER, "token_type" TEXT, "scope" TEXT, "id_token" TEXT, "session_state" TEXT,
	"createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, "updatedAt" DATETIME NOT NULL, PRIMARY KEY ("provider", "providerAccountId"),
	CONSTRAINT "Account_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE "Session" ("sessionToken" TEXT NOT NULL, "userId" TEXT NOT NULL, "expires" DATETIME NOT NULL,
	"createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, "updatedAt" DATETIME NOT NULL,
	CONSTRAINT "Session_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE "VerificationToken" ("identifier" TEXT NOT NULL, "token" TEXT NOT NULL, "expires" DATETIME NOT NULL, PRIMARY KEY ("identifier", "token"));
CREATE UNIQUE INDEX "User_email_key" ON "User"("email");
CREATE UNIQUE INDEX "Session_sessionToken_key" ON "Session"("sessionToken");
`

// kysely is the schema from the tests of @auth/kysely-adapter, with the same change; it
// writes times as text.
const kysely = `
CREATE TABLE "User" ("id" varchar PRIMARY KEY, "name" text, "email" text UNIQUE, "emailVerified" timestamptz DEFAULT CURRENT_TIMESTAMP, "image" text);
CREATE TABLE "Account" ("userId" uuid NOT NULL REFERENCES "User" ("id") ON DELETE CASCADE, "type" text NOT NULL, "provider" text NOT NULL,
	"providerAccountId" text NOT NULL, "refresh_token" text, "access_token" text, "expires_at" bigint, "token_type" text, "scope" text, "id_token" text,
	"session_state" text);
CREATE TABLE "Session" ("userId" uuid NOT NULL REFERENCES "User" ("id") ON DELETE CASCADE, "sessionToken" text NOT NULL UNIQUE, "expires" timestamptz NOT NULL);
CREATE TABLE "VerificationToken" ("identifier" text NOT NULL, "token" text NOT NULL UNIQUE, "expires" timestamptz NOT NULL);
`

func TestAdapterOnTablesWithoutIDs(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{"Prisma": prismaToday, "Kysely": kysely} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			template := testDatabase.With(t, schema)
			s, err := Open(t.Context(), template, Options{Migrate: true})
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(template)
			if err != nil {
				t.Fatal(err)
			}
			adaptertest.Run(t, func(t *testing.T) adapter.Adapter {
				path := filepath.Join(t.TempDir(), "dev.db")
				if err := os.WriteFile(path, file, 0o600); err != nil {
					t.Fatal(err)
				}
				return opened(t, path, Options{}, sqladapter.TestHooks{})
			})
		})
	}
}

// TestTimesOfOthers checks that times are written as the program that shares the file
// writes them.
func TestTimesOfOthers(t *testing.T) {
	t.Parallel()
	const user = `INSERT INTO "User" ("id", "emailVerified", "updatedAt") VALUES ('u', `
	for name, c := range map[string]struct{ schema, want string }{
		"no rows, DATETIME":    {prismaToday, "integer"},
		"no rows, timestamptz": {kysely, "text"},
		"numbers":              {prismaToday + user + `1893456000123, 0)`, "integer"},
		"text, no row ids": {strings.Replace(prismaToday, `"updatedAt" DATETIME NOT NULL);`, `"updatedAt" DATETIME NOT NULL) WITHOUT ROWID;`, 1) +
			user + `'2030-01-01T00:00:00.123Z', 0)`, "text"},
		"text": {prismaToday + user + `'2030-01-01T00:00:00.123Z', '2030-01-01T00:00:00.123Z')`, "text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, testDatabase.With(t, c.schema), Options{Migrate: true}, sqladapter.TestHooks{})
			at := time.Date(2031, 2, 3, 4, 5, 6, 789e6, time.UTC)
			if _, err := s.SignUp(t.Context(), adapter.User{ID: "new", EmailVerified: at}, nil, &adapter.SessionRecord{SessionToken: "t", Digest: "d", Expires: at}, "", nil); err != nil {
				t.Fatal(err)
			}
			got := sqltest.Query(t, s.db, `SELECT typeof(expires), typeof(emailVerified) FROM "Session", "User" WHERE "User".id = 'new'`)
			if want := c.want + " " + c.want; len(got) != 1 || got[0] != want {
				t.Errorf("got %v, want %s", got, want)
			}
			if r, u, err := s.GetSession(t.Context(), "t", "d"); err != nil || !r.Expires.Equal(at) || !u.EmailVerified.Equal(at) {
				t.Errorf("read %v and %v: %v", r.Expires, u.EmailVerified, err)
			}
		})
	}
}

// TestRefusesIDsThatAreNamedAndMissing checks that an optional id column is required
// once it has been given a name.
func TestRefusesIDsThatAreNamedAndMissing(t *testing.T) {
	t.Parallel()
	o := Options{Naming: Naming{Columns: map[string]string{"Session.id": "number"}}, Migrate: true}
	if s, err := Open(t.Context(), testDatabase.With(t, prismaToday), o); err == nil {
		s.Close()
		t.Error("a column that was named and is missing is not noticed")
	}
}
