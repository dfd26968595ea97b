package mongodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

func credentialID(kind adapter.CredentialKind, id string) string {
	return fmt.Sprintf("%d:%s%s", len(kind), kind, id)
}

func credentialPlace(kind adapter.CredentialKind, userID string, n int) string {
	return fmt.Sprintf("%d:%s%s %d", len(kind), kind, userID, n)
}

// credentialsOf returns the condition for a user's credentials of some kinds.
func credentialsOf(userID string, kinds ...adapter.CredentialKind) bson.D {
	names := bson.A{}
	for _, kind := range kinds {
		names = append(names, string(kind))
	}
	return append(by("user", userID), among("kind", names)...)
}

func (e epochs) validCredential(d document) bool { return d.number("epoch") >= e.accounts }

func (d document) credential() adapter.Credential {
	_, data, _ := d.Lookup("data").BinaryOK()
	return adapter.Credential{Kind: adapter.CredentialKind(d.text("kind")), ID: d.text("id"), UserID: d.text("user"), Name: d.text("name"),
		Data: slices.Clone(data), Version: d.number("version"), Tries: int(d.number("tries")),
		Created: d.instant("created"), Used: d.instant("used"), Expires: d.instant("expires")}
}

// credentialFields returns the fields that an update sets.
func credentialFields(c adapter.Credential, version int64) *writer {
	var w writer
	w.text("name", c.Name)
	if len(c.Data) > 0 {
		w.value("data", c.Data)
	} else {
		w.unset = append(w.unset, bson.E{Key: "data", Value: ""})
	}
	w.value("version", version)
	w.value("tries", int64(c.Tries))
	w.instant("used", c.Used)
	w.instant("expires", c.Expires)
	return &w
}

// PutCredential implements [adapter.Adapter].
func (s *Store) PutCredential(ctx context.Context, c adapter.Credential, epoch int64, most int) error {
	return s.do(ctx, "put credential", func(ctx context.Context) error {
		if len(c.Data) > maxData {
			return errData
		}
		if _, err := s.user(ctx, c.UserID); err != nil {
			return err
		}
		if err := s.unchanged(ctx, c.UserID, epoch); err != nil {
			return err
		}
		key := credentialID(c.Kind, c.ID)
		d := append(by("_id", key, bson.E{Key: "kind", Value: string(c.Kind)}, bson.E{Key: "id", Value: c.ID}, bson.E{Key: "user", Value: c.UserID},
			bson.E{Key: "created", Value: date(c.Created)}, bson.E{Key: "epoch", Value: epoch}), credentialFields(c, 1).set...)
		place, err := s.insertCredential(ctx, c, d, most)
		if err == nil {
			err = s.unchanged(ctx, c.UserID, epoch)
		}
		if err != nil && place != "" {
			undo(ctx, func(ctx context.Context) {
				s.deleteAll(ctx, s.credentials(), by("_id", key, bson.E{Key: "place", Value: place})) //nolint:errcheck // no caller was told of it
			})
		}
		return err
	})
}

// insertCredential stores a credential in a free place and returns the place, which may
// be set even after an error.
func (s *Store) insertCredential(ctx context.Context, c adapter.Credential, d bson.D, most int) (place string, err error) {
	for try := 1; try <= 64; try++ {
		if _, err := s.first(ctx, s.credentials(), by("_id", d[0].Value)); !errors.Is(err, adapter.ErrNotFound) {
			return "", cmp.Or(err, adapter.ErrConflict)
		}
		place, err = s.freePlace(ctx, c, most)
		if err != nil {
			return "", err
		}
		err = s.insertNew(ctx, s.credentials(), append(slices.Clone(d), bson.E{Key: "place", Value: place}))
		if !isDuplicate(err) {
			return place, err
		}
		if err := wait(ctx, min(try, 4)); err != nil {
			return "", err
		}
	}
	return "", errPlaces
}

func (s *Store) freePlace(ctx context.Context, c adapter.Credential, most int) (string, error) {
	found, err := s.list(ctx, s.credentials(), credentialsOf(c.UserID, c.Kind), find("place"))
	if err != nil {
		return "", err
	}
	used := map[string]bool{}
	for _, d := range found {
		used[d.text("place")] = true
	}
	if len(used) >= most {
		return "", adapter.ErrTooMany
	}
	var free []string
	for n := range most {
		if place := credentialPlace(c.Kind, c.UserID, n); !used[place] {
			free = append(free, place)
		}
	}
	return free[rand.IntN(len(free))], nil // not empty: fewer than most are in use
}

// GetCredential implements [adapter.Adapter].
func (s *Store) GetCredential(ctx context.Context, kind adapter.CredentialKind, id string) (c adapter.Credential, err error) {
	err = s.do(ctx, "get credential", func(ctx context.Context) error {
		d, err := s.first(ctx, s.credentials(), by("_id", credentialID(kind, id)))
		if err != nil {
			return err
		}
		e, err := s.epochs(ctx, d.text("user"))
		switch {
		case err != nil:
			return err
		case !e.validCredential(d):
			return adapter.ErrNotFound
		}
		c = d.credential()
		return nil
	})
	return c, err
}

// UpdateCredential implements [adapter.Adapter].
func (s *Store) UpdateCredential(ctx context.Context, c adapter.Credential) error {
	key := by("_id", credentialID(c.Kind, c.ID), bson.E{Key: "user", Value: c.UserID})
	return s.do(ctx, "update credential", func(ctx context.Context) error {
		if len(c.Data) > maxData {
			return errData
		}
		changed, err := s.changeOne(ctx, append(slices.Clone(key), bson.E{Key: "version", Value: c.Version}), credentialFields(c, c.Version+1).update())
		if err != nil || changed {
			return err
		}
		if _, err := s.first(ctx, s.credentials(), key); err != nil {
			return err
		}
		return adapter.ErrStale
	})
}

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

// TryCredential implements [adapter.Adapter].
func (s *Store) TryCredential(ctx context.Context, kind adapter.CredentialKind, id string, most int) error {
	key := by("_id", credentialID(kind, id))
	return s.do(ctx, "try credential", func(ctx context.Context) error {
		counted, err := s.changeOne(ctx, append(slices.Clone(key), bson.E{Key: "tries", Value: bson.D{{Key: "$lt", Value: int64(most)}}}),
			bson.D{{Key: "$inc", Value: bson.D{{Key: "tries", Value: int64(1)}, {Key: "version", Value: int64(1)}}}})
		if err != nil || counted {
			return err
		}
		if _, err := s.first(ctx, s.credentials(), key); err != nil {
			return err
		}
		return adapter.ErrConflict
	})
}

// DeleteCredential implements [adapter.Adapter]. It raises the epoch after the
// deletion, as UnlinkAccount does.
func (s *Store) DeleteCredential(ctx context.Context, kind adapter.CredentialKind, id, userID string, r *adapter.Revocation) error {
	return s.do(ctx, "delete credential", func(ctx context.Context) error {
		mine, err := s.delete(ctx, s.credentials(), by("_id", credentialID(kind, id), bson.E{Key: "user", Value: userID}))
		if err == nil && !mine {
			err = adapter.ErrNotFound
		}
		if err != nil || r == nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout) // the deletion cannot be undone
		defer cancel()
		return s.revoke(ctx, r)
	})
}

// DeleteCredentials implements [adapter.Adapter].
func (s *Store) DeleteCredentials(ctx context.Context, userID string, r *adapter.Revocation, kinds ...adapter.CredentialKind) (n int, err error) {
	err = s.do(ctx, "delete credentials", func(ctx context.Context) (err error) {
		if n, err = s.deleteAll(ctx, s.credentials(), credentialsOf(userID, kinds...)); err != nil || r == nil {
			return err
		}
		return s.revoke(ctx, r)
	})
	return n, err
}

// removeEarlierCredentials removes the second step and the credentials from before the
// address was proved, except the sign-in that proves it.
func (s *Store) removeEarlierCredentials(ctx context.Context, p adapter.Proof) error {
	mine := bson.D{{Key: "$ne", Value: credentialID(adapter.CredentialPending, p.Pending)}}
	_, err := s.deleteAll(ctx, s.credentials(), by("user", p.UserID, bson.E{Key: "_id", Value: mine}))
	if err == nil {
		err = ignore(adapter.ErrNotFound, s.change(ctx, s.people(), by("_id", p.UserID), bson.D{{Key: "$unset", Value: by("second_step", "")}}))
	}
	return err
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
