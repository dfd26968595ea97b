package sqltest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/seal"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/sqlfault"
)

// Retry signs up repeatedly and makes each event fail in turn. The adapter must retry
// the step if steps is true; for the last event, if commits is true. A single
// statement is its own commit. open returns an empty store.
func Retry(t *testing.T, open func(*testing.T, *sqlfault.Switch) adapter.Adapter, cause error, steps, commits bool) {
	fault := sqlfault.Switch{Err: cause}
	s := open(t, &fault)
	if _, err := s.GetMeta(t.Context(), "prepare"); !errors.Is(err, adapter.ErrNotFound) {
		t.Fatal(err)
	}
	for n := 1; n <= SignUpEvents; n++ {
		repeated := steps
		if n == SignUpEvents {
			repeated = commits
		}
		fault.Arm(n, false)
		id := seal.UUIDv7()
		err := SignUp(t.Context(), s, id)
		if !fault.Disarm() || (err == nil) != repeated || err != nil && !errors.Is(err, cause) {
			t.Errorf("event %d: %v", n, err)
		}
		if _, err := s.GetUser(t.Context(), id); (err == nil) != repeated {
			t.Errorf("event %d: the user: %v", n, err)
		}
		if _, _, err := s.GetSession(t.Context(), id, id); (err == nil) != repeated {
			t.Errorf("event %d: the session: %v", n, err)
		}
	}
	fault.Arm(1, false)
	if err := s.UseOnce(t.Context(), "k", time.Now()); !fault.Disarm() || (err == nil) != commits {
		t.Errorf("write: %v", err)
	}
	fault.Arm(1, false)
	if _, err := s.GetUserByEmail(t.Context(), "nobody@example.com"); !fault.Disarm() || errors.Is(err, adapter.ErrNotFound) != steps {
		t.Errorf("read: %v", err)
	}
}

// rowsPerTable is the number of records of each kind that Fill makes.
const rowsPerTable = 20_000

// Fill stores records whose texts are all their number; a few have expired. Then it
// updates the server's statistics with analyze, a statement in which %s stands for a
// table.
func Fill(t *testing.T, a *Application, analyze string) {
	t.Helper()
	const digits = `(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)`
	// Each row gets its number from n.i.
	from := fmt.Sprintf(` FROM (SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS i FROM %[1]s a, %[1]s b, %[1]s c, %[1]s e, (SELECT 0 d UNION SELECT 1) f) n`, digits)
	const expires = `CASE WHEN i < 100 THEN TIMESTAMP '2001-01-01 00:00:00' ELSE TIMESTAMP '2100-01-01 00:00:00' END`
	columns := strings.NewReplacer("TEXT", `concat(i, '')`, "EXPIRES", expires, "OWN", fmt.Sprintf(`%d + 1000 * i`, time.Now().UnixMilli()))
	for _, text := range []string{
		`INSERT INTO {User} ({User.id}, {User.email}) SELECT TEXT, TEXT`,
		`INSERT INTO {Account} ({Account.id}, {Account.userId}, {Account.type}, {Account.provider}, {Account.providerAccountId}) SELECT TEXT, TEXT, 'oauth', TEXT, TEXT`,
		`INSERT INTO {Session} ({Session.id}, {Session.userId}, {Session.sessionToken}, {Session.expires}) SELECT TEXT, TEXT, TEXT, EXPIRES`,
		`INSERT INTO {VerificationToken} ({VerificationToken.identifier}, {VerificationToken.token}, {VerificationToken.expires}) SELECT TEXT, TEXT, EXPIRES`,
		`INSERT INTO authsvc_session (digest, session_token, user_id, expires) SELECT TEXT, TEXT, TEXT, OWN`,
		`INSERT INTO authsvc_jwt_session (digest, user_id, expires) SELECT TEXT, TEXT, OWN`,
		`INSERT INTO authsvc_person (user_id, delete_after) SELECT TEXT, OWN`,
		`INSERT INTO authsvc_credential (kind, id, user_id, version, tries, created, expires) SELECT 'totp', TEXT, TEXT, 1, 0, 0, OWN`,
		`INSERT INTO authsvc_mail (id, payload, due, expires, attempts) SELECT TEXT, '', OWN, OWN, 0`,
		`INSERT INTO authsvc_once (id, expires) SELECT TEXT, OWN`,
		`INSERT INTO authsvc_revocation (id, user_id, seq, not_before, expires) SELECT TEXT, TEXT, i, OWN, OWN`,
		`INSERT INTO authsvc_permit (id, expires) SELECT TEXT, OWN`,
		`INSERT INTO authsvc_lease (id, holder, expires) SELECT TEXT, TEXT, OWN`,
		`INSERT INTO authsvc_audit (id, occurred, name, outcome, code, reason, provider, user_id, client, agent, request) SELECT TEXT, OWN, 'n', 'success', '', '', '', '', '', '', ''`,
		`INSERT INTO authsvc_meta (id, value) SELECT TEXT, TEXT`,
	} {
		if err := a.Exec(t.Context(), columns.Replace(text)+from); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if got := Query(t, a.DB, `SELECT COUNT(*) FROM authsvc_once`); got[0] != fmt.Sprint(rowsPerTable) {
		t.Fatalf("%s rows", got)
	}
	for _, table := range Query(t, a.DB, a.Database.Tables) {
		Query(t, a.DB, fmt.Sprintf(analyze, a.Database.Dialect.Quote(table)))
	}
}

var parameter = regexp.MustCompile(`\?|\$\d+`)

// Literals replaces the parameters of a statement with typical values after Fill.
func Literals(text string) string {
	var b strings.Builder
	last := 0
	for _, at := range parameter.FindAllStringIndex(text, -1) {
		before := strings.TrimRight(text[:at[0]], " ")
		ends := func(suffixes ...string) bool {
			return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(before, s) })
		}
		value := "'42'"
		switch {
		case ends("LIMIT"):
			value = "10"
		case ends("seq >"):
			value = fmt.Sprint(rowsPerTable - 10)
		case ends(`"expires" <`, `"expires" >`, "`expires` <", `"expires" =`, "`expires` ="):
			value = "'2002-01-01 00:00:00'"
		case ends("expires <", "due <="):
			value = fmt.Sprint(time.Now().Add(20 * time.Second).UnixMilli())
		case ends("COALESCE(", "Verified\" =", ",", "VALUES ("):
			value = "NULL"
		}
		b.WriteString(text[last:at[0]] + value)
		last = at[1]
	}
	return b.String() + text[last:]
}

// Plans checks that no statement of an adapter scans a whole table. Exceptions are
// the count of the mail queue, which is bounded, and statements that contain a text of
// except. The function scans returns the lines of a statement's plan that scan a table.
func Plans(t *testing.T, a *sqladapter.Adapter, scans func(text string) []string, except ...string) {
	t.Helper()
	texts := sqladapter.Statements(a)
	if len(texts) < 40 {
		t.Fatalf("only %d statements", len(texts))
	}
	for _, text := range texts {
		found := scans(text)
		if slices.ContainsFunc(append(except, "COUNT(*)"), func(piece string) bool { return strings.Contains(text, piece) }) {
			continue
		}
		for _, line := range found {
			t.Errorf("%s\n\t%s", text, line)
		}
	}
}
