// Package strictjson decodes untrusted JSON. It requires valid UTF-8, unique member
// names, bounded depth and no data after the value. encoding/json repairs or overlooks
// violations, and matches names in any case.
//
// Values are string, [json.Number], bool, nil, []any and map[string]any. Numbers keep
// their original digits, so a 64-bit id stays exact.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth bounds the nesting of objects and lists.
const MaxDepth = 32

// Errors of this package. They never quote the input.
var (
	ErrSyntax    = errors.New("not valid JSON in UTF-8")
	ErrNotObject = errors.New("not a JSON object")
	ErrDuplicate = errors.New("duplicate member")
	ErrDepth     = errors.New("nested too deeply")
)

// Object decodes one JSON object. It compares names exactly; encoding/json would accept
// "SUB" for "sub" when it decodes into a struct.
func Object(data []byte) (map[string]any, error) {
	v, err := Value(data)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, ErrNotObject
	}
	return object, nil
}

// Value decodes one JSON value of any kind.
func Value(data []byte) (any, error) {
	// The decoder would replace invalid UTF-8 by U+FFFD, so that different ids become
	// one.
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, ErrSyntax
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return decodeValue(dec, MaxDepth)
}

func decodeValue(dec *json.Decoder, depth int) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, ErrSyntax
	}
	delim, nested := token.(json.Delim)
	switch {
	case !nested:
		return token, nil
	case depth == 0:
		return nil, ErrDepth
	case delim == '{':
		return decodeMembers(dec, depth-1)
	}
	list := []any{}
	for dec.More() {
		v, err := decodeValue(dec, depth-1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err = dec.Token()
	return list, err
}

func decodeMembers(dec *json.Decoder, depth int) (any, error) {
	object := make(map[string]any)
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, ErrSyntax
		}
		name, _ := token.(string)
		if _, twice := object[name]; twice {
			return nil, ErrDuplicate
		}
		if object[name], err = decodeValue(dec, depth); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return object, err
}

// Text returns a string, or a number as a plain decimal: exact, without exponent, and
// in only one spelling, so that 1 and 1.0 are the same id. It reports false for
// anything else, including numbers written with an exponent.
func Text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return Decimal(v)
	case int: // not decoded, but returned by a function
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return "", false
}

// Decimal returns the canonical form of a number without exponent. It reports false for
// a number with an exponent.
func Decimal(n json.Number) (string, bool) {
	s := string(n)
	if strings.ContainsAny(s, "eE") {
		return "", false
	}
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		s = "0"
	}
	return s, true
}
