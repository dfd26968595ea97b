package postgres

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/adaptertest"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqltest"
)

// prisma is the result of `prisma db push` with the documented NextAuth.js schema.
const prisma = `
CREATE TABLE "Account" ("id" TEXT NOT NULL, "userId" TEXT NOT NULL, "type" TEXT NOT NULL, "provider" TEXT NOT NULL,
	"providerAccountId" TEXT NOT NULL, "refresh_token" TEXT, "access_token" TEXT, "expires_at" INTEGER, "token_type" TEXT, "scope" TEXT,
	"id_token" TEXT, "session_state" TEXT, CONSTRAINT "Account_pkey" PRIMARY KEY ("id"));
CREATE TABLE "Session" ("id" TEXT NOT NULL, "sessionToken" TEXT NOT NULL, "userId" TEXT NOT NULL, "expires" TIMESTAMP(3) NOT NULL,
	CONSTRAINT "Session_pkey" PRIMARY KEY ("id"));
CREATE TABLE "User" ("id" TEXT NOT NULL, "name" TEXT, "email" TEXT, "emailVerified" TIMESTAMP(3), "image" TEXT, "extra" TEXT DEFAULT 'kept',
	CONSTRAINT "User_pkey" PRIMARY KEY ("id"));
CREATE TABLE "VerificationToken" ("identifier" TEXT NOT NULL, "token" TEXT NOT NULL, "expires" TIMESTAMP(3) NOT NULL);
CREATE UNIQUE INDEX "Account_provider_providerAccountId_key" ON "Account"("provider", "providerAccountId");
CREATE UNIQUE INDEX "Session_sessionToken_key" ON "Session"("sessionToken");
CREATE UNIQUE INDEX "User_email_key" ON "User"("email");
CREATE UNIQUE INDEX "VerificationToken_token_key" ON "VerificationToken"("token");
CREATE UNIQUE INDEX "VerificationToken_identifier_token_key" ON "VerificationToken"("identifier", "token");
ALTER TABLE "Account" ADD CONSTRAINT "Account_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "Session" ADD CONSTRAINT "Session_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;
`

// pgAdapter is the SQL from the documentation of @auth/pg-adapter.
const pgAdapter = `
CREATE TABLE verification_token (identifier TEXT NOT NULL, expires TIMESTAMPTZ NOT NULL, token TEXT NOT NULL, PRIMARY KEY (identifier, token));
CREATE TABLE accounts (id SERIAL, "userId" INTEGER NOT NULL, type VARCHAR(255) NOT NULL, provider VARCHAR(255) NOT NULL,
	"providerAccountId" VARCHAR(255) NOT NULL, refresh_token TEXT, access_token TEXT, expires_at BIGINT, id_token TEXT, scope TEXT,
	session_state TEXT, token_type TEXT, PRIMARY KEY (id));
CREATE TABLE sessions (id SERIAL, "userId" INTEGER NOT NULL, expires TIMESTAMPTZ NOT NULL, "sessionToken" VARCHAR(255) NOT NULL, PRIMARY KEY (id));
CREATE TABLE users (id SERIAL, name VARCHAR(255), email VARCHAR(255), "emailVerified" TIMESTAMPTZ, image TEXT, PRIMARY KEY (id));
`

// prismaToday is Prisma's result for the models that Auth.js documents today, except
// that addresses may be absent.
const prismaToday = `
CREATE TABLE "User" ("id" TEXT NOT NULL, "name" TEXT, "email" TEXT, "emailVerified" TIMESTAMP(3), "image" TEXT,
	"createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, "updatedAt" TIMESTAMP(3) NOT NULL, CONSTRAINT "User_pkey" PRIMARY KEY ("id"));
CREATE TABLE "Account" ("userId" TEXT NOT NULL, "type" TEXT NOT NULL, "provider" TEXT NOT NULL, "providerAccountId" TEXT NOT NULL,
	"refresh_token" TEXT, "access_token" TEXT, "expires_at" INTEGER, "token_type" TEXT, "scope" TEXT, "id_token" TEXT, "session_state" TEXT,
	"createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, "updatedAt" TIMESTAMP(3) NOT NULL,
	CONSTRAINT "Account_pkey" PRIMARY KEY ("provider", "providerAccountId"));
CREATE TABLE "Session" ("sessionToken" TEXT NOT NULL, "userId" TEXT NOT NULL, "expires" TIMESTAMP(3) NOT NULL,
	"createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, "updatedAt" TIMESTAMP(3) NOT NULL);
CREATE TABLE "VerificationToken" ("identifier" TEXT NOT NULL, "token" TEXT NOT NULL, "expires" TIMESTAMP(3) NOT NULL,
	CONSTRAINT "VerificationToken_pkey" PRIMARY KEY ("identifier", "token"));
CREATE UNIQUE INDEX "User_email_key" ON "User"("email");
CREATE UNIQUE INDEX "Session_sessionToken_key" ON "Session"("sessionToken");
ALTER TABLE "Account" ADD CONSTRAINT "Account_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "Session" ADD CONSTRAINT "Session_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;
`

// TestAdapterOnPrisma runs the suite on the documented NextAuth.js schema, as `prisma
// db push` creates it.
func TestAdapterOnPrisma(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	suite(t, Options{}, other{schema: prisma, limits: adaptertest.Limits{Expiry: math.MaxInt32}},
		"pool_max_conns=8&TimeZone=Australia/Lord_Howe")
}

// TestAdapterOnCurrentPrisma runs the suite on the models that Auth.js documents today:
// accounts and sessions have no ids, and updatedAt must be given.
func TestAdapterOnCurrentPrisma(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	suite(t, Options{}, other{schema: prismaToday, limits: adaptertest.Limits{Expiry: math.MaxInt32}},
		"pool_max_conns=8&TimeZone=Asia/Kathmandu")
}

// TestAdapterOnPgAdapter runs the suite on the documented schema of @auth/pg-adapter.
func TestAdapterOnPgAdapter(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	suite(t, Options{Naming: Naming{Preset: "authjs"}}, pgAdapterTables(), "pool_max_conns=8&TimeZone=America/New_York")
}

func pgAdapterTables() other {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	return other{
		schema: pgAdapter,
		// node-postgres sends times as text in the local time zone.
		writes: func(t time.Time) any { return t.In(newYork).Format("2006-01-02T15:04:05.000-07:00") },
	}
}

func TestAdapterOnUUIDs(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	by := other{
		schema: strings.NewReplacer(`"id" TEXT NOT NULL`, `"id" UUID NOT NULL DEFAULT gen_random_uuid()`, `"userId" TEXT`, `"userId" UUID`).Replace(prisma),
		limits: adaptertest.Limits{Expiry: math.MaxInt32},
	}
	suite(t, Options{}, by, "pool_max_conns=8")
}

func TestAdapterOnCitext(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	by := other{
		schema: "CREATE EXTENSION citext;\n" + sqltest.Replace(t, prisma, `"email" TEXT`, `"email" CITEXT`),
		limits: adaptertest.Limits{Expiry: math.MaxInt32, LooseEmail: true},
	}
	suite(t, Options{}, by, "pool_max_conns=8")
}

// TestTimesWithZone checks that TIMESTAMPTZ holds the moment, in whatever time zone it
// was written or is read.
func TestTimesWithZone(t *testing.T) {
	t.Parallel()
	s := opened(t, with(testDatabase.With(t, pgAdapter), "TimeZone=America/New_York"), Options{Migrate: true, Naming: Naming{Preset: "authjs"}}, pgAdapterTables(), sqladapter.TestHooks{})
	moment := time.Date(2030, 11, 3, 5, 30, 0, 123e6, time.UTC) // 1:30 occurs twice that night
	for _, at := range []time.Time{moment, moment.Add(time.Hour)} {
		u, err := s.CreateUser(t.Context(), adapter.User{EmailVerified: at}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.GetUser(t.Context(), u.ID)
		if err != nil || !got.EmailVerified.Equal(at) || got.EmailVerified.Location() != time.UTC {
			t.Errorf("got %v, %v", got.EmailVerified, err)
		}
		utc := sqltest.Query(t, s.db, `SELECT to_char("emailVerified" AT TIME ZONE 'UTC', 'HH24:MI:SS.MS') FROM users WHERE id = $1::text::int`, u.ID)
		if utc[0] != at.Format("15:04:05.000") {
			t.Errorf("stored %s for %v", utc, at)
		}
	}
}

// TestNarrowColumns checks that a value that does not fit is an error, and that nothing
// is truncated.
func TestNarrowColumns(t *testing.T) {
	t.Parallel()
	s := opened(t, testDatabase.With(t, pgAdapter), Options{Migrate: true, Naming: Naming{Preset: "authjs"}}, pgAdapterTables(), sqladapter.TestHooks{})
	for _, long := range []string{strings.Repeat("n", 256), strings.Repeat("ä", 256)} {
		_, err := s.CreateUser(t.Context(), adapter.User{Name: long}, nil)
		if err == nil || errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) || !strings.Contains(err.Error(), "character varying(255)") {
			t.Errorf("got %v", err)
		}
	}
	if got := sqltest.Query(t, s.db, `SELECT COUNT(*) FROM users`); got[0] != "0" {
		t.Errorf("%s users", got)
	}
	u, err := s.CreateUser(t.Context(), adapter.User{Name: strings.Repeat("ä", 255)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"abc", "", "1.0", "0x1", "99999999999999999999", "-1", u.ID + "x"} {
		if _, err := s.GetUser(t.Context(), id); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("id %q: %v", id, err)
		}
	}
}

func TestTraits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema string
		naming Naming
		want   string
	}{
		"prisma":     {prisma, Naming{}, "made [] uuids [] folded [] orphans false narrow true"},
		"pg-adapter": {pgAdapter, Naming{Preset: "authjs"}, "made [Account Session User] uuids [] folded [] orphans true narrow false"},
		"uuid": {strings.Replace(prisma, `CREATE TABLE "Session" ("id" TEXT NOT NULL`, `CREATE TABLE "Session" ("id" UUID NOT NULL DEFAULT gen_random_uuid()`, 1),
			Naming{}, "made [] uuids [Session] folded [] orphans false narrow true"},
		"loose collation": {`CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);` +
			strings.Replace(prisma, `"providerAccountId" TEXT`, `"providerAccountId" TEXT COLLATE loose`, 1),
			Naming{}, "made [] uuids [] folded [Account.providerAccountId] orphans false narrow true"},
		"identity": {strings.Replace(pgAdapter, `users (id SERIAL`, `users (id BIGINT GENERATED ALWAYS AS IDENTITY`, 1),
			Naming{Preset: "authjs"}, "made [Account Session User] uuids [] folded [] orphans true narrow false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, testDatabase.With(t, c.schema), Options{Migrate: true, Naming: c.naming}, other{}, sqladapter.TestHooks{})
			traits, err := sqltest.Traits(s.schema)(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint("made ", set(traits.GeneratedIDs), " uuids ", set(traits.UUIDs), " folded ", set(traits.Folded),
				" orphans ", traits.NoCascade, " narrow ", traits.NarrowExpiry)
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if _, err := s.SignUp(t.Context(), adapter.User{}, &adapter.Account{Type: "oauth", Provider: "p", ProviderAccountID: "Abc", ExpiresAt: math.MaxInt64}, nil, "", nil); err != nil && traits.NarrowExpiry {
				t.Error(err)
			}
			if _, err := s.GetUserByAccount(t.Context(), "p", "abc"); !errors.Is(err, adapter.ErrNotFound) {
				t.Errorf("another identity: %v", err)
			}
			if _, err := s.GetUserByAccount(t.Context(), "p", "Abc"); err != nil {
				t.Error(err)
			}
		})
	}
}

// set lists the members of m in the order in which they are printed.
func set(m map[string]bool) []string {
	list := []string{}
	for _, name := range []string{"Account", "Session", "User", "User.email", "Account.provider", "Account.providerAccountId"} {
		if m[name] {
			list = append(list, name)
		}
	}
	return list
}
