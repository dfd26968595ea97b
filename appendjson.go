package authsvc

import (
	"encoding/json"
	"unicode/utf8"
)

// appendSession writes the default session object, the body of nearly every
// GET session, without reflection. A test holds it equal to MarshalJSON.
func appendSession(b []byte, s *Session) []byte {
	b = append(b, `{"user":{"name":`...)
	b = appendNullable(b, s.Name)
	b = append(b, `,"email":`...)
	b = appendNullable(b, s.Email)
	b = append(b, `,"image":`...)
	b = appendNullable(b, s.Image)
	b = append(b, `},"expires":"`...)
	b = s.Expires.UTC().AppendFormat(b, timeFormat)
	return append(b, `"}`...)
}

func appendNullable(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return appendString(b, s)
}

// appendString writes s as a JSON string, leaving all but plain ASCII to
// encoding/json, which also escapes <, > and &.
func appendString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c == 0x7f {
			quoted, err := json.Marshal(s)
			if err != nil { // a string always marshals
				return append(b, `""`...)
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
