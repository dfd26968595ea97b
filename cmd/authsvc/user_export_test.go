package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
)

// A changingStore deletes the second user of each page after it has been read, and fails
// from the page that follows the user broken.
type changingStore struct {
	*memory.Store
	broken string
}

var errBroken = errors.New("the store is away")

func (s changingStore) ListUsers(ctx context.Context, after string, limit int) ([]authsvc.User, error) {
	if after != "" && after == s.broken {
		return nil, errBroken
	}
	page, err := s.Store.ListUsers(ctx, after, limit)
	if err == nil && len(page) > 1 {
		err = s.DeleteUser(ctx, page[1].ID, &adapter.Revocation{})
	}
	return page, err
}

// TestExportAll: over several pages, each user is a line of JSON. Users who are deleted
// meanwhile are left out. If the store fails, the lines before are there, and the command
// fails.
func TestExportAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		users, lines int
		fails        bool
	}{
		"none":         {0, 0, false},
		"one":          {1, 1, false},
		"a full page":  {usersPage, usersPage - 1, false},
		"three pages":  {2*usersPage + 3, 2*usersPage + 3 - 3, false},
		"store breaks": {usersPage + 7, usersPage - 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := changingStore{Store: memory.New()}
			var ids []string
			for i := range c.users {
				u, err := s.CreateUser(t.Context(), authsvc.User{ID: fmt.Sprintf("user-%06d", i), Name: "A\n\u001b[31m" + fmt.Sprint(i)}, nil)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, u.ID)
			}
			if c.fails {
				s.broken = ids[usersPage-1]
			}
			o, err := engine.NewOperator(authsvc.Config{URL: "https://app.example.com", Secrets: []string{testSecret}, Adapter: s, Logger: slog.New(slog.DiscardHandler),
				Providers: []authsvc.Provider{&authsvc.OAuth{ID: "acme", OpenID: true, Issuer: "https://id.example", Client: authsvc.Client{ID: "a", Secret: "b"}}}})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			p := &people{&program{ctx: t.Context(), stdout: &out, stderr: io.Discard}, t.Context(), o, s}
			if err := p.exportAll(); errors.Is(err, errBroken) != c.fails || err != nil && !c.fails {
				t.Errorf("error %v", err)
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				var one struct{ User struct{ ID string } }
				if err := json.Unmarshal([]byte(line), &one); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				got = append(got, one.User.ID)
			}
			if len(got) != c.lines || !slices.IsSorted(got) || len(slices.Compact(got)) != c.lines {
				t.Errorf("%d lines, want %d", len(got), c.lines)
			}
		})
	}
}
