package mongodb

import (
	"reflect"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"authsvc/adaptertest"
)

func TestUserColumns(t *testing.T) {
	t.Parallel()
	id, at := bson.NewObjectID(), time.Date(2030, 1, 1, 0, 0, 0, 123e6, time.UTC)
	set := bson.D{{Key: "role", Value: "admin"}, {Key: "größe", Value: int64(1) << 40}, {Key: "small", Value: int32(7)}, {Key: "score", Value: 2.5},
		{Key: "active", Value: true}, {Key: "createdAt", Value: at}, {Key: "team id", Value: id},
		{Key: "groups", Value: bson.A{"a", int32(1), bson.D{{Key: "b", Value: nil}}}}, {Key: "key", Value: []byte{0, 255}}}
	want := map[string]any{"role": "admin", "größe": int64(1) << 40, "small": int64(7), "score": 2.5, "active": true, "createdAt": at,
		"team id": id.Hex(), "groups": []any{"a", int64(1), map[string]any{"b": nil}}, "key": []byte{0, 255}, "missing": nil}
	var o Options
	for name := range want {
		o.Naming.UserColumns = append(o.Naming.UserColumns, name)
	}
	s := newShared(t, o)
	adaptertest.RunColumns(t, adaptertest.Columns{Adapter: s.Store, Want: want, Set: func(t *testing.T, userID string) {
		t.Helper()
		r, err := s.users().UpdateOne(t.Context(), bson.D{refers("_id", userID)}, bson.D{{Key: "$set", Value: set}})
		if err != nil || r.ModifiedCount != 1 {
			t.Fatal(r, err)
		}
	}})
}

// TestPlain covers values that FerretDB does not accept.
func TestPlain(t *testing.T) {
	t.Parallel()
	exact, err := bson.ParseDecimal128("12345678901234567890.5")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := bson.Marshal(bson.D{{Key: "exact", Value: exact}, {Key: "least", Value: bson.MinKey{}}, {Key: "null", Value: nil}})
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{columns: []string{"exact", "least", "null", "missing"}}
	want := map[string]any{"exact": "12345678901234567890.5", "least": nil, "null": nil, "missing": nil}
	if got := s.readExtra(document{raw}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestRefusesUserColumns checks that invalid and reserved names are refused without a
// server.
func TestRefusesUserColumns(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"email"}, {"a", "a"}, {""}, {"a.b"}, {"$a"}, {"_id"}, {"authsvc_linking"}} {
		if _, err := resolve(Naming{UserColumns: names}); err == nil {
			t.Errorf("%q was taken", names)
		}
	}
	if _, err := resolve(Naming{UserColumns: []string{"role", "team id"}}); err != nil {
		t.Error(err)
	}
}
