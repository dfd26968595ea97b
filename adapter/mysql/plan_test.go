package mysql

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"authsvc/internal/sqladapter"
	"authsvc/internal/test/servertest"
)

// No statement reads a whole table, except the count of the mail queue, which
// is bounded, and a page of users, in the order of the index.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		made    string
		options Options
	}{"own": {"", Options{}}, "Prisma": {prisma, Options{}}, "numbers and bytes": {numbered, Options{Naming: Naming{Preset: "authjs"}}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := servertest.MySQL(t)
			if err := prepare(url, c.options, c.made); err != nil {
				t.Fatal(err)
			}
			s := opened(t, url, c.options, sqladapter.TestHooks{})
			fill(t, s)
			texts := sqladapter.Statements(s.Adapter)
			if len(texts) < 40 {
				t.Fatalf("only %d statements", len(texts))
			}
			for _, text := range texts {
				if !strings.HasPrefix(text, "INSERT") {
					plan(t, s, text)
				}
			}
		})
	}
}

// rows is how many records of each kind there are.
const rows = 20_000

// fill stores records whose every text is their number, few of them expired.
func fill(t *testing.T, s shared) {
	t.Helper()
	const digits = `(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)`
	// Each row takes its number from n.i.
	from := fmt.Sprintf(` FROM (SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS i FROM %[1]s a, %[1]s b, %[1]s c, %[1]s e, (SELECT 0 d UNION SELECT 1) f) n`, digits)
	now := time.Now().UnixMilli()
	const expires = `IF(i < 100, '2001-01-01', '2100-01-01')`
	own := fmt.Sprintf(`%d + 1000 * i`, now)
	for _, text := range []string{
		`INSERT INTO {User} ({User.id}, {User.email}) SELECT i, i`,
		`INSERT INTO {Account} ({Account.id}, {Account.userId}, {Account.type}, {Account.provider}, {Account.providerAccountId}) SELECT i, i, 'oauth', i, i`,
		`INSERT INTO {Session} ({Session.id}, {Session.userId}, {Session.sessionToken}, {Session.expires}) SELECT i, i, i, ` + expires,
		`INSERT INTO {VerificationToken} ({VerificationToken.identifier}, {VerificationToken.token}, {VerificationToken.expires}) SELECT i, i, ` + expires,
		`INSERT INTO authsvc_session (digest, session_token, user_id, expires) SELECT i, i, i, ` + own,
		`INSERT INTO authsvc_mail (id, payload, due, expires, attempts) SELECT i, '', ` + own + `, ` + own + `, 0`,
		`INSERT INTO authsvc_once (id, expires) SELECT i, ` + own,
		`INSERT INTO authsvc_revocation (id, user_id, seq, not_before, expires) SELECT i, i, i, ` + own + `, ` + own,
		`INSERT INTO authsvc_permit (id, expires) SELECT i, ` + own,
		`INSERT INTO authsvc_lease (id, holder, expires) SELECT i, i, ` + own,
		`INSERT INTO authsvc_audit (id, occurred, name, outcome, code, reason, provider, user_id, client, agent, request) SELECT i, ` + own + `, 'n', 'success', '', '', '', '', '', '', ''`,
		`INSERT INTO authsvc_meta (id, value) SELECT i, i`,
	} {
		if err := s.exec(t.Context(), text+from); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if got := query(t, s.db, `SELECT COUNT(*) FROM authsvc_once`); got[0] != fmt.Sprint(rows) {
		t.Fatalf("%s rows", got)
	}
	for _, table := range query(t, s.db, `SHOW TABLES`) {
		query(t, s.db, `ANALYZE TABLE `+quote(table))
	}
}

// plan asks how a statement is run, with the values that it would have.
func plan(t *testing.T, s shared, text string) {
	t.Helper()
	soon := fmt.Sprint(time.Now().UnixMilli() + 20_000)
	values := strings.NewReplacer("LIMIT ?", "LIMIT 10", "`expires` < ?", "`expires` < '2002-01-01'", "expires < ?", "expires < "+soon,
		"due <= ?", "due <= "+soon, "seq > ?", "seq > 19990", "?", "'42'").Replace(text)
	for _, line := range query(t, s.db, "EXPLAIN "+values) {
		// id, select_type, table, type, possible_keys, key, …
		cells := strings.Split(line, " ")
		whole := cells[3] == "ALL" || cells[3] == "index"
		if strings.Contains(line, "DEPENDENT SUBQUERY") {
			whole = cells[4] == "ALL" || cells[4] == "index"
		}
		bounded := strings.Contains(text, "COUNT(*)") || strings.Contains(text, "u.`id` LIMIT")
		if whole && !bounded {
			t.Errorf("%s\n\t%s", values, line)
		}
	}
}
