package sqlschema

import (
	"testing"

	"authsvc/internal/sql/sqladapter"
)

// TestKindOf uses the spelling of column types on each server. MySQL 8, which no test
// runs, omits the width of numbers except tinyint(1), has a type json where MariaDB
// reports longtext, and appends attributes to the type.
func TestKindOf(t *testing.T) {
	t.Parallel()
	for spelling, want := range map[string]sqladapter.Kind{
		"int": sqladapter.Integer, "int(11)": sqladapter.Integer, "bigint unsigned": sqladapter.Integer, "bigint(20) unsigned": sqladapter.Integer, "tinyint": sqladapter.Integer, "tinyint(4)": sqladapter.Integer,
		"tinyint(1)": sqladapter.Bool, "bit(1)": sqladapter.Bool, "boolean": sqladapter.Bool,
		"json": sqladapter.JSON, "jsonb": sqladapter.JSON, "longtext": sqladapter.Text, "varchar(20)": sqladapter.Text, "enum('a','b')": sqladapter.Text, "uuid": sqladapter.Text, "date": sqladapter.Text,
		"datetime(3)": sqladapter.Time, "timestamp": sqladapter.Time, "timestamp(3) without time zone": sqladapter.Time,
		"double": sqladapter.Float, "float unsigned": sqladapter.Float, "real": sqladapter.Float, "decimal(30,10) unsigned": sqladapter.Decimal, "numeric(8,2)": sqladapter.Decimal,
		"varbinary(8)": sqladapter.Bytes, "mediumblob": sqladapter.Bytes, "bytea": sqladapter.Bytes, "text[]": sqladapter.List, "boolean[]": sqladapter.List,
	} {
		if got := kindOf(&Column{Type: spelling, Number: want == sqladapter.Integer}); got != want {
			t.Errorf("%s is of kind %v, want %v", spelling, got, want)
		}
	}
}
