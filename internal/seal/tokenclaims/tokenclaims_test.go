package tokenclaims

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"authsvc/internal/seal/sessionshape"
)

func TestClaimsByExactName(t *testing.T) {
	t.Parallel()
	for plain, want := range map[string]string{
		`{"sub":"7"}`:                                       "7",
		`{"sub":"7","SUB":"8"}`:                             "7",
		`{"Sub":"8","sub":"7"}`:                             "7",
		`{"SUB":"8"}`:                                       "",
		`{"\u0053ub":"8","sub":"7"}`:                        "7",
		`{"\u0073ub":"7"}`:                                  "7", // sub, escaped
		`{"ſub":"8","sub":"7"}`:                             "7",
		`{"Provider":{"a":1},"sub":"7"}`:                    "7",
		`{"x":{"SUB":"8"},"y":["SUB","sub"],"sub":"7"}`:     "7",
		`{"x":"\",\"SUB\":\"8","sub":"7"}`:                  "7",
		`{"x":{"sub":"8"},"y":["sub","sub"],"sub":"7"}`:     "7",
		`{"role":"a","role":"b","sub":"7"}`:                 "7", // a claim of the application
		`{"name":null,"email":"a","sub":"7","EXP":"never"}`: "7",
	} {
		var c Claims
		if err := c.Decode([]byte(plain), false); err != nil || c.Subject != want {
			t.Errorf("%s: %q, %v", plain, c.Subject, err)
		}
	}
	for _, plain := range []string{``, `[]`, `"x"`, `{"sub":7}`, `{"sub":{}}`, `{"sub":"7"`, `{"SUB":`, `{"exp":"1"}`,
		`{"sub":"7","sub":"8"}`, `{"sub":"7","\u0073ub":"8"}`, `{"\u0073ub":"7","x":{},"\u0073ub":"7"}`, `{"sub":"7","x":[{"sub":"7"}],"exp":1,"exp":2}`, `{"SUB":"7"} {}`} {
		var c Claims
		if err := c.Decode([]byte(plain), false); err == nil {
			t.Errorf("%s was taken", plain)
		}
	}
}

// TestClaimsOfOthers checks that claims of the engine count only in its own tokens.
func TestClaimsOfOthers(t *testing.T) {
	t.Parallel()
	const said = `"sub":"7","email":"a@b.c","authsvc_email_verified":"a@b.c","amr":["fed","mfa"],"acr":"2fa","authsvc_session":{"claims":{"groups":["ops"]}}`
	for plain, own := range map[string]bool{
		`{` + said + `,"authsvc_epoch":1,"sid":"s"}`:        true,
		`{` + said + `,"authsvc_epoch":1,"sid":"s","x":{}}`: true,
		`{` + said + `}`:                      false,
		`{` + said + `,"x":{}}`:               false,
		`{` + said + `,"authsvc_sid":"s"}`:    false,
		`{` + said + `,"authsvc_epoch":"1"}`:  false,
		`{` + said + `,"authsvc_epoch":null}`: false,
		`{` + said + `,"Authsvc_Epoch":1}`:    false,
	} {
		var c Claims
		if err := c.Decode([]byte(plain), true); err != nil || c.Proves("a@b.c") != own || (c.Kept != "") != (own || c.AdoptedSID != "") || (c.AMR.Level() == "2fa") != own {
			t.Errorf("%s: proved %v, kept %q, amr %q, %v", plain, c.Proves("a@b.c"), c.Kept, c.AMR, err)
		}
		if c.Proves("") || c.Proves("A@b.c") {
			t.Errorf("%s: another address is proved", plain)
		}
	}
}

// TestMethodsOfOthers covers claims that applications have named amr and acr in our
// tokens. The engine ignores such claims, and they end no session.
func TestMethodsOfOthers(t *testing.T) {
	t.Parallel()
	for _, space := range []string{"", " "} { // the fast path leaves a space to the slow one
		for claims, want := range map[string]sessionshape.Methods{
			`"amr":["fed"],"acr":"1fa"`:                              "fed",
			`"acr":"2fa","amr":["fed","otp","mfa"]`:                  "fed otp mfa",
			`"amr":["pop","user","mfa"],"acr":"phr"`:                 "pop user mfa",
			`"amr":["mfa"]`:                                          "",
			`"acr":"2fa"`:                                            "",
			`"amr":["mfa"],"acr":"1"`:                                "",
			`"amr":["mfa"],"acr":"1fa"`:                              "",
			`"amr":["fed"],"acr":"2fa"`:                              "",
			`"amr":["mfa"],"acr":2`:                                  "",
			`"amr":["mfa"],"acr":null`:                               "",
			`"amr":["mfa"],"acr":{"level":"2fa"}`:                    "",
			`"amr":["mfa"],"acr":["2fa"]`:                            "",
			`"amr":"mfa","acr":"2fa"`:                                "",
			`"amr":{"0":"mfa"},"acr":"2fa"`:                          "",
			`"amr":[],"acr":"2fa"`:                                   "",
			`"amr":["mfa",1],"acr":"2fa"`:                            "",
			`"amr":[["mfa"]],"acr":"2fa"`:                            "",
			`"amr":["fed mfa"],"acr":"2fa"`:                          "",
			`"amr":["m\u0066a"],"acr":"2fa"`:                         "",
			`"amr":["mfa","ü"],"acr":"2fa"`:                          "",
			`"amr":["` + strings.Repeat("m", 256) + `"],"acr":"1fa"`: "",
			`"AMR":["mfa"],"acr":"2fa"`:                              "",
			`"amr":null,"acr":null`:                                  "",
		} {
			plain := `{"sub":"7","sid":"s","authsvc_epoch":1,` + space + claims + `}`
			var c Claims
			if err := c.Decode([]byte(plain), false); err != nil || c.AMR != want || string(c.ACR) != want.Level() {
				t.Errorf("%s: %q, %q, %v", plain, c.AMR, c.ACR, err)
			}
		}
	}
	var c Claims
	if err := c.Decode([]byte(`{"sub":"7","amr":["fed"],"acr":"1fa","amr":["mfa"]}`), false); err == nil {
		t.Errorf("amr twice was taken: %q", c.AMR)
	}
}

// TestSecondStepOfOthers covers second_at and act. Only values that the engine wrote
// count, and second_at only beside methods with a second factor; other values of these
// names are an application's, and end no session.
func TestSecondStepOfOthers(t *testing.T) {
	t.Parallel()
	const two = `"amr":["fed","otp","mfa"],"acr":"2fa",`
	for _, space := range []string{"", " "} {
		for claims, want := range map[string]string{
			two + `"second_at":1764283136.25`:                      "1764283136250 ",
			two + `"second_at":1764283136`:                         "1764283136000 ",
			`"second_at":5,"amr":["pop","user","mfa"],"acr":"phr"`: "5000 ",
			two + `"act":{"sub":"support"}`:                        "0 support",
			`"act":{"sub":"cli:ro\"ot ü"}`:                         "0 cli:ro\"ot ü",
			two + `"second_at":7,"act":{"sub":"support"}`:          "7000 support",
			`"second_at":1764283136`:                               "0 ",
			`"amr":["fed"],"acr":"1fa","second_at":1764283136`:     "0 ",
			`"amr":["mfa"],"acr":"1fa","second_at":1764283136`:     "0 ",
			two + `"second_at":"2026-11-27"`:                       "0 ",
			two + `"second_at":"1764283136"`:                       "0 ",
			two + `"second_at":-1`:                                 "0 ",
			two + `"second_at":1e300`:                              "0 ",
			two + `"second_at":1e999`:                              "0 ",
			two + `"second_at":true`:                               "0 ",
			two + `"second_at":{"at":1}`:                           "0 ",
			two + `"second_at":[1]`:                                "0 ",
			two + `"second_at":null,"act":null`:                    "0 ",
			two + `"Second_At":7,"ACT":{"sub":"support"}`:          "0 ",
			`"act":"support"`:                                      "0 ",
			`"act":{"sub":7}`:                                      "0 ",
			`"act":{"sub":["support"]}`:                            "0 ",
			`"act":{"sub":"support","act":{"sub":"other"}}`:        "0 ",
			`"act":{"Sub":"support"}`:                              "0 ",
			`"act":{}`:                                             "0 ",
			`"act":["support"]`:                                    "0 ",
			`"act":true`:                                           "0 ",
		} {
			plain := `{"sub":"7","sid":"s","authsvc_epoch":1,` + space + claims + `}`
			var c Claims
			if err := c.Decode([]byte(plain), false); err != nil || said(&c) != want {
				t.Errorf("%s: %q, want %q, %v", plain, said(&c), want, err)
			}
			for _, foreign := range []string{`{"sub":"7",` + space + claims + `}`, `{"sub":"7","authsvc_sid":"s",` + space + claims + `}`} {
				var c Claims
				if err := c.Decode([]byte(foreign), true); err != nil || said(&c) != "0 " {
					t.Errorf("%s, of another program: %q, %v", foreign, said(&c), err)
				}
			}
		}
	}
	for _, twice := range []string{`"second_at":1,"second_at":2`, `"act":{"sub":"a"},"act":{"sub":"b"}`} {
		var c Claims
		if err := c.Decode([]byte(`{"sub":"7",`+twice+`}`), false); err == nil {
			t.Errorf("%s was taken", twice)
		}
	}
}

// said returns the second step and the actor of claims as one text.
func said(c *Claims) string {
	o, at := c.Origin(), int64(0)
	if !o.SecondAt.IsZero() {
		at = o.SecondAt.UnixMilli()
	}
	return fmt.Sprint(at, " ", o.Actor)
}

func FuzzClaims(f *testing.F) {
	for _, s := range []string{`{"sub":"7","SUB":"8"}`, `{"a":"\\"}`, `{`, `"`, `{"sub":"\`} {
		f.Add([]byte(s))
	}
	for _, s := range []string{`{"sub":"7","iat":1.5,"authsvc_epoch":3,"name":null,"role":"é","x":true}`, `{"sub":"","exp":01}`, `{"authsvc_epoch":1.0}`,
		`{"authsvc_epoch":1,"authsvc_session":{"claims":{"a":[1,"\\u00e9"]}},"authsvc_email_verified":"a@b.c","email":"a@b.c"}`, `{"authsvc_session":"x"}`, `{"authsvc_epoch":1,"amr":["fed","mfa"],"acr":"2fa"}`, `{"authsvc_epoch":1,"amr":"mfa","acr":2}`, `{"authsvc_epoch":1,"amr":["a b",""],"acr":{}}`, `{"authsvc_session": { "a" : 1 } }`,
		`{"authsvc_epoch":1,"amr":["mfa"],"acr":"2fa","second_at":1.5,"act":{"sub":"a"}}`, `{"authsvc_epoch":1,"second_at":"x","act":{"sub": "a" }}`, `{"authsvc_epoch":1,"second_at":{},"act":{"sub":"a","b":1}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, plain []byte) {
		for _, shared := range []bool{true, false} {
			var quick, any Claims
			_ = quick.Decode(plain, shared) // must not panic
			quick = Claims{}
			if !quick.scan(string(plain)) {
				continue
			}
			quick.dropForeignClaims(shared)
			if err := any.decodeAny(plain, shared); err != nil || !reflect.DeepEqual(quick, any) {
				t.Errorf("%s: %+v, encoding/json: %+v, %v", plain, quick, any, err)
			}
		}
	})
}

// TestClaimsOfWrongType checks that an application's claims with the engine's names and
// other types are ignored, but that a token of the engine with such a claim is refused.
func TestClaimsOfWrongType(t *testing.T) {
	t.Parallel()
	for _, member := range []string{`"sid":{}`, `"provider":["op"]`, `"auth_time":"1"`} {
		var foreign, own, alone Claims
		if err := foreign.Decode([]byte(`{"sub":"a",`+member+`}`), true); err != nil || foreign.Subject != "a" {
			t.Errorf("%s, of an application: %+v %v", member, foreign, err)
		}
		if err := own.Decode([]byte(`{"sub":"a",`+member+`,"authsvc_epoch":0}`), true); err == nil {
			t.Errorf("%s in a token of the engine: %+v", member, own)
		}
		if err := alone.Decode([]byte(`{"sub":"a",`+member+`}`), false); err == nil {
			t.Errorf("%s where only the engine makes tokens: %+v", member, alone)
		}
	}
}
