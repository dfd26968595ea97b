package authsvc_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestAttackRouting(t *testing.T) {
	t.Parallel()
	w := enter(t, nil)
	b := w.browser()
	b.signIn(w.op, "ada")
	token := b.csrf()
	for _, id := range []string{"..%2fcsrf", "OP", "op%00", "__proto__", "constructor", strings.Repeat("x", 4<<10), "nope", "op/x", "op%2f", "%6fp", "", ":provider"} {
		for _, route := range []string{"signin", "callback"} {
			t.Run("oauth2-28 provider id "+route+"/"+id[:min(len(id), 20)], func(t *testing.T) {
				a := w.mustRefuse(t, func() *answer { return b.rawPath("POST", "/api/auth/"+route+"/"+id, token) })
				if a.StatusCode != 404 || len(id) > 3 && strings.Contains(a.body, id) {
					t.Errorf("%d %s", a.StatusCode, a.body)
				}
			})
		}
	}
}

// rawPath sends a path that URL parsers would clean or refuse.
func (b *browser) rawPath(method, path, token string) *answer {
	b.t.Helper()
	r := httptest.NewRequest(method, origin+"/", strings.NewReader("csrfToken="+token))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	u, err := url.ParseRequestURI(path)
	if err != nil {
		b.t.Fatal(err)
	}
	r.URL.Path, r.URL.RawPath = u.Path, u.RawPath
	return b.clone().do(r)
}
