// Package schema has the words in which every store speaks of its schema.
package schema

// A Direction is where a migration goes.
type Direction int

// Up applies all pending migrations. Down takes back the last one, with the
// data in authsvc's own tables; users, accounts, sessions and verification
// tokens stay.
const (
	Up Direction = iota
	Down
)

// A Migration is one change of the schema.
type Migration struct {
	Version int64
	Name    string
	Applied bool
}

// A Status tells how far the schema is.
type Status struct {
	Current, Latest int64
	Migrations      []Migration // ordered by version
}
