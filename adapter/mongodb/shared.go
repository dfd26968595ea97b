package mongodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/sql/stores"
)

// sharedNames lists the logical names of the shared collections.
func sharedNames() []string { return []string{"User", "Account", "Session", "VerificationToken"} }

// Shared lists the collections that a NextAuth.js application may share, with their
// documents. It writes nothing.
func (s *Store) Shared(ctx context.Context) (list []SharedTable, err error) {
	have, err := s.collections(ctx)
	if err != nil {
		return nil, withContextError(ctx, err)
	}
	for _, logical := range sharedNames() {
		t := SharedTable{Logical: logical, Name: s.names.of(logical)}
		if t.Exists = slices.Contains(have, t.Name); t.Exists {
			if t.Rows, err = s.countAll(ctx, t.Name); err != nil {
				return nil, withContextError(ctx, err)
			}
		}
		list = append(list, t)
	}
	return list, nil
}

func (s *Store) collections(ctx context.Context) (names []string, err error) {
	err = retry(ctx, outcomeUnknown, func() error {
		names, err = s.db.ListCollectionNames(ctx, bson.D{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("mongodb: list the collections: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

func (s *Store) countAll(ctx context.Context, collection string) (n int64, err error) {
	err = retry(ctx, outcomeUnknown, func() error {
		n, err = s.db.Collection(collection).EstimatedDocumentCount(ctx)
		return err
	})
	if err != nil {
		err = fmt.Errorf("mongodb: count the documents of %s: %w", collection, err)
	}
	return n, err
}

// Usable returns the error with which Migrate would refuse to create collections, or
// nil. It writes nothing.
func (s *Store) Usable(ctx context.Context) error {
	version, err := s.version(ctx)
	if err == nil && version == 0 {
		err = s.checkMissed(ctx)
	}
	return withContextError(ctx, err)
}

// checkMissed returns a [stores.MissedError] if a shared collection would be created
// although a similar one exists.
func (s *Store) checkMissed(ctx context.Context) error {
	if !s.shares {
		return nil
	}
	have, err := s.collections(ctx)
	if err != nil {
		return err
	}
	var missing, absent, similar []string
	for _, logical := range sharedNames() {
		if name := s.names.of(logical); !slices.Contains(have, name) {
			missing, absent = append(missing, logical), append(absent, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	all, err := s.samples(ctx, have)
	if err != nil {
		return err
	}
	like := s.naming.Similar(sqladapter.Names(s.names), missing, all, resolveNames)
	if like == nil {
		return nil
	}
	for _, logical := range missing {
		if f, ok := like.Tables[logical]; ok {
			n, err := s.countAll(ctx, f.Name)
			if err != nil {
				return err
			}
			similar = append(similar, fmt.Sprintf("%s (documents: %d)", f.Name, n))
		}
	}
	return fmt.Errorf("mongodb: %w", stores.Missed(absent, similar, like.Naming.YAML(), ""))
}

// sampleSize is how many documents of a collection samples reads. Fields without a
// value are absent from some.
const sampleSize = 20

// errUnauthorized is the code of the error if the user lacks a right.
const errUnauthorized = 13

// samples returns the collections with the fields of some of their documents. It leaves
// out those of the server, such as the profiler's, and those that the user in the URL may
// not read.
func (s *Store) samples(ctx context.Context, names []string) (list []sqladapter.Found, err error) {
	for _, name := range names {
		if strings.HasPrefix(name, "system.") {
			continue
		}
		some, err := s.list(ctx, s.db.Collection(name), bson.D{}, find().SetLimit(sampleSize))
		var server mongo.ServerError
		if errors.As(err, &server) && server.HasErrorCode(errUnauthorized) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("mongodb: read the collection %s: %w", name, err)
		}
		f := sqladapter.Found{Name: name}
		for _, d := range some {
			elements, err := d.Elements()
			if err != nil {
				return nil, fmt.Errorf("mongodb: read the collection %s: %w", name, err)
			}
			for _, e := range elements {
				if !slices.Contains(f.Columns, e.Key()) {
					f.Columns = append(f.Columns, e.Key())
				}
			}
		}
		list = append(list, f)
	}
	return list, nil
}

func resolveNames(n Naming) (sqladapter.Names, error) {
	resolved, err := resolve(n)
	return sqladapter.Names(resolved), err
}
