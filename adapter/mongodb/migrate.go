package mongodb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc/adapter"
	"authsvc/internal/sql/stores"
)

// versionKey is the _id of the document in authsvc_meta that holds the number of the
// last migration. That document has no value field.
const versionKey = "authsvc_schema"

// Types used by Migrate, Shared and Status.
type (
	Direction   = stores.Direction
	Migration   = stores.Migration
	SharedTable = stores.SharedTable
	Status      = stores.Status
)

// The directions of Migrate.
const (
	Up   = stores.Up
	Down = stores.Down
)

// migrations lists all schema changes in order.
func migrations() []Migration {
	return []Migration{{Version: 1, Name: "initial"}, {Version: revocationLogVersion, Name: "epochs"}, {Version: peopleVersion, Name: "people"}}
}

// revocationLogVersion is the schema version that introduced the revocation log.
const revocationLogVersion = 2

// peopleVersion is the schema version that introduced people, credentials and sessions
// of strategy jwt.
const peopleVersion = 3

func latest() int64 {
	all := migrations()
	return all[len(all)-1].Version
}

// prepareSchema refuses a schema that this build cannot use. If migrate is set, it
// migrates an older one.
func (s *Store) prepareSchema(ctx context.Context, migrate bool) error {
	version, err := s.version(ctx)
	switch {
	case err != nil:
		return err
	case version > latest():
		return s.tooNew(version)
	case migrate:
		err = s.Migrate(ctx, Up)
	case version == latest():
		err = s.verify(ctx)
	default:
		return nil
	}
	s.usable.Store(err == nil)
	return err
}

func (s *Store) tooNew(version int64) error {
	return fmt.Errorf("mongodb: %s: %w", s.db.Name(), stores.TooNew(version, latest()))
}

// version returns the number of the last applied migration, or 0 if there is none.
func (s *Store) version(ctx context.Context) (int64, error) {
	d, err := s.first(ctx, s.meta(), by("_id", versionKey))
	if err = ignore(adapter.ErrNotFound, err); err != nil {
		return 0, fmt.Errorf("mongodb: read the schema version: %w", err)
	}
	return d.number("version"), nil
}

func (s *Store) checkVersion(ctx context.Context) error {
	version, err := s.version(ctx)
	if err == nil && version < latest() {
		err = stores.TooOld(version, latest())
	}
	return err
}

// Status reports which migrations have been applied. It writes nothing.
func (s *Store) Status(ctx context.Context) (Status, error) {
	version, err := s.version(ctx)
	if err != nil {
		return Status{}, withContextError(ctx, err)
	}
	status := Status{Current: version, Latest: latest()}
	for _, m := range migrations() {
		m.Applied = m.Version <= version
		status.Migrations = append(status.Migrations, m)
	}
	return status, nil
}

// Migrate changes the schema. Any number of processes may call it at once, and the next
// call finishes an interrupted one. Up also recreates indexes that have been dropped.
// Down undoes the last migration; undoing the first one drops authsvc's own collections
// and indexes.
func (s *Store) Migrate(ctx context.Context, d Direction) error {
	version, err := s.version(ctx)
	if err != nil {
		return withContextError(ctx, err)
	}
	if version > latest() {
		return s.tooNew(version)
	}
	switch {
	case d == Up:
		err = s.up(ctx, version)
	case version >= peopleVersion:
		err = s.removePeople(ctx)
	case version >= revocationLogVersion:
		err = s.removeNumbers(ctx)
	default:
		err = s.down(ctx, version)
	}
	if err != nil {
		return fmt.Errorf("mongodb: migrate: %w", withContextError(ctx, err))
	}
	return nil
}

func (s *Store) up(ctx context.Context, version int64) error {
	if version == 0 {
		if err := s.checkMissed(ctx); err != nil {
			return err
		}
	}
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
	if version < revocationLogVersion {
		if err := s.assignNumbers(ctx); err != nil {
			return err
		}
	}
	return s.put(ctx, s.meta(), versionKey, bson.D{{Key: "$max", Value: by("version", latest())}})
}

// numberBatch is the number of records that assignNumbers numbers at a time.
const numberBatch = 50

// unnumbered returns the condition for records from before the log.
func unnumbered() bson.D { return bson.D{{Key: "cursor", Value: nil}, {Key: "pending", Value: nil}} }

// assignNumbers numbers the records from before the log in the order in which they were
// written, and adds the id of their user. After an interruption it continues with the
// records that have no number.
func (s *Store) assignNumbers(ctx context.Context) error {
	before := unnumbered()
	for {
		some, err := s.list(ctx, s.revocations(), before, find("_id", "written").SetSort(ascending("written", "_id")).SetLimit(numberBatch))
		if err != nil || len(some) == 0 {
			return err
		}
		if err := s.assignBatch(ctx, some); err != nil {
			return err
		}
		if last := some[len(some)-1].instant("written"); !last.IsZero() { // so that the query uses the index
			before = append(unnumbered(), bson.E{Key: "written", Value: bson.D{{Key: "$gte", Value: date(last)}}})
		}
	}
}

func (s *Store) assignBatch(ctx context.Context, some []document) error {
	n, err := s.takeNumbers(ctx, int64(len(some))+1) // one extra, since readers stop before the last number
	if err != nil {
		return err
	}
	var changes []mongo.WriteModel
	for i, d := range some {
		seq := n - int64(len(some)-i)
		set := bson.D{{Key: "seq", Value: seq}, {Key: "cursor", Value: seq}}
		if user := userOfKey(d.text("_id")); user != "" {
			set = append(set, bson.E{Key: "user", Value: user})
		}
		changes = append(changes, mongo.NewUpdateOneModel().SetFilter(append(by("_id", d.key()), unnumbered()...)).
			SetUpdate(bson.D{{Key: "$set", Value: set}, {Key: "$unset", Value: by("written", "")}}))
	}
	return retry(ctx, outcomeUnknown, func() error {
		_, err := s.revocations().BulkWrite(ctx, changes, options.BulkWrite().SetOrdered(false))
		return err
	})
}

// userOfKey returns the id of the user a record concerns, from its key: user:ID or
// by:PROVIDER:ID. Other keys concern no user.
func userOfKey(key string) string {
	if id, found := strings.CutPrefix(key, sessionsKey); found {
		return id
	}
	if rest, found := strings.CutPrefix(key, "by:"); found {
		_, id, _ := strings.Cut(rest, ":")
		return id
	}
	return ""
}

// removeNumbers undoes assignNumbers and removes what the log has added since. It marks
// all records as written now, so that readers of the old schema receive them again.
func (s *Store) removeNumbers(ctx context.Context) error {
	s.usable.Store(false)
	fields := bson.D{}
	for _, field := range []string{"user", "seq", "accounts", "pending", "cursor"} {
		fields = append(fields, bson.E{Key: field, Value: ""})
	}
	_, err := s.deleteAll(ctx, s.accounts(), by(linkingField, bson.D{{Key: "$exists", Value: true}}))
	if err == nil {
		err = s.changeAll(ctx, s.accounts(), by(epochField, bson.D{{Key: "$exists", Value: true}}), bson.D{{Key: "$unset", Value: by(epochField, "")}})
	}
	if err == nil {
		err = s.changeAll(ctx, s.ownSessions(), bson.D{}, bson.D{{Key: "$unset", Value: by("epoch", "")}})
	}
	if err == nil {
		err = s.changeAll(ctx, s.revocations(), bson.D{}, bson.D{{Key: "$unset", Value: fields}, {Key: "$set", Value: by("written", date(s.now()))}})
	}
	if err != nil {
		return err
	}
	if err := (index{s.revocations(), []string{"written"}, false, false}).create(ctx); err != nil {
		return err
	}
	for _, i := range s.indexes() {
		if i.collection.Name() == s.revocations().Name() && i.name() != ownPrefix+"expires" {
			if err := i.collection.Indexes().DropOne(ctx, i.name()); err != nil && !hasCode(err, codeNoCollection, codeNoIndex) {
				return err
			}
		}
	}
	return s.put(ctx, s.meta(), versionKey, bson.D{{Key: "$set", Value: by("version", int64(revocationLogVersion-1))}})
}

// removePeople undoes the changes of schema version 3.
func (s *Store) removePeople(ctx context.Context) error {
	s.usable.Store(false)
	for _, c := range []*mongo.Collection{s.people(), s.credentials()} {
		if err := c.Drop(ctx); err != nil && !hasCode(err, codeNoCollection) {
			return err
		}
	}
	fields := bson.D{}
	for _, field := range originFields {
		fields = append(fields, bson.E{Key: field, Value: ""})
	}
	_, err := s.deleteAll(ctx, s.ownSessions(), by("user", bson.D{{Key: "$exists", Value: true}}))
	if err == nil {
		err = s.changeAll(ctx, s.ownSessions(), bson.D{}, bson.D{{Key: "$unset", Value: fields}})
	}
	if err == nil {
		err = s.changeAll(ctx, s.audit(), bson.D{}, bson.D{{Key: "$unset", Value: by("actor", "")}})
	}
	if err != nil {
		return err
	}
	if err := s.ownSessions().Indexes().DropOne(ctx, ownPrefix+"user"); err != nil && !hasCode(err, codeNoCollection, codeNoIndex) {
		return err
	}
	if err := s.audit().Indexes().DropOne(ctx, ownPrefix+"user_occurred__id"); err != nil && !hasCode(err, codeNoCollection, codeNoIndex) {
		return err
	}
	return s.put(ctx, s.meta(), versionKey, bson.D{{Key: "$set", Value: by("version", int64(peopleVersion-1))}})
}

// down removes the schema version last, so that an interrupted call can be repeated.
func (s *Store) down(ctx context.Context, version int64) error {
	if version == 0 {
		return errors.New("there is no migration to roll back")
	}
	s.usable.Store(false)
	for _, i := range s.indexes() {
		if strings.HasPrefix(i.collection.Name(), ownPrefix) {
			continue // dropped as a whole
		}
		err := i.collection.Indexes().DropOne(ctx, i.name())
		if err != nil && !hasCode(err, codeNoCollection, codeNoIndex) {
			return err
		}
	}
	for _, c := range []*mongo.Collection{s.ownSessions(), s.people(), s.credentials(), s.mails(), s.once(), s.revocations(), s.permits(), s.leases(), s.audit(), s.meta()} {
		if err := c.Drop(ctx); err != nil && !hasCode(err, codeNoCollection) {
			return err
		}
	}
	return nil
}
