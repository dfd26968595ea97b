package mongodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// ownPrefix is the start of the names of authsvc's own collections and indexes.
const ownPrefix = "authsvc_"

const (
	codeNoCollection   = 26
	codeNoIndex        = 27
	codeNotImplemented = 238
)

// An index is an index that a collection must have.
type index struct {
	collection *mongo.Collection
	fields     []string
	unique     bool
	optional   bool // unique among documents whose only index field is text
}

func (i index) name() string { return ownPrefix + strings.Join(i.fields, "_") }

func (i index) String() string {
	kind := "index"
	if i.unique {
		kind = "unique index"
	}
	return fmt.Sprintf("%s over (%s) of %s", kind, strings.Join(i.fields, ", "), i.collection.Name())
}

// indexes returns all indexes that uniqueness and queries depend on.
func (s *Store) indexes() []index {
	field := s.names.of
	return []index{
		{s.users(), []string{field("User.email")}, true, true},
		{s.accounts(), []string{field("Account.provider"), field("Account.providerAccountId")}, true, false},
		{s.accounts(), []string{field("Account.userId")}, false, false},
		{s.sessions(), []string{field("Session.sessionToken")}, true, false},
		{s.sessions(), []string{field("Session.userId")}, false, false},
		{s.sessions(), []string{field("Session.expires")}, false, false},
		{s.links(), []string{field("VerificationToken.identifier"), field("VerificationToken.token")}, true, false},
		{s.links(), []string{field("VerificationToken.token")}, true, false},
		{s.links(), []string{field("VerificationToken.expires")}, false, false},
		{s.ownSessions(), []string{"session"}, false, false},
		{s.ownSessions(), []string{"expires"}, false, false},
		{s.ownSessions(), []string{"user"}, false, false},
		{s.people(), []string{"delete_after"}, false, false},
		{s.credentials(), []string{"user", "kind"}, false, false},
		{s.credentials(), []string{"place"}, true, false},
		{s.credentials(), []string{"expires"}, false, false},
		{s.mails(), []string{"slot"}, true, false},
		{s.mails(), []string{"due", "_id"}, false, false},
		{s.mails(), []string{"expires"}, false, false},
		{s.once(), []string{"expires"}, false, false},
		{s.revocations(), []string{"user", "seq"}, false, false},
		{s.revocations(), []string{"cursor"}, false, false},
		{s.revocations(), []string{"pending"}, false, false},
		{s.revocations(), []string{"expires"}, false, false},
		{s.permits(), []string{"expires"}, false, false},
		{s.leases(), []string{"expires"}, false, false},
		{s.audit(), []string{"occurred", "_id"}, false, false},
		{s.audit(), []string{"user", "occurred", "_id"}, false, false},
	}
}

// missing returns the indexes that do not exist.
func (s *Store) missing(ctx context.Context) (list []index, err error) {
	have := map[string][]document{}
	for _, want := range s.indexes() {
		name := want.collection.Name()
		if _, known := have[name]; !known {
			if have[name], err = existing(ctx, want.collection); err != nil {
				return nil, err
			}
		}
		if !slices.ContainsFunc(have[name], want.servedBy) {
			list = append(list, want)
		}
	}
	return list, nil
}

// existing returns the indexes of a collection, or none if the collection does not
// exist.
func existing(ctx context.Context, c *mongo.Collection) (list []document, err error) {
	err = retry(ctx, outcomeUnknown, func() error {
		list = nil
		cursor, err := c.Indexes().List(ctx)
		if err != nil {
			return err
		}
		var raws []bson.Raw
		err = cursor.All(ctx, &raws)
		for _, raw := range raws {
			list = append(list, document{raw})
		}
		return err
	})
	if hasCode(err, codeNoCollection) {
		return nil, nil
	}
	return list, err
}

// servedBy reports whether an existing index, perhaps created by another program, can
// replace this one. Its uniqueness must be exactly the same.
func (i index) servedBy(have document) bool {
	fields := fieldsOf(have)
	if !i.unique {
		return len(fields) >= len(i.fields) && slices.Equal(fields[:len(i.fields)], i.fields) && !have.has("partialFilterExpression")
	}
	unique, _ := have.Lookup("unique").BooleanOK()
	want := slices.Sorted(slices.Values(i.fields))
	if !unique || have.has("collation") || !slices.Equal(slices.Sorted(slices.Values(fields)), want) {
		return false
	}
	if !i.optional {
		return !have.has("partialFilterExpression")
	}
	sparse, _ := have.Lookup("sparse").BooleanOK()
	return sparse || have.text("name") == i.name() || i.coversText(have)
}

// coversText reports whether have is a partial index over all documents whose field is
// text.
func (i index) coversText(have document) bool {
	condition, ok := have.Lookup("partialFilterExpression", i.fields[0]).DocumentOK()
	if !ok {
		return false
	}
	exists, _ := condition.Lookup("$exists").BooleanOK()
	kind, _ := condition.Lookup("$type").StringValueOK()
	return exists || kind == "string" || kind == "2"
}

func (d document) has(field string) bool { return !d.Lookup(field).IsZero() }

func fieldsOf(have document) (fields []string) {
	key, _ := have.Lookup("key").DocumentOK()
	elements, _ := key.Elements()
	for _, e := range elements {
		fields = append(fields, e.Key())
	}
	return fields
}

// create creates the index unless it exists.
func (i index) create(ctx context.Context) error {
	o := options.Index().SetName(i.name())
	if i.unique {
		o.SetUnique(true)
	}
	if i.optional {
		o.SetPartialFilterExpression(by(i.fields[0], by("$type", "string")))
	}
	err := i.make(ctx, o)
	if i.optional && hasCode(err, codeNotImplemented) {
		if err := i.probe(ctx); err != nil {
			return err
		}
		err = i.make(ctx, options.Index().SetName(i.name()).SetUnique(true))
	}
	if isDuplicate(err) { // the server quotes the value
		return fmt.Errorf("cannot create %s: some documents have the same values; remove or merge them first", i)
	}
	if err != nil {
		return fmt.Errorf("cannot create %s: %w", i, err)
	}
	return nil
}

func (i index) make(ctx context.Context, o *options.IndexOptionsBuilder) error {
	return retry(ctx, outcomeUnknown, func() error {
		_, err := i.collection.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: ascending(i.fields...), Options: o})
		return err
	})
}

// probe checks that a server without partial indexes accepts several documents that
// lack the field under a plain unique index.
func (i index) probe(ctx context.Context) error {
	i.collection = i.collection.Database().Collection(ownPrefix + "probe_" + bson.NewObjectID().Hex())
	defer undo(ctx, func(ctx context.Context) { i.collection.Drop(ctx) }) //nolint:errcheck
	if err := i.make(ctx, options.Index().SetName(i.name()).SetUnique(true)); err != nil {
		return err
	}
	for range 2 {
		_, err := i.collection.InsertOne(ctx, by("_id", bson.NewObjectID()))
		if isDuplicate(err) {
			return errors.New("the server has no partial indexes, and accepts only one user without email")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// verify returns an error that names all missing indexes and says how to create them.
func (s *Store) verify(ctx context.Context) error {
	missing, err := s.missing(ctx)
	if err != nil {
		return fmt.Errorf("mongodb: read the indexes: %w", err)
	}
	if len(missing) == 0 {
		return nil
	}
	var list []string
	for _, i := range missing {
		list = append(list, i.String())
	}
	return fmt.Errorf("mongodb: missing in %s: %s: run authsvc migrate up", s.db.Name(), strings.Join(list, "; "))
}

// check verifies once that the indexes that enforce uniqueness exist.
func (s *Store) check(ctx context.Context) error {
	if s.usable.Load() {
		return nil
	}
	err := s.checkVersion(ctx)
	if err == nil {
		err = s.verify(ctx)
	}
	if err == nil {
		s.usable.Store(true)
	}
	return err
}
