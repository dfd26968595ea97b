// Package memory keeps the records of authsvc in memory, for development and tests. It
// is the reference implementation of [adapter.Adapter]: one lock around plain maps.
// Where a database would use an index, it scans a map.
package memory

import (
	"context"
	"sync"
	"time"

	"authsvc"
	"authsvc/adapter"
)

// A Store is an [adapter.Adapter] that keeps its records until the process ends. It is
// safe for concurrent use.
type Store struct {
	mu          sync.Mutex
	taken       map[key]struct{}             // other unique keys
	users       map[string]adapter.User      // by id
	emails      map[string]string            // address to user id
	addresses   []string                     // the keys of emails, sorted
	accounts    map[identity]adapter.Account // by identity
	people      map[string]adapter.Person    // by user id, without credentials
	credentials map[credentialKey]adapter.Credential
	sessions    map[key]adapter.SessionRecord        // by session token, or by digest without one
	tokens      map[string]adapter.VerificationToken // by token
	mails       map[string]adapter.Mail              // by id
	once        map[string]time.Time                 // key to expiry
	revocations map[string]adapter.Revocation        // by key
	seq         int64                                // of the latest revocation
	permits     map[string]time.Time                 // key to the time paid for
	leases      map[string]lease                     // by name
	meta        map[string]string
	columns     []string                       // names in User.Extra
	extra       map[string]map[string]any      // by user id
	audit       map[string]authsvc.AuditRecord // by id
}

var (
	_ adapter.Adapter     = (*Store)(nil)
	_ authsvc.AuditLog    = (*Store)(nil)
	_ adapter.UserColumns = (*Store)(nil)
)

// An identity is the unique key of an account.
type identity struct{ provider, id string }

// A key is the value of a unique field.
type key struct{ field, value string }

// New returns an empty store. userColumns names the columns in User.Extra; SetExtra
// sets their values.
func New(userColumns ...string) *Store {
	return &Store{
		columns:     userColumns,
		extra:       map[string]map[string]any{},
		taken:       map[key]struct{}{},
		users:       map[string]adapter.User{},
		emails:      map[string]string{},
		accounts:    map[identity]adapter.Account{},
		people:      map[string]adapter.Person{},
		credentials: map[credentialKey]adapter.Credential{},
		sessions:    map[key]adapter.SessionRecord{},
		tokens:      map[string]adapter.VerificationToken{},
		mails:       map[string]adapter.Mail{},
		once:        map[string]time.Time{},
		revocations: map[string]adapter.Revocation{},
		permits:     map[string]time.Time{},
		leases:      map[string]lease{},
		meta:        map[string]string{},
		audit:       map[string]authsvc.AuditRecord{},
	}
}

// do runs f under the lock, unless ctx is done. If f returns an error, it must not have
// changed anything.
func (a *Store) do(ctx context.Context, f func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return f()
}

// free reports whether all keys are still unused.
func (a *Store) free(keys []key) bool {
	for _, k := range keys {
		if _, taken := a.taken[k]; taken {
			return false
		}
	}
	return true
}

func (a *Store) take(keys []key) {
	for _, k := range keys {
		a.taken[k] = struct{}{}
	}
}

func (a *Store) release(keys []key) {
	for _, k := range keys {
		delete(a.taken, k)
	}
}

// stored returns t as a database would return it: in UTC, truncated to milliseconds.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

// Ping implements [adapter.Adapter].
func (a *Store) Ping(ctx context.Context) error { return ctx.Err() }
