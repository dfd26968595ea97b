package mongodb

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc/adapter"
)

// authsvc's own fields in accounts and users.
const (
	// pendingField marks the account of a sign-up in progress. It holds the time at
	// which the sign-up began. The account is valid once its user exists.
	pendingField = "authsvc_pending"
	// linkingField marks an account that is being linked to an existing user. It holds
	// the time at which linking began. The account stays invalid until the epoch has
	// been read again after the write, so that a stale link never takes effect.
	linkingField = "authsvc_linking"
	// signUpField marks the user of a sign-up in progress. It holds the _id of the
	// account, which was written earlier; see removeIncomplete.
	signUpField = "authsvc_signup"
	// epochField holds the latest epoch at which the account was linked or used to sign
	// in. It is absent for epoch 0 and in accounts linked by NextAuth.js.
	epochField = "authsvc_epoch"
)

// pendingTimeout is the age at which an unfinished sign-up or link counts as abandoned.
// Another user may then get its account. Correctness does not depend on clocks: a slow
// sign-up or link notices that it has lost its account, and is undone.
const pendingTimeout = 30 * time.Second

// abandoned returns pendingTimeout, or more if calls may take longer than that.
func (s *Store) abandoned() time.Duration { return max(pendingTimeout, 2*s.timeout) }

// ignore returns err, or nil if err is the expected one.
func ignore(expected, err error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func (s *Store) identity(provider, providerAccountID string) bson.D {
	return by(s.names.of("Account.provider"), provider, bson.E{Key: s.names.of("Account.providerAccountId"), Value: providerAccountID})
}

func (s *Store) readAccount(d document) adapter.Account {
	text := func(field string) string { return d.text(s.names.of("Account." + field)) }
	return adapter.Account{ID: d.id("_id"), UserID: d.id(s.names.of("Account.userId")), Type: text("type"), Provider: text("provider"),
		ProviderAccountID: text("providerAccountId"), RefreshToken: text("refresh_token"), AccessToken: text("access_token"),
		ExpiresAt: d.number(s.names.of("Account.expires_at")), TokenType: text("token_type"), Scope: text("scope"),
		IDToken: text("id_token"), SessionState: text("session_state")}
}

// writeTokens writes the token fields that a refresh replaces, except the refresh
// token.
func (s *Store) writeTokens(w *writer, acc adapter.Account) {
	text := func(field, value string) { w.text(s.names.of("Account."+field), value) }
	text("access_token", acc.AccessToken)
	w.number(s.names.of("Account.expires_at"), acc.ExpiresAt)
	text("token_type", acc.TokenType)
	text("scope", acc.Scope)
	text("id_token", acc.IDToken)
	text("session_state", acc.SessionState)
}

// validAccount reports whether an account is fully linked and no first proof has ended
// it. A first proof ends all accounts with a lower number at once, and removes those
// without a number; see revocations.go.
func (e epochs) validAccount(account document) bool {
	n := account.number(epochField)
	return !account.has(linkingField) && (n == 0 || n >= e.accounts)
}

// insertAccount stores an account of the user with the _id userID, which may have any
// type if another program wrote it. It replaces an account of the same identity that is
// an orphan; see deleteOrphan.
func (s *Store) insertAccount(ctx context.Context, acc adapter.Account, id bson.ObjectID, userID any, marks ...bson.E) error {
	var w writer
	w.value("_id", id)
	w.value(s.names.of("Account.userId"), userID)
	w.value(s.names.of("Account.type"), acc.Type)
	w.value(s.names.of("Account.provider"), acc.Provider)
	w.value(s.names.of("Account.providerAccountId"), acc.ProviderAccountID)
	w.text(s.names.of("Account.refresh_token"), acc.RefreshToken)
	s.writeTokens(&w, acc)
	w.set = append(w.set, marks...)
	err := s.insert(ctx, s.accounts(), w.set)
	if !isDuplicate(err) {
		return err
	}
	old, found := s.first(ctx, s.accounts(), s.identity(acc.Provider, acc.ProviderAccountID))
	if found == nil {
		found = s.deleteOrphan(ctx, old, s.now())
	}
	if found != nil && !errors.Is(found, adapter.ErrNotFound) {
		return found
	}
	return s.insert(ctx, s.accounts(), w.set)
}

// deleteOrphan removes an account that is invalid or whose user does not exist. It
// returns ErrConflict if the account belongs to a user, or may do so soon. It removes
// the account only if unchanged, so that a slow sign-up or link cannot succeed as well.
func (s *Store) deleteOrphan(ctx context.Context, account document, now time.Time) error {
	userID := s.names.of("Account.userId")
	filter := by("_id", account.key(), bson.E{Key: userID, Value: reference(account, userID)})
	marked := false
	for _, mark := range []string{pendingField, linkingField} {
		if began := account.instant(mark); began.IsZero() {
			filter = append(filter, bson.E{Key: mark, Value: bson.D{{Key: "$exists", Value: false}}})
		} else if now.Sub(began).Abs() < s.abandoned() {
			return adapter.ErrConflict
		} else {
			filter = append(filter, bson.E{Key: mark, Value: date(began)})
			marked = marked || mark == linkingField
		}
	}
	if !marked {
		if err := s.checkOrphan(ctx, account); err != nil {
			return err
		}
	}
	mine, err := s.delete(ctx, s.accounts(), filter)
	if err == nil && !mine {
		err = adapter.ErrConflict
	}
	return err
}

// checkOrphan returns ErrConflict if the account is valid and its user exists.
func (s *Store) checkOrphan(ctx context.Context, account document) error {
	id := account.id(s.names.of("Account.userId"))
	if _, err := s.user(ctx, id); err != nil {
		return ignore(adapter.ErrNotFound, err)
	}
	e, err := s.epochs(ctx, id)
	if err == nil && e.validAccount(account) {
		err = adapter.ErrConflict
	}
	return err
}

// reference returns a reference as stored. If there is none, it returns nil, which
// matches a missing field.
func reference(d document, field string) any {
	if v := d.Lookup(field); !v.IsZero() {
		return v
	}
	return nil
}

// LinkAccount implements [adapter.Adapter].
func (s *Store) LinkAccount(ctx context.Context, acc adapter.Account, epoch int64) (adapter.Account, error) {
	id := bson.NewObjectID()
	if err := s.do(ctx, "link account", func(ctx context.Context) error { return s.link(ctx, acc, id, epoch) }); err != nil {
		return adapter.Account{}, err
	}
	acc.ID = id.Hex()
	return acc, nil
}

// link writes a marked account, which is not valid yet. It removes the mark if the
// user's epoch is unchanged. A revocation raises the epoch before it lists accounts:
// either link sees the new epoch, or the revocation sees the account and deletes it.
// Until it is deleted, its own epoch makes it invalid.
func (s *Store) link(ctx context.Context, acc adapter.Account, id bson.ObjectID, epoch int64) error {
	user, err := s.user(ctx, acc.UserID)
	if err == nil {
		err = s.unchanged(ctx, acc.UserID, epoch)
	}
	if err != nil {
		return err
	}
	marks := by(linkingField, date(s.now()))
	if epoch > 0 {
		marks = append(marks, bson.E{Key: epochField, Value: epoch})
	}
	err = s.insertAccount(ctx, acc, id, user.key(), marks...)
	if isDuplicate(err) || errors.Is(err, adapter.ErrConflict) {
		return err // nothing was written
	}
	if err == nil {
		err = s.unchanged(ctx, acc.UserID, epoch)
	}
	if err == nil {
		_, err = s.first(ctx, s.users(), by("_id", user.key())) // a later deletion of the user will find the account
	}
	if err == nil {
		err = s.activateAccount(ctx, id, user.key(), linkingField)
		if errors.Is(err, adapter.ErrNotFound) {
			err = adapter.ErrStale
		}
	}
	if err != nil {
		undo(ctx, func(ctx context.Context) { s.deleteAll(ctx, s.accounts(), by("_id", id)) }) //nolint:errcheck // a marked account is not valid
	}
	return err
}

// activateAccount removes a mark, which makes the account valid. It returns ErrNotFound
// if the account was removed or, after pendingTimeout, given to another user.
func (s *Store) activateAccount(ctx context.Context, id bson.ObjectID, userID any, mark string) error {
	return s.change(ctx, s.accounts(), by("_id", id, bson.E{Key: s.names.of("Account.userId"), Value: userID}),
		bson.D{{Key: "$unset", Value: by(mark, "")}})
}

// accountOf returns a valid account of a user.
func (s *Store) accountOf(ctx context.Context, provider, providerAccountID, userID string, e epochs) (document, error) {
	d, err := s.first(ctx, s.accounts(), append(s.identity(provider, providerAccountID), refers(s.names.of("Account.userId"), userID)))
	if err == nil && !e.validAccount(d) {
		err = adapter.ErrNotFound
	}
	return d, err
}

// RefreshAccount implements [adapter.Adapter]. It stores its epoch in the account, so
// that a sign-in that read an older epoch cannot overwrite the tokens of a later one.
func (s *Store) RefreshAccount(ctx context.Context, acc adapter.Account, epoch int64) error {
	return s.do(ctx, "refresh account", func(ctx context.Context) error {
		e, err := s.epochs(ctx, acc.UserID)
		if err != nil {
			return err
		}
		d, err := s.accountOf(ctx, acc.Provider, acc.ProviderAccountID, acc.UserID, e)
		if err == nil && e.user != epoch {
			err = adapter.ErrStale
		}
		if err != nil {
			return err
		}
		var w writer
		if acc.RefreshToken != "" { // otherwise keep the old one
			w.text(s.names.of("Account.refresh_token"), acc.RefreshToken)
		}
		s.writeTokens(&w, acc)
		if epoch > 0 {
			w.value(epochField, epoch)
		}
		earlier := bson.A{by(epochField, bson.D{{Key: "$exists", Value: false}}), by(epochField, bson.D{{Key: "$lte", Value: epoch}})}
		err = s.change(ctx, s.accounts(), by("_id", d.key(), bson.E{Key: "$or", Value: earlier}), w.update())
		if errors.Is(err, adapter.ErrNotFound) {
			err = adapter.ErrStale
		}
		return err
	})
}

// ReplaceTokens implements [adapter.Adapter].
func (s *Store) ReplaceTokens(ctx context.Context, acc, was adapter.Account) error {
	var w writer
	w.text(s.names.of("Account.refresh_token"), acc.RefreshToken)
	s.writeTokens(&w, acc)
	identity := append(s.identity(acc.Provider, acc.ProviderAccountID), bson.E{Key: linkingField, Value: bson.D{{Key: "$exists", Value: false}}})
	return s.do(ctx, "replace tokens", func(ctx context.Context) error {
		tries := 0
		err := retry(ctx, outcomeUnknown, func() error {
			tries++
			r, err := s.accounts().UpdateOne(ctx, append(slices.Clip(identity), s.hasTokens(was)...), w.update())
			if err == nil && r.MatchedCount == 0 {
				err = adapter.ErrStale
			}
			return err
		})
		if !errors.Is(err, adapter.ErrStale) {
			return err
		}
		d, found := s.first(ctx, s.accounts(), identity)
		if found != nil {
			return found
		}
		if tries > 1 && s.readAccount(d).SameTokens(acc) {
			return nil // an earlier attempt succeeded, but its answer was lost
		}
		return err
	})
}

// hasTokens returns the condition that an account has exactly the tokens of acc.
func (s *Store) hasTokens(acc adapter.Account) (filter bson.D) {
	for field, token := range map[string]string{"refresh_token": acc.RefreshToken, "access_token": acc.AccessToken, "id_token": acc.IDToken} {
		var stored any = token
		if token == "" {
			stored = bson.D{{Key: "$in", Value: bson.A{nil, ""}}}
		}
		filter = append(filter, bson.E{Key: s.names.of("Account." + field), Value: stored})
	}
	return filter
}

// UnlinkAccount implements [adapter.Adapter]. It raises the epoch before it deletes the
// account: of two calls with the same epoch, one returns ErrStale. It raises the epoch
// again afterwards: a sign-in that found the account also fails with ErrStale. If the
// account does not exist, UnlinkAccount finishes the work of an interrupted call.
func (s *Store) UnlinkAccount(ctx context.Context, provider, providerAccountID string, epoch int64, r *adapter.Revocation) error {
	return s.do(ctx, "unlink account", func(ctx context.Context) error {
		e, err := s.epochs(ctx, r.UserID)
		if err != nil {
			return err
		}
		d, err := s.accountOf(ctx, provider, providerAccountID, r.UserID, e)
		switch {
		case errors.Is(err, adapter.ErrNotFound):
			return cmp.Or(ignore(adapter.ErrNotFound, s.finishDeletion(ctx, r)), err)
		case err == nil && e.user != epoch:
			err = adapter.ErrStale
		}
		if err != nil {
			return err
		}
		if err := s.settle(ctx, r.UserID); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout) // the deletion cannot be undone
		defer cancel()
		_, err = s.revokeAndRemove(ctx, r, unlinkRevocation(epoch), func(ctx context.Context) error {
			mine, err := s.delete(ctx, s.accounts(), by("_id", d.key()))
			if err == nil && !mine {
				err = adapter.ErrNotFound
			}
			return err
		})
		return err
	})
}

// ListAccounts implements [adapter.Adapter].
func (s *Store) ListAccounts(ctx context.Context, userID string) (list []adapter.Account, err error) {
	err = s.do(ctx, "list accounts", func(ctx context.Context) error {
		found, err := s.accountsOf(ctx, userID)
		if err != nil || len(found) == 0 {
			return err
		}
		if _, err := s.user(ctx, userID); err != nil {
			return ignore(adapter.ErrNotFound, err) // remains of a deleted user
		}
		e, err := s.epochs(ctx, userID)
		for _, d := range found {
			if e.validAccount(d) {
				list = append(list, s.readAccount(d))
			}
		}
		return err
	})
	return list, err
}

func (s *Store) accountsOf(ctx context.Context, userID string) ([]document, error) {
	return s.list(ctx, s.accounts(), bson.D{refers(s.names.of("Account.userId"), userID)},
		options.Find().SetSort(ascending(s.names.of("Account.provider"), "_id")))
}
