package mongodb

import (
	"errors"
	"reflect"
	"time"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
)

var errText = errors.New("text is not UTF-8")

const stringKind = reflect.String

// encodeText writes strings as strings, never as operators, in filters too.
type encodeText struct{}

// EncodeValue implements [bson.ValueEncoder].
func (encodeText) EncodeValue(_ bson.EncodeContext, w bson.ValueWriter, v reflect.Value) error {
	if !utf8.ValidString(v.String()) {
		return errText
	}
	return w.WriteString(v.String())
}

// A document is read field by field, since another program may have written it. A field
// that is missing, null or of another type reads as the zero value.
type document struct{ bson.Raw }

func (d document) text(field string) string {
	text, _ := d.Lookup(field).StringValueOK()
	return text
}

// bytes reads text. It returns nil if the field is absent.
func (d document) bytes(field string) []byte {
	text, ok := d.Lookup(field).StringValueOK()
	if !ok {
		return nil
	}
	return []byte(text)
}

// id reads an id or a reference.
func (d document) id(field string) string { return text(d.Lookup(field)) }

// text returns an id as text: 24 hexadecimal digits for an ObjectId, strings unchanged.
func text(id bson.RawValue) string {
	if oid, ok := id.ObjectIDOK(); ok {
		return oid.Hex()
	}
	value, _ := id.StringValueOK()
	return value
}

func (d document) number(field string) int64 {
	n, _ := d.Lookup(field).AsInt64OK()
	return n
}

func (d document) instant(field string) time.Time {
	ms, ok := d.Lookup(field).DateTimeOK()
	if !ok {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// key returns the _id as stored.
func (d document) key() bson.RawValue { return d.Lookup("_id") }

// is reports whether a field equals an _id as stored.
func (d document) is(field string, id bson.RawValue) bool { return d.Lookup(field).Equal(id) }

// keys returns the _id of each document as stored.
func keys(list []document) bson.A {
	ids := bson.A{}
	for _, d := range list {
		ids = append(ids, d.key())
	}
	return ids
}

// ids returns the _id of each document as text.
func ids(list []document) (ids []string) {
	for _, d := range list {
		ids = append(ids, d.id("_id"))
	}
	return ids
}

// values returns the possible stored forms of an id given as text. 24 hexadecimal
// digits may be an ObjectId, or a string written by another program.
func values(id string) bson.A {
	if oid, err := bson.ObjectIDFromHex(id); err == nil && oid.Hex() == id {
		return bson.A{oid, id}
	}
	return bson.A{id}
}

// refers returns the condition that a field holds an id given as text.
func refers(field, id string) bson.E {
	if v := values(id); len(v) > 1 {
		return bson.E{Key: field, Value: bson.D{{Key: "$in", Value: v}}}
	}
	return bson.E{Key: field, Value: id}
}

// following returns the condition for documents after an _id. Comparisons match only
// values of the same type, so after strings it also matches all ObjectIds.
func following(id any) bson.D {
	next := by("_id", bson.D{{Key: "$gt", Value: id}})
	v, raw := id.(bson.RawValue)
	if _, isText := id.(string); isText || raw && v.Type == bson.TypeString {
		return by("$or", bson.A{next, by("_id", bson.D{{Key: "$type", Value: "objectId"}})})
	}
	return next
}

// among returns the condition that a field holds one of the values.
func among(field string, values bson.A) bson.D {
	return bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: values}}}}
}

// by returns the condition that fields hold exactly these values.
func by(field string, value any, more ...bson.E) bson.D {
	return append(bson.D{{Key: field, Value: value}}, more...)
}

// A writer collects fields. Fields with the zero value are left out of a new document.
type writer struct{ set, unset bson.D }

func (w *writer) text(field, value string) {
	if value == "" {
		w.unset = append(w.unset, bson.E{Key: field, Value: ""})
		return
	}
	w.set = append(w.set, bson.E{Key: field, Value: value})
}

func (w *writer) instant(field string, value time.Time) {
	if value.IsZero() {
		w.unset = append(w.unset, bson.E{Key: field, Value: ""})
		return
	}
	w.set = append(w.set, bson.E{Key: field, Value: date(value)})
}

func (w *writer) number(field string, value int64) {
	if value == 0 {
		w.unset = append(w.unset, bson.E{Key: field, Value: ""})
		return
	}
	w.set = append(w.set, bson.E{Key: field, Value: value})
}

func (w *writer) value(field string, value any) {
	w.set = append(w.set, bson.E{Key: field, Value: value})
}

// update returns the collected change, or an empty document if there is none.
func (w *writer) update() (change bson.D) {
	if len(w.set) > 0 {
		change = append(change, bson.E{Key: "$set", Value: w.set})
	}
	if len(w.unset) > 0 {
		change = append(change, bson.E{Key: "$unset", Value: w.unset})
	}
	return change
}

func date(t time.Time) bson.DateTime { return bson.DateTime(t.UnixMilli()) }

// stored returns t as it is read back: in UTC, truncated to milliseconds.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}
