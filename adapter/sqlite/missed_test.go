package sqlite

import (
	"context"
	"testing"

	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/sqltest"
)

// drizzle is the schema of @auth/drizzle-adapter for SQLite, with create-t3-app's
// prefix.
const drizzle = `
CREATE TABLE app_user (id TEXT PRIMARY KEY NOT NULL, name TEXT, email TEXT NOT NULL UNIQUE, email_verified INTEGER, image TEXT);
CREATE TABLE app_account (userId TEXT NOT NULL REFERENCES app_user (id) ON DELETE CASCADE, type TEXT NOT NULL, provider TEXT NOT NULL, provider_account_id TEXT NOT NULL,
	refresh_token TEXT, access_token TEXT, expires_at INTEGER, token_type TEXT, scope TEXT, id_token TEXT, session_state TEXT, PRIMARY KEY (provider, provider_account_id));
CREATE TABLE app_session (session_token TEXT PRIMARY KEY NOT NULL, userId TEXT NOT NULL REFERENCES app_user (id) ON DELETE CASCADE, expires INTEGER NOT NULL);
CREATE TABLE app_verification_token (identifier TEXT NOT NULL, token TEXT NOT NULL, expires INTEGER NOT NULL, PRIMARY KEY (identifier, token));
INSERT INTO app_user (id, email) VALUES ('u1', 'ada@example.com');
`

func TestMissesNoTables(t *testing.T) {
	sqltest.MissesNoTables(t, testDatabase, map[string]sqltest.MissedCase{
		"no such table": {Schema: `CREATE TABLE users (id INTEGER PRIMARY KEY, login TEXT);`},
		"Prisma":        {Schema: prisma},
		"another case":  {Schema: sqltest.Rename(prismaWith(t, "", ""), map[string]string{`"User"`: `"user"`, `"VerificationToken"`: `"verificationtoken"`})},
		"plural": {Schema: sqltest.Rename(prismaWith(t, "", ""), map[string]string{`"User"`: `"users"`, `"Account"`: `"accounts"`, `"Session"`: `"sessions"`, `"VerificationToken"`: `"verification_tokens"`}),
			Key: "storage.naming", Fix: "`naming: authjs` and `tables: {VerificationToken: verification_tokens}`",
			Right: Naming{Preset: "authjs", Tables: map[string]string{"VerificationToken": "verification_tokens"}}, Users: `SELECT COUNT(*) FROM users`},
		"Drizzle with a prefix": {Schema: drizzle, Key: "storage.tables",
			Fix: "`tables: {Account: app_account, Session: app_session, User: app_user, VerificationToken: app_verification_token}` and `columns: {Account.providerAccountId: provider_account_id, Session.sessionToken: session_token, User.emailVerified: email_verified}`",
			Right: Naming{Tables: map[string]string{"User": "app_user", "Account": "app_account", "Session": "app_session", "VerificationToken": "app_verification_token"},
				Columns: map[string]string{"User.emailVerified": "email_verified", "Account.providerAccountId": "provider_account_id", "Session.sessionToken": "session_token"}},
			Users: `SELECT COUNT(*) FROM app_user`},
	}, func(ctx context.Context, url string, n sqladapter.Naming, migrate, shares bool) (sqltest.Store, error) {
		return Open(ctx, url, Options{Naming: n, Migrate: migrate, Shares: shares})
	})
}
