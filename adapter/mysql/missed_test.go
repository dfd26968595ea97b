package mysql

import (
	"context"
	"testing"

	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/sqltest"
)

func TestMissesNoTables(t *testing.T) {
	lower := map[string]string{"User": "user", "Account": "account", "Session": "session", "VerificationToken": "verificationtoken"}
	prefixed := map[string]string{"User": "app_User", "Account": "app_Account", "Session": "app_Session", "VerificationToken": "app_VerificationToken"}
	renamed := func(names map[string]string) string {
		quoted := map[string]string{}
		for old, changed := range names {
			quoted[quote(old)] = quote(changed)
		}
		return sqltest.Rename(prisma, quoted)
	}
	sqltest.MissesNoTables(t, testDatabase, map[string]sqltest.MissedCase{
		"an empty database": {},
		"Prisma":            {Schema: prisma},
		"another case": {Schema: renamed(lower), Key: "storage.tables", Fix: "`tables: {Account: account, Session: session, User: user, VerificationToken: verificationtoken}`",
			Right: Naming{Tables: lower}, Users: "SELECT COUNT(*) FROM user"},
		"a prefix": {Schema: renamed(prefixed), Key: "storage.tables", Fix: "User: app_User",
			Right: Naming{Tables: prefixed}, Users: "SELECT COUNT(*) FROM app_User"},
		"plural": {Schema: numbered, Key: "storage.naming", Fix: "`naming: authjs`",
			Right: Naming{Preset: "authjs"}, Users: "SELECT COUNT(*) FROM users"},
	}, func(ctx context.Context, url string, n sqladapter.Naming, migrate, shares bool) (sqltest.Store, error) {
		return Open(ctx, url, Options{Naming: n, Migrate: migrate, Shares: shares})
	})
}
