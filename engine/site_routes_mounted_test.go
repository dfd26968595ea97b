package engine_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"authsvc/internal/test/arena"
)

// TestMounted: a service that is mounted with its whole path answers. If the path was
// stripped, or has a slash at its end, it does not, and the log says why, once.
func TestMounted(t *testing.T) {
	t.Parallel()
	const stripped, slash = "without http.StripPrefix", "slash at the end"
	rewrite := func(next http.Handler) http.Handler { // a router that changes the path
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.Path, r.URL.RawPath = "/auth"+strings.TrimPrefix(r.URL.Path, "/api/auth"), ""
			next.ServeHTTP(w, r)
		})
	}
	as := func(h http.Handler) http.Handler { return h }
	strip := func(prefix string) func(http.Handler) http.Handler {
		return func(h http.Handler) http.Handler { return http.StripPrefix(prefix, h) }
	}
	for name, c := range map[string]struct {
		mount func(http.Handler) http.Handler
		asked string
		code  int
		said  string // "": nothing
	}{
		"whole":                     {as, "/api/auth/csrf", 200, ""},
		"stripped":                  {strip("/api/auth"), "/api/auth/csrf", 404, stripped},
		"stripped with its slash":   {strip("/api/auth/"), "/api/auth/csrf", 404, stripped},
		"half stripped":             {strip("/api"), "/api/auth/signin/op", 404, stripped},
		"the base, stripped":        {strip("/api/auth"), "/api/auth", 404, stripped},
		"rewritten":                 {rewrite, "/api/auth/csrf?a=b", 404, stripped},
		"an absolute request":       {strip("/api/auth"), arena.Origin + "/api/auth/csrf", 404, stripped},
		"elsewhere":                 {as, "/favicon.ico", 404, ""},
		"elsewhere, stripped":       {strip("/app"), "/app/favicon.ico", 404, ""},
		"like the base":             {as, "/api/authx", 404, ""},
		"a slash at the end":        {as, "/api/auth/csrf/", 404, slash},
		"a slash after a provider":  {as, "/api/auth/signin/op/", 404, slash},
		"a slash after the base":    {as, "/api/auth/", 404, slash},
		"a slash after no route":    {as, "/api/auth/nothing/", 404, ""},
		"a slash after no provider": {as, "/api/auth/signin/nobody/", 404, ""},
		"two slashes":               {as, "/api/auth/csrf//", 404, ""},
		"no route":                  {as, "/api/auth/nothing", 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, nil)
			h := c.mount(w.Service)
			for range 3 {
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, c.asked, nil))
				if rec.Code != c.code {
					t.Errorf("%d %s", rec.Code, rec.Body)
				}
				if says := strings.Contains(rec.Body.String(), "see its log"); says != (c.said == stripped) {
					t.Errorf("the answer: %s", rec.Body)
				}
			}
			logs := w.Logs.String()
			if n := strings.Count(logs, stripped) + strings.Count(logs, slash); c.said == "" && n != 0 || c.said != "" && (n != 1 || !strings.Contains(logs, c.said)) {
				t.Errorf("want %q, once:\n%s", c.said, logs)
			}
		})
	}
}
