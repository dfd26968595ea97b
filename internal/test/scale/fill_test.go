package scale

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func few() Population {
	return Population{Seed: 9, Users: 10, Accounts: 2, Sessions: 3, Ended: 8, Now: time.Now()}
}

// TestFill checks that a filled store contains the population and is not filled
// again.
func TestFill(t *testing.T) {
	each(t, func(t *testing.T, fresh func(testing.TB) string) {
		storage := fresh(t)
		p := few()
		s := serve(t, storage, p)
		users, err := s.store.ListUsers(t.Context(), "", 100)
		if err != nil || len(users) != p.Users {
			t.Fatalf("%d users, %v", len(users), err)
		}
		for _, u := range users {
			accounts, err := s.store.ListAccounts(t.Context(), u.ID)
			if err != nil || len(accounts) != p.Accounts {
				t.Errorf("%s: %d accounts, %v", u.Email, len(accounts), err)
			}
		}
		for i := range p.live() {
			want := p.session(i)
			got, u, err := s.store.GetSession(t.Context(), want.SessionToken, want.Digest)
			if err != nil || u.ID != p.userID(p.owner(i)) || !got.Expires.After(p.Now) || got.Began.UnixMilli() != want.Began.UnixMilli() {
				t.Errorf("session %d: %+v of %s, %v", i, got, u.Email, err)
			}
		}
		if err := Fill(t.Context(), storage, p, func(string) {}); !errors.Is(err, errNotEmpty) {
			t.Errorf("filled twice: %v", err)
		}
	})
}

func TestFillRefuses(t *testing.T) {
	t.Parallel()
	if err := Fill(t.Context(), "redis://127.0.0.1", few(), func(string) {}); !errors.Is(err, errScheme) {
		t.Errorf("a store of no known scheme: %v", err)
	}
	if err := Fill(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "auth.db"), Population{}, func(string) {}); err == nil {
		t.Error("an empty population was filled in")
	}
}
