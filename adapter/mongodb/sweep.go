package mongodb

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"authsvc/adapter"
)

// orphanBatch is the number of accounts that one sweep checks for a missing user.
const orphanBatch = 100

// An orphanScan cycles through all accounts, one batch per sweep. MongoDB has no
// foreign keys to remove the remains of an interrupted deletion.
type orphanScan struct {
	mu    sync.Mutex
	after bson.RawValue
}

// Sweep implements [adapter.Adapter]. Records deleted before an error stay deleted and
// are counted.
func (s *Store) Sweep(ctx context.Context, now time.Time, limit int) (swept int, err error) {
	err = s.do(ctx, "sweep", func(ctx context.Context) error {
		for _, sweep := range s.sweeps(now) {
			if swept >= limit {
				return nil
			}
			n, err := sweep(ctx, limit-swept)
			swept += n
			if err != nil {
				return err
			}
		}
		return nil
	})
	return swept, err
}

// sweeps returns one bounded deletion for each kind of record.
func (s *Store) sweeps(now time.Time) []func(context.Context, int) (int, error) {
	before := func(c *mongo.Collection, field string, value any) func(context.Context, int) (int, error) {
		return func(ctx context.Context, limit int) (int, error) {
			old := bson.E{Key: field, Value: bson.D{{Key: "$lt", Value: value}}}
			found, err := s.list(ctx, c, bson.D{old}, find("_id").SetLimit(int64(limit)))
			if err != nil || len(found) == 0 {
				return 0, err
			}
			n, err := s.deleteAll(ctx, c, append(among("_id", keys(found)), old)) // skips those renewed meanwhile
			if err == nil && c.Name() == s.sessions().Name() {
				err = s.dropOwnSessions(ctx, keys(found))
			}
			return n, err
		}
	}
	return []func(context.Context, int) (int, error){
		before(s.sessions(), s.names.of("Session.expires"), date(now)),
		before(s.links(), s.names.of("VerificationToken.expires"), date(now)),
		before(s.mails(), "expires", date(now)),
		before(s.once(), "expires", date(now)),
		before(s.revocations(), "expires", date(now)),
		before(s.permits(), "expires", now.UnixMilli()),
		before(s.leases(), "expires", date(now)),
		before(s.credentials(), "expires", date(now)),
		func(ctx context.Context, limit int) (int, error) { return s.sweepOwnSessions(ctx, now, limit) },
		func(ctx context.Context, limit int) (int, error) { return s.sweepAccounts(ctx, now, limit) },
	}
}

// existingIDs returns which of the ids exist in a collection, as text.
func (s *Store) existingIDs(ctx context.Context, c *mongo.Collection, ids bson.A) (map[string]bool, error) {
	there := map[string]bool{}
	if len(ids) == 0 {
		return there, nil
	}
	found, err := s.list(ctx, c, among("_id", ids), find("_id"))
	for _, d := range found {
		there[d.id("_id")] = true
	}
	return there, err
}

// missingSessions returns which of the sessions do not exist.
func (s *Store) missingSessions(ctx context.Context, sessions bson.A) (bson.A, error) {
	there, err := s.existingIDs(ctx, s.sessions(), sessions)
	gone := bson.A{}
	for _, id := range sessions {
		if v, ok := id.(bson.RawValue); ok && !there[text(v)] {
			gone = append(gone, v)
		}
	}
	return gone, err
}

// dropOwnSessions removes authsvc's own documents of sessions that do not exist.
func (s *Store) dropOwnSessions(ctx context.Context, sessions bson.A) error {
	gone, err := s.missingSessions(ctx, sessions)
	if err == nil && len(gone) > 0 {
		_, err = s.deleteAll(ctx, s.ownSessions(), among("session", gone))
	}
	return err
}

// sweepOwnSessions removes authsvc's own documents of sessions that other programs have
// deleted. If the session exists, its own expiry applies.
func (s *Store) sweepOwnSessions(ctx context.Context, now time.Time, limit int) (int, error) {
	old := by("expires", bson.D{{Key: "$lt", Value: date(now)}})
	found, err := s.list(ctx, s.ownSessions(), old, find("session").SetLimit(int64(limit)))
	if err != nil || len(found) == 0 {
		return 0, err
	}
	sessions := bson.A{}
	for _, d := range found {
		sessions = append(sessions, d.Lookup("session"))
	}
	gone, err := s.missingSessions(ctx, sessions)
	if err != nil || len(gone) == 0 {
		return 0, err
	}
	return s.deleteAll(ctx, s.ownSessions(), append(among("session", gone), old...))
}

// sweepAccounts removes accounts of missing users, and abandoned links.
func (s *Store) sweepAccounts(ctx context.Context, now time.Time, limit int) (n int, err error) {
	found, err := s.orphans.next(ctx, s)
	for _, account := range found {
		if n >= limit {
			break
		}
		err := s.deleteOrphan(ctx, account, now)
		if err == nil {
			n++
		} else if !errors.Is(err, adapter.ErrConflict) {
			return n, err
		}
	}
	return n, err
}

// next returns the accounts of the next batch that have no user or are being linked,
// for deleteOrphan.
func (p *orphanScan) next(ctx context.Context, s *Store) (lost []document, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	filter := bson.D{}
	if !p.after.IsZero() {
		filter = following(p.after)
	}
	userID := s.names.of("Account.userId")
	found, err := s.list(ctx, s.accounts(), filter, find("_id", userID, pendingField, linkingField).SetSort(ascending("_id")).SetLimit(orphanBatch))
	if err != nil {
		return nil, err
	}
	p.after = bson.RawValue{}
	if len(found) == orphanBatch {
		p.after = found[len(found)-1].key()
	}
	users := bson.A{}
	for _, d := range found {
		users = append(users, values(d.id(userID))...)
	}
	there, err := s.existingIDs(ctx, s.users(), users)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		if !there[d.id(userID)] || d.has(linkingField) {
			lost = append(lost, d)
		}
	}
	return lost, nil
}
