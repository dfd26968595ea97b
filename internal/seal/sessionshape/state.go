package sessionshape

import (
	"bytes"
	"encoding/json"
	"time"

	"authsvc/internal/text"
)

// A State holds the parts of a session that only the engine sets.
type State struct {
	ID     string // identifies the session for the CSRF token
	AMR    Methods
	more   *Origin // nil: the session has neither a second factor nor an actor
	Shape  *Shape
	Kept   string // claims of the session, as JSON
	Extra  map[string]any
	Row    string         // Extra as JSON, instead of Extra
	Claims map[string]any // claims of the token
	Token  []byte         // Claims as JSON, until the first use
}

// SetOrigin sets how the session began and who acts in it.
func (s *State) SetOrigin(o Origin) {
	s.AMR = o.AMR
	if !o.SecondAt.IsZero() || o.Actor != "" {
		more := o // o itself stays off the heap
		s.more = &more
	}
}

// Origin returns how the session began and who acts in it.
func (s *State) Origin() Origin {
	if s.more != nil {
		return *s.more
	}
	return Origin{AMR: s.AMR}
}

// DecodeToken decodes the claims of a token. It keeps numbers as they are written, so
// that large numbers of other programs survive a re-issue.
func DecodeToken(plain []byte) (claims map[string]any, err error) {
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.UseNumber()
	err = dec.Decode(&claims)
	return claims, err
}

// A Shown holds the values of a session that GET session shows.
type Shown struct {
	Values
	Name, Email, Image string
	Expires            time.Time
}

// Append writes the default session object, the body of nearly every GET session
// response, without reflection.
func (s *Shown) Append(b []byte, shape *Shape) []byte {
	b = append(b, `{"user":{"name":`...)
	b = text.AppendNullable(b, s.Name)
	b = append(b, `,"email":`...)
	b = text.AppendNullable(b, s.Email)
	b = append(b, `,"image":`...)
	b = text.AppendNullable(b, s.Image)
	if shape != nil {
		b = shape.Append(b, &s.Values)
	}
	b = append(b, `},"expires":"`...)
	b = s.Expires.UTC().AppendFormat(b, text.TimeFormat)
	return append(b, `"}`...)
}

// Values returns the values that the shape may show.
func (s *State) Values(id, provider string, verified bool) Values {
	return Values{ID: id, Provider: provider, EmailVerified: verified, Claims: s.Kept, Columns: s.Extra, Row: s.Row, Text: text.AppendString}
}
