// Package stores has what all stores share: how they report on their tables or
// collections, and how long they wait between the attempts of a call.
package stores

import "fmt"

// A Direction is that of Migrate.
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

// A Status reports how far the schema is.
type Status struct {
	Current, Latest int64
	Migrations      []Migration // ordered by version
}

// TooNew is the error of a schema that a newer build has made.
func TooNew(version, latest int64) error {
	return fmt.Errorf("schema version %d, this build knows up to %d: use a newer build", version, latest)
}

// TooOld is the error of a schema that lacks migrations.
func TooOld(version, latest int64) error {
	return fmt.Errorf("schema version %d is older than %d: migrate first", version, latest)
}
