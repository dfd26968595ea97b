package sessionshape_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/text/profilepath"
)

func quoted(b []byte, s string) []byte {
	raw, _ := json.Marshal(s)
	return append(b, raw...)
}

func compile(t *testing.T, o sessionshape.Options) *sessionshape.Shape {
	t.Helper()
	s, mistakes := sessionshape.Compile(o)
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	return s
}

// TestNothing checks that without options there is nothing to show, keep or read.
func TestNothing(t *testing.T) {
	t.Parallel()
	s := compile(t, sessionshape.Options{})
	if s != nil || s.ReadsColumns() || s.Shown() != nil || s.Claims(profilepath.Roots{Profile: map[string]any{"a": 1}}) != nil {
		t.Errorf("%+v", s)
	}
	object := map[string]any{}
	s.Add(object, &sessionshape.Values{ID: "7"})
	if len(object) > 0 {
		t.Errorf("%v", object)
	}
}

// TestShowsID checks that the ID is shown if the option says so, and that Expose can
// give its name another value.
func TestShowsID(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]sessionshape.Options{
		``:                   {Columns: []string{"role"}},
		`,"id":"7"`:          {ShowsID: true},
		`,"a":true,"id":"7"`: {ShowsID: true, Expose: map[string]string{"a": "email_verified"}},
		`,"id":"op"`:         {ShowsID: true, Expose: map[string]string{"id": "provider"}},
		`,"id":"of the row"`: {ShowsID: true, Expose: map[string]string{"id": "User.id"}, Columns: []string{"id"}},
	} {
		v := &sessionshape.Values{ID: "7", Provider: "op", EmailVerified: true, Columns: map[string]any{"id": "of the row"}, Text: quoted}
		if got := string(compile(t, o).Append(nil, v)); got != want {
			t.Errorf("%+v: %s, want %s", o, got, want)
		}
	}
}

// TestWhole checks that AppendAll writes each value under its own name, unless the name
// is ambiguous.
func TestWhole(t *testing.T) {
	t.Parallel()
	s := compile(t, sessionshape.Options{
		Claims: map[string]string{"groups": "groups", "role": "role", "name": "name", "id": "x", "only": "only"},
		Expose: map[string]string{"groups": "claims.role", "mine": "User.role"}, Columns: []string{"role", "plan", "email"},
	})
	v := &sessionshape.Values{ID: "7", Claims: `{"groups":["g"],"id":"forged","name":"forged","only":1,"role":"of the provider"}`,
		Columns: map[string]any{"role": "of the row", "plan": nil, "email": "forged"}, Text: quoted}
	var got map[string]any
	if err := json.Unmarshal(append(s.AppendAll([]byte(`{"name":null`), v), '}'), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": nil, "id": "7", "email_verified": false, "provider": nil, "only": 1.0, "plan": nil,
		"groups": "of the provider", "mine": "of the row"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestNames checks which names claims and shown values may have.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ claim, shown bool }{
		"groups": {true, true}, "a-b_c": {true, true}, strings.Repeat("a", 64): {true, true}, strings.Repeat("a", 65): {}, "": {}, "__proto__": {}, "a b": {}, "é": {},
		"https://hasura.io/jwt/claims": {true, false}, "custom:plan": {true, false}, "urn:oid:1.2.3": {true, false}, "example.com": {}, "example.com/": {}, "a./b": {}, "example.com/plan": {true, false},
		"https://a.example/" + strings.Repeat("a", 237): {true, false}, "https://a.example/" + strings.Repeat("a", 238): {},
		"a/b": {}, "a:": {}, ":a": {}, "1a:b": {}, "a_b:c": {}, ".a": {}, "a.": {}, "_a.b": {}, "/a.b": {}, "a.b c": {}, "a:\"": {}, "a:\\": {}, "a:<b>": {}, "a:b&c": {}, "a:b'c": {}, "a:b\n": {}, "a:\x00": {}, "a:é": {}, "__a.b": {},
	} {
		if got := sessionshape.UsableName(name); got != want.claim {
			t.Errorf("%q as a claim: %v", name, got)
		}
		_, mistakes := sessionshape.Compile(sessionshape.Options{Claims: map[string]string{name: "x"}})
		if (len(mistakes) == 0) != want.claim {
			t.Errorf("%q in Claims: %v", name, mistakes)
		}
		_, mistakes = sessionshape.Compile(sessionshape.Options{Expose: map[string]string{name: "id"}})
		if (len(mistakes) == 0) != want.shown {
			t.Errorf("%q in Expose: %v", name, mistakes)
		}
		if !want.claim {
			continue
		}
		// Whatever the name is, GET session finds the value, and writes valid JSON.
		s := compile(t, sessionshape.Options{Claims: map[string]string{name: "x"}, Expose: map[string]string{"shown": "claims." + name}})
		raw, err := sessionshape.Encode(s.Claims(profilepath.Roots{Profile: map[string]any{"x": "y"}}))
		if err != nil {
			t.Fatal(err)
		}
		object := sessionshape.Decode(string(s.AppendAll([]byte(`{"a":0`), &sessionshape.Values{Claims: string(raw), Text: quoted})) + "}")
		if object["shown"] != "y" || object[name] != "y" {
			t.Errorf("%q is shown as %v", name, object)
		}
	}
}

// TestColumnValues checks that any column value becomes JSON, both from the row and
// from a token.
func TestColumnValues(t *testing.T) {
	t.Parallel()
	columns := map[string]any{"text": `a"<b>`, "int": int64(math.MinInt64), "float": 2.5, "nan": math.NaN(), "inf": math.Inf(1), "bool": true,
		"time": time.Date(2030, 1, 1, 1, 0, 0, 5e6, time.FixedZone("", 3600)), "bytes": []byte{0, 255}, "list": []any{int64(1), "x"}, "null": nil, "odd": func() {}}
	want := map[string]any{"text": `a"<b>`, "int": int64(math.MinInt64), "float": 2.5, "nan": nil, "inf": nil, "bool": true,
		"time": "2030-01-01T00:00:00.005Z", "bytes": "AP8=", "list": []any{int64(1), "x"}, "null": nil, "odd": nil}
	o := sessionshape.Options{Expose: map[string]string{}}
	for name := range columns {
		o.Columns, o.Expose[name] = append(o.Columns, name), "User."+name
	}
	s := compile(t, o)
	row, err := sessionshape.EncodeRow(columns)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, sessionshape.Decode(string(row))); diff != "" {
		t.Errorf("row (-want +got)\n%s", diff)
	}
	for name, v := range map[string]*sessionshape.Values{"row": {Columns: columns, Text: quoted}, "token": {Row: string(row), Text: quoted}} {
		shown := "{" + strings.TrimPrefix(string(s.Append(nil, v)), ",") + "}"
		if diff := cmp.Diff(want, sessionshape.Decode(shown)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if empty, err := sessionshape.EncodeRow(nil); empty != nil || err != nil {
		t.Errorf("%s, %v", empty, err)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	most := strings.Repeat("x", sessionshape.MaxClaims-len(`{"a":""}`))
	if raw, err := sessionshape.Encode(map[string]any{"a": most}); err != nil || len(raw) != sessionshape.MaxClaims {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	if _, err := sessionshape.Encode(map[string]any{"a": most + "x"}); !errors.Is(err, sessionshape.ErrTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
	if raw, err := sessionshape.Encode(map[string]any{}); raw != nil || err != nil {
		t.Errorf("nothing: %s, %v", raw, err)
	}
	for _, text := range []string{"", "x", "[1]", "1", "{"} {
		if got := sessionshape.Decode(text); got != nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	got := sessionshape.Decode(`{"a":9007199254740993,"b":1e400,"c":99999999999999999999}`)
	if got["a"] != int64(9007199254740993) || got["c"] != 1e20 {
		t.Errorf("%v", got)
	}
}
