package postgres

import (
	"testing"

	"authsvc/internal/test/sqltest"
)

func TestNamesReferring(t *testing.T) {
	const (
		table = `CREATE TABLE "Invo""ice" ("userId" TEXT REFERENCES "User" ("id") `
		rows  = `INSERT INTO "Invo""ice" VALUES ('u');` + "\n"
		frees = `DELETE FROM "Invo""ice"`
		name  = `Invo\"ice` // as quoted in the error
	)
	sqltest.NamesReferring(t, testDatabase, map[string]sqltest.ReferringCase{
		"no action": {Schema: table + ");\n", Rows: rows, Frees: frees, Table: name},
		"restrict":  {Schema: table + "ON DELETE RESTRICT);\n", Rows: rows, Frees: frees, Table: name},
		"deferred":  {Schema: table + "DEFERRABLE INITIALLY DEFERRED);\n", Rows: rows, Frees: frees, Table: name},
		"cascade":   {Schema: table + "ON DELETE CASCADE);\n", Rows: rows},
		"set null":  {Schema: table + "ON DELETE SET NULL);\n", Rows: rows},
		"to an account": {Schema: `CREATE TABLE "quota" ("account" TEXT REFERENCES "Account" ("id"));` + "\n",
			Rows: `INSERT INTO "quota" SELECT "id" FROM "Account" WHERE "userId" = 'u';` + "\n", Frees: `DELETE FROM "quota"`, Table: "quota"},
	})
}

func TestInheritsNothing(t *testing.T) {
	sqltest.InheritsNothing(t, testDatabase, "", `ALTER TABLE "User" DROP CONSTRAINT "User_pkey" CASCADE;`+"\n"+
		`DELETE FROM "User" WHERE "id" = %s;`+"\n"+`ALTER TABLE "User" ADD PRIMARY KEY ("id");`+"\n")
}
