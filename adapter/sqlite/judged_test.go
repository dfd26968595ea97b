package sqlite

import (
	"testing"

	"authsvc/internal/test/sqltest"
)

func TestJudgesColumns(t *testing.T) {
	with := func(old, changed string) string { return prismaWith(t, old, changed) }
	sqltest.JudgesColumns(t, testDatabase, map[string]sqltest.JudgedCase{
		"ours":                 {},
		"Prisma":               {Schema: with("", "")},
		"Kysely":               {Schema: kysely},
		"sessionToken narrow":  {Schema: with(`"sessionToken" TEXT`, `"sessionToken" VARCHAR(36)`)}, // SQLite does not enforce it
		"image narrow":         {Schema: with(`"image" TEXT`, `"image" VARCHAR(255)`)},
		"Session.expires TEXT": {Schema: with(`"userId" TEXT NOT NULL, "expires" DATETIME`, `"userId" TEXT NOT NULL, "expires" TEXT`)},
		"expires_at NUMERIC":   {Schema: with(`"expires_at" INTEGER`, `"expires_at" NUMERIC`)},
		"expires_at DECIMAL":   {Schema: with(`"expires_at" INTEGER`, `"expires_at" DECIMAL(20,0)`)},

		"expires_at REAL":       {Schema: with(`"expires_at" INTEGER`, `"expires_at" REAL`), Refused: `column expires_at (REAL) cannot hold seconds since 1970`},
		"name NOT NULL":         {Schema: with(`"name" TEXT`, `"name" TEXT NOT NULL`), Warned: `table User: column name (TEXT) is NOT NULL; sign-ins that bring no value for it will fail: ALTER TABLE "User" RENAME`},
		"email NOT NULL":        {Schema: with(`"email" TEXT`, `"email" TEXT NOT NULL`), Warned: `column email (TEXT) is NOT NULL; sign-ins that bring no value for it will fail: SQLite cannot change a column that an index covers`, ByHand: true},
		"emailVerified BOOLEAN": {Schema: with(`"emailVerified" DATETIME`, `"emailVerified" BOOLEAN`), Refused: `table User: column emailVerified (BOOLEAN) cannot hold times: ALTER TABLE "User"`},
		"expires_at TIMESTAMP":  {Schema: with(`"expires_at" INTEGER`, `"expires_at" TIMESTAMP`), Refused: `table Account: column expires_at (TIMESTAMP) cannot hold seconds since 1970`},
		"expires_at TEXT":       {Schema: with(`"expires_at" INTEGER`, `"expires_at" TEXT`), Refused: `column expires_at (TEXT) cannot hold seconds since 1970`},
		"image INTEGER":         {Schema: with(`"image" TEXT`, `"image" INTEGER`), Refused: `column image (INTEGER) cannot hold text`},
	})
}

func TestSaysWhatFailed(t *testing.T) {
	schema := prismaWith(t, "", "")
	sqltest.SaysWhatFailed(t, testDatabase, schema, map[string]string{
		`CREATE TRIGGER ours BEFORE INSERT ON "User" WHEN NEW."name" IS NULL BEGIN SELECT RAISE(ABORT, 'a user needs a name'); END`: "a user needs a name",
	})
}
