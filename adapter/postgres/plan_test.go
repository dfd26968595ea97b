package postgres

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"authsvc/internal/sqladapter"
)

// populate fills tables of preset prisma with ten thousands of everything.
const populate = `
INSERT INTO "User" SELECT i::text, 'Name', i || '@example.com', now(), NULL FROM generate_series(1, 20000) i;
INSERT INTO "Account" SELECT i::text, i::text, 'oauth', 'p' || i % 3, i::text FROM generate_series(1, 20000) i;
INSERT INTO "Session" SELECT i::text, 'token' || i, (1 + abs(i) % 20000)::text, now() + i * interval '1 second' FROM generate_series(-100, 40000) i;
INSERT INTO authsvc_session SELECT md5(id), "sessionToken", "userId", extract(epoch FROM expires) * 1000 FROM "Session";
INSERT INTO "VerificationToken" SELECT (i % 5000) || '@example.com', 'token' || i, now() + i * interval '1 second' FROM generate_series(-1000, 20000) i;
INSERT INTO authsvc_mail SELECT 'token' || i, '', 1000 * (EPOCH::bigint + i), 1000 * (EPOCH::bigint + i + 600), 0 FROM generate_series(-1000, 20000) i;
INSERT INTO authsvc_once SELECT 'once' || i, 1000 * (EPOCH::bigint + i) FROM generate_series(-1000, 20000) i;
INSERT INTO authsvc_revocation (id, user_id, seq, not_before, expires) SELECT 'rev' || i, i, i + 20001, 0, 1000 * (EPOCH::bigint + i) FROM generate_series(-20000, 1000) i;
INSERT INTO authsvc_permit SELECT 'permit' || i, 1000 * (EPOCH::bigint + i) FROM generate_series(-1000, 20000) i;
INSERT INTO authsvc_lease SELECT 'lease' || i, 'ann', 1000 * (EPOCH::bigint + i) FROM generate_series(-1000, 20000) i;
INSERT INTO authsvc_audit SELECT 'audit' || i, 1000 * (EPOCH::bigint + i), 'n', 'success', '', '', '', '', '', '', '' FROM generate_series(-1000, 20000) i;
INSERT INTO authsvc_meta SELECT 'meta' || i, '' FROM generate_series(1, 2000) i;
ANALYZE;`

// No statement reads a whole table, except the count of the mail queue, which
// is bounded.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	now := time.Now()
	if _, err := s.db.ExecContext(t.Context(), strings.ReplaceAll(populate, "EPOCH", fmt.Sprint(now.Unix()))); err != nil {
		t.Fatal(err)
	}
	texts := sqladapter.Statements(s.Adapter)
	if len(texts) < 40 {
		t.Fatalf("only %d statements", len(texts))
	}
	parameter := regexp.MustCompile(`\$\d+`)
	for _, text := range texts {
		explained := parameter.ReplaceAllStringFunc(text, func(string) string { return "\x00" })
		explained = literals(explained, now)
		plan := strings.Join(query(t, s.db, "EXPLAIN "+explained), "\n\t")
		oneRow := strings.Contains(text, "authsvc_sequence")
		if strings.Contains(plan, "Seq Scan") && !oneRow && !strings.Contains(text, "COUNT(*)") {
			t.Errorf("%s\n\t%s", explained, plan)
		}
	}
}

// literals puts values for the parameters, as they are in practice.
func literals(text string, now time.Time) string {
	for {
		before, after, found := strings.Cut(text, "\x00")
		if !found {
			return text
		}
		value := "'20'"
		compared := strings.TrimRight(before, " ")
		switch {
		case strings.HasSuffix(compared, "LIMIT"), strings.HasSuffix(compared, "seq >"):
			value = "100"
		case strings.HasSuffix(compared, `"expires" <`), strings.HasSuffix(compared, `"expires" =`):
			value = "'" + now.UTC().Format("2006-01-02 15:04:05.000") + "'"
		case strings.HasSuffix(compared, "expires <"), strings.HasSuffix(compared, "due <="):
			value = fmt.Sprint(now.UnixMilli())
		case strings.HasSuffix(compared, `COALESCE(`), strings.HasSuffix(compared, `Verified" =`):
			value = "NULL"
		case strings.Contains(compared, "VALUES (") || strings.HasSuffix(compared, ","):
			value = "NULL"
		}
		text = before + value + after
	}
}
