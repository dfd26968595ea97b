// Package memory keeps the records of authsvc in the process. It is the
// reference implementation of authsvc.Adapter and good for tests and for
// trying things out; nothing survives a restart.
package memory

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"authsvc"
)

// Store is an authsvc.Adapter in memory. The zero value is not usable; New
// makes one.
type Store struct {
	mu          sync.Mutex
	users       map[string]authsvc.User
	accounts    map[accountKey]authsvc.Account
	sessions    map[string]authsvc.SessionRecord // by token
	tokens      map[string]authsvc.VerificationToken
	mails       map[string]authsvc.Mail
	once        map[string]time.Time
	revocations map[string]authsvc.Revocation
	meta        map[string]string
}

type accountKey struct{ provider, id string }

var _ authsvc.Adapter = (*Store)(nil)

// New makes an empty store.
func New() *Store {
	return &Store{
		users:       map[string]authsvc.User{},
		accounts:    map[accountKey]authsvc.Account{},
		sessions:    map[string]authsvc.SessionRecord{},
		tokens:      map[string]authsvc.VerificationToken{},
		mails:       map[string]authsvc.Mail{},
		once:        map[string]time.Time{},
		revocations: map[string]authsvc.Revocation{},
		meta:        map[string]string{},
	}
}

// lock takes the store unless ctx has ended.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return func() {}, err
	}
	s.mu.Lock()
	return s.mu.Unlock, nil
}

// ms is a time as stores keep it.
func ms(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

func (s *Store) emailTaken(email, except string) bool {
	if email == "" {
		return false
	}
	for _, u := range s.users {
		if u.Email == email && u.ID != except {
			return true
		}
	}
	return false
}

func (s *Store) addUser(u authsvc.User) (authsvc.User, error) {
	if _, ok := s.users[u.ID]; ok || s.emailTaken(u.Email, "") {
		return authsvc.User{}, authsvc.ErrConflict
	}
	u.EmailVerified = ms(u.EmailVerified)
	s.users[u.ID] = u
	return u, nil
}

// CreateUser implements authsvc.Adapter.
func (s *Store) CreateUser(ctx context.Context, u authsvc.User) (authsvc.User, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return authsvc.User{}, err
	}
	return s.addUser(u)
}

// GetUser implements authsvc.Adapter.
func (s *Store) GetUser(ctx context.Context, id string) (authsvc.User, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return authsvc.User{}, err
	}
	return s.user(id)
}

func (s *Store) user(id string) (authsvc.User, error) {
	if u, ok := s.users[id]; ok {
		return u, nil
	}
	return authsvc.User{}, authsvc.ErrNotFound
}

// GetUserByEmail implements authsvc.Adapter.
func (s *Store) GetUserByEmail(ctx context.Context, email string) (authsvc.User, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return authsvc.User{}, err
	}
	for _, u := range s.users {
		if u.Email == email && email != "" {
			return u, nil
		}
	}
	return authsvc.User{}, authsvc.ErrNotFound
}

// GetUserByAccount implements authsvc.Adapter.
func (s *Store) GetUserByAccount(ctx context.Context, provider, providerAccountID string) (authsvc.User, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return authsvc.User{}, err
	}
	a, ok := s.accounts[accountKey{provider, providerAccountID}]
	if !ok {
		return authsvc.User{}, authsvc.ErrNotFound
	}
	return s.user(a.UserID)
}

// UpdateUser implements authsvc.Adapter.
func (s *Store) UpdateUser(ctx context.Context, id string, change authsvc.UserUpdate) (authsvc.User, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return authsvc.User{}, err
	}
	u, err := s.user(id)
	if err != nil {
		return u, err
	}
	if change.Email != nil && s.emailTaken(*change.Email, id) {
		return authsvc.User{}, authsvc.ErrConflict
	}
	for field, v := range map[*string]*string{&u.Name: change.Name, &u.Email: change.Email, &u.Image: change.Image} {
		if v != nil {
			*field = *v
		}
	}
	if change.EmailVerified != nil {
		u.EmailVerified = ms(*change.EmailVerified)
	}
	s.users[id] = u
	return u, nil
}

// DeleteUser implements authsvc.Adapter.
func (s *Store) DeleteUser(ctx context.Context, id string) error {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	if _, err := s.user(id); err != nil {
		return err
	}
	delete(s.users, id)
	s.dropAccounts(id)
	s.dropSessions(id)
	return nil
}

func (s *Store) dropAccounts(userID string) []authsvc.Account {
	list := s.accountsOf(userID)
	for _, a := range list {
		delete(s.accounts, accountKey{a.Provider, a.ProviderAccountID})
	}
	return list
}

func (s *Store) dropSessions(userID string) (n int) {
	for token, r := range s.sessions {
		if r.UserID == userID {
			delete(s.sessions, token)
			n++
		}
	}
	return n
}

// LinkAccount implements authsvc.Adapter.
func (s *Store) LinkAccount(ctx context.Context, a authsvc.Account) (authsvc.Account, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return authsvc.Account{}, err
	}
	if _, err := s.user(a.UserID); err != nil {
		return authsvc.Account{}, err
	}
	key := accountKey{a.Provider, a.ProviderAccountID}
	if _, ok := s.accounts[key]; ok {
		return authsvc.Account{}, authsvc.ErrConflict
	}
	s.accounts[key] = a
	return a, nil
}

// RefreshAccount implements authsvc.Adapter.
func (s *Store) RefreshAccount(ctx context.Context, a authsvc.Account) error {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	key := accountKey{a.Provider, a.ProviderAccountID}
	old, ok := s.accounts[key]
	if !ok {
		return authsvc.ErrNotFound
	}
	a.ID, a.UserID, a.Type = old.ID, old.UserID, old.Type
	s.accounts[key] = a
	return nil
}

// UnlinkAccount implements authsvc.Adapter.
func (s *Store) UnlinkAccount(ctx context.Context, provider, providerAccountID string) error {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	key := accountKey{provider, providerAccountID}
	if _, ok := s.accounts[key]; !ok {
		return authsvc.ErrNotFound
	}
	delete(s.accounts, key)
	return nil
}

// ListAccounts implements authsvc.Adapter.
func (s *Store) ListAccounts(ctx context.Context, userID string) ([]authsvc.Account, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return nil, err
	}
	return s.accountsOf(userID), nil
}

func (s *Store) accountsOf(userID string) []authsvc.Account {
	var list []authsvc.Account
	for _, a := range s.accounts {
		if a.UserID == userID {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b authsvc.Account) int {
		if c := strings.Compare(a.Provider, b.Provider); c != 0 {
			return c
		}
		return strings.Compare(a.ProviderAccountID, b.ProviderAccountID)
	})
	return list
}

// SignUp implements authsvc.Adapter.
func (s *Store) SignUp(ctx context.Context, u authsvc.User, a *authsvc.Account, r *authsvc.SessionRecord) (authsvc.User, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return authsvc.User{}, err
	}
	if a != nil {
		if _, ok := s.accounts[accountKey{a.Provider, a.ProviderAccountID}]; ok {
			return authsvc.User{}, authsvc.ErrConflict
		}
	}
	if r != nil {
		if _, ok := s.sessions[r.SessionToken]; ok {
			return authsvc.User{}, authsvc.ErrConflict
		}
	}
	if u, err = s.addUser(u); err != nil {
		return u, err
	}
	if a != nil {
		stored := *a
		stored.UserID = u.ID
		s.accounts[accountKey{a.Provider, a.ProviderAccountID}] = stored
	}
	if r != nil {
		stored := *r
		stored.UserID = u.ID
		s.putSession(stored)
	}
	return u, nil
}

// PutMeta implements authsvc.Adapter.
func (s *Store) PutMeta(ctx context.Context, key, value string) (string, error) {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return "", err
	}
	if old, ok := s.meta[key]; ok {
		return old, nil
	}
	s.meta[key] = value
	return value, nil
}

// SetMeta implements authsvc.Adapter.
func (s *Store) SetMeta(ctx context.Context, key, value string) error {
	unlock, err := s.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	s.meta[key] = value
	return nil
}

// Ping implements authsvc.Adapter.
func (s *Store) Ping(ctx context.Context) error { return ctx.Err() }
