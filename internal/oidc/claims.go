package oidc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of any JSON from a provider.
const maxDepth = 32

var (
	errJSON      = errors.New("not valid JSON in UTF-8")
	errNotObject = errors.New("not a JSON object")
	errDuplicate = errors.New("duplicate member")
	errDepth     = errors.New("nested too deeply")
)

// Claims are the members of a JSON object from a provider. Values are string,
// [json.Number], bool, nil, []any and map[string]any; numbers keep the digits
// they were sent with, so a 64-bit id stays exact.
//
// Methods take a path of member names and list indexes joined by dots, such as
// "data.user.emails.0.value". A member whose name is the whole rest of the path,
// dots included ("https://example.com/roles"), wins over a nested one.
type Claims map[string]any

// String returns the string at path, or the number there as a plain decimal:
// exact, without exponent, and in one spelling only, so that 1 and 1.0 are the
// same id. It reports false for anything else, also for numbers written with an
// exponent.
func (c Claims) String(path string) (string, bool) {
	v, _ := lookup(map[string]any(c), path)
	return Text(v)
}

// Text is [Claims.String] of a value.
func Text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return decimal(v)
	case int: // of a function's own making
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return "", false
}

// Bool reports whether the value at path is JSON true. The string "true", 1 and
// everything else are false, since flags such as email_verified grant trust.
func (c Claims) Bool(path string) bool {
	v, _ := lookup(map[string]any(c), path)
	return v == true
}

func lookup(v any, path string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if member, ok := v[path]; ok {
			return member, true
		}
		name, rest, nested := strings.Cut(path, ".")
		member, ok := v[name]
		if !ok || !nested {
			return nil, false
		}
		return lookup(member, rest)
	case []any:
		index, rest, nested := strings.Cut(path, ".")
		i, err := strconv.Atoi(index)
		if err != nil || strconv.Itoa(i) != index || i < 0 || i >= len(v) {
			return nil, false
		}
		if !nested {
			return v[i], true
		}
		return lookup(v[i], rest)
	}
	return nil, false
}

// decimal brings a JSON number without exponent into its one canonical form.
func decimal(n json.Number) (string, bool) {
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

// decodeObject reads one JSON object strictly: valid UTF-8, nothing after it, no
// member twice at any level, at most maxDepth deep. Names are compared exactly;
// encoding/json into a struct would let "SUB" stand for "sub".
func decodeObject(data []byte) (Claims, error) {
	v, err := decodeJSON(data)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errNotObject
	}
	return object, nil
}

// decodeJSON is decodeObject for any JSON value. Its errors quote no input.
func decodeJSON(data []byte) (any, error) {
	// Invalid UTF-8 would be replaced by U+FFFD, and different ids become one.
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, errJSON
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return decodeValue(dec, maxDepth)
}

func decodeValue(dec *json.Decoder, depth int) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, errJSON
	}
	delim, nested := token.(json.Delim)
	switch {
	case !nested:
		return token, nil
	case depth == 0:
		return nil, errDepth
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
			return nil, errJSON
		}
		name, _ := token.(string)
		if _, twice := object[name]; twice {
			return nil, errDuplicate
		}
		if object[name], err = decodeValue(dec, depth); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return object, err
}
