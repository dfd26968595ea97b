package mongodb

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc/adapter"
)

// TestForeignIDs checks that records with text ids, as other programs write them, are
// found and keep their ids.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	hex := "0123456789abcdef01234567" // text that looks like an ObjectId
	oid := bson.NewObjectID()
	for _, id := range []any{"cl1", hex, oid} {
		foreignID(t, s, id)
	}
	var ids []string
	for after := ""; ; after = ids[len(ids)-1] {
		page, err := s.ListUsers(t.Context(), after, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		ids = append(ids, page[0].ID)
	}
	if want := []string{hex, "cl1", oid.Hex()}; fmt.Sprint(ids) != fmt.Sprint(want) {
		t.Errorf("pages %v, want %v", ids, want)
	}
	for _, id := range ids {
		if err := s.DeleteUser(t.Context(), id, endSessionsOf(id)); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []*mongo.Collection{s.users(), s.accounts(), s.sessions()} {
		if n, err := c.CountDocuments(t.Context(), bson.D{}, options.Count()); n != 0 || err != nil {
			t.Errorf("%d left in %s, %v", n, c.Name(), err)
		}
	}
}

// foreignID stores a user as NextAuth.js does, then uses its records.
func foreignID(t *testing.T, s shared, id any) {
	t.Helper()
	name := text(rawValue(t, id))
	for c, d := range map[*mongo.Collection]bson.D{
		s.users():    {{Key: "_id", Value: id}, {Key: "email", Value: email(name)}, {Key: "emailVerified", Value: nil}, {Key: "name", Value: nil}, {Key: "extra", Value: "kept"}},
		s.accounts(): {{Key: "userId", Value: id}, {Key: "type", Value: "oauth"}, {Key: "provider", Value: "p"}, {Key: "providerAccountId", Value: name}, {Key: "expires_at", Value: int32(7)}},
		s.sessions(): {{Key: "userId", Value: id}, {Key: "sessionToken", Value: "token " + name}, {Key: "expires", Value: time.Now()}},
	} {
		if _, err := c.InsertOne(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if u, err := s.GetUserByAccount(t.Context(), "p", name); err != nil || u.ID != name || u.Name != "" || !u.EmailVerified.IsZero() {
		t.Errorf("got %+v, %v", u, err)
	}
	if _, u, err := s.GetSession(t.Context(), "token "+name, "d"); err != nil || u.ID != name {
		t.Errorf("got %+v, %v", u, err)
	}
	acc := testAccount("second " + name)
	acc.UserID = name
	if _, err := s.LinkAccount(t.Context(), acc, 0); err != nil {
		t.Error(err)
	}
	if n, err := s.accounts().CountDocuments(t.Context(), by("userId", id)); n != 2 || err != nil {
		t.Errorf("%v: %d accounts refer to it as it is, %v", id, n, err)
	}
	if list, err := s.ListAccounts(t.Context(), name); err != nil || len(list) != 2 || list[0].ExpiresAt != 7 {
		t.Errorf("got %+v, %v", list, err)
	}
	changed := "changed"
	if _, err := s.UpdateUser(t.Context(), name, adapter.UserUpdate{Name: &changed}); err != nil {
		t.Error(err)
	}
	if d, err := s.user(t.Context(), name); err != nil || d.text("extra") != "kept" || d.text("name") != changed {
		t.Errorf("got %v, %v", d, err)
	}
}

func rawValue(t *testing.T, v any) bson.RawValue {
	t.Helper()
	raw, err := bson.Marshal(by("v", v))
	if err != nil {
		t.Fatal(err)
	}
	return bson.Raw(raw).Lookup("v")
}

// TestBrokenText checks that text that is not valid UTF-8 is never found or stored.
func TestBrokenText(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	for _, bad := range []string{"\xff", "a\xc3", "\xed\xa0\x80"} {
		if _, err := s.GetUserByEmail(t.Context(), bad); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("%q: look up: %v", bad, err)
		}
		if _, err := s.CreateUser(t.Context(), adapter.User{Name: bad}, nil); !errors.Is(err, errText) || errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("%q: create: %v", bad, err)
		}
		if err := s.UseOnce(t.Context(), bad, time.Now()); !errors.Is(err, errText) {
			t.Errorf("%q: use once: %v", bad, err)
		}
	}
	if users, err := s.ListUsers(t.Context(), "", 10); err != nil || len(users) > 0 {
		t.Errorf("got %v, %v", users, err)
	}
	if _, err := s.CreateUser(t.Context(), adapter.User{Name: "a\x00b", Email: "\x00"}, nil); err != nil {
		t.Error(err)
	}
	if u, err := s.GetUserByEmail(t.Context(), "\x00"); err != nil || u.Name != "a\x00b" {
		t.Errorf("got %+v, %v", u, err)
	}
}
