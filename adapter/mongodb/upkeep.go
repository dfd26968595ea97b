package mongodb

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc/adapter"
)

// maxContention limits how often Permit retries because others changed the same key.
const maxContention = 16

// UseOnce implements [adapter.Adapter]. If the answer is lost, the key counts as used.
func (s *Store) UseOnce(ctx context.Context, key string, expires time.Time) error {
	return s.do(ctx, "use once", func(ctx context.Context) error {
		return s.insertNew(ctx, s.once(), bson.D{{Key: "_id", Value: key}, {Key: "expires", Value: date(expires)}})
	})
}

// Permit implements [adapter.Adapter]. It counts one quota after the other, because no
// command of the server changes several documents at once.
func (s *Store) Permit(ctx context.Context, now time.Time, list ...adapter.Quota) (permitted int, wait time.Duration, err error) {
	err = s.do(ctx, "permit", func(ctx context.Context) error {
		for _, q := range list {
			if wait, err = s.permit(ctx, now, q); err != nil || wait > 0 {
				return err
			}
			permitted++
		}
		return nil
	})
	return permitted, wait, err
}

// permit counts an event, or returns how long until it would. It stores the time as a
// number of milliseconds, because the server cannot add to a date.
func (s *Store) permit(ctx context.Context, now time.Time, q adapter.Quota) (wait time.Duration, err error) {
	at, latest, interval := now.UnixMilli(), now.Add(q.Burst).UnixMilli(), q.Interval.Milliseconds()
	for range maxContention {
		counted, err := s.count(ctx, q.Key, at, latest, interval)
		if err != nil || counted {
			return 0, err
		}
		d, err := s.first(ctx, s.permits(), by("_id", q.Key))
		if paid := d.number("expires"); err == nil && paid > latest {
			most := latest + interval
			if paid > most { // written by a clock that was ahead, or for another rate
				err = s.change(ctx, s.permits(), by("_id", q.Key, bson.E{Key: "expires", Value: paid}), bson.D{{Key: "$set", Value: by("expires", most)}})
			}
			return time.Duration(min(paid, most)-latest) * time.Millisecond, ignore(adapter.ErrNotFound, err)
		}
		if err = ignore(adapter.ErrNotFound, err); err != nil { // otherwise it has just changed
			return 0, err
		}
	}
	return 0, errors.New("too many clients count at once")
}

// count counts an event and reports whether it was permitted. Each of the three cases
// (the stored time is in the future, in the past, or missing) is one atomic command.
func (s *Store) count(ctx context.Context, key string, now, latest, interval int64) (bool, error) {
	update := func(from bson.D, change bson.D, o *options.UpdateOneOptionsBuilder) (n int64, err error) {
		err = retry(ctx, notExecuted, func() error {
			r, err := s.permits().UpdateOne(ctx, by("_id", key, bson.E{Key: "expires", Value: from}), change, o)
			if err == nil {
				n = r.MatchedCount + r.UpsertedCount
			}
			return err
		})
		return n, err
	}
	n, err := update(bson.D{{Key: "$gt", Value: now}, {Key: "$lte", Value: latest}},
		bson.D{{Key: "$inc", Value: by("expires", interval)}}, options.UpdateOne())
	if err == nil && n == 0 {
		n, err = update(bson.D{{Key: "$lte", Value: now}}, bson.D{{Key: "$set", Value: by("expires", now+interval)}},
			options.UpdateOne().SetUpsert(true))
	}
	if isDuplicate(err) {
		return false, nil
	}
	return n > 0, err
}

// Lease implements [adapter.Adapter].
func (s *Store) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	return s.do(ctx, "lease", func(ctx context.Context) error { return s.lease(ctx, name, holder, now, until) })
}

// lease acquires or extends a lease. If another holder has it, the filter matches
// nothing and the insert fails as a duplicate.
func (s *Store) lease(ctx context.Context, name, holder string, now, until time.Time) error {
	free := bson.A{by("holder", holder), by("expires", bson.D{{Key: "$lt", Value: date(now)}})}
	return retry(ctx, outcomeUnknown, func() error {
		_, err := s.leases().UpdateOne(ctx, by("_id", name, bson.E{Key: "$or", Value: free}),
			bson.D{{Key: "$set", Value: bson.D{{Key: "holder", Value: holder}, {Key: "expires", Value: date(until)}}}},
			options.UpdateOne().SetUpsert(true))
		return err
	})
}

// Release implements [adapter.Adapter].
func (s *Store) Release(ctx context.Context, name, holder string) error {
	return s.do(ctx, "release", func(ctx context.Context) error { return s.release(ctx, name, holder) })
}

func (s *Store) release(ctx context.Context, name, holder string) error {
	_, err := s.deleteAll(ctx, s.leases(), by("_id", name, bson.E{Key: "holder", Value: holder}))
	return err
}

// GetMeta implements [adapter.Adapter].
func (s *Store) GetMeta(ctx context.Context, key string) (value string, err error) {
	err = s.do(ctx, "get meta", func(ctx context.Context) error {
		d, err := s.first(ctx, s.meta(), by("_id", key))
		value = d.text("value")
		return err
	})
	return value, err
}

// PutMeta implements [adapter.Adapter].
func (s *Store) PutMeta(ctx context.Context, key, value string) (string, error) {
	err := s.do(ctx, "put meta", func(ctx context.Context) error {
		return s.put(ctx, s.meta(), key, bson.D{{Key: "$setOnInsert", Value: by("value", value)}})
	})
	if err != nil {
		return "", err
	}
	return s.GetMeta(ctx, key)
}

// SetMeta implements [adapter.Adapter].
func (s *Store) SetMeta(ctx context.Context, key, value string) error {
	return s.do(ctx, "set meta", func(ctx context.Context) error {
		return s.put(ctx, s.meta(), key, bson.D{{Key: "$set", Value: by("value", value)}})
	})
}
