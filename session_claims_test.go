package authsvc

import (
	"testing"
)

func TestClaimsByExactName(t *testing.T) {
	t.Parallel()
	for plain, want := range map[string]string{
		`{"sub":"7"}`:                                       "7",
		`{"sub":"7","SUB":"8"}`:                             "7",
		`{"Sub":"8","sub":"7"}`:                             "7",
		`{"SUB":"8"}`:                                       "",
		`{"\u0053ub":"8","sub":"7"}`:                        "7",
		`{"\u0073ub":"7"}`:                                  "7", // that is sub, escaped
		`{"ſub":"8","sub":"7"}`:                             "7",
		`{"Provider":{"a":1},"sub":"7"}`:                    "7",
		`{"x":{"SUB":"8"},"y":["SUB","sub"],"sub":"7"}`:     "7",
		`{"x":"\",\"SUB\":\"8","sub":"7"}`:                  "7",
		`{"x":{"sub":"8"},"y":["sub","sub"],"sub":"7"}`:     "7",
		`{"role":"a","role":"b","sub":"7"}`:                 "7", // the application's
		`{"name":null,"email":"a","sub":"7","EXP":"never"}`: "7",
	} {
		var c sessionClaims
		if err := c.decode([]byte(plain), false); err != nil || c.Subject != want {
			t.Errorf("%s: %q, %v", plain, c.Subject, err)
		}
	}
	for _, plain := range []string{``, `[]`, `"x"`, `{"sub":7}`, `{"sub":{}}`, `{"sub":"7"`, `{"SUB":`, `{"exp":"1"}`,
		`{"sub":"7","sub":"8"}`, `{"sub":"7","\u0073ub":"8"}`, `{"\u0073ub":"7","x":{},"\u0073ub":"7"}`, `{"sub":"7","x":[{"sub":"7"}],"exp":1,"exp":2}`, `{"SUB":"7"} {}`} {
		var c sessionClaims
		if err := c.decode([]byte(plain), false); err == nil {
			t.Errorf("%s was taken", plain)
		}
	}
}

func FuzzClaims(f *testing.F) {
	for _, s := range []string{`{"sub":"7","SUB":"8"}`, `{"a":"\\"}`, `{`, `"`, `{"sub":"\`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, plain []byte) {
		var c sessionClaims
		_ = c.decode(plain, false) // must not panic
	})
}

// TestClaimsOfWrongType: what an application has by the names of the engine's
// is not read, but a token that the engine made is refused with it.
func TestClaimsOfWrongType(t *testing.T) {
	t.Parallel()
	for _, member := range []string{`"sid":{}`, `"provider":["op"]`, `"auth_time":"1"`} {
		var foreign, own, alone sessionClaims
		if err := foreign.decode([]byte(`{"sub":"a",`+member+`}`), true); err != nil || foreign.Subject != "a" {
			t.Errorf("%s, of an application: %+v %v", member, foreign, err)
		}
		if err := own.decode([]byte(`{"sub":"a",`+member+`,"authsvc_epoch":0}`), true); err == nil {
			t.Errorf("%s in a token of ours: %+v", member, own)
		}
		if err := alone.decode([]byte(`{"sub":"a",`+member+`}`), false); err == nil {
			t.Errorf("%s where nobody else makes tokens: %+v", member, alone)
		}
	}
}
