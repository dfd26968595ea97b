package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/sql/stores"
	"authsvc/internal/test/sqltest"
)

// drizzle is the schema of @auth/drizzle-adapter for PostgreSQL, as Auth.js documents
// it.
const drizzle = `
CREATE TABLE "user" ("id" text PRIMARY KEY NOT NULL, "name" text, "email" text UNIQUE, "emailVerified" timestamp, "image" text);
CREATE TABLE "account" ("userId" text NOT NULL REFERENCES "user" ("id") ON DELETE CASCADE, "type" text NOT NULL, "provider" text NOT NULL,
	"providerAccountId" text NOT NULL, "refresh_token" text, "access_token" text, "expires_at" integer, "token_type" text, "scope" text,
	"id_token" text, "session_state" text, PRIMARY KEY ("provider", "providerAccountId"));
CREATE TABLE "session" ("sessionToken" text PRIMARY KEY NOT NULL, "userId" text NOT NULL REFERENCES "user" ("id") ON DELETE CASCADE, "expires" timestamp NOT NULL);
CREATE TABLE "verificationToken" ("identifier" text NOT NULL, "token" text NOT NULL, "expires" timestamp NOT NULL, PRIMARY KEY ("identifier", "token"));
INSERT INTO "user" ("id", "email") VALUES ('u1', 'ada@example.com'), ('u2', 'bob@example.com');
`

func openWith(ctx context.Context, url string, n sqladapter.Naming, migrate, shares bool) (sqltest.Store, error) {
	return Open(ctx, url, Options{Naming: n, Migrate: migrate, Shares: shares})
}

func TestMissesNoTables(t *testing.T) {
	drizzleNames := map[string]string{"User": "user", "Account": "account", "Session": "session", "VerificationToken": "verificationToken"}
	const prismaUsers = `INSERT INTO "User" ("id", "email") VALUES ('u1', 'ada@example.com');
`
	inSchema := func(name string) string {
		return `CREATE SCHEMA ` + quote(name) + `;
SET search_path = ` + quote(name) + `;
` + prisma + prismaUsers + `RESET search_path;
`
	}
	sqltest.MissesNoTables(t, testDatabase, map[string]sqltest.MissedCase{
		"an empty database":       {},
		"users of the platform":   {Schema: "CREATE SCHEMA auth;\nCREATE TABLE auth.users (id uuid PRIMARY KEY, email text, encrypted_password text, email_confirmed_at timestamptz);\n"},
		"a set of another system": {Schema: prisma + "DROP TABLE \"VerificationToken\";\n" + inSchema("staging")},
		"a part in another schema": {Schema: strings.NewReplacer(`CREATE TABLE "Account"`, `CREATE TABLE auth."Account"`, `ON "Account"`, `ON auth."Account"`, `TABLE "Account"`, `TABLE auth."Account"`).Replace("CREATE SCHEMA auth;\n" + prisma),
			Key: "storage.url", Fix: "search_path=public%2C%22auth%22", Parameter: "search_path=public%2C%22auth%22", Users: `SELECT COUNT(*) FROM public."User"`},
		"tables of others": {Schema: `CREATE TABLE users (id INT PRIMARY KEY, login TEXT); CREATE TABLE sessions (sid TEXT, sess JSON, expire TIMESTAMP);
CREATE TABLE account (id INT PRIMARY KEY, balance NUMERIC);
`},
		"Prisma": {Schema: prisma},
		"Drizzle": {Schema: drizzle, Key: "storage.tables", Fix: "`tables: {Account: account, Session: session, User: user, VerificationToken: verificationToken}`",
			Right: Naming{Tables: drizzleNames}, Users: `SELECT COUNT(*) FROM "user"`},
		"Drizzle with a prefix": {Schema: sqltest.Rename(drizzle, map[string]string{`"user"`: `"t3_user"`, `"account"`: `"t3_account"`, `"session"`: `"t3_session"`, `"verificationToken"`: `"t3_verification_token"`}),
			Key: "storage.tables", Fix: "`tables: {Account: t3_account, Session: t3_session, User: t3_user, VerificationToken: t3_verification_token}`",
			Right: Naming{Tables: map[string]string{"User": "t3_user", "Account": "t3_account", "Session": "t3_session", "VerificationToken": "t3_verification_token"}}, Users: `SELECT COUNT(*) FROM t3_user`},
		"pg-adapter": {Schema: pgAdapter, Key: "storage.naming", Fix: "`naming: authjs`", Right: Naming{Preset: "authjs"}, Users: `SELECT COUNT(*) FROM users`},
		"snake": {Schema: sqltest.Rename(prisma, map[string]string{`"User"`: `"users"`, `"Account"`: `"accounts"`, `"Session"`: `"sessions"`, `"VerificationToken"`: `"verificationtokens"`,
			`"userId"`: `"user_id"`, `"providerAccountId"`: `"provider_account_id"`, `"sessionToken"`: `"session_token"`, `"emailVerified"`: `"email_verified"`}),
			Key: "storage.naming", Fix: "`naming: snake`", Right: Naming{Preset: "snake"}, Users: `SELECT COUNT(*) FROM users`},
		"Prisma under preset authjs": {Schema: prisma, Naming: Naming{Preset: "authjs"}, Key: "storage.naming", Fix: "`naming: prisma`", Right: Naming{Preset: "prisma"}, Users: `SELECT COUNT(*) FROM "User"`},
		"a name misspelt": {Schema: drizzle, Naming: Naming{Tables: map[string]string{"User": "usr", "Account": "account", "Session": "session", "VerificationToken": "verificationToken"}},
			Key: "storage.tables", Fix: "User: user", Right: Naming{Tables: drizzleNames}, Users: `SELECT COUNT(*) FROM "user"`},
		"one table": {Schema: sqltest.Replace(t, prisma, `CREATE TABLE "VerificationToken" ("identifier" TEXT NOT NULL, "token" TEXT NOT NULL, "expires" TIMESTAMP(3) NOT NULL);
CREATE UNIQUE INDEX "Account_provider_providerAccountId_key" ON "Account"("provider", "providerAccountId");
CREATE UNIQUE INDEX "Session_sessionToken_key" ON "Session"("sessionToken");
CREATE UNIQUE INDEX "User_email_key" ON "User"("email");
CREATE UNIQUE INDEX "VerificationToken_token_key" ON "VerificationToken"("token");
CREATE UNIQUE INDEX "VerificationToken_identifier_token_key" ON "VerificationToken"("identifier", "token");
`, `CREATE TABLE verification_tokens ("identifier" TEXT NOT NULL, "token" TEXT NOT NULL, "expires" TIMESTAMP(3) NOT NULL);
`), Key: "storage.tables", Fix: "`tables: {VerificationToken: verification_tokens}`",
			Right: Naming{Tables: map[string]string{"VerificationToken": "verification_tokens"}}, Users: `SELECT COUNT(*) FROM "User"`},
		"another schema": {Schema: inSchema("app"), Key: "storage.url", Fix: "the parameter search_path=%22app%22 to storage.url",
			Parameter: "search_path=%22app%22", Users: `SELECT COUNT(*) FROM app."User"`},
		"another schema with a blank": {Schema: inSchema("My app"), Key: "storage.url", Fix: "search_path=%22My%20app%22",
			Parameter: "search_path=%22My%20app%22", Users: `SELECT COUNT(*) FROM "My app"."User"`},
		"another schema and other names": {Schema: "CREATE SCHEMA web;\nSET search_path = web;\n" + drizzle + "RESET search_path;\n", Key: "storage.url", Fix: "search_path=%22web%22 to storage.url and write under storage: `tables: {Account: account,",
			Parameter: "search_path=%22web%22", Right: Naming{Tables: drizzleNames}, Users: `SELECT COUNT(*) FROM web."user"`},
	}, openWith)
}

// TestTablesOutOfReach: tables of another tenant, in a schema that the user of the URL may
// not use, do not end the start. Those in a schema that it may use do.
func TestTablesOutOfReach(t *testing.T) {
	t.Parallel()
	const user = "pg_monitor" // every server has it
	for grant, works := range map[string]bool{"": true, "GRANT USAGE ON SCHEMA tenant TO " + user + ";\n": false} {
		url := testDatabase.With(t, "CREATE SCHEMA tenant;\nSET search_path = tenant;\n"+prisma+"RESET search_path;\nGRANT ALL ON SCHEMA public TO "+user+";\n"+grant)
		s, err := Open(t.Context(), within(url, "role="+user), Options{Migrate: true, Shares: true})
		if err == nil {
			sqltest.CloseAtEnd(t, s)
		}
		if (err == nil) != works {
			t.Errorf("%q: %v", grant, err)
		}
	}
}

// TestLockedTable: a table that cannot be counted, because it is locked or large, delays
// neither the refusal nor the list of tables.
func TestLockedTable(t *testing.T) {
	t.Parallel()
	url := testDatabase.With(t, drizzle)
	other, err := testDatabase.Connected(t, url).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback() //nolint:errcheck // the database is dropped
	if _, err := other.ExecContext(t.Context(), `LOCK TABLE "user" IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	var missed *stores.MissedError
	if _, err := Open(t.Context(), url, Options{Migrate: true, Shares: true}); !errors.As(err, &missed) || !strings.Contains(missed.Problem, "but user, account (rows: 0)") {
		t.Fatalf("got %v", err)
	}
	s, err := Open(t.Context(), url, Options{Naming: Naming{Tables: map[string]string{"User": "user", "Account": "account"}}, Shares: true})
	if err != nil {
		t.Fatal(err)
	}
	sqltest.CloseAtEnd(t, s)
	list, err := s.Shared(t.Context())
	if err != nil || !list[0].Exists || list[0].Rows != stores.Uncounted || list[1].Rows != 0 {
		t.Errorf("listed %+v, %v", list, err)
	}
}
