package mongodb

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc"
)

// pendingField marks the account of a sign-up that is under way with the time
// at which it began.
const pendingField = "authsvc_pending"

// abandoned is how old a sign-up must be for its account to be given away.
// Nothing depends on clocks agreeing: a sign-up that was slow, not dead,
// notices that it has lost its account and undoes itself.
const abandoned = 30 * time.Second

func unless(expected, err error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func (s *Store) identity(provider, providerAccountID string) bson.D {
	return by(s.names.of("Account.provider"), provider, bson.E{Key: s.names.of("Account.providerAccountId"), Value: providerAccountID})
}

func (s *Store) readAccount(d document) authsvc.Account {
	text := func(field string) string { return d.text(s.names.of("Account." + field)) }
	return authsvc.Account{ID: d.id("_id"), UserID: d.id(s.names.of("Account.userId")), Type: text("type"), Provider: text("provider"),
		ProviderAccountID: text("providerAccountId"), RefreshToken: text("refresh_token"), AccessToken: text("access_token"),
		ExpiresAt: d.number(s.names.of("Account.expires_at")), TokenType: text("token_type"), Scope: text("scope"),
		IDToken: text("id_token"), SessionState: text("session_state")}
}

// writeTokens writes what a refresh replaces, except the refresh token.
func (s *Store) writeTokens(w *writer, acc authsvc.Account) {
	text := func(field, value string) { w.text(s.names.of("Account."+field), value) }
	text("access_token", acc.AccessToken)
	w.number(s.names.of("Account.expires_at"), acc.ExpiresAt)
	text("token_type", acc.TokenType)
	text("scope", acc.Scope)
	text("id_token", acc.IDToken)
	text("session_state", acc.SessionState)
}

// insertAccount links an identity to the user with an _id, which is an
// ObjectId or what another program made of it. A zero pending is no mark.
func (s *Store) insertAccount(ctx context.Context, acc authsvc.Account, id bson.ObjectID, userID any, pending time.Time) error {
	var w writer
	w.value("_id", id)
	w.value(s.names.of("Account.userId"), userID)
	w.value(s.names.of("Account.type"), acc.Type)
	w.value(s.names.of("Account.provider"), acc.Provider)
	w.value(s.names.of("Account.providerAccountId"), acc.ProviderAccountID)
	w.text(s.names.of("Account.refresh_token"), acc.RefreshToken)
	s.writeTokens(&w, acc)
	w.instant(pendingField, pending)
	err := s.insert(ctx, s.accounts(), w.set)
	if !duplicate(err) {
		return err
	}
	old, found := s.first(ctx, s.accounts(), s.identity(acc.Provider, acc.ProviderAccountID))
	if found == nil {
		found = s.bury(ctx, old, s.now())
	}
	if found != nil && !errors.Is(found, authsvc.ErrNotFound) {
		return found
	}
	return s.insert(ctx, s.accounts(), w.set)
}

// bury removes an account whose user does not exist, and never will.
// ErrConflict: it does, or it may. The account must be as it was seen, so of
// this and a sign-up that makes the user after all, one fails.
func (s *Store) bury(ctx context.Context, account document, now time.Time) error {
	userID := s.names.of("Account.userId")
	_, err := s.user(ctx, account.id(userID))
	if err == nil {
		return authsvc.ErrConflict
	}
	if !errors.Is(err, authsvc.ErrNotFound) {
		return err
	}
	filter := by("_id", account.key(), bson.E{Key: userID, Value: owner(account, userID)})
	if began := account.instant(pendingField); began.IsZero() {
		filter = append(filter, bson.E{Key: pendingField, Value: bson.D{{Key: "$exists", Value: false}}})
	} else if now.Sub(began).Abs() < abandoned {
		return authsvc.ErrConflict
	} else {
		filter = append(filter, bson.E{Key: pendingField, Value: date(began)})
	}
	mine, err := s.delete(ctx, s.accounts(), filter)
	if err == nil && !mine {
		err = authsvc.ErrConflict
	}
	return err
}

// owner is a reference as it is stored; nil finds one that is missing.
func owner(d document, field string) any {
	if v := d.Lookup(field); !v.IsZero() {
		return v
	}
	return nil
}

// LinkAccount implements [authsvc.Adapter]. Whether the user exists is asked
// again after writing: from then on a deletion finds the account.
func (s *Store) LinkAccount(ctx context.Context, acc authsvc.Account) (authsvc.Account, error) {
	id := bson.NewObjectID()
	err := s.do(ctx, "link account", func(ctx context.Context) error {
		user, err := s.user(ctx, acc.UserID)
		if err != nil {
			return err
		}
		if err = s.insertAccount(ctx, acc, id, user.key(), time.Time{}); err == nil {
			_, err = s.first(ctx, s.users(), by("_id", user.key()))
		}
		if err != nil && !duplicate(err) && !errors.Is(err, authsvc.ErrConflict) {
			undo(ctx, func(ctx context.Context) { s.deleteAll(ctx, s.accounts(), by("_id", id)) }) //nolint:errcheck
		}
		return err
	})
	if err != nil {
		return authsvc.Account{}, err
	}
	acc.ID = id.Hex()
	return acc, nil
}

// RefreshAccount implements [authsvc.Adapter].
func (s *Store) RefreshAccount(ctx context.Context, acc authsvc.Account) error {
	var w writer
	if acc.RefreshToken != "" {
		w.text(s.names.of("Account.refresh_token"), acc.RefreshToken)
	}
	s.writeTokens(&w, acc)
	return s.do(ctx, "refresh account", func(ctx context.Context) error {
		return s.change(ctx, s.accounts(), s.identity(acc.Provider, acc.ProviderAccountID), w.update())
	})
}

// UnlinkAccount implements [authsvc.Adapter].
func (s *Store) UnlinkAccount(ctx context.Context, provider, providerAccountID string) error {
	return s.do(ctx, "unlink account", func(ctx context.Context) error {
		_, err := s.take(ctx, s.accounts(), s.identity(provider, providerAccountID))
		return err
	})
}

// ListAccounts implements [authsvc.Adapter].
func (s *Store) ListAccounts(ctx context.Context, userID string) (list []authsvc.Account, err error) {
	err = s.do(ctx, "list accounts", func(ctx context.Context) error {
		found, err := s.accountsOf(ctx, userID)
		if err != nil || len(found) == 0 {
			return err
		}
		if _, err := s.user(ctx, userID); err != nil {
			return unless(authsvc.ErrNotFound, err) // what a deleted user has left
		}
		for _, d := range found {
			list = append(list, s.readAccount(d))
		}
		return nil
	})
	return list, err
}

func (s *Store) accountsOf(ctx context.Context, userID string) ([]document, error) {
	return s.list(ctx, s.accounts(), bson.D{refers(s.names.of("Account.userId"), userID)},
		options.Find().SetSort(ascending(s.names.of("Account.provider"), "_id")))
}
