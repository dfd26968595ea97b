package sqlite

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/sqltest"
)

const (
	invoices    = `CREATE TABLE "Invo""ice" ("number" INTEGER PRIMARY KEY, "userId" TEXT REFERENCES "User" ("id") `
	oneInvoice  = `INSERT INTO "Invo""ice" ("userId") VALUES ('u'), ('spare');` + "\n"
	noInvoices  = `DELETE FROM "Invo""ice"`
	spareUser   = `INSERT INTO "User" ("id") VALUES ('spare');` + "\n"
	isInvoices  = `Invo\"ice` // as quoted in the error
	paid        = `CREATE TABLE "payment" ("invoice" INTEGER REFERENCES "Invo""ice");` + "\n"
	paidInvoice = `INSERT INTO "payment" SELECT "number" FROM "Invo""ice" WHERE "userId" = 'u';` + "\n"
)

func TestNamesReferring(t *testing.T) {
	sqltest.NamesReferring(t, testDatabase, map[string]sqltest.ReferringCase{
		"no action":                           {invoices + ");\n", spareUser + oneInvoice, noInvoices, isInvoices},
		"restrict":                            {invoices + "ON DELETE RESTRICT);\n", spareUser + oneInvoice, noInvoices, isInvoices},
		"deferred":                            {invoices + "DEFERRABLE INITIALLY DEFERRED);\n", spareUser + oneInvoice, noInvoices, isInvoices},
		"cascade":                             {invoices + "ON DELETE CASCADE);\n", spareUser + oneInvoice, "", ""},
		"set null":                            {invoices + "ON DELETE SET NULL);\n", spareUser + oneInvoice, "", ""},
		"through a table that is deleted too": {invoices + "ON DELETE CASCADE);\n" + paid, spareUser + oneInvoice + paidInvoice, `DELETE FROM "payment"`, "payment"},
		"to an account": {`CREATE TABLE "quota" ("provider" TEXT, "subject" TEXT, FOREIGN KEY ("provider", "subject") REFERENCES "Account" ("provider", "providerAccountId"));` + "\n",
			`INSERT INTO "quota" SELECT "provider", "providerAccountId" FROM "Account" WHERE "userId" = 'u';` + "\n", `DELETE FROM "quota"`, "quota"},
		"the second of two": {invoices + ");\n" + `CREATE TABLE "zebra" ("of" TEXT REFERENCES "user");` + "\n", spareUser + `INSERT INTO "Invo""ice" ("userId") VALUES ('spare');` + "\n" +
			`INSERT INTO "zebra" VALUES ('u');` + "\n", `DELETE FROM "zebra"`, "zebra"},
	})
}

// TestDeferredKeyInGroup checks that a deletion that a deferred foreign key refuses at
// the commit fails alone: other steps of the same transaction are repeated.
func TestDeferredKeyInGroup(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	if err := sqltest.SignUp(t.Context(), s, "u"); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{invoices + "DEFERRABLE INITIALLY DEFERRED)", `INSERT INTO "Invo""ice" ("userId") VALUES ('u')`} {
		if err := s.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			if i%8 == 0 {
				if err := s.DeleteUser(t.Context(), "u", sqltest.Ended("u")); err == nil || !strings.Contains(err.Error(), isInvoices) {
					t.Errorf("the deletion: %v", err)
				}
				return
			}
			if err := sqltest.SignUp(t.Context(), s, "new"+string(rune('A'+i))); err != nil {
				t.Errorf("another step: %v", err)
			}
		})
	}
	wg.Wait()
	if _, err := s.GetUser(t.Context(), "u"); err != nil {
		t.Error(errors.Join(errors.New("the refused deletion deleted the user"), err))
	}
}

func TestInheritsNothing(t *testing.T) {
	for name, schema := range map[string]string{"names": "", "numbers": sqltest.Replace(t, prismaWith(t, uniqueEmail, uniqueEmail), `"User" ("id" TEXT`, `"User" ("id" INTEGER`)} {
		t.Run(name, func(t *testing.T) {
			sqltest.InheritsNothing(t, testDatabase, schema, "PRAGMA foreign_keys = off;\n"+`DELETE FROM "User" WHERE "id" = %s;`+"\n")
		})
	}
}

func TestKeepsOthers(t *testing.T) {
	for name, schema := range map[string]string{
		"NOCASE": prismaWith(t, `"userId" TEXT NOT NULL, "type"`, `"userId" TEXT NOT NULL COLLATE NOCASE, "type"`),
		"both":   sqltest.Replace(t, prismaWith(t, `"userId" TEXT NOT NULL, "type"`, `"userId" TEXT COLLATE NOCASE NOT NULL, "type"`), `"userId" TEXT NOT NULL, "expires"`, `"userId" TEXT COLLATE NOCASE NOT NULL, "expires"`),
	} {
		t.Run(name, func(t *testing.T) { sqltest.KeepsOthers(t, testDatabase, schema) })
	}
}
