package mysql

import (
	"errors"
	"strings"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/sql/sqlschema"
	"authsvc/internal/test/sqlfault"
	"authsvc/internal/test/sqltest"
)

func TestAdoptsPrismaDatabase(t *testing.T) {
	t.Parallel()
	url := testDatabase.With(t, prisma+"INSERT INTO `User` (id, name, email, emailVerified) VALUES ('cl1', 'Ann', 'Ann@example.com', '2030-01-01 00:00:00.123');\n"+
		"INSERT INTO `Session` VALUES ('s1', 'Tok1', 'cl1', '2030-01-01 00:00:00.123');\n")
	s := sqltest.Adopts(t, testDatabase, url)
	moment := time.Date(2030, 1, 1, 0, 0, 0, 123e6, time.UTC)
	record, u, err := s.GetSession(t.Context(), "Tok1", "d")
	if err != nil || u.ID != "cl1" || !record.Expires.Equal(moment) || !u.EmailVerified.Equal(moment) {
		t.Errorf("got %+v of %+v, %v", record, u, err)
	}
	for _, token := range []string{"tok1", "Tok1 ", "Ťok1"} {
		if _, _, err := s.GetSession(t.Context(), token, "d"); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("token %q: %v", token, err)
		}
	}
	if _, err := s.GetUserByEmail(t.Context(), "ann@example.com"); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("another address: %v", err)
	}
	if _, err := s.GetUser(t.Context(), "CL1"); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("another id: %v", err)
	}
	_, err = s.CreateUser(t.Context(), adapter.User{ID: "u2", Email: "ann@example.com"}, nil)
	if err == nil || errors.Is(err, adapter.ErrConflict) || !strings.Contains(err.Error(), "give User.email a binary collation") {
		t.Errorf("a second address: %v", err)
	}
	name := "Ann B."
	if _, err := s.UpdateUser(t.Context(), "cl1", adapter.UserUpdate{Name: &name}); err != nil {
		t.Fatal(err)
	}
	if got := sqltest.Query(t, testDatabase.Connected(t, url), "SELECT name, emailVerified, role FROM `User`"); got[0] != "Ann B. 2030-01-01T00:00:00.123Z user" {
		t.Errorf("got %s", got)
	}
}

func TestRefusesTables(t *testing.T) {
	const image = "`image` VARCHAR(191) NULL, "
	const emailKey = "UNIQUE INDEX `User_email_key`(`email`), "
	const users = "INSERT INTO `User` (id, email) VALUES ('u1', 'a@b.c'), ('u2', 'A@b.c');\n"
	sqltest.RefusesTables(t, testDatabase, map[string]sqltest.SchemaCase{
		"a column is missing": {Schema: sqltest.Replace(t, prisma, image, ""), Want: "table User has no column image"},
		"an extra column":     {Schema: sqltest.Replace(t, prisma, image, image+"`age` INT NOT NULL, "), Want: "table User has a column age that requires a value"},
		"narrow ids": {Schema: strings.ReplaceAll(sqltest.Replace(t, prisma, "`User` (`id` VARCHAR(191)", "`User` (`id` VARCHAR(25)"), "`userId` VARCHAR(191)", "`userId` VARCHAR(25)"), // the keys must fit
			Want: "too narrow for ids of 36 characters"},
		"duplicate values": {Schema: sqltest.Replace(t, prisma, emailKey, "") + users, Want: "table User has 1 value of (email) that occurs more than once"},
		"no transactions": {Schema: sqltest.Replace(t, prisma, "INDEX `VerificationToken_identifier_token_key`(`identifier`, `token`))", "INDEX `VerificationToken_identifier_token_key`(`identifier`(20), `token`)) ENGINE=MyISAM"),
			Want: "ALTER TABLE `VerificationToken` ENGINE=InnoDB", Unreadable: true},
	})
}

func TestAddsIndexes(t *testing.T) {
	const token = "UNIQUE INDEX `Session_sessionToken_key`(`sessionToken`)"
	sqltest.AddsIndexes(t, testDatabase, map[string]sqltest.SchemaCase{
		"as created by Prisma":      {Schema: sqltest.Replace(t, prisma, token, token), Want: ""},
		"not unique":                {Schema: sqltest.Replace(t, prisma, token, "INDEX (`sessionToken`)"), Want: "authsvc_session_key"},
		"partially unique":          {Schema: sqltest.Replace(t, prisma, token, "UNIQUE INDEX x(`sessionToken`(20))"), Want: "authsvc_session_key"},
		"unique on an extra column": {Schema: sqltest.Replace(t, prisma, token, "UNIQUE INDEX x(`sessionToken`, `expires`)"), Want: "authsvc_session_key"},
	})
}

func TestOpenDoesNotMigrate(t *testing.T) { sqltest.OpenDoesNotMigrate(t, testDatabase) }

func TestStatements(t *testing.T) { sqltest.Statements(t, testDatabase) }

func TestDownKeepsPeople(t *testing.T) { sqltest.DownKeepsUsers(t, testDatabase) }

func TestRefusesNewerSchema(t *testing.T) { sqltest.RefusesNewerSchema(t, testDatabase) }

func TestConcurrentOpen(t *testing.T) { sqltest.ConcurrentOpen(t, testDatabase) }

// TestMigrationDying checks that the next migration finishes one that died, on an empty
// database and on another program's. It tries every 11th statement.
func TestMigrationDying(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string]string{"empty": "", "Kysely": kysely} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n += 11 { // each needs its own database
				url := testDatabase.With(t, statements)
				if !dies(t, url, n) {
					if n == 1 {
						t.Error("no statement failed")
					}
					return
				}
				s := opened(t, url, Options{}, sqladapter.TestHooks{})
				// The lock of a killed process expires after 10 s.
				if _, err := s.db.ExecContext(t.Context(), `DROP TABLE IF EXISTS `+sqlschema.LockTable); err != nil {
					t.Fatal(err)
				}
				if err := s.Migrate(t.Context(), Up); err != nil {
					t.Fatalf("after statement %d: %v", n, err)
				}
				testDatabase.CheckApplied(t, url)
			}
		})
	}
}

// dies migrates with the n-th statement failing, and reports whether there is such a
// statement.
func dies(t *testing.T, url string, n int) bool {
	t.Helper()
	var fault sqlfault.Switch
	fault.Arm(n, n%2 == 0)
	s, err := open(t.Context(), url, Options{Migrate: true}, sqladapter.TestHooks{Connector: fault.Wrap})
	if err == nil {
		s.Close()
	}
	return fault.Disarm()
}
