package sessionshape

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"authsvc/internal/text/jsonscan"
)

// Values holds the data that a session can show. Claims and Row are JSON objects as
// encoding/json writes them, or empty. Columns is Row before encoding.
type Values struct {
	ID, Provider  string
	EmailVerified bool
	Claims        string
	Row           string
	Columns       map[string]any
	Text          func(b []byte, s string) []byte // appends a JSON string
}

// Append writes the shown values as further members of an object.
func (s *Shape) Append(b []byte, v *Values) []byte {
	for i := range s.shown {
		b = append(b, s.shown[i].prefix...)
		b = v.append(b, &s.shown[i])
	}
	return b
}

// AppendAll writes all available values, also under their own names.
func (s *Shape) AppendAll(b []byte, v *Values) []byte {
	fields := []Field{newField("email_verified", EmailVerified, ""), newField("id", ID, ""), newField("provider", Provider, "")}
	if s != nil {
		fields = s.whole
	}
	for i := range fields {
		b = append(b, fields[i].prefix...)
		b = v.append(b, &fields[i])
	}
	return b
}

// Add adds the shown values to a decoded object.
func (s *Shape) Add(object map[string]any, v *Values) {
	if s == nil {
		return
	}
	for i := range s.shown {
		var one any
		if json.Unmarshal(v.append(nil, &s.shown[i]), &one) == nil { // always nil
			object[s.shown[i].Name] = one
		}
	}
}

// append writes the value of one field, or null if there is none.
func (v *Values) append(b []byte, f *Field) []byte {
	switch f.Source {
	case ID:
		return v.text(b, v.ID)
	case EmailVerified:
		return strconv.AppendBool(b, v.EmailVerified)
	case Provider:
		return v.text(b, v.Provider)
	case Claim:
		return appendMember(b, v.Claims, f.Of)
	}
	if v.Row != "" {
		return appendMember(b, v.Row, f.Of)
	}
	return v.any(b, v.Columns[f.Of])
}

func appendMember(b []byte, object, name string) []byte {
	if raw, ok := jsonscan.Member(object, name); ok {
		return append(b, raw...)
	}
	return append(b, "null"...)
}

func (v *Values) text(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return v.Text(b, s)
}

// any writes the value of a column, or null if JSON cannot represent it.
func (v *Values) any(b []byte, value any) []byte {
	switch value := value.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return v.Text(b, value)
	case int64:
		return strconv.AppendInt(b, value, 10)
	case bool:
		return strconv.AppendBool(b, value)
	case time.Time:
		b = append(b, '"')
		return append(value.UTC().AppendFormat(b, time.RFC3339Nano), '"')
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return append(b, "null"...)
		}
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, raw...)
}

// EncodeRow returns the columns of a row as a JSON object, or nil if there are none.
func EncodeRow(columns map[string]any) (json.RawMessage, error) {
	if len(columns) == 0 {
		return nil, nil
	}
	v := Values{Text: func(b []byte, s string) []byte {
		raw, _ := json.Marshal(s) // a string always marshals
		return append(b, raw...)
	}}
	row := make(map[string]json.RawMessage, len(columns))
	for name, value := range columns {
		row[name] = v.any(nil, value)
	}
	return json.Marshal(row)
}
