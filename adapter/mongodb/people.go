package mongodb

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc/adapter"
)

// maxData is the size limit of a credential's data, in bytes.
const maxData = 64 << 10

var (
	errData   = errors.New("credential data exceeds 64 KiB")
	errPlaces = errors.New("found no place for a credential after many tries")
)

// peopleOf returns the person documents of users, by user id.
func (s *Store) peopleOf(ctx context.Context, userIDs ...string) (map[string]document, error) {
	keys := bson.A{}
	for _, id := range userIDs {
		keys = append(keys, id)
	}
	found, err := s.list(ctx, s.people(), among("_id", keys), options.Find())
	people := map[string]document{}
	for _, d := range found {
		people[d.text("_id")] = d
	}
	return people, err
}

func (d document) person() adapter.Person {
	return adapter.Person{Blocked: d.instant("blocked"), BlockedWhy: d.text("blocked_why"), DeleteAfter: d.instant("delete_after"),
		SecondStep: d.number("second_step") != 0, RecoverAfter: d.instant("recover_after"), Locale: d.text("locale")}
}

// SearchUsers implements [adapter.Adapter]. It first finds the users who are blocked or
// due, then searches only those.
func (s *Store) SearchUsers(ctx context.Context, q adapter.UserQuery) ([]adapter.User, error) {
	p := pageOf{op: "search users", limit: q.Limit, order: "_id", start: func(ctx context.Context) (bson.D, error) { return s.usersAfter(ctx, q.After) }}
	if q.Prefix != "" {
		p.order, p.start = s.names.of("User.email"), func(context.Context) (bson.D, error) { return s.addresses(q), nil }
	}
	if !q.Blocked && q.Due.IsZero() {
		return s.pageOfUsers(ctx, p)
	}
	filter := bson.D{}
	if q.Blocked {
		filter = append(filter, bson.E{Key: "blocked", Value: bson.D{{Key: "$exists", Value: true}}})
	}
	if !q.Due.IsZero() {
		filter = append(filter, bson.E{Key: "delete_after", Value: bson.D{{Key: "$lte", Value: date(q.Due)}}})
	}
	var users bson.A
	err := s.do(ctx, "search users", func(ctx context.Context) error {
		found, err := s.list(ctx, s.people(), filter, find("_id"))
		users = bson.A{}
		for _, d := range found {
			users = append(users, values(d.text("_id"))...)
		}
		return err
	})
	if err != nil || len(users) == 0 {
		return nil, err
	}
	// The page may already have a condition on _id, so wrap this one in $and.
	p.conditions = []bson.E{{Key: "$and", Value: bson.A{among("_id", users)}}}
	return s.pageOfUsers(ctx, p)
}

// addresses returns the condition for the page of addresses with a prefix, which are in
// byte order.
func (s *Store) addresses(q adapter.UserQuery) bson.D {
	from := bson.E{Key: "$gte", Value: q.Prefix}
	if q.After >= q.Prefix {
		from = bson.E{Key: "$gt", Value: q.After}
	}
	// Naming the index's type makes the server use the index.
	return by(s.names.of("User.email"), bson.D{from, {Key: "$lt", Value: q.Prefix + "\U0010ffff"}, {Key: "$type", Value: "string"}})
}

// GetPerson implements [adapter.Adapter].
func (s *Store) GetPerson(ctx context.Context, userID string) (p adapter.Person, err error) {
	err = s.do(ctx, "get person", func(ctx context.Context) error {
		if _, err := s.user(ctx, userID); err != nil {
			return err
		}
		people, err := s.peopleOf(ctx, userID)
		if err != nil {
			return err
		}
		p = people[userID].person()
		p.UserID = userID
		found, err := s.list(ctx, s.credentials(), by("user", userID), options.Find())
		if err != nil || len(found) == 0 {
			return err
		}
		e, err := s.epochs(ctx, userID)
		for _, d := range found {
			if e.validCredential(d) {
				p.Credentials = append(p.Credentials, d.credential())
			}
		}
		slices.SortFunc(p.Credentials, func(x, y adapter.Credential) int {
			return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.ID, y.ID))
		})
		return err
	})
	if err != nil {
		return adapter.Person{}, err
	}
	return p, nil
}

// SetPerson implements [adapter.Adapter]. It changes the person before it raises the
// epoch. A sign-in that read the person earlier ends in ErrStale, or its session
// carries an epoch that has ended.
func (s *Store) SetPerson(ctx context.Context, userID string, change adapter.PersonUpdate, r *adapter.Revocation) error {
	var w writer
	set(w.instant, "blocked", change.Blocked)
	set(w.text, "blocked_why", change.BlockedWhy)
	set(w.instant, "delete_after", change.DeleteAfter)
	if change.SecondStep != nil {
		on := int64(0)
		if *change.SecondStep {
			on = 1
		}
		w.number("second_step", on)
	}
	set(w.instant, "recover_after", change.RecoverAfter)
	set(w.text, "locale", change.Locale)
	return s.do(ctx, "set person", func(ctx context.Context) error {
		if _, err := s.user(ctx, userID); err != nil {
			return err
		}
		if update := w.update(); len(update) > 0 {
			if err := s.put(ctx, s.people(), userID, update); err != nil {
				return err
			}
		}
		if r == nil {
			return nil
		}
		if err := s.revoke(ctx, r); err != nil { // from here on, GetSession returns none of the sessions
			return err
		}
		_, err := s.deleteSessionsOf(ctx, userID)
		return err
	})
}

// A credential is one document. Its _id combines its kind and its id.
//
// Its place is one of the numbered places that its user has for the kind. Places are
// unique, so callers that counted at the same time cannot store too many.
//
// Its epoch is the user's epoch when the credential was stored. A credential from
// before the first proof of the address has no effect, even if it was written while the
// others were being removed.

// changeOne changes a credential that meets the condition, and reports whether there
// was one. It does not retry if the answer was lost: the condition would no longer
// hold.
func (s *Store) changeOne(ctx context.Context, filter, update bson.D) (changed bool, err error) {
	err = retry(ctx, notExecuted, func() error {
		r, err := s.credentials().UpdateOne(ctx, filter, update)
		changed = err == nil && r.MatchedCount == 1
		return err
	})
	return changed, err
}

// keepPending gives the sign-in that proves the address the epoch of the proof. It
// removes credentials stored meanwhile, which have no effect.
func (s *Store) keepPending(ctx context.Context, p adapter.Proof) error {
	if p.Pending != "" {
		key := by("_id", credentialID(adapter.CredentialPending, p.Pending), bson.E{Key: "user", Value: p.UserID})
		err := s.change(ctx, s.credentials(), key, bson.D{{Key: "$set", Value: by("epoch", p.Revoke.Seq)}})
		if ignore(adapter.ErrNotFound, err) != nil {
			return err
		}
	}
	_, err := s.deleteAll(ctx, s.credentials(), by("user", p.UserID, bson.E{Key: "epoch", Value: bson.D{{Key: "$lt", Value: p.Revoke.Seq}}}))
	return err
}
