package redis

import (
	"context"

	"authsvc/adapter"
)

var (
	userGet       = read("user_get")
	userByEmail   = read("user_by_email")
	userByAccount = read("user_by_account")
	userUpdate    = nonIdempotent("user_update") // a late retry would undo a newer update
	userDelete    = nonIdempotent("user_delete")
	userList      = idempotent("user_list")
	epochGet      = read("epoch_get")
)

// CreateUser implements [adapter.Adapter].
func (s *Store) CreateUser(ctx context.Context, u adapter.User, r *adapter.Revocation) (adapter.User, error) {
	return s.SignUp(ctx, u, nil, nil, "", r)
}

// user runs a step that returns a user.
func (s *Store) user(ctx context.Context, st *step, key string, args ...any) (adapter.User, error) {
	list, err := s.list(ctx, st, []string{key}, args...)
	if err != nil {
		return adapter.User{}, err
	}
	return row{list}.user(), nil
}

// GetUser implements [adapter.Adapter].
func (s *Store) GetUser(ctx context.Context, id string) (adapter.User, error) {
	return s.user(ctx, userGet, s.key("user", id))
}

// GetUserByEmail implements [adapter.Adapter].
func (s *Store) GetUserByEmail(ctx context.Context, email string) (adapter.User, error) {
	return s.user(ctx, userByEmail, s.key("email", email))
}

// GetUserByAccount implements [adapter.Adapter].
func (s *Store) GetUserByAccount(ctx context.Context, provider, providerAccountID string) (adapter.User, error) {
	return s.user(ctx, userByAccount, s.accountKey(provider, providerAccountID))
}

// UpdateUser implements [adapter.Adapter].
func (s *Store) UpdateUser(ctx context.Context, id string, change adapter.UserUpdate) (adapter.User, error) {
	args := []any{id}
	for name, value := range map[string]*string{"name": change.Name, "email": change.Email, "image": change.Image} {
		if value != nil {
			args = append(args, name, *value)
		}
	}
	if change.EmailVerified != nil {
		args = append(args, "verified", optional(*change.EmailVerified))
	}
	if was := change.Was; was != nil {
		args = append(args, "was_epoch", was.Epoch, "was_email", was.Email, "was_verified", optional(was.EmailVerified))
	}
	return s.user(ctx, userUpdate, s.key("user", id), args...)
}

// DeleteUser implements [adapter.Adapter].
func (s *Store) DeleteUser(ctx context.Context, id string, r *adapter.Revocation) error {
	args := append([]any{id}, revocationFields(r)...)
	list, err := s.list(ctx, userDelete, []string{s.key("user", id)}, args...)
	r.Seq = row{list}.number(0)
	return err
}

// GetEpoch implements [adapter.Adapter].
func (s *Store) GetEpoch(ctx context.Context, userID string) (int64, error) {
	list, err := s.list(ctx, epochGet, []string{s.key("epoch", userID)})
	return row{list}.number(0), err
}

// ListUsers implements [adapter.Adapter]. It orders users by the bytes of their ids.
func (s *Store) ListUsers(ctx context.Context, after string, limit int) ([]adapter.User, error) {
	from := "-"
	if after != "" {
		from = "(" + after
	}
	list, err := s.list(ctx, userList, []string{s.tag + "users"}, from, max(limit, 0))
	return rows(list, row.user), err
}
