package redis

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"

	"authsvc/adapter"
)

// TestLateSteps checks that a step abandoned by its caller takes effect as a whole or
// not at all, whenever it arrives, and locks no user out.
func TestLateSteps(t *testing.T) {
	t.Parallel()
	now := time.Now()
	signUp := func(s *Store, id string) error {
		a := adapter.Account{ID: "a" + id, Type: "oauth", Provider: "p", ProviderAccountID: "ann"}
		r := adapter.SessionRecord{ID: "s" + id, SessionToken: "s" + id, Digest: "s" + id, Expires: now.Add(time.Hour), Began: now}
		_, err := s.SignUp(t.Context(), adapter.User{ID: "u" + id, Email: "ann@example.com"}, &a, &r, "", nil)
		return err
	}
	about := func(key string) *adapter.Revocation {
		return &adapter.Revocation{Key: key, UserID: "u1", NotBefore: now, Expires: now.Add(time.Hour)}
	}
	for name, c := range map[string]struct {
		prepare, step, next func(s *Store) error
		linked              bool // afterwards, in either order
	}{
		"SignUp": {func(*Store) error { return nil }, func(s *Store) error { return signUp(s, "1") }, func(s *Store) error { return signUp(s, "2") }, true},
		"LinkAccount": {func(s *Store) error {
			_, err := s.CreateUser(t.Context(), adapter.User{ID: "u1", Email: "ann@example.com"}, nil)
			return err
		}, func(s *Store) error {
			_, err := s.LinkAccount(t.Context(), adapter.Account{ID: "a1", UserID: "u1", Type: "oauth", Provider: "p", ProviderAccountID: "ann"}, 0)
			return err
		}, func(s *Store) error {
			_, err := s.LinkAccount(t.Context(), adapter.Account{ID: "a2", UserID: "u1", Type: "oauth", Provider: "p", ProviderAccountID: "ann"}, 0)
			return err
		}, true},
		"UnlinkAccount": {func(s *Store) error { return signUp(s, "1") },
			func(s *Store) error { return s.UnlinkAccount(t.Context(), "p", "ann", 0, about("account:u1")) },
			func(s *Store) error {
				u, err := s.GetUser(t.Context(), "u1")
				if err != nil {
					return err
				}
				return s.UnlinkAccount(t.Context(), "p", "ann", u.Epoch, about("account:u1"))
			}, false},
		"DeleteUser, and a sign-up": {func(s *Store) error { return signUp(s, "1") },
			func(s *Store) error { return s.DeleteUser(t.Context(), "u1", about("user:u1")) },
			func(s *Store) error {
				if err := s.DeleteUser(t.Context(), "u1", about("user:u1")); err != nil && !errors.Is(err, adapter.ErrNotFound) {
					return err
				}
				return signUp(s, "2")
			}, true},
	} {
		for _, order := range []string{"before the next try", "after it"} {
			t.Run(name+" "+order, func(t *testing.T) {
				t.Parallel()
				m := miniredis.RunT(t)
				s := open(t, "redis://"+m.Addr(), newPrefix())
				before := open(t, "redis://"+m.Addr(), newPrefix()) // the server knows the scripts
				if err := errors.Join(c.prepare(before), c.step(before), c.prepare(s)); err != nil {
					t.Fatal(err)
				}
				var held []string
				m.Server().SetPreHook(func(p *miniserver.Peer, command string, args ...string) bool {
					if held != nil || !strings.HasPrefix(strings.ToUpper(command), "EVAL") {
						return false
					}
					held = append([]string{command}, args...)
					p.WriteError("ERR the connection is slow")
					return true
				})
				if err := c.step(s); err == nil || held == nil {
					t.Fatalf("nothing was held back: %v", err)
				}
				arrive := func() {
					line := make([]any, len(held))
					for i := range held {
						line[i] = held[i]
					}
					if err := s.client.Do(t.Context(), line...).Err(); err != nil {
						t.Fatal(err)
					}
				}
				if order == "after it" {
					if err := c.next(s); err != nil {
						t.Errorf("the next try: %v", err)
					}
					arrive()
				} else {
					arrive()
					if err := c.next(s); err != nil && !errors.Is(err, adapter.ErrConflict) && !errors.Is(err, adapter.ErrNotFound) {
						t.Errorf("the next try: %v", err)
					}
				}
				byAccount, linkErr := s.GetUserByAccount(t.Context(), "p", "ann")
				byAddress, err := s.GetUserByEmail(t.Context(), "ann@example.com")
				if err != nil || (linkErr == nil) != c.linked || c.linked && byAccount.ID != byAddress.ID {
					t.Errorf("by the account %+v, %v; by the address %+v, %v", byAccount, linkErr, byAddress, err)
				}
			})
		}
	}
}
