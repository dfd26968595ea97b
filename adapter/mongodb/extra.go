package mongodb

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"authsvc/adapter"
)

var _ adapter.UserColumns = (*Store)(nil)

// UserColumns implements [adapter.UserColumns].
func (s *Store) UserColumns() []string { return s.columns }

// readExtra reads the application's own fields.
func (s *Store) readExtra(d document) map[string]any {
	if len(s.columns) == 0 {
		return nil
	}
	extra := make(map[string]any, len(s.columns))
	for _, name := range s.columns {
		extra[name] = plain(d.Lookup(name))
	}
	return extra
}

// plain returns a value for User.Extra. It is nil if the value is missing, null or of a
// type that other programs would not understand.
func plain(v bson.RawValue) any {
	switch v.Type {
	case bson.TypeString:
		return v.StringValue()
	case bson.TypeBoolean:
		return v.Boolean()
	case bson.TypeInt32, bson.TypeInt64:
		return v.AsInt64()
	case bson.TypeDouble:
		return v.Double()
	case bson.TypeDecimal128:
		return v.Decimal128().String()
	case bson.TypeDateTime:
		return time.UnixMilli(v.DateTime()).UTC()
	case bson.TypeObjectID:
		return v.ObjectID().Hex()
	case bson.TypeBinary:
		_, b := v.Binary()
		return append([]byte(nil), b...)
	case bson.TypeArray, bson.TypeEmbeddedDocument:
		return plainList(v)
	}
	return nil
}

// plainList returns a list or an object.
func plainList(v bson.RawValue) any {
	if v.Type == bson.TypeArray {
		values, _ := v.Array().Values() // the server has validated it
		list := make([]any, len(values))
		for i, one := range values {
			list[i] = plain(one)
		}
		return list
	}
	elements, _ := v.Document().Elements()
	object := make(map[string]any, len(elements))
	for _, e := range elements {
		object[e.Key()] = plain(e.Value())
	}
	return object
}
