package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc/adapter"
)

// insert stores a document with a new _id, its first field. Retrying is therefore safe:
// a duplicate _id means that an earlier attempt has stored it.
func (s *Store) insert(ctx context.Context, c *mongo.Collection, d bson.D) error {
	tries := 0
	err := retry(ctx, outcomeUnknown, func() error {
		tries++
		_, err := c.InsertOne(ctx, d)
		return err
	})
	if tries > 1 && isDuplicate(err) {
		if _, found := s.first(ctx, c, by("_id", d[0].Value)); found == nil {
			return nil
		}
	}
	return err
}

// insertNew stores a document whose _id is a key that others may use. It does not retry
// if the document may have been stored: a duplicate would then look like another
// caller's document.
func (s *Store) insertNew(ctx context.Context, c *mongo.Collection, d bson.D) error {
	return retry(ctx, notExecuted, func() error {
		_, err := c.InsertOne(ctx, d)
		return err
	})
}

// change updates one document in place, or returns ErrNotFound if none matches. The
// update must be idempotent.
func (s *Store) change(ctx context.Context, c *mongo.Collection, filter, update bson.D) error {
	return retry(ctx, outcomeUnknown, func() error {
		r, err := c.UpdateOne(ctx, filter, update)
		if err == nil && r.MatchedCount == 0 {
			err = adapter.ErrNotFound
		}
		return err
	})
}

// changeAll updates all matching documents in place.
func (s *Store) changeAll(ctx context.Context, c *mongo.Collection, filter, update bson.D) error {
	return retry(ctx, outcomeUnknown, func() error {
		_, err := c.UpdateMany(ctx, filter, update)
		return err
	})
}

// changed is like change, but returns the document after the update.
func (s *Store) changed(ctx context.Context, c *mongo.Collection, filter, update bson.D) (d document, err error) {
	err = retry(ctx, outcomeUnknown, func() error {
		raw, err := c.FindOneAndUpdate(ctx, filter, update, options.FindOneAndUpdate().SetReturnDocument(options.After)).Raw()
		d = document{raw}
		return err
	})
	return d, err
}

// put updates the document with an _id, or creates it. If several callers create it at
// once, the server refuses all but one, and the others then update it.
func (s *Store) put(ctx context.Context, c *mongo.Collection, id any, update bson.D) error {
	may := func(err error) bool { return outcomeUnknown(err) || isDuplicate(err) }
	return retry(ctx, may, func() error {
		_, err := c.UpdateOne(ctx, by("_id", id), update, options.UpdateOne().SetUpsert(true))
		return err
	})
}

// replaced is like put, but returns the previous document, or an empty one if there was
// none.
func (s *Store) replaced(ctx context.Context, c *mongo.Collection, id any, update bson.D) (d document, err error) {
	may := func(err error) bool { return outcomeUnknown(err) || isDuplicate(err) }
	err = retry(ctx, may, func() error {
		raw, err := c.FindOneAndUpdate(ctx, by("_id", id), update, options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.Before)).Raw()
		d = document{raw}
		return err
	})
	if errors.Is(err, mongo.ErrNoDocuments) {
		return document{}, nil
	}
	return d, err
}

// delete removes at most one document and reports whether this call did. Of several
// callers, only one removes it. It retries only if the command was certainly not
// executed.
func (s *Store) delete(ctx context.Context, c *mongo.Collection, filter bson.D) (mine bool, err error) {
	err = retry(ctx, notExecuted, func() error {
		r, err := c.DeleteOne(ctx, filter)
		mine = err == nil && r.DeletedCount == 1
		return err
	})
	return mine, err
}

// deleteAll removes all matching documents.
func (s *Store) deleteAll(ctx context.Context, c *mongo.Collection, filter bson.D) (n int, err error) {
	err = retry(ctx, outcomeUnknown, func() error {
		r, err := c.DeleteMany(ctx, filter)
		if err == nil {
			n += int(r.DeletedCount)
		}
		return err
	})
	return n, err
}

// list returns all matching documents.
func (s *Store) list(ctx context.Context, c *mongo.Collection, filter bson.D, o *options.FindOptionsBuilder) (list []document, err error) {
	err = retry(ctx, outcomeUnknown, func() error {
		list = nil
		cursor, err := c.Find(ctx, filter, o)
		if err != nil {
			return err
		}
		var raws []bson.Raw
		if err := cursor.All(ctx, &raws); err != nil {
			return err
		}
		for _, raw := range raws {
			list = append(list, document{raw})
		}
		return nil
	})
	return list, err
}

// find returns options for list that read only some fields.
func find(fields ...string) *options.FindOptionsBuilder {
	projection := bson.D{}
	for _, field := range fields {
		projection = append(projection, bson.E{Key: field, Value: 1})
	}
	return options.Find().SetProjection(projection)
}

func ascending(fields ...string) (order bson.D) {
	for _, field := range fields {
		order = append(order, bson.E{Key: field, Value: 1})
	}
	return order
}

// undo runs f with its own timeout, even if ctx is done. Records that f fails to remove
// are either complete or without effect.
func undo(ctx context.Context, f func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoing)
	defer cancel()
	f(ctx)
}
