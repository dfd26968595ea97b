package mongodb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"authsvc"
	"authsvc/internal/schema"
)

// versionKey is where authsvc_meta has the number of the last migration, in a
// document that has no value.
const versionKey = "authsvc_schema"

// The words of a schema; see package schema.
type (
	Direction = schema.Direction
	Migration = schema.Migration
	Status    = schema.Status
)

// Directions of Migrate.
const (
	Up   = schema.Up
	Down = schema.Down
)

// migrations lists every change of the schema, in order.
func migrations() []Migration { return []Migration{{Version: 1, Name: "initial"}} }

func latest() int64 {
	all := migrations()
	return all[len(all)-1].Version
}

// settle refuses what this build cannot use, and migrates when told to.
func (s *Store) settle(ctx context.Context, migrate bool) error {
	version, err := s.version(ctx)
	switch {
	case err != nil:
		return err
	case version > latest():
		return s.tooNew(version)
	case migrate:
		return s.Migrate(ctx, Up)
	case version == latest():
		return s.verify(ctx)
	}
	return nil
}

func (s *Store) tooNew(version int64) error {
	return fmt.Errorf("mongodb: %s has schema version %d, this build knows up to %d: use a newer build", s.db.Name(), version, latest())
}

// version is the number of the last applied migration, 0 without any.
func (s *Store) version(ctx context.Context) (int64, error) {
	d, err := s.first(ctx, s.meta(), by("_id", versionKey))
	if err = unless(authsvc.ErrNotFound, err); err != nil {
		return 0, fmt.Errorf("mongodb: read the schema version: %w", err)
	}
	return d.number("version"), nil
}

func (s *Store) checkVersion(ctx context.Context) error {
	version, err := s.version(ctx)
	if err == nil && version < latest() {
		err = fmt.Errorf("schema version %d is older than %d: migrate first", version, latest())
	}
	return err
}

// Status tells which migrations were applied. It writes nothing.
func (s *Store) Status(ctx context.Context) (Status, error) {
	version, err := s.version(ctx)
	if err != nil {
		return Status{}, ended(ctx, err)
	}
	status := Status{Current: version, Latest: latest()}
	for _, m := range migrations() {
		m.Applied = m.Version <= version
		status.Migrations = append(status.Migrations, m)
	}
	return status, nil
}

// Migrate changes the schema. Any number of processes may do so at once, and
// whatever an interrupted one has left undone the next one does: to make an
// index that is there is to do nothing. Up also makes what has gone missing
// since. Down removes authsvc's own collections and indexes.
func (s *Store) Migrate(ctx context.Context, d Direction) error {
	version, err := s.version(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	if version > latest() {
		return s.tooNew(version)
	}
	if d == Up {
		err = s.up(ctx)
	} else {
		err = s.down(ctx, version)
	}
	if err != nil {
		return fmt.Errorf("mongodb: migrate: %w", ended(ctx, err))
	}
	return nil
}

func (s *Store) up(ctx context.Context) error {
	missing, err := s.missing(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, i := range missing {
		errs = append(errs, i.create(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := s.verify(ctx); err != nil {
		return err
	}
	return s.put(ctx, s.meta(), versionKey, bson.D{{Key: "$max", Value: by("version", latest())}})
}

// down removes the version last, so that an interrupted one can be repeated.
func (s *Store) down(ctx context.Context, version int64) error {
	if version == 0 {
		return errors.New("there is nothing to take back")
	}
	s.usable.Store(false)
	for _, i := range s.indexes() {
		if strings.HasPrefix(i.collection.Name(), ownPrefix) {
			continue // goes as a whole
		}
		err := i.collection.Indexes().DropOne(ctx, i.name())
		if err != nil && !coded(err, codeNoCollection, codeNoIndex) {
			return err
		}
	}
	for _, c := range []*mongo.Collection{s.ownSessions(), s.mails(), s.once(), s.revocations(), s.permits(), s.leases(), s.audit(), s.meta()} {
		if err := c.Drop(ctx); err != nil && !coded(err, codeNoCollection) {
			return err
		}
	}
	return nil
}
