// Package stores holds code that all stores share: reports about their tables or
// collections, and the delays between the attempts of a call.
package stores

import "fmt"

// A Direction is the direction of Migrate.
type Direction int

// Up applies all pending migrations. Down undoes the last one and deletes its data in
// authsvc's own tables; users, accounts, sessions and verification tokens stay.
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

// A Status reports the version of the schema.
type Status struct {
	Current, Latest int64
	Migrations      []Migration // ordered by version
}

// TooNew returns the error for a schema that a newer build created.
func TooNew(version, latest int64) error {
	return fmt.Errorf("schema version %d is newer than %d, the latest that this build supports: use a newer build", version, latest)
}

// TooOld returns the error for a schema that lacks migrations.
func TooOld(version, latest int64) error {
	return fmt.Errorf("schema version %d is older than %d: migrate first", version, latest)
}
