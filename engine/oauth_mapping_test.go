package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

func TestFieldPaths(t *testing.T) {
	t.Parallel()
	var p authsvc.Profile
	dec := json.NewDecoder(strings.NewReader(`{
		"id": 9007199254740993, "zero": 0, "big": 1e30, "yes": true, "empty": "", "null": null, "first": "Ada", "last": "Lovelace",
		"https://x.example/uid": "u", "cognito:username": "c", "display-name": "d", "a\"b": "q",
		"user": {"emails": [{"value": "a@x"}, {"value": "b@x"}], "0": "zero"},
		"emails": [{"email": "1@x", "primary": false, "n": 1, "kind": "work"}, "odd", {"email": "2@x", "primary": true, "n": "2", "kind": "home"}, {"email": "3@x", "primary": true, "verified": true, "n": 2}],
		"token": {"x": "in the profile"}}`))
	dec.UseNumber()
	if err := dec.Decode(&p); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	want := map[string]string{
		"id": "9007199254740993", "zero": "0", "big": "", "yes": "", "null": "", "empty|first": "Ada", "absent | first": "Ada", "emails": "", "user": "",
		`"https://x.example/uid"`: "u", "cognito:username": "c", "display-name": "d", `"a\"b"`: "q",
		"user.emails[1].value": "b@x", "user.emails.1.value": "b@x", "user.emails[2].value": "", "user.0": "zero", "user[0]": "", "first.x": "", "first[0]": "",
		"emails[primary=true].email": "2@x", "emails[primary=false].email": "1@x", "emails[primary=true&verified=true].email": "3@x",
		"emails[n=2].email": "3@x", `emails[n="2"].email`: "2@x", "emails[n=1].email": "1@x", "emails[kind=home].email": "2@x", `emails[kind="work"].email`: "1@x",
		`emails[primary="true"].email`: "", "emails[kind=none].email": "", "user[primary=true].email": "", "emails[absent=false].email": "",
		"{first} {last}": "Ada Lovelace", "{first} {empty} {last}": "Ada Lovelace", "{empty} {last}": "Lovelace", "{empty} {null}": "", "{empty} {null}|first": "Ada",
		"https://x.example/{id}/{first}.png": "https://x.example/9007199254740993/Ada.png", "https://x.example/{id}/{empty}.png": "", "https://x.example/{id}/{empty|first}.png": "https://x.example/9007199254740993/Ada.png",
		"{user.emails[0].value}": "a@x", `"token".x`: "in the profile", "token.x": "",
		// These are not paths.
		"": "", ".": "", "a..b": "", "a.": "", "[0]": "", "a[": "", "a[-1]": "", "a[01]": "", "a[x]": "", "a[x=]": "", "a[=x]": "", "a]": "", "{": "", "}": "", "{}": "", "{first}}": "", "{{first}}": "",
		`"first`: "", `""`: "", "first|": "", "|first": "", "a b": "", "https://x.example/uid": "", "first x": "", strings.Repeat("a", 2000): "", strings.Repeat("a.", 40) + "a": "",
	}
	for path := range want {
		got[path] = p.Text(path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzFieldPath checks that no path and no profile panics, and that alternatives are of
// one kind.
func FuzzFieldPath(f *testing.F) {
	for _, path := range []string{"sub", "a.b[0].c", "list[primary=true&n=1].email", `"https://x/y"|token.id`, "{a} {b|c}", `{"a\\"[x="y"]}`, "https://x/{id}.png"} {
		f.Add(path, `{"sub":1,"a":{"b":[{"c":"d"}]},"list":[{"primary":true,"n":1,"email":"e"}]}`)
	}
	f.Fuzz(func(t *testing.T, path, profile string) {
		var p authsvc.Profile
		dec := json.NewDecoder(strings.NewReader(profile))
		dec.UseNumber()
		if dec.Decode(&p) != nil {
			p = nil
		}
		text := p.Text(path)
		if text != "" && p.Text(path+"|"+path) != text {
			t.Errorf("%q: %q, and with itself as alternative %q", path, text, p.Text(path+"|"+path))
		}
	})
}

// TestEmailVerifiedText checks that texts count only if the option says so, and only
// these two.
func TestEmailVerifiedText(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][2]bool{
		`true`: {true, true}, `"true"`: {false, true}, `"1"`: {false, true}, `1`: {false, false}, `"yes"`: {false, false}, `"TRUE"`: {false, false},
		`false`: {false, false}, `null`: {false, false}, `[true]`: {false, false},
	} {
		for i, text := range []bool{false, true} {
			o := newOdd(map[string]string{"api.odd.test/me": `{"id":7,"email":"ada@odd.test","email_verified":` + value + `}`})
			w := startOdd(t, o, func(p *authsvc.OAuth) { p.VerifiedText = text })
			oddUser(w)
			u, err := w.Store.GetUserByAccount(t.Context(), "odd", "7")
			if err != nil || u.EmailVerified.IsZero() == want[i] {
				t.Errorf("%s, VerifiedText %v: %v %v", value, text, u.EmailVerified, err)
			}
		}
	}
}

// TestFieldsNeedOneValue checks that a path to several values is a mistake in a profile's
// mapping. It would always be empty there.
func TestFieldsNeedOneValue(t *testing.T) {
	t.Parallel()
	for path, several := range map[string]bool{"emails[].email": true, "emails[keys]": true, `emails[split ","]`: true, "mail|emails[].email": true, "emails[0].email": false, "emails[keys=1].email": false} {
		f := authsvc.Fields{ID: path, Name: path, Email: path, EmailVerified: path, Image: path}
		_, err := engine.New(oddConfig(newOdd(nil), oddClient(func(p *authsvc.OAuth) { p.Fields = f }), &arena.LogBuffer{}))
		var got []string
		for _, e := range authsvc.ConfigErrors(err) {
			got = append(got, e.Field+" "+e.Problem)
		}
		want := ""
		if several {
			for _, field := range []string{"ID", "Name", "Email", "EmailVerified", "Image"} {
				want += "Providers[0].Fields." + field + " leads to several values\n"
			}
		}
		if strings.Join(append(got, ""), "\n") != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}
