package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc"
)

func (s *Store) readUser(d document) authsvc.User {
	n := s.names
	return authsvc.User{ID: d.id("_id"), Name: d.text(n.of("User.name")), Email: d.text(n.of("User.email")),
		EmailVerified: d.instant(n.of("User.emailVerified")), Image: d.text(n.of("User.image"))}
}

func (s *Store) insertUser(ctx context.Context, u authsvc.User, id bson.ObjectID) error {
	var w writer
	w.value("_id", id)
	w.text(s.names.of("User.name"), u.Name)
	w.text(s.names.of("User.email"), u.Email)
	w.instant(s.names.of("User.emailVerified"), u.EmailVerified)
	w.text(s.names.of("User.image"), u.Image)
	return s.insert(ctx, s.users(), w.set)
}

// user finds a user by the id as text.
func (s *Store) user(ctx context.Context, id string) (document, error) {
	return s.first(ctx, s.users(), bson.D{refers("_id", id)})
}

func (s *Store) oneUser(ctx context.Context, op string, f func(context.Context) (document, error)) (u authsvc.User, err error) {
	err = s.do(ctx, op, func(ctx context.Context) error {
		d, err := f(ctx)
		if err == nil {
			u = s.readUser(d)
		}
		return err
	})
	return u, err
}

// CreateUser implements [authsvc.Adapter].
func (s *Store) CreateUser(ctx context.Context, u authsvc.User) (authsvc.User, error) {
	id := bson.NewObjectID()
	if err := s.do(ctx, "create user", func(ctx context.Context) error { return s.insertUser(ctx, u, id) }); err != nil {
		return authsvc.User{}, err
	}
	u.ID, u.EmailVerified = id.Hex(), stored(u.EmailVerified)
	return u, nil
}

// GetUser implements [authsvc.Adapter].
func (s *Store) GetUser(ctx context.Context, id string) (authsvc.User, error) {
	return s.oneUser(ctx, "get user", func(ctx context.Context) (document, error) { return s.user(ctx, id) })
}

// GetUserByEmail implements [authsvc.Adapter].
func (s *Store) GetUserByEmail(ctx context.Context, email string) (authsvc.User, error) {
	return s.oneUser(ctx, "get user by email", func(ctx context.Context) (document, error) {
		if email == "" {
			return document{}, authsvc.ErrNotFound
		}
		// The type is that of the index, which is used only if it is named.
		return s.first(ctx, s.users(), by(s.names.of("User.email"), bson.D{{Key: "$eq", Value: email}, {Key: "$type", Value: "string"}}))
	})
}

// GetUserByAccount implements [authsvc.Adapter].
func (s *Store) GetUserByAccount(ctx context.Context, provider, providerAccountID string) (authsvc.User, error) {
	return s.oneUser(ctx, "get user by account", func(ctx context.Context) (document, error) {
		account, err := s.first(ctx, s.accounts(), s.identity(provider, providerAccountID))
		if err != nil {
			return document{}, err
		}
		return s.user(ctx, account.id(s.names.of("Account.userId")))
	})
}

// UpdateUser implements [authsvc.Adapter].
func (s *Store) UpdateUser(ctx context.Context, id string, change authsvc.UserUpdate) (authsvc.User, error) {
	var w writer
	set(w.text, s.names.of("User.name"), change.Name)
	set(w.text, s.names.of("User.email"), change.Email)
	set(w.instant, s.names.of("User.emailVerified"), change.EmailVerified)
	set(w.text, s.names.of("User.image"), change.Image)
	return s.oneUser(ctx, "update user", func(ctx context.Context) (document, error) {
		if update := w.update(); len(update) > 0 {
			return s.changed(ctx, s.users(), bson.D{refers("_id", id)}, update)
		}
		return s.user(ctx, id)
	})
}

func set[T any](write func(string, T), field string, value *T) {
	if value != nil {
		write(field, *value)
	}
}

// DeleteUser implements [authsvc.Adapter]. The user goes first: what refers to
// it means nothing from then on. A user that is gone already may have left
// something behind, when the call before this one was interrupted.
func (s *Store) DeleteUser(ctx context.Context, id string) error {
	return s.do(ctx, "delete user", func(ctx context.Context) error {
		mine, err := s.delete(ctx, s.users(), bson.D{refers("_id", id)})
		if err != nil {
			return err
		}
		if _, err := s.deleteAll(ctx, s.accounts(), bson.D{refers(s.names.of("Account.userId"), id)}); err != nil {
			return err
		}
		if _, err := s.deleteSessionsOf(ctx, id); err != nil {
			return err
		}
		if !mine {
			return authsvc.ErrNotFound
		}
		return nil
	})
}

// ListUsers implements [authsvc.Adapter], in the order of _id, in which
// strings come before ObjectIds.
func (s *Store) ListUsers(ctx context.Context, after string, limit int) (list []authsvc.User, err error) {
	err = s.do(ctx, "list users", func(ctx context.Context) error {
		if limit <= 0 {
			return nil // the server takes 0 for no limit
		}
		filter, err := s.usersAfter(ctx, after)
		if err != nil {
			return err
		}
		found, err := s.list(ctx, s.users(), filter, options.Find().SetSort(ascending("_id")).SetLimit(int64(limit)))
		for _, d := range found {
			list = append(list, s.readUser(d))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// usersAfter is the condition for a page.
func (s *Store) usersAfter(ctx context.Context, after string) (bson.D, error) {
	if after == "" {
		return bson.D{}, nil
	}
	oid, err := bson.ObjectIDFromHex(after)
	if err != nil {
		return following(after), nil
	}
	_, err = s.first(ctx, s.users(), by("_id", after)) // or is it a string that looks like one?
	if err == nil {
		return following(after), nil
	}
	return following(oid), unless(authsvc.ErrNotFound, err)
}
