package mongodb

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc"
)

// contenders bounds how often a count may fall between two changes by others.
const contenders = 16

// UseOnce implements [authsvc.Adapter]. Should the answer be lost, the key is
// used.
func (s *Store) UseOnce(ctx context.Context, key string, expires time.Time) error {
	return s.do(ctx, "use once", func(ctx context.Context) error {
		return s.insertNew(ctx, s.once(), bson.D{{Key: "_id", Value: key}, {Key: "expires", Value: date(expires)}})
	})
}

// Revoke implements [authsvc.Adapter].
func (s *Store) Revoke(ctx context.Context, r authsvc.Revocation) error {
	return s.do(ctx, "revoke", func(ctx context.Context) error { return s.revoke(ctx, &r) })
}

// revoke merges r, which may be nil, into the stored record.
func (s *Store) revoke(ctx context.Context, r *authsvc.Revocation) error {
	if r == nil {
		return nil
	}
	return s.put(ctx, s.revocations(), r.Key, bson.D{
		{Key: "$max", Value: bson.D{{Key: "not_before", Value: date(r.NotBefore)}, {Key: "expires", Value: date(r.Expires)}}},
		{Key: "$set", Value: by("written", date(r.Written))},
	})
}

// Revocations implements [authsvc.Adapter].
func (s *Store) Revocations(ctx context.Context, since time.Time) (list []authsvc.Revocation, err error) {
	err = s.do(ctx, "revocations", func(ctx context.Context) error {
		found, err := s.list(ctx, s.revocations(), by("written", bson.D{{Key: "$gte", Value: date(since)}}),
			options.Find().SetSort(ascending("written", "_id")))
		for _, d := range found {
			list = append(list, authsvc.Revocation{Key: d.text("_id"), NotBefore: d.instant("not_before"),
				Written: d.instant("written"), Expires: d.instant("expires")})
		}
		return err
	})
	return list, err
}

// Permit implements [authsvc.Adapter]. The time that is paid for is a number
// of milliseconds, since the server adds to numbers only.
func (s *Store) Permit(ctx context.Context, key string, now time.Time, interval, burst time.Duration) (wait time.Duration, err error) {
	at, latest := now.UnixMilli(), now.Add(burst).UnixMilli()
	err = s.do(ctx, "permit", func(ctx context.Context) error {
		for range contenders {
			counted, err := s.count(ctx, key, at, latest, interval.Milliseconds())
			if err != nil || counted {
				return err
			}
			d, err := s.first(ctx, s.permits(), by("_id", key))
			if err == nil && d.number("expires") > latest {
				wait = time.Duration(d.number("expires")-latest) * time.Millisecond
				return nil
			}
			if err = unless(authsvc.ErrNotFound, err); err != nil { // else it has just changed
				return err
			}
		}
		return errors.New("too many others count at once")
	})
	return wait, err
}

// count counts an event unless that is refused. Of the three cases, ahead of
// now, past and unknown, each is one atomic command.
func (s *Store) count(ctx context.Context, key string, now, latest, interval int64) (bool, error) {
	update := func(from bson.D, change bson.D, o *options.UpdateOneOptionsBuilder) (n int64, err error) {
		err = retry(ctx, refused, func() error {
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
	if duplicate(err) {
		return false, nil
	}
	return n > 0, err
}

// Lease implements [authsvc.Adapter]. When somebody else holds it, the filter
// finds nothing and the key is taken.
func (s *Store) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	free := bson.A{by("holder", holder), by("expires", bson.D{{Key: "$lt", Value: date(now)}})}
	return s.do(ctx, "lease", func(ctx context.Context) error {
		return retry(ctx, unclear, func() error {
			_, err := s.leases().UpdateOne(ctx, by("_id", name, bson.E{Key: "$or", Value: free}),
				bson.D{{Key: "$set", Value: bson.D{{Key: "holder", Value: holder}, {Key: "expires", Value: date(until)}}}},
				options.UpdateOne().SetUpsert(true))
			return err
		})
	})
}

// Release implements [authsvc.Adapter].
func (s *Store) Release(ctx context.Context, name, holder string) error {
	return s.do(ctx, "release", func(ctx context.Context) error {
		_, err := s.deleteAll(ctx, s.leases(), by("_id", name, bson.E{Key: "holder", Value: holder}))
		return err
	})
}

// GetMeta implements [authsvc.Adapter].
func (s *Store) GetMeta(ctx context.Context, key string) (value string, err error) {
	err = s.do(ctx, "get meta", func(ctx context.Context) error {
		d, err := s.first(ctx, s.meta(), by("_id", key))
		value = d.text("value")
		return err
	})
	return value, err
}

// PutMeta implements [authsvc.Adapter].
func (s *Store) PutMeta(ctx context.Context, key, value string) (string, error) {
	err := s.do(ctx, "put meta", func(ctx context.Context) error {
		return s.put(ctx, s.meta(), key, bson.D{{Key: "$setOnInsert", Value: by("value", value)}})
	})
	if err != nil {
		return "", err
	}
	return s.GetMeta(ctx, key)
}

// SetMeta implements [authsvc.Adapter].
func (s *Store) SetMeta(ctx context.Context, key, value string) error {
	return s.do(ctx, "set meta", func(ctx context.Context) error {
		return s.put(ctx, s.meta(), key, bson.D{{Key: "$set", Value: by("value", value)}})
	})
}
