package mongodb

import (
	"context"
	"errors"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc/adapter"
)

// The revocation log. A record is one document:
//
//	_id        the key
//	user       the id of the user it concerns
//	seq        its number; the highest number of a user's records is the user's epoch
//	accounts   the number of a first proof; see epochs
//	pending    the number of its latest write, until it is published
//	cursor     its position in the log, once it is published
//	not_before the latest value of all writes of the key
//	expires    the latest value of all writes of the key
//
// All numbers come from one counter.
//
// A single write of seq revokes access: everything with a lower epoch ends, and nothing
// with the previous epoch can be written any more.
//
// Records without a number, written by NextAuth.js or an earlier version, grant access
// until they are deleted. They are deleted between two writes of seq: any access
// granted because of them then carries an epoch below the second one.

// sequenceKey is the key of the counter in authsvc_meta.
const sequenceKey = "authsvc_sequence"

// sessionsKey is the start of the key of a revocation of all sessions of a user.
const sessionsKey = "user:"

// takeNumbers advances the counter by n and returns the last of the n numbers.
func (s *Store) takeNumbers(ctx context.Context, n int64) (last int64, err error) {
	may := func(err error) bool { return outcomeUnknown(err) || isDuplicate(err) } // a retry may skip numbers
	err = retry(ctx, may, func() error {
		raw, err := s.meta().FindOneAndUpdate(ctx, by("_id", sequenceKey), bson.D{{Key: "$inc", Value: by("seq", n)}},
			options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Raw()
		last = document{raw}.number("seq")
		return err
	})
	return last, err
}

// takeNumbersFor takes numbers that are not below r's time in microseconds, so that no
// number repeats even after the counter was lost or reset.
func (s *Store) takeNumbersFor(ctx context.Context, r *adapter.Revocation, n int64) (last int64, err error) {
	if least := r.NotBefore.UnixMicro() - 1; least > 0 {
		if err := s.put(ctx, s.meta(), sequenceKey, bson.D{{Key: "$max", Value: by("seq", least)}}); err != nil {
			return 0, err
		}
	}
	return s.takeNumbers(ctx, n)
}

// lastNumber returns the number taken last.
func (s *Store) lastNumber(ctx context.Context) (int64, error) {
	d, err := s.first(ctx, s.meta(), by("_id", sequenceKey))
	return d.number("seq"), ignore(adapter.ErrNotFound, err)
}

// epochs holds the revocation numbers of a user.
type epochs struct {
	user     int64 // User.Epoch
	sessions int64 // User.SessionEpoch
	accounts int64 // number of the first proof; accounts linked at a lower one are invalid
}

func (s *Store) epochs(ctx context.Context, userID string) (epochs, error) {
	all, err := s.epochsOf(ctx, userID)
	return all[userID], err
}

// epochsOf returns the epochs of users by id. If there are concurrent writes, the
// result may already be outdated when it is returned. But epochs only grow: if an epoch
// equals one read earlier, it was in force at some moment in between.
func (s *Store) epochsOf(ctx context.Context, userIDs ...string) (map[string]epochs, error) {
	users, keys := bson.A{}, bson.A{}
	for _, id := range userIDs {
		users, keys = append(users, id), append(keys, sessionsKey+id)
	}
	found, err := s.list(ctx, s.revocations(), by("$or", bson.A{among("user", users), among("_id", keys)}), find("user", "seq", "accounts"))
	all := map[string]epochs{}
	for _, d := range found {
		of, ended := strings.CutPrefix(d.text("_id"), sessionsKey)
		if !ended {
			of = d.text("user")
		}
		e := all[of]
		e.user, e.accounts = max(e.user, d.number("seq")), max(e.accounts, d.number("accounts"))
		if ended {
			e.sessions = d.number("seq")
		}
		all[of] = e
	}
	return all, err
}

// unchanged returns ErrStale if the user's epoch is no longer epoch.
func (s *Store) unchanged(ctx context.Context, userID string, epoch int64) error {
	e, err := s.epochs(ctx, userID)
	if err == nil && e.user != epoch {
		err = adapter.ErrStale
	}
	return err
}

// GetEpoch implements [adapter.Adapter].
func (s *Store) GetEpoch(ctx context.Context, userID string) (epoch int64, err error) {
	err = s.do(ctx, "get epoch", func(ctx context.Context) error {
		e, err := s.epochs(ctx, userID)
		epoch = e.user
		return err
	})
	return epoch, err
}

// A revocationKind extends a revocation beyond its key.
type revocationKind struct {
	accounts    bool  // a first proof: also ends accounts linked earlier
	conditional bool  // for revokeAndRemove: of all writers of a key that read the same epoch, only one succeeds
	epoch       int64 // if conditional: the required epoch of the user
}

var sessionRevocation = revocationKind{}

func proofRevocation(epoch int64) revocationKind { return revocationKind{true, true, epoch} }

func unlinkRevocation(epoch int64) revocationKind { return revocationKind{false, true, epoch} }

// raiseEpoch writes r with a new number, which becomes the user's epoch. Numbers may be
// written out of order: if a higher one already exists, which a sign-in may have read,
// raiseEpoch takes an even higher one.
func (s *Store) raiseEpoch(ctx context.Context, r *adapter.Revocation, of revocationKind) error {
	n, err := s.takeNumbersFor(ctx, r, 1)
	if err != nil {
		return err
	}
	return s.raiseEpochTo(ctx, r, of, n)
}

// raiseEpochTo is raiseEpoch, starting with a number already taken.
func (s *Store) raiseEpochTo(ctx context.Context, r *adapter.Revocation, of revocationKind, n int64) error {
	for try := 1; ; try++ {
		before, err := s.writeRevocation(ctx, r, of, n)
		if err != nil {
			return err
		}
		if before < n {
			first, err := s.isHighest(ctx, r)
			if err != nil || first {
				return err
			}
		}
		if err := wait(ctx, try); err != nil {
			return err
		}
		if n, err = s.takeNumbers(ctx, 1); err != nil {
			return err
		}
	}
}

// writeRevocation merges r into its record and returns the record's previous number.
func (s *Store) writeRevocation(ctx context.Context, r *adapter.Revocation, of revocationKind, n int64) (before int64, err error) {
	d, err := s.replaced(ctx, s.revocations(), r.Key, revocationUpdate(r, n, of))
	if err == nil {
		r.Seq = n
	}
	return d.number("seq"), err
}

// isHighest reports whether no other record of the user has a higher number.
func (s *Store) isHighest(ctx context.Context, r *adapter.Revocation) (bool, error) {
	if r.UserID == "" {
		return true, nil
	}
	_, err := s.first(ctx, s.revocations(), bson.D{{Key: "user", Value: r.UserID}, {Key: "seq", Value: bson.D{{Key: "$gt", Value: r.Seq}}},
		{Key: "_id", Value: bson.D{{Key: "$ne", Value: r.Key}}}})
	return errors.Is(err, adapter.ErrNotFound), ignore(adapter.ErrNotFound, err)
}

// revocationUpdate returns the update that merges r into its record.
func revocationUpdate(r *adapter.Revocation, n int64, of revocationKind) bson.D {
	latest := bson.D{{Key: "seq", Value: n}, {Key: "not_before", Value: date(r.NotBefore)}, {Key: "expires", Value: date(r.Expires)}}
	if of.accounts {
		latest = append(latest, bson.E{Key: "accounts", Value: n})
	}
	set := by("pending", n)
	if r.UserID != "" {
		set = append(set, bson.E{Key: "user", Value: r.UserID})
	}
	return bson.D{{Key: "$max", Value: latest}, {Key: "$set", Value: set}}
}

// publish gives a record written by raiseEpoch its position in the log. Until then
// every reader receives the record, even if the writer dies. If another writer changed
// the record in between, that writer's publish serves both.
func (s *Store) publish(ctx context.Context, r *adapter.Revocation) {
	undo(ctx, func(ctx context.Context) {
		if n, err := s.takeNumbers(ctx, 1); err == nil {
			s.publishAt(ctx, r, n) //nolint:errcheck // it stays pending
		}
	})
}

// publishAt publishes r at position n-1, where n is a number taken after r was written.
// Without concurrent writers, n-1 is the number of r itself.
func (s *Store) publishAt(ctx context.Context, r *adapter.Revocation, n int64) error {
	return s.change(ctx, s.revocations(), by("_id", r.Key, bson.E{Key: "pending", Value: r.Seq}),
		bson.D{{Key: "$max", Value: by("cursor", n-1)}, {Key: "$unset", Value: by("pending", "")}})
}

// revoke writes and publishes one record.
func (s *Store) revoke(ctx context.Context, r *adapter.Revocation) error {
	err := s.raiseEpoch(ctx, r, sessionRevocation)
	if err == nil {
		s.publish(ctx, r)
	}
	return err
}

// revokeAndRemove calls remove between two writes of r, so that a concurrent sign-in
// gains nothing; see the top of this file. It returns the number of the second write,
// which is below the user's epoch if another revocation happened meanwhile. If it is
// interrupted, the record stays pending. The next attempt repeats everything or, if
// nothing is left to remove, finishes it.
func (s *Store) revokeAndRemove(ctx context.Context, r *adapter.Revocation, of revocationKind, remove func(context.Context) error) (n int64, err error) {
	n, err = s.takeNumbersFor(ctx, r, 2)
	if err == nil {
		err = s.beginRevocation(ctx, r, of, n-1)
	}
	if err == nil {
		err = remove(ctx)
	}
	if err == nil {
		err = s.raiseEpochTo(ctx, r, of, n)
	}
	if err == nil {
		s.publish(ctx, r)
	}
	return n, err
}

// beginRevocation does the first write of revokeAndRemove. A conditional revocation is
// written only if the record of its key is not later than the required epoch; otherwise
// beginRevocation returns ErrStale.
func (s *Store) beginRevocation(ctx context.Context, r *adapter.Revocation, of revocationKind, n int64) error {
	if !of.conditional {
		_, err := s.writeRevocation(ctx, r, of, n)
		return err
	}
	earlier := by("_id", r.Key, bson.E{Key: "seq", Value: bson.D{{Key: "$not", Value: bson.D{{Key: "$gt", Value: of.epoch}}}}})
	for try := 1; ; try++ {
		err := retry(ctx, outcomeUnknown, func() error {
			_, err := s.revocations().UpdateOne(ctx, earlier, revocationUpdate(r, n, of), options.UpdateOne().SetUpsert(true))
			return err
		})
		if err == nil {
			r.Seq = n
		}
		if !isDuplicate(err) { // a duplicate: the record is later than the epoch, or was just created
			return err
		}
		if err := s.unchanged(ctx, r.UserID, of.epoch); err != nil {
			return err
		}
		if err := wait(ctx, try); err != nil {
			return err
		}
	}
}

// Revoke implements [adapter.Adapter]. Each record takes effect when it is written.
// After an error, the caller must repeat the call.
func (s *Store) Revoke(ctx context.Context, list ...*adapter.Revocation) error {
	return s.do(ctx, "revoke", func(ctx context.Context) error {
		for _, r := range list {
			if err := s.revoke(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Revocations implements [adapter.Adapter].
//
// A record is published at n-1, where n is taken after the record was written. A reader
// first reads the last number, then the pending records, then the published ones; its
// next cursor is at most last-1. So if its cursor is n-1 or more, n was taken, and the
// record written, before the reader looked. The reader therefore found the record
// pending, or published at n-1 or later, on this page or a following one.
//
// If the last number is below the reader's cursor, the database was restored to an
// earlier state, and the reader starts again.
func (s *Store) Revocations(ctx context.Context, after int64, limit int) (list []adapter.Revocation, next int64, err error) {
	next = after
	err = s.do(ctx, "revocations", func(ctx context.Context) error {
		for {
			last, err := s.lastNumber(ctx)
			if err != nil {
				return err
			}
			found, err := s.list(ctx, s.revocations(), by("pending", bson.D{{Key: "$exists", Value: true}}), options.Find())
			if err != nil {
				return err
			}
			if last-1 < after {
				after, next = 0, 0
			}
			page, err := s.list(ctx, s.revocations(), by("cursor", bson.D{{Key: "$gt", Value: after}}),
				options.Find().SetSort(ascending("cursor")).SetLimit(int64(limit)))
			if err != nil {
				return err
			}
			list = readRevocations(append(page, found...))
			if len(page) > 0 {
				next = max(after, min(page[len(page)-1].number("cursor"), last-1))
			}
			if next > after || len(page) < limit {
				return nil
			} // a full page at last-1 or later: read the last number again
		}
	})
	if err != nil {
		return nil, after, err
	}
	return list, next, nil
}

func readRevocations(found []document) (list []adapter.Revocation) {
	for _, d := range found {
		list = append(list, adapter.Revocation{Key: d.text("_id"), UserID: d.text("user"), Seq: d.number("seq"),
			NotBefore: d.instant("not_before"), Expires: d.instant("expires")})
	}
	return list
}

// finishDeletion writes the second number of a deletion that was interrupted after its
// user or account was removed. It returns ErrNotFound if there is no such deletion.
func (s *Store) finishDeletion(ctx context.Context, r *adapter.Revocation) error {
	_, err := s.first(ctx, s.revocations(), by("_id", r.Key, bson.E{Key: "pending", Value: bson.D{{Key: "$exists", Value: true}}}))
	if err != nil {
		return err
	}
	return s.revoke(ctx, r)
}
