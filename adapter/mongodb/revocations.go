package mongodb

import (
	"context"
	"errors"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc"
)

// The log of revocations. A record is one document:
//
//	_id      the key
//	user     whom it is about
//	seq      its number; the highest of a user's is the user's epoch
//	accounts the number of a first proof: see epochs
//	pending  the number of its latest write, until it is entered
//	cursor   its place in the log, once it is entered
//
// and not_before and expires, of which it keeps the latest. Numbers come from
// one counter.
//
// What takes access back is one write of seq: at once, all that notes a lower
// epoch has ended, and what notes the epoch of before can no longer be written.
// What has no number, since NextAuth.js or an earlier version wrote it, ends by
// being removed, and entitles until it is. So it is removed between two such
// writes: whoever was entitled by it has noted an epoch below the second.

// sequenceKey is where authsvc_meta counts.
const sequenceKey = "authsvc_sequence"

// sessionsKey begins the key of what is of all sessions of a user.
const sessionsKey = "user:"

// numbers takes n new numbers and returns the last of them.
func (s *Store) numbers(ctx context.Context, n int64) (last int64, err error) {
	may := func(err error) bool { return outcomeUnknown(err) || duplicate(err) } // some may be lost
	err = retry(ctx, may, func() error {
		raw, err := s.meta().FindOneAndUpdate(ctx, by("_id", sequenceKey), bson.D{{Key: "$inc", Value: by("seq", n)}},
			options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Raw()
		last = document{raw}.number("seq")
		return err
	})
	return last, err
}

// reserve takes n new numbers for r and returns the last of them. None is less
// than the time in microseconds, so that no number returns when the counter was
// lost or set back.
func (s *Store) reserve(ctx context.Context, r *authsvc.Revocation, n int64) (last int64, err error) {
	if least := r.NotBefore.UnixMicro() - 1; least > 0 {
		if err := s.put(ctx, s.meta(), sequenceKey, bson.D{{Key: "$max", Value: by("seq", least)}}); err != nil {
			return 0, err
		}
	}
	return s.numbers(ctx, n)
}

// counted is the number that was taken last.
func (s *Store) counted(ctx context.Context) (int64, error) {
	d, err := s.first(ctx, s.meta(), by("_id", sequenceKey))
	return d.number("seq"), ignore(authsvc.ErrNotFound, err)
}

// epochs are what the log knows of a user.
type epochs struct {
	user     int64 // User.Epoch
	sessions int64 // User.SessionEpoch
	accounts int64 // of the first proof; what was linked at a lower one does not count
}

func (s *Store) epochs(ctx context.Context, userID string) (epochs, error) {
	all, err := s.epochsOf(ctx, userID)
	return all[userID], err
}

// epochsOf are those of users, by id. While records are being written the one
// that is read first may be older than the others. What is then found equal to
// an epoch that was noted earlier was so at that moment, since epochs only grow.
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

// unchanged reports ErrStale when the epoch is not that of the user any more.
func (s *Store) unchanged(ctx context.Context, userID string, epoch int64) error {
	e, err := s.epochs(ctx, userID)
	if err == nil && e.user != epoch {
		err = authsvc.ErrStale
	}
	return err
}

// GetEpoch implements [authsvc.Adapter].
func (s *Store) GetEpoch(ctx context.Context, userID string) (epoch int64, err error) {
	err = s.do(ctx, "get epoch", func(ctx context.Context) error {
		e, err := s.epochs(ctx, userID)
		epoch = e.user
		return err
	})
	return epoch, err
}

// A kind of revocation, beside what its key says.
type kind struct {
	accounts bool  // a first proof: what was linked before does not count either
	epoch    int64 // of the user, while which only the first proof is made
}

var ofSessions = kind{}

func ofProof(epoch int64) kind { return kind{true, epoch} }

// raise writes r under a new number, which becomes the user's epoch. Numbers
// may be written in another order than they were taken in: if a higher one was
// there, which somebody may have noted before, a still higher one is needed.
func (s *Store) raise(ctx context.Context, r *authsvc.Revocation, of kind) error {
	n, err := s.reserve(ctx, r, 1)
	if err != nil {
		return err
	}
	return s.raiseTo(ctx, r, of, n)
}

// raiseTo is raise with a number that was taken already.
func (s *Store) raiseTo(ctx context.Context, r *authsvc.Revocation, of kind, n int64) error {
	for try := 1; ; try++ {
		before, err := s.write(ctx, r, of, n)
		if err != nil {
			return err
		}
		if before < n {
			first, err := s.highest(ctx, r)
			if err != nil || first {
				return err
			}
		}
		if err := backoff(ctx, try); err != nil {
			return err
		}
		if n, err = s.numbers(ctx, 1); err != nil {
			return err
		}
	}
}

// write merges r into its record, whose number before it returns.
func (s *Store) write(ctx context.Context, r *authsvc.Revocation, of kind, n int64) (before int64, err error) {
	d, err := s.replaced(ctx, s.revocations(), r.Key, recordOf(r, n, of))
	if err == nil {
		r.Seq = n
	}
	return d.number("seq"), err
}

// highest reports whether no other record about the user has a higher number.
func (s *Store) highest(ctx context.Context, r *authsvc.Revocation) (bool, error) {
	if r.UserID == "" {
		return true, nil
	}
	_, err := s.first(ctx, s.revocations(), bson.D{{Key: "user", Value: r.UserID}, {Key: "seq", Value: bson.D{{Key: "$gt", Value: r.Seq}}},
		{Key: "_id", Value: bson.D{{Key: "$ne", Value: r.Key}}}})
	return errors.Is(err, authsvc.ErrNotFound), ignore(authsvc.ErrNotFound, err)
}

// recordOf merges r into what is stored.
func recordOf(r *authsvc.Revocation, n int64, of kind) bson.D {
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

// enter gives what raise has written its place in the log. Until then, and if
// its writer dies before, every reader is told of it. Whoever wrote to the same
// record in between does it for both.
func (s *Store) enter(ctx context.Context, r *authsvc.Revocation) {
	undo(ctx, func(ctx context.Context) {
		if n, err := s.numbers(ctx, 1); err == nil {
			s.enterAs(ctx, r, n) //nolint:errcheck // it stays pending
		}
	})
}

// enterAs enters r with a number. At rest nobody takes one between that of r
// and this, and n-1 is that of r.
func (s *Store) enterAs(ctx context.Context, r *authsvc.Revocation, n int64) error {
	return s.change(ctx, s.revocations(), by("_id", r.Key, bson.E{Key: "pending", Value: r.Seq}),
		bson.D{{Key: "$max", Value: by("cursor", n-1)}, {Key: "$unset", Value: by("pending", "")}})
}

// revoke writes one record.
func (s *Store) revoke(ctx context.Context, r *authsvc.Revocation) error {
	err := s.raise(ctx, r, ofSessions)
	if err == nil {
		s.enter(ctx, r)
	}
	return err
}

// takeBack writes r and removes what it is of, in a way that leaves nothing to
// those who are just using it; see above. It returns the number that it wanted,
// which is less than the user's epoch when access was taken back meanwhile. If
// it is interrupted the record is pending and the next try does it all.
func (s *Store) takeBack(ctx context.Context, r *authsvc.Revocation, of kind, remove func(context.Context) error) (n int64, err error) {
	n, err = s.reserve(ctx, r, 2)
	if err == nil {
		err = s.begin(ctx, r, of, n-1)
	}
	if err == nil {
		err = remove(ctx)
	}
	if err == nil {
		err = s.raiseTo(ctx, r, of, n)
	}
	if err == nil {
		s.enter(ctx, r)
	}
	return n, err
}

// begin is the first write of takeBack. That of a proof is made while no other
// record under its key, which is one of what takes all access back, is later
// than the epoch that the proof noted.
func (s *Store) begin(ctx context.Context, r *authsvc.Revocation, of kind, n int64) error {
	if !of.accounts {
		_, err := s.write(ctx, r, of, n)
		return err
	}
	earlier := by("_id", r.Key, bson.E{Key: "seq", Value: bson.D{{Key: "$not", Value: bson.D{{Key: "$gt", Value: of.epoch}}}}})
	for try := 1; ; try++ {
		err := retry(ctx, outcomeUnknown, func() error {
			_, err := s.revocations().UpdateOne(ctx, earlier, recordOf(r, n, of), options.UpdateOne().SetUpsert(true))
			return err
		})
		if err == nil {
			r.Seq = n
		}
		if !duplicate(err) { // else a record is there that is later, or was not there a moment ago
			return err
		}
		if err := s.unchanged(ctx, r.UserID, of.epoch); err != nil {
			return err
		}
		if err := backoff(ctx, try); err != nil {
			return err
		}
	}
}

// Revoke implements [authsvc.Adapter]. Each record counts from its own write
// on; whoever is told of an error tries again.
func (s *Store) Revoke(ctx context.Context, list ...*authsvc.Revocation) error {
	return s.do(ctx, "revoke", func(ctx context.Context) error {
		for _, r := range list {
			if err := s.revoke(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Revocations implements [authsvc.Adapter].
//
// The number n that a record is entered with, as n-1, is taken after the record
// was written. The reader goes on from at most counted-1, and looks for what is
// pending, then for what is entered, after it has read counted. So when it goes
// on from n-1 or later, n had been taken, and the record had been written,
// before it looked: it found it pending, or else entered as n-1 or later, on
// this page or one to come.
//
// If counted is less than where the reader has been, the database was set back
// to an earlier state, and it begins anew.
func (s *Store) Revocations(ctx context.Context, after int64, limit int) (list []authsvc.Revocation, next int64, err error) {
	next = after
	err = s.do(ctx, "revocations", func(ctx context.Context) error {
		for {
			counted, err := s.counted(ctx)
			if err != nil {
				return err
			}
			found, err := s.list(ctx, s.revocations(), by("pending", bson.D{{Key: "$exists", Value: true}}), options.Find())
			if err != nil {
				return err
			}
			if counted-1 < after {
				after, next = 0, 0
			}
			page, err := s.list(ctx, s.revocations(), by("cursor", bson.D{{Key: "$gt", Value: after}}),
				options.Find().SetSort(ascending("cursor")).SetLimit(int64(limit)))
			if err != nil {
				return err
			}
			list = readRevocations(append(page, found...))
			if len(page) > 0 {
				next = max(after, min(page[len(page)-1].number("cursor"), counted-1))
			}
			if next > after || len(page) < limit {
				return nil
			} // else there may be more behind what was written just now
		}
	})
	if err != nil {
		return nil, after, err
	}
	return list, next, nil
}

func readRevocations(found []document) (list []authsvc.Revocation) {
	for _, d := range found {
		list = append(list, authsvc.Revocation{Key: d.text("_id"), UserID: d.text("user"), Seq: d.number("seq"),
			NotBefore: d.instant("not_before"), Expires: d.instant("expires")})
	}
	return list
}

// finishDeletion writes the second number of a deletion that was interrupted
// after its user was gone. ErrNotFound: there is none.
func (s *Store) finishDeletion(ctx context.Context, r *authsvc.Revocation) error {
	_, err := s.first(ctx, s.revocations(), by("_id", r.Key, bson.E{Key: "pending", Value: bson.D{{Key: "$exists", Value: true}}}))
	if err != nil {
		return err
	}
	return s.revoke(ctx, r)
}
