package mongodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"authsvc/adapter"
)

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
