package main

import "testing"

func TestTexts(t *testing.T) {
	const text = `SELECT <u."id"> FROM t u WHERE a = ? AND b = ?`
	if got := postgresText(text); got != `SELECT CAST(u."id" AS TEXT) COLLATE "C" FROM t u WHERE a = $1 AND b = $2` {
		t.Error(got)
	}
	if got := sqliteText(text); got != `SELECT u."id" FROM t u WHERE a = ? AND b = ?` {
		t.Error(got)
	}
	if got := postgresText(linkAccount); got[len(got)-len("$9, $10, $11, $12)"):] != "$9, $10, $11, $12)" {
		t.Error(got)
	}
}
