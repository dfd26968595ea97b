package mongodb

import (
	"reflect"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"authsvc/adapter"
)

// TestMissingIndex checks that the error names the missing indexes and says how to
// create them.
func TestMissingIndex(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	for _, i := range s.indexes()[:2] {
		if err := i.collection.Indexes().DropOne(t.Context(), i.name()); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Open(t.Context(), s.location, Options{})
	for _, want := range []string{"unique index over (email) of users", "(provider, providerAccountId) of accounts", "migrate up"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	again(t, s.location, Options{Migrate: true})
	again(t, s.location, Options{})
}

// TestIndexes checks that every lookup has an index that begins with its field, and
// every uniqueness rule a unique index.
func TestIndexes(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	for name, want := range map[string][]string{
		"users":               {"unique email"},
		"accounts":            {"unique provider providerAccountId", "userId"},
		"sessions":            {"unique sessionToken", "userId", "expires"},
		"verification_tokens": {"unique identifier token", "unique token", "expires"},
		"authsvc_session":     {"session", "expires", "user"},
		"authsvc_person":      {"delete_after"},
		"authsvc_credential":  {"user kind", "unique place", "expires"},
		"authsvc_mail":        {"unique slot", "due _id", "expires"},
		"authsvc_once":        {"expires"},
		"authsvc_revocation":  {"user seq", "cursor", "pending", "expires"},
		"authsvc_permit":      {"expires"},
		"authsvc_lease":       {"expires"},
		"authsvc_audit":       {"occurred _id"},
	} {
		indexes, err := existing(t.Context(), s.db.Collection(name))
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]bool{}
		for _, i := range indexes {
			text := strings.Join(fieldsOf(i), " ")
			if unique, _ := i.Lookup("unique").BooleanOK(); unique {
				text = "unique " + text
			}
			have[text] = true
		}
		for _, w := range want {
			if !have[w] {
				t.Errorf("%s has no index %q, but %v", name, w, have)
			}
		}
	}
}

// TestAddressesByIndex checks that a search by a prefix is a range of texts of the index
// over addresses, also where that index is partial: a server uses a partial index only if
// the query names the type.
func TestAddressesByIndex(t *testing.T) {
	t.Parallel()
	names, err := resolve(Naming{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{names: names}
	for after, from := range map[string]bson.E{"": {Key: "$gte", Value: "ad"}, "ada@example.com": {Key: "$gt", Value: "ada@example.com"}} {
		want := by("email", bson.D{from, {Key: "$lt", Value: "ad\U0010ffff"}, {Key: "$type", Value: "string"}})
		if got := s.addresses(adapter.UserQuery{Prefix: "ad", After: after}); !reflect.DeepEqual(got, want) {
			t.Errorf("after %q: %v, want %v", after, got, want)
		}
	}
}

// TestServedBy checks that another program's index is used if, and only if, it is
// equivalent.
func TestServedBy(t *testing.T) {
	t.Parallel()
	pair := index{fields: []string{"provider", "providerAccountId"}, unique: true}
	mail := index{fields: []string{"email"}, unique: true, optional: true}
	plain := index{fields: []string{"userId"}}
	keys := func(fields ...string) bson.E { return bson.E{Key: "key", Value: ascending(fields...)} }
	unique := bson.E{Key: "unique", Value: true}
	partial := func(condition bson.D) bson.E {
		return bson.E{Key: "partialFilterExpression", Value: by("email", condition)}
	}
	for name, c := range map[string]struct {
		want index
		have bson.D
		ok   bool
	}{
		"the same":             {pair, bson.D{keys("provider", "providerAccountId"), unique}, true},
		"in another order":     {pair, bson.D{keys("providerAccountId", "provider"), unique}, true},
		"not unique":           {pair, bson.D{keys("provider", "providerAccountId")}, false},
		"unique by more":       {pair, bson.D{keys("provider", "providerAccountId", "userId"), unique}, false},
		"unique by less":       {pair, bson.D{keys("provider"), unique}, false},
		"unique in any case":   {pair, bson.D{keys("provider", "providerAccountId"), unique, {Key: "collation", Value: by("locale", "en")}}, false},
		"partially unique":     {pair, bson.D{keys("provider", "providerAccountId"), unique, partial(by("$exists", true))}, false},
		"email when text":      {mail, bson.D{keys("email"), unique, partial(by("$type", "string"))}, true},
		"email when there":     {mail, bson.D{keys("email"), unique, partial(by("$exists", true))}, true},
		"email, sparse":        {mail, bson.D{keys("email"), unique, {Key: "sparse", Value: true}}, true},
		"email, always":        {mail, bson.D{keys("email"), unique, {Key: "name", Value: "email_1"}}, false},
		"email, after probe":   {mail, bson.D{keys("email"), unique, {Key: "name", Value: "authsvc_email"}}, true},
		"email, of some":       {mail, bson.D{keys("email"), unique, partial(by("$gt", "m"))}, false},
		"by user":              {plain, bson.D{keys("userId")}, true},
		"by user and more":     {plain, bson.D{keys("userId", "provider")}, true},
		"by user, but not all": {plain, bson.D{keys("userId"), partial(by("$exists", true))}, false},
		"by something else":    {plain, bson.D{keys("provider", "userId")}, false},
	} {
		raw, err := bson.Marshal(c.have)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.want.servedBy(document{raw}); got != c.ok {
			t.Errorf("%s: %v", name, got)
		}
	}
}
