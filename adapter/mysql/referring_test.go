package mysql

import (
	"strings"
	"testing"

	"authsvc/internal/test/sqltest"
)

func TestNamesReferring(t *testing.T) {
	const (
		table = "CREATE TABLE `Invo``ice` AS SELECT NULLIF(`id`, '') AS `userId` FROM `User` WHERE 1 = 0;\n" + // of the same type, and nullable
			"ALTER TABLE `Invo``ice` ADD FOREIGN KEY (`userId`) REFERENCES `User` (`id`) "
		rows  = "INSERT INTO `Invo``ice` VALUES ('u');\n"
		frees = "DELETE FROM `Invo``ice`"
		name  = "Invo`ice"
	)
	sqltest.NamesReferring(t, testDatabase, map[string]sqltest.ReferringCase{
		"no action": {Schema: table + ";\n", Rows: rows, Frees: frees, Table: name},
		"restrict":  {Schema: table + "ON DELETE RESTRICT;\n", Rows: rows, Frees: frees, Table: name},
		"cascade":   {Schema: table + "ON DELETE CASCADE;\n", Rows: rows},
		"set null":  {Schema: table + "ON DELETE SET NULL;\n", Rows: rows},
	})
}

func TestInheritsNothing(t *testing.T) {
	sqltest.InheritsNothing(t, testDatabase, "", "SET foreign_key_checks = 0;\nDELETE FROM `User` WHERE id = %s;\n")
}

// TestKeepsOthers: foreign keys require the same collation, so there are none.
func TestKeepsOthers(t *testing.T) {
	schema, _, _ := strings.Cut(prisma, "ALTER TABLE")
	schema = sqltest.Replace(t, schema, "CREATE TABLE `User` (`id` VARCHAR(191) NOT NULL", "CREATE TABLE `User` (`id` VARCHAR(191) COLLATE utf8mb4_bin NOT NULL")
	sqltest.KeepsOthers(t, testDatabase, schema)
}
