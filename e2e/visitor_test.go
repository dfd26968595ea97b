package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// A visitor calls a handler as a browser of one origin does and keeps its cookies. It
// replaces the browser in tests that need no page.
type visitor struct {
	t       *testing.T
	handler http.Handler
	base    string // such as https://app.test/api/auth
	cookies map[string]string
}

func newVisitor(t *testing.T, h http.Handler, base string) *visitor {
	t.Helper()
	return &visitor{t: t, handler: h, base: base, cookies: map[string]string{}}
}

// do returns the response and its body.
func (v *visitor) do(method, path string, form url.Values) (*http.Response, string) {
	v.t.Helper()
	r := httptest.NewRequest(method, v.base+path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range v.cookies {
		// AddCookie would quote values that the libraries send unquoted.
		r.Header.Add("Cookie", name+"="+value)
	}
	w := httptest.NewRecorder()
	v.handler.ServeHTTP(w, r)
	res := w.Result()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 || c.Value == "" {
			delete(v.cookies, c.Name)
		} else {
			v.cookies[c.Name] = c.Value
		}
	}
	return res, string(body)
}

// user returns the user of GET session, or nil without a session.
func (v *visitor) user() map[string]any {
	v.t.Helper()
	_, body := v.do(http.MethodGet, "/session", nil)
	var s struct{ User map[string]any }
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		v.t.Fatalf("session %q: %v", body, err)
	}
	return s.User
}

func (v *visitor) csrf() string {
	v.t.Helper()
	_, body := v.do(http.MethodGet, "/csrf", nil)
	var c struct{ CSRFToken string }
	if err := json.Unmarshal([]byte(body), &c); err != nil || c.CSRFToken == "" {
		v.t.Fatalf("csrf %q: %v", body, err)
	}
	return c.CSRFToken
}

// post sends a form with the CSRF token.
func (v *visitor) post(path string, fields ...string) *http.Response {
	v.t.Helper()
	form := url.Values{"csrfToken": {v.csrf()}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	res, _ := v.do(http.MethodPost, path, form)
	return res
}
