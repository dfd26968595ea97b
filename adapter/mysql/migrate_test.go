package mysql

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/sqladapter"
	"authsvc/internal/sqlschema"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqlfault"
)

// at opens a database as it is.
func at(t *testing.T, url string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	return s
}

// made is a database with the tables of another program.
func made(t *testing.T, statements string) string {
	t.Helper()
	url := servertest.MySQL(t)
	if err := execute(t.Context(), url, statements); err != nil {
		t.Fatal(err)
	}
	return url
}

// described is what there is but for authsvc's own tables.
func described(t *testing.T, s *Store) string {
	t.Helper()
	return fmt.Sprint(query(t, s.db, `SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLLATION_NAME FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'authsvc_%' ORDER BY 1, 2`),
		query(t, s.db, `SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'authsvc_%' AND INDEX_NAME NOT LIKE 'authsvc_%' ORDER BY 1, 2, SEQ_IN_INDEX`))
}

func ownTables(t *testing.T, s *Store) []string {
	t.Helper()
	return query(t, s.db, `SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'authsvc_%' AND TABLE_NAME NOT LIKE 'authsvc_goose%'`)
}

func TestAdoptsPrismaDatabase(t *testing.T) {
	t.Parallel()
	url := made(t, prisma+"INSERT INTO `User` (id, name, email, emailVerified) VALUES ('cl1', 'Ann', 'Ann@example.com', '2030-01-01 00:00:00.123');\n"+
		"INSERT INTO `Session` VALUES ('s1', 'Tok1', 'cl1', '2030-01-01 00:00:00.123');\n")
	s := at(t, url, Options{})
	before := described(t, s)
	if own := ownTables(t, s); len(own) > 0 {
		t.Errorf("opening made %s", own)
	}
	if err := s.Migrate(t.Context(), Up); err != nil {
		t.Fatal(err)
	}
	if after := described(t, s); after != before {
		t.Errorf("its tables were changed:\n%s\n%s", before, after)
	}
	moment := time.Date(2030, 1, 1, 0, 0, 0, 123e6, time.UTC)
	record, u, err := s.GetSession(t.Context(), "Tok1", "d")
	if err != nil || u.ID != "cl1" || !record.Expires.Equal(moment) || !u.EmailVerified.Equal(moment) {
		t.Errorf("got %+v of %+v, %v", record, u, err)
	}
	for _, token := range []string{"tok1", "Tok1 ", "Ťok1"} {
		if _, _, err := s.GetSession(t.Context(), token, "d"); !errors.Is(err, authsvc.ErrNotFound) {
			t.Errorf("token %q: %v", token, err)
		}
	}
	if _, err := s.GetUserByEmail(t.Context(), "ann@example.com"); !errors.Is(err, authsvc.ErrNotFound) {
		t.Errorf("another address: %v", err)
	}
	if _, err := s.GetUser(t.Context(), "CL1"); !errors.Is(err, authsvc.ErrNotFound) {
		t.Errorf("another id: %v", err)
	}
	_, err = s.CreateUser(t.Context(), authsvc.User{ID: "u2", Email: "ann@example.com"})
	if err == nil || errors.Is(err, authsvc.ErrConflict) || !strings.Contains(err.Error(), "give User.email a binary collation") {
		t.Errorf("a second address: %v", err)
	}
	name := "Ann B."
	if _, err := s.UpdateUser(t.Context(), "cl1", authsvc.UserUpdate{Name: &name}); err != nil {
		t.Fatal(err)
	}
	if got := query(t, s.db, "SELECT name, emailVerified, role FROM `User`"); got[0] != "Ann B. 2030-01-01T00:00:00.123Z user" {
		t.Errorf("got %s", got)
	}
}

// changed is the schema of Prisma with one piece replaced.
func changed(t *testing.T, old, piece string) string {
	t.Helper()
	if !strings.Contains(prisma, old) {
		t.Fatal("the test does not change the schema")
	}
	return strings.Replace(prisma, old, piece, 1)
}

// Tables that cannot be used are refused, and nothing is changed.
func TestRefusesTables(t *testing.T) {
	t.Parallel()
	const image = "`image` VARCHAR(191) NULL, "
	const emailKey = "UNIQUE INDEX `User_email_key`(`email`), "
	for name, c := range map[string]struct{ old, new, more, want string }{
		"a column is missing": {image, "", "", "table User has no column image"},
		"a column too much":   {image, image + "`age` INT NOT NULL, ", "", "table User has a column age that must be given a value"},
		"narrow ids":          {"`User` (`id` VARCHAR(191)", "`User` (`id` VARCHAR(25)", "", "too narrow for ids of 36 characters"},
		"the same twice": {emailKey, "", "INSERT INTO `User` (id, email) VALUES ('u1', 'a@b.c'), ('u2', 'A@b.c');\n",
			"table User has 1 values of (email) more than once"},
		"no transactions": {"INDEX `VerificationToken_identifier_token_key`(`identifier`, `token`))", "INDEX `VerificationToken_identifier_token_key`(`identifier`, `token`)) ENGINE=MyISAM",
			"", "ALTER TABLE `VerificationToken` ENGINE=InnoDB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := changed(t, c.old, c.new) + c.more
			if name == "narrow ids" { // the keys have to fit
				schema = strings.ReplaceAll(schema, "`userId` VARCHAR(191)", "`userId` VARCHAR(25)")
			}
			url := made(t, schema)
			_, err := Open(t.Context(), url, Options{Migrate: true})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
			to, err := parseURL(url)
			if err != nil {
				t.Fatal(err)
			}
			db, err := to.open(sqladapter.TestHooks{})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if got := query(t, db, `SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'authsvc_%'`); len(got) > 0 {
				t.Errorf("left behind: %s", got)
			}
		})
	}
}

// What a rule needs and is not there is added, beside what is.
func TestAddsIndexes(t *testing.T) {
	t.Parallel()
	const token = "UNIQUE INDEX `Session_sessionToken_key`(`sessionToken`)"
	for name, c := range map[string]struct{ old, new, want string }{
		"as Prisma makes it": {token, token, ""},
		"not unique":         {token, "INDEX (`sessionToken`)", "authsvc_session_key"},
		"unique in part":     {token, "UNIQUE INDEX x(`sessionToken`(20))", "authsvc_session_key"},
		"unique by too much": {token, "UNIQUE INDEX x(`sessionToken`, `expires`)", "authsvc_session_key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := at(t, made(t, changed(t, c.old, c.new)), Options{Migrate: true})
			got := query(t, s.db, `SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE()
				AND INDEX_NAME LIKE 'authsvc_%' AND TABLE_NAME NOT LIKE 'authsvc_%' AND NON_UNIQUE = 0`)
			if strings.Join(got, " ") != c.want {
				t.Errorf("added %q, want %q", got, c.want)
			}
		})
	}
}

// Times are cut to what a column holds, since the database might round them
// up; TIMESTAMP columns hold UTC whatever the server's time zone is.
func TestCoarseTimes(t *testing.T) {
	t.Parallel()
	for kind, unit := range map[string]time.Duration{"DATETIME": time.Second, "DATETIME(1)": 100 * time.Millisecond,
		"TIMESTAMP": time.Second, "TIMESTAMP(3)": time.Millisecond, "DATETIME(6)": time.Millisecond} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			null := kind + " NULL" // else a TIMESTAMP gets a default
			s := at(t, made(t, strings.ReplaceAll(strings.ReplaceAll(prisma, "DATETIME(3) NULL", null), "DATETIME(3)", kind)), Options{Migrate: true})
			issued := time.Date(2030, 7, 1, 12, 30, 59, 999e6, time.UTC)
			rec := authsvc.SessionRecord{ID: "s", SessionToken: "t", Digest: "d", Expires: issued}
			u, err := s.SignUp(t.Context(), authsvc.User{ID: "u", Email: "a@b.c", EmailVerified: issued}, nil, &rec)
			if err != nil {
				t.Fatal(err)
			}
			got, user, err := s.GetSession(t.Context(), "t", "d")
			if err != nil || !got.Expires.Equal(issued.Truncate(unit)) || !user.EmailVerified.Equal(issued.Truncate(unit)) {
				t.Errorf("stored %v and %v, %v", got.Expires, user.EmailVerified, err)
			}
			if !rec.Expires.Equal(got.Expires) || !u.EmailVerified.Equal(user.EmailVerified) {
				t.Errorf("returned %v and %v, stored %v and %v", rec.Expires, u.EmailVerified, got.Expires, user.EmailVerified)
			}
			link := authsvc.VerificationToken{Identifier: "a@b.c", Token: "link", Expires: issued}
			if err := s.PutToken(t.Context(), link, authsvc.Mail{ID: "link", Due: issued, Expires: issued}, 10); err != nil {
				t.Fatal(err)
			}
			if link, err = s.TakeToken(t.Context(), "a@b.c", "link"); err != nil || !link.Expires.Equal(issued.Truncate(unit)) {
				t.Errorf("link until %v, %v", link.Expires, err)
			}
		})
	}
}

func TestOpenDoesNotMigrate(t *testing.T) {
	t.Parallel()
	s := at(t, servertest.MySQL(t), Options{})
	status, err := s.Status(t.Context())
	if err != nil || status.Current != 0 || status.Latest != sqlschema.Latest() || status.Migrations[0].Applied {
		t.Fatalf("got %+v, %v", status, err)
	}
	if got := query(t, s.db, `SHOW TABLES`); len(got) > 0 {
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
}

func TestDownKeepsPeople(t *testing.T) {
	t.Parallel()
	s := at(t, servertest.MySQL(t), Options{Migrate: true})
	if _, err := s.CreateUser(t.Context(), authsvc.User{ID: "u"}); err != nil {
		t.Fatal(err)
	}
	for range int(sqlschema.Latest()) {
		if err := s.Migrate(t.Context(), Down); err != nil {
			t.Fatal(err)
		}
	}
	if got := ownTables(t, s); len(got) > 0 {
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
	url := servertest.MySQL(t)
	s := shared{at(t, url, Options{Migrate: true}), url, Options{}}
	if err := s.exec(t.Context(), `INSERT INTO `+sqlschema.VersionTable+` (version_id, is_applied) VALUES (99, 1)`); err != nil {
		t.Fatal(err)
	}
	before := s.Dump(t)
	for _, migrate := range []bool{false, true} {
		_, err := Open(t.Context(), url, Options{Migrate: migrate})
		if err == nil || !strings.Contains(err.Error(), "version 99") || !strings.Contains(err.Error(), fmt.Sprint("up to ", sqlschema.Latest())) {
			t.Errorf("migrate %v: got %v", migrate, err)
		}
	}
	if s.Dump(t) != before {
		t.Error("data was changed")
	}
}

func versionsApplied(t *testing.T, s *Store) string {
	t.Helper()
	return fmt.Sprint(query(t, s.db, `SELECT version_id, COUNT(*) FROM `+sqlschema.VersionTable+` GROUP BY version_id`))
}

// Any number of processes may start on an empty database.
func TestConcurrentOpen(t *testing.T) {
	t.Parallel()
	url := servertest.MySQL(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := Open(t.Context(), url, Options{Migrate: true})
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
	if got := versionsApplied(t, at(t, url, Options{})); got != "[0 1 1 1 2 1 3 1 4 1]" {
		t.Errorf("applied: %s", got)
	}
}

// A migration that dies is finished by the next one, on an empty database and
// on that of another program. Every 11th statement stands for all.
func TestMigrationDying(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string]string{"empty": "", "Kysely": kysely} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n += 11 { // each takes a database of its own
				url := made(t, statements)
				if !dies(t, url, n) {
					if n == 1 {
						t.Error("no statement failed")
					}
					return
				}
				s := at(t, url, Options{})
				// The lock of a process that was killed lapses after 10 s.
				if _, err := s.db.ExecContext(t.Context(), `DROP TABLE IF EXISTS `+sqlschema.LockTable); err != nil {
					t.Fatal(err)
				}
				if err := s.Migrate(t.Context(), Up); err != nil {
					t.Fatalf("after statement %d: %v", n, err)
				}
				if got := versionsApplied(t, s); got != "[0 1 1 1 2 1 3 1 4 1]" {
					t.Errorf("after statement %d, applied: %s", n, got)
				}
			}
		})
	}
}

// dies migrates with the n-th statement failing, and reports whether there was
// one.
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
