package mongodb

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"authsvc/adapter"
)

func (s *Store) readUser(d document) adapter.User {
	n := s.names
	return adapter.User{ID: d.id("_id"), Name: d.text(n.of("User.name")), Email: d.text(n.of("User.email")),
		EmailVerified: d.instant(n.of("User.emailVerified")), Image: d.text(n.of("User.image")), Extra: s.readExtra(d)}
}

func (s *Store) insertUser(ctx context.Context, u adapter.User, id bson.ObjectID, marks ...bson.E) error {
	var w writer
	w.value("_id", id)
	w.text(s.names.of("User.name"), u.Name)
	w.text(s.names.of("User.email"), u.Email)
	w.instant(s.names.of("User.emailVerified"), u.EmailVerified)
	w.text(s.names.of("User.image"), u.Image)
	return s.insert(ctx, s.users(), append(w.set, marks...))
}

// user finds a user by an id given as text.
func (s *Store) user(ctx context.Context, id string) (document, error) {
	return s.first(ctx, s.users(), bson.D{refers("_id", id)})
}

func (s *Store) oneUser(ctx context.Context, op string, f func(context.Context) (adapter.User, error)) (u adapter.User, err error) {
	err = s.do(ctx, op, func(ctx context.Context) error {
		found, err := f(ctx)
		if err == nil {
			u = found
		}
		return err
	})
	return u, err
}

// findUser returns the user that find returns, who must have the given id. It reads the
// epochs before it calls find.
func (s *Store) findUser(ctx context.Context, id string, find func(epochs) (document, error)) (adapter.User, error) {
	e, err := s.epochs(ctx, id)
	if err != nil {
		return adapter.User{}, err
	}
	var people map[string]document
	var lost error
	var wg sync.WaitGroup
	wg.Go(func() { people, lost = s.peopleOf(ctx, id) })
	d, err := find(e)
	wg.Wait()
	if err = cmp.Or(err, lost); err != nil {
		return adapter.User{}, err
	}
	return s.withEpochs(d, e, people[id]), nil
}

// withEpochs returns a user with epochs and person. The epochs must have been read
// before the person: blocking a user raises the epoch afterwards.
func (s *Store) withEpochs(d document, e epochs, person document) adapter.User {
	u := s.readUser(d)
	p := person.person()
	u.Epoch, u.SessionEpoch, u.Blocked, u.DeleteAfter, u.Locale = e.user, e.sessions, p.Blocked, p.DeleteAfter, p.Locale
	return u
}

// CreateUser implements [adapter.Adapter]. It does not need the revocation, because an
// ObjectId is never given twice.
func (s *Store) CreateUser(ctx context.Context, u adapter.User, _ *adapter.Revocation) (adapter.User, error) {
	id := bson.NewObjectID()
	if err := s.do(ctx, "create user", func(ctx context.Context) error { return s.insertUser(ctx, u, id) }); err != nil {
		return adapter.User{}, err
	}
	u.ID, u.EmailVerified = id.Hex(), stored(u.EmailVerified)
	return u, nil
}

// GetUser implements [adapter.Adapter].
func (s *Store) GetUser(ctx context.Context, id string) (adapter.User, error) {
	return s.oneUser(ctx, "get user", func(ctx context.Context) (adapter.User, error) {
		return s.findUser(ctx, id, func(epochs) (document, error) { return s.user(ctx, id) })
	})
}

// GetUserByEmail implements [adapter.Adapter].
func (s *Store) GetUserByEmail(ctx context.Context, email string) (adapter.User, error) {
	return s.oneUser(ctx, "get user by email", func(ctx context.Context) (adapter.User, error) { return s.userByEmail(ctx, email) })
}

// userByEmail must find the user to know whose epoch to read, and then reads the user
// again.
func (s *Store) userByEmail(ctx context.Context, email string) (adapter.User, error) {
	if email == "" {
		return adapter.User{}, adapter.ErrNotFound
	}
	// Naming the index's type makes the server use the index.
	has := by(s.names.of("User.email"), bson.D{{Key: "$eq", Value: email}, {Key: "$type", Value: "string"}})
	d, err := s.first(ctx, s.users(), has)
	if err == nil {
		err = s.removeIncomplete(ctx, d)
	}
	if err != nil {
		return adapter.User{}, err
	}
	return s.findUser(ctx, d.id("_id"), func(epochs) (document, error) {
		return s.first(ctx, s.users(), append(has, bson.E{Key: "_id", Value: d.key()}))
	})
}

// GetUserByAccount implements [adapter.Adapter]. It reads the account twice, for the
// reason given at userByEmail.
func (s *Store) GetUserByAccount(ctx context.Context, provider, providerAccountID string) (adapter.User, error) {
	return s.oneUser(ctx, "get user by account", func(ctx context.Context) (adapter.User, error) {
		d, err := s.first(ctx, s.accounts(), s.identity(provider, providerAccountID))
		if err != nil {
			return adapter.User{}, err
		}
		id := d.id(s.names.of("Account.userId"))
		return s.findUser(ctx, id, func(e epochs) (document, error) {
			if _, err := s.accountOf(ctx, provider, providerAccountID, id, e); err != nil {
				return document{}, err
			}
			return s.user(ctx, id)
		})
	})
}

// UpdateUser implements [adapter.Adapter].
func (s *Store) UpdateUser(ctx context.Context, id string, change adapter.UserUpdate) (adapter.User, error) {
	var w writer
	set(w.text, s.names.of("User.name"), change.Name)
	set(w.text, s.names.of("User.email"), change.Email)
	set(w.instant, s.names.of("User.emailVerified"), change.EmailVerified)
	set(w.text, s.names.of("User.image"), change.Image)
	return s.oneUser(ctx, "update user", func(ctx context.Context) (adapter.User, error) {
		return s.findUser(ctx, id, func(e epochs) (document, error) {
			if was := change.Was; was != nil && e.user != was.Epoch {
				return document{}, adapter.ErrStale
			}
			if update := w.update(); len(update) > 0 {
				return s.changeUser(ctx, id, change.Was, update)
			}
			return s.user(ctx, id)
		})
	})
}

// changeUser updates a user. If was is not nil, the stored user must match it. A
// concurrent first proof raises the epoch before it stores the verification. Either it
// then finds an address other than the proved one, or changeUser sees the verification.
func (s *Store) changeUser(ctx context.Context, id string, was *adapter.User, update bson.D) (document, error) {
	filter := bson.D{refers("_id", id)}
	if was != nil {
		verified := bson.E{Key: s.names.of("User.emailVerified"), Value: nil}
		if !was.EmailVerified.IsZero() {
			verified.Value = date(was.EmailVerified)
		}
		filter = append(filter, s.address(was.Email), verified)
	}
	d, err := s.changed(ctx, s.users(), filter, update)
	if was == nil || !errors.Is(err, mongo.ErrNoDocuments) {
		return d, err
	}
	if _, err := s.user(ctx, id); err != nil {
		return document{}, err
	}
	return document{}, adapter.ErrStale
}

func set[T any](write func(string, T), field string, value *T) {
	if value != nil {
		write(field, *value)
	}
}

// DeleteUser implements [adapter.Adapter]. It ends the sessions, then deletes the user;
// from then on, records that refer to the user have no effect. The second number of the
// revocation covers a sign-in between the two. If the user does not exist, DeleteUser
// finishes the work of an interrupted call.
func (s *Store) DeleteUser(ctx context.Context, id string, r *adapter.Revocation) error {
	return s.do(ctx, "delete user", func(ctx context.Context) error {
		_, err := s.user(ctx, id)
		if errors.Is(err, adapter.ErrNotFound) {
			if err := s.removeAllOf(ctx, id); err != nil {
				return err
			}
			if err := ignore(adapter.ErrNotFound, s.finishDeletion(ctx, r)); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		mine := false
		_, err = s.revokeAndRemove(ctx, r, sessionRevocation, func(ctx context.Context) (err error) {
			if mine, err = s.delete(ctx, s.users(), bson.D{refers("_id", id)}); err != nil {
				return err
			}
			return s.removeAllOf(ctx, id)
		})
		if err == nil && !mine {
			err = adapter.ErrNotFound
		}
		return err
	})
}

// removeAllOf removes the records of a deleted user.
func (s *Store) removeAllOf(ctx context.Context, id string) error {
	_, err := s.deleteAll(ctx, s.accounts(), bson.D{refers(s.names.of("Account.userId"), id)})
	if err == nil {
		_, err = s.deleteAll(ctx, s.credentials(), by("user", id))
	}
	if err == nil {
		_, err = s.deleteAll(ctx, s.people(), by("_id", id))
	}
	if err == nil {
		_, err = s.deleteSessionsOf(ctx, id)
	}
	return err
}

// ListUsers implements [adapter.Adapter]. It orders users by _id; strings come before
// ObjectIds.
func (s *Store) ListUsers(ctx context.Context, after string, limit int) ([]adapter.User, error) {
	return s.pageOfUsers(ctx, pageOf{op: "list users", limit: limit, order: "_id", start: func(ctx context.Context) (bson.D, error) { return s.usersAfter(ctx, after) }})
}

// A pageOf selects a page of users.
type pageOf struct {
	op         string
	limit      int
	order      string                                    // a field with an index
	start      func(ctx context.Context) (bson.D, error) // returns the condition for the start of the page
	conditions []bson.E                                  // further ones
}

// pageOfUsers lists users who meet all conditions.
func (s *Store) pageOfUsers(ctx context.Context, p pageOf) (list []adapter.User, err error) {
	err = s.do(ctx, p.op, func(ctx context.Context) error {
		if p.limit <= 0 {
			return nil // the server takes 0 for no limit
		}
		filter, err := p.start(ctx)
		if err != nil {
			return err
		}
		filter = append(filter, p.conditions...)
		page := func(fields ...string) ([]document, error) {
			return s.list(ctx, s.users(), filter, find(fields...).SetSort(ascending(p.order)).SetLimit(int64(p.limit)))
		}
		found, err := page("_id")
		if err != nil || len(found) == 0 {
			return err
		}
		epochs, err := s.epochsOf(ctx, ids(found)...)
		if err != nil {
			return err
		}
		if found, err = page(); err != nil { // as in GetUserByEmail
			return err
		}
		people, err := s.peopleOf(ctx, ids(found)...)
		for _, d := range found {
			list = append(list, s.withEpochs(d, epochs[d.id("_id")], people[d.id("_id")]))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// usersAfter returns the condition for the page after an id.
func (s *Store) usersAfter(ctx context.Context, after string) (bson.D, error) {
	if after == "" {
		return bson.D{}, nil
	}
	oid, err := bson.ObjectIDFromHex(after)
	if err != nil {
		return following(after), nil
	}
	_, err = s.first(ctx, s.users(), by("_id", after)) // it may be a string that looks like an ObjectId
	if err == nil {
		return following(after), nil
	}
	return following(oid), ignore(adapter.ErrNotFound, err)
}
