package authtest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/dev/idp"
	"authsvc/internal/seal"
)

// introduce adds the user to the identity provider and returns the sub. If the user is
// in the store, or has an ID, the store gets an account at the provider, as if the user
// had signed in there before.
func (s *Service) introduce(ctx context.Context, user authsvc.User) (sub string, err error) {
	if cmp.Or(user.ID, user.Email, user.Name) == "" {
		return "", errors.New("a user needs an ID, an Email or a Name; for a client without a session use Guest")
	}
	if user.Email != "" {
		if user.Email, err = authsvc.NormaliseEmail(user.Email); err != nil {
			return "", err
		}
	}
	sub = subject(cmp.Or(user.ID, user.Email, user.Name))
	extra := user.Extra
	if store := s.config.Adapter; store != nil {
		if user, err = s.account(ctx, store, user, sub); err != nil {
			return "", err
		}
	}
	if err := s.setExtra(ctx, user, extra); err != nil {
		return "", err
	}
	_, err = s.idp.AddPerson(idp.Person{Sub: sub, Name: cmp.Or(user.Name, user.Email, user.ID), Email: user.Email,
		EmailVerified: user.Email != "", Picture: user.Image})
	if errors.Is(err, idp.ErrTaken) {
		err = nil
	}
	return sub, err
}

// account finds the user or, if there is an ID, stores it, and links the account. It
// returns the user as stored, or as it will be.
func (s *Service) account(ctx context.Context, store adapter.Adapter, user authsvc.User, sub string) (authsvc.User, error) {
	stored, err := store.GetUserByAccount(ctx, ProviderID, sub)
	if err == nil || !errors.Is(err, adapter.ErrNotFound) {
		return stored, err
	}
	switch {
	case user.ID != "":
		stored, err = store.GetUser(ctx, user.ID)
		if errors.Is(err, adapter.ErrNotFound) {
			stored, err = store.CreateUser(ctx, user, nil)
		}
	case user.Email != "":
		stored, err = store.GetUserByEmail(ctx, user.Email)
	default:
		return user, nil
	}
	if errors.Is(err, adapter.ErrNotFound) {
		return user, nil // the engine creates the user
	}
	if err != nil {
		return user, err
	}
	account := authsvc.Account{ID: seal.UUIDv7(), UserID: stored.ID, Type: "oauth", Provider: ProviderID, ProviderAccountID: sub}
	if s.config.Compat == authsvc.AuthJSV5 {
		account.Type = "oidc"
	}
	_, err = store.LinkAccount(ctx, account, stored.Epoch)
	if errors.Is(err, adapter.ErrConflict) {
		err = nil // a concurrent test linked it first
	}
	return stored, err
}

// An extraStore is a store that keeps User.Extra itself, as package memory does.
type extraStore interface {
	adapter.UserColumns
	SetExtra(ctx context.Context, userID string, extra map[string]any) error
}

// setExtra puts the given columns into the store. The other columns of the user stay.
func (s *Service) setExtra(ctx context.Context, user authsvc.User, given map[string]any) error {
	if len(given) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(given))
	store, keeps := s.config.Adapter.(extraStore)
	if !keeps {
		return fmt.Errorf("the store cannot set Extra (%s): write these columns into your own table, or set Config.Adapter to memory.New with the names of the columns",
			strings.Join(names, ", "))
	}
	columns := store.UserColumns()
	if unknown := slices.DeleteFunc(names, func(name string) bool { return slices.Contains(columns, name) }); len(unknown) > 0 {
		return fmt.Errorf("the store does not read the columns %s of Extra: set Config.Adapter to memory.New with their names", strings.Join(unknown, ", "))
	}
	all := maps.Clone(user.Extra)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, given)
	err := store.SetExtra(ctx, user.ID, all)
	if errors.Is(err, adapter.ErrNotFound) {
		return errors.New("a user with Extra needs an ID, because the engine stores a user without one only at the sign-in")
	}
	return err
}

// subject returns the sub of a person: 1 to 255 visible ASCII characters.
func subject(key string) string {
	if len(key) <= 200 && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "u-" + hex.EncodeToString(sum[:])
}
