package postgres

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/sqladapter"
	"authsvc/internal/sqlschema"
	"authsvc/internal/test/servertest"
)

// made is a database with the tables of another program, and its URL.
func made(t *testing.T, schema string) string {
	t.Helper()
	location := servertest.Postgres(t)
	if _, err := connected(t, location).ExecContext(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	return location
}

const ownTables = `SELECT relname FROM pg_class WHERE relname LIKE 'authsvc\_%' AND relkind = 'r' AND relname NOT LIKE 'authsvc\_goose%' ORDER BY 1`

func schemaOf(t *testing.T, s shared) string {
	t.Helper()
	return fmt.Sprint(
		query(t, s.db, `SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name NOT LIKE 'authsvc%' ORDER BY 1, 2`),
		query(t, s.db, `SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() AND tablename NOT LIKE 'authsvc%'
			AND indexname NOT LIKE 'authsvc%' ORDER BY 1`))
}

const people = `
INSERT INTO "User" VALUES ('cl1', 'Ann', 'ann@example.com', '2030-01-01 00:00:00.123', NULL, 'kept');
INSERT INTO "Session" VALUES ('s1', 'tok1', 'cl1', '2030-01-01 00:00:00.123');`

func TestAdoptsPrismaDatabase(t *testing.T) {
	t.Parallel()
	s := opened(t, with(made(t, prisma+people), "TimeZone=Asia/Kolkata"), Options{}, other{}, sqladapter.TestHooks{})
	before := schemaOf(t, s)
	if got := query(t, s.db, `SELECT relname FROM pg_class WHERE relname LIKE 'authsvc%'`); len(got) != 0 {
		t.Errorf("opening made %s", got)
	}
	if err := s.Migrate(t.Context(), Up); err != nil {
		t.Fatal(err)
	}
	if after := schemaOf(t, s); after != before {
		t.Errorf("its tables were changed:\n%s\n%s", before, after)
	}
	s = opened(t, s.location, Options{}, other{}, sqladapter.TestHooks{})
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
	if _, err := s.UpdateUser(t.Context(), "cl1", authsvc.UserUpdate{EmailVerified: &later}); err != nil {
		t.Fatal(err)
	}
	if got := query(t, s.db, `SELECT "emailVerified"::text, extra FROM "User"`); got[0] != "2030-01-01 00:00:00.124 kept" {
		t.Errorf("got %s", got)
	}
	if n, err := s.Sweep(t.Context(), later, 10); n != 1 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
}

// TIMESTAMPTZ holds the moment, in whatever zone it was written or is read.
func TestTimesWithZone(t *testing.T) {
	t.Parallel()
	s := opened(t, with(made(t, pgAdapter), "TimeZone=America/New_York"), Options{Migrate: true, Naming: Naming{Preset: "authjs"}}, pgAdapterTables(), sqladapter.TestHooks{})
	moment := time.Date(2030, 11, 3, 5, 30, 0, 123e6, time.UTC) // 1:30 comes twice that night
	for _, at := range []time.Time{moment, moment.Add(time.Hour)} {
		u, err := s.CreateUser(t.Context(), authsvc.User{EmailVerified: at})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.GetUser(t.Context(), u.ID)
		if err != nil || !got.EmailVerified.Equal(at) || got.EmailVerified.Location() != time.UTC {
			t.Errorf("got %v, %v", got.EmailVerified, err)
		}
		utc := query(t, s.db, `SELECT to_char("emailVerified" AT TIME ZONE 'UTC', 'HH24:MI:SS.MS') FROM users WHERE id = $1::text::int`, u.ID)
		if utc[0] != at.Format("15:04:05.000") {
			t.Errorf("stored %s for %v", utc, at)
		}
	}
}

// What does not fit is an error of the store, and nothing is cut.
func TestNarrowColumns(t *testing.T) {
	t.Parallel()
	s := opened(t, made(t, pgAdapter), Options{Migrate: true, Naming: Naming{Preset: "authjs"}}, pgAdapterTables(), sqladapter.TestHooks{})
	for _, long := range []string{strings.Repeat("n", 256), strings.Repeat("ä", 256)} {
		_, err := s.CreateUser(t.Context(), authsvc.User{Name: long})
		if err == nil || errors.Is(err, authsvc.ErrConflict) || errors.Is(err, authsvc.ErrNotFound) || !strings.Contains(err.Error(), "character varying(255)") {
			t.Errorf("got %v", err)
		}
	}
	if got := query(t, s.db, `SELECT COUNT(*) FROM users`); got[0] != "0" {
		t.Errorf("%s users", got)
	}
	u, err := s.CreateUser(t.Context(), authsvc.User{Name: strings.Repeat("ä", 255)})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"abc", "", "1.0", "0x1", "99999999999999999999", "-1", u.ID + "x"} {
		if _, err := s.GetUser(t.Context(), id); !errors.Is(err, authsvc.ErrNotFound) {
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
			s := opened(t, made(t, c.schema), Options{Migrate: true, Naming: c.naming}, other{}, sqladapter.TestHooks{})
			traits, err := s.schema.Traits(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint("made ", set(traits.MadeIDs), " uuids ", set(traits.UUIDs), " folded ", set(traits.Folded),
				" orphans ", traits.Orphans, " narrow ", traits.NarrowExpiry)
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if _, err := s.SignUp(t.Context(), authsvc.User{}, &authsvc.Account{Type: "oauth", Provider: "p", ProviderAccountID: "Abc", ExpiresAt: math.MaxInt64}, nil); err != nil && traits.NarrowExpiry {
				t.Error(err)
			}
			if _, err := s.GetUserByAccount(t.Context(), "p", "abc"); !errors.Is(err, authsvc.ErrNotFound) {
				t.Errorf("another identity: %v", err)
			}
			if _, err := s.GetUserByAccount(t.Context(), "p", "Abc"); err != nil {
				t.Error(err)
			}
		})
	}
}

// set lists the members in the order in which they are printed.
func set(m map[string]bool) []string {
	list := []string{}
	for _, name := range []string{"Account", "Session", "User", "User.email", "Account.provider", "Account.providerAccountId"} {
		if m[name] {
			list = append(list, name)
		}
	}
	return list
}

// Tables that cannot be used are refused, and nothing is changed.
func TestRefusesTables(t *testing.T) {
	t.Parallel()
	const user = `INSERT INTO "User" ("id", "email") VALUES ('u1', 'a@b.c'), ('u2', 'a@b.c');`
	for name, c := range map[string]struct{ old, new, want string }{
		"a column is missing":    {`"image" TEXT, `, ``, "table User has no column image"},
		"a column of other case": {`"image" TEXT, `, `"Image" TEXT, `, "table User has no column image"},
		"a column too much":      {`"image" TEXT, `, `"image" TEXT, "role" TEXT NOT NULL, `, "table User has a column role that must be given a value"},
		"the same twice":         {`CREATE UNIQUE INDEX "User_email_key" ON "User"("email");`, user, "table User has 1 values of (email) more than once"},
		"numbers nobody makes":   {`CREATE TABLE "Session" ("id" TEXT`, `CREATE TABLE "Session" ("id" INTEGER`, "that the database does not make"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			location := made(t, replaced(t, c.old, c.new))
			_, err := Open(t.Context(), location, Options{Migrate: true})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
			if got := query(t, connected(t, location), `SELECT relname FROM pg_class WHERE relname LIKE 'authsvc%'`); len(got) > 0 {
				t.Errorf("left behind: %s", got)
			}
		})
	}
}

func replaced(t *testing.T, old, changed string) string {
	t.Helper()
	if !strings.Contains(prisma, old) {
		t.Fatal("the test does not change the schema")
	}
	return strings.Replace(prisma, old, changed, 1)
}

// What a rule needs and is not there is added, beside what is.
func TestAddsIndexes(t *testing.T) {
	t.Parallel()
	const email = `CREATE UNIQUE INDEX "User_email_key" ON "User"("email")`
	for name, c := range map[string]struct{ old, new, want string }{
		"as Prisma makes it":   {email, email, ""},
		"not unique":           {email, `CREATE INDEX "User_email_key" ON "User"("email")`, "authsvc_user_email"},
		"a constraint":         {email, `ALTER TABLE "User" ADD UNIQUE ("email")`, ""},
		"unique in part":       {email, email + ` WHERE "id" > ''`, "authsvc_user_email"},
		"unique by expression": {email, `CREATE UNIQUE INDEX x ON "User"(lower("email"))`, "authsvc_user_email"},
		"unique by too much":   {email, `CREATE UNIQUE INDEX x ON "User"("email", "id")`, "authsvc_user_email"},
		"includes more":        {email, `CREATE UNIQUE INDEX x ON "User"("email") INCLUDE ("id")`, ""},
		"other order":          {`ON "Account"("provider", "providerAccountId")`, `ON "Account"("providerAccountId", "provider")`, ""},
		"not valid":            {email, email + `; UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"User_email_key"'::regclass`, "authsvc_user_email"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, made(t, replaced(t, c.old, c.new)), Options{Migrate: true}, other{}, sqladapter.TestHooks{})
			const added = `SELECT indexname FROM pg_indexes WHERE indexname LIKE 'authsvc\_%' AND tablename NOT LIKE 'authsvc\_%'
				AND indexdef LIKE '%UNIQUE%' ORDER BY 1`
			if got := strings.Join(query(t, s.db, added), " "); got != c.want {
				t.Errorf("added %q, want %q", got, c.want)
			}
		})
	}
}

func TestOpenDoesNotMigrate(t *testing.T) {
	t.Parallel()
	s := opened(t, servertest.Postgres(t), Options{}, other{}, sqladapter.TestHooks{})
	status, err := s.Status(t.Context())
	if err != nil || status.Current != 0 || status.Latest != sqlschema.Latest() || status.Migrations[0].Applied {
		t.Fatalf("got %+v, %v", status, err)
	}
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "migrate") {
		t.Errorf("ping: %v", err)
	}
	if _, err := s.GetUser(t.Context(), "u"); err == nil || !strings.Contains(err.Error(), "migrated") {
		t.Errorf("get user: %v", err)
	}
	if got := query(t, s.db, ownTables); len(got) != 0 {
		t.Errorf("made %s", got)
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
	if got := query(t, s.db, ownTables); len(got) > 0 {
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
	if _, err := opened(t, s.location, Options{}, other{}, sqladapter.TestHooks{}).GetUser(t.Context(), "u"); err != nil {
		t.Error(err)
	}
}

func TestRefusesNewerSchema(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	if err := s.exec(t.Context(), `INSERT INTO `+sqlschema.VersionTable+` (version_id, is_applied) VALUES (99, true)`); err != nil {
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

// Any number of processes may start on an empty database.
func TestConcurrentOpen(t *testing.T) {
	t.Parallel()
	location := servertest.Postgres(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := Open(t.Context(), location, Options{Migrate: true})
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
	if got := versionsApplied(t, connected(t, location)); got != "[0 1 1 1 2 1 3 1 4 1]" {
		t.Errorf("applied: %s", got)
	}
}

func versionsApplied(t *testing.T, db *sql.DB) string {
	t.Helper()
	return fmt.Sprint(query(t, db, `SELECT version_id, COUNT(*) FROM `+sqlschema.VersionTable+` GROUP BY version_id ORDER BY 1`))
}

// A migration that fails half-way leaves nothing, and the next one passes.
func TestMigrationFailingHalfway(t *testing.T) {
	t.Parallel()
	location := made(t, `CREATE TABLE authsvc_once (id TEXT)`) // in the way of the last file
	if _, err := Open(t.Context(), location, Options{Migrate: true}); err == nil {
		t.Fatal("migrated")
	}
	s := opened(t, location, Options{}, other{}, sqladapter.TestHooks{})
	if got := query(t, s.db, `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'authsvc\_goose%'`); fmt.Sprint(got) != "[authsvc_once]" {
		t.Errorf("left behind: %s", got)
	}
	if err := s.exec(t.Context(), `DROP TABLE authsvc_once`); err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context(), Up); err != nil {
		t.Error(err)
	}
}
