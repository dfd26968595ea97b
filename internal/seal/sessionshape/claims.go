package sessionshape

import (
	"encoding/json"
	"errors"
	"strings"

	"authsvc/internal/text/profilepath"
)

// MaxClaims bounds the claims of a session as JSON, in bytes.
const MaxClaims = 4 << 10

// ErrTooLarge means that the claims are longer than MaxClaims.
var ErrTooLarge = errors.New("the claims of the session are larger than 4 KiB")

// A claim is one entry of Options.Claims.
type claim struct {
	name string
	at   profilepath.Paths
}

// claim compiles one entry of Claims.
func (c *compiler) claim(name, path string) []claim {
	if !c.name("Claims", name) {
		return nil
	}
	at, err := profilepath.Parse(path)
	if err != nil {
		c.fail("Claims", name, err.Error(), "write members joined by dots, such as org.dept or roles[0], and put names with other characters in double quotes")
		return nil
	}
	return []claim{{name, at}}
}

// Claims returns the claims of a profile that the session keeps, or nil if there are
// none. Lists and objects keep their type.
func (s *Shape) Claims(from profilepath.Roots) map[string]any {
	if s == nil {
		return nil
	}
	var kept map[string]any
	for _, c := range s.claims {
		if v := c.at.Value(from); v != nil {
			if kept == nil {
				kept = map[string]any{}
			}
			kept[c.name] = v
		}
	}
	return kept
}

// Encode returns claims as they are stored: a JSON object without spaces, or nil if
// there are none.
func Encode(claims map[string]any) ([]byte, error) {
	if len(claims) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(claims)
	if err == nil && len(raw) > MaxClaims {
		err = ErrTooLarge
	}
	if err != nil {
		return nil, err
	}
	return raw, nil
}

// Decode returns an object as DecodeValue does, or nil for any other value.
func Decode(object string) map[string]any {
	v, _ := DecodeValue(object).(map[string]any)
	return v
}

// DecodeValue decodes a JSON value. Whole numbers that fit become int64, other numbers
// float64. It returns nil if text is not a JSON value.
func DecodeValue(text string) any {
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return plain(v)
}

// plain replaces each json.Number in a value.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
	case map[string]any:
		for k, one := range v {
			v[k] = plain(one)
		}
	case []any:
		for i, one := range v {
			v[i] = plain(one)
		}
	}
	return v
}
