package redis

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"authsvc/adapter"
)

// ambiguousNames returns names whose pairs a naive concatenation would confuse.
func ambiguousNames() []string {
	return []string{"", "a", ":", "a:", ":a", "1:a", "2:a:", "0:", "1", "\x00", "a\x00", "}", "{x}", "\r\n", "1:a1:a", "é", "-1:a"}
}

// TestPairs checks that each pair of names has its own key, in Go and in the scripts.
func TestPairs(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, a := range ambiguousNames() {
		for _, b := range ambiguousNames() {
			names := fmt.Sprintf("%q %q", a, b)
			if other, taken := seen[pair(a, b)]; taken {
				t.Errorf("%s and %s have one key", names, other)
			}
			seen[pair(a, b)] = names
		}
	}
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		n := 0
		for _, a := range ambiguousNames() {
			for _, b := range ambiguousNames() {
				n++
				id := fmt.Sprint(n)
				acc := adapter.Account{ID: id, Type: "oauth", Provider: a, ProviderAccountID: b}
				if _, err := s.SignUp(t.Context(), adapter.User{ID: id}, &acc, nil, "", nil); err != nil {
					t.Fatal(err)
				}
				u, err := s.GetUserByAccount(t.Context(), a, b)
				list, listErr := s.ListAccounts(t.Context(), id)
				if err != nil || u.ID != id || listErr != nil || len(list) != 1 || list[0] != acc {
					t.Fatalf("%q %q: %v, %v, %v, %v", a, b, u, err, list, listErr)
				}
			}
		}
	})
}

// TestSweepAwkwardNames checks that Sweep splits names correctly, and leaves no session
// in its user's index and no link in its address's index.
func TestSweepAwkwardNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		now := time.Now()
		ended := now.Add(-time.Minute)
		stored := 0
		for i, name := range ambiguousNames() {
			if _, err := s.CreateUser(t.Context(), adapter.User{ID: name}, nil); err != nil {
				t.Fatal(err)
			}
			rec := adapter.SessionRecord{ID: name, SessionToken: ambiguousNames()[len(ambiguousNames())-1-i], Digest: fmt.Sprint("d", i), UserID: name, Expires: ended}
			_, err := s.CreateSession(t.Context(), rec)
			err = errors.Join(err, s.PutToken(t.Context(), adapter.VerificationToken{Identifier: rec.SessionToken, Token: name, Expires: ended},
				adapter.Mail{ID: name, Due: now, Expires: ended}, 1000))
			if err != nil {
				t.Fatal(err)
			}
			stored += 3
		}
		if n, err := s.Sweep(t.Context(), now, 1000); err != nil || n != stored {
			t.Errorf("swept %d of %d, %v", n, stored, err)
		}
		for _, name := range keys(t, s) {
			if expiring[kind(s, name)] {
				t.Errorf("%q is left", name)
			}
		}
	})
}
