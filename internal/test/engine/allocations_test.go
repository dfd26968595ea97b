//go:build !race

package engine_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"authsvc/internal/test/allocs"
	"authsvc/internal/test/arena"
)

// TestAllocations checks the exact number of allocations of GET session on SQLite,
// without the two of the sink.
func TestAllocations(t *testing.T) {
	w := arena.Start(t, onSQLite(t, nil))
	br := w.Browser()
	if a := br.SignIn(w.OP, "ada"); br.Email() == "" {
		t.Fatalf("sign-in: %d %s", a.StatusCode, a.Location())
	}
	r := httptest.NewRequest(http.MethodGet, arena.Origin+"/api/auth/session", nil)
	for _, name := range br.SessionCookies() {
		r.AddCookie(&http.Cookie{Name: name, Value: br.Cookies[name]})
	}
	if got := allocs.PerRun(func() { w.ServeHTTP(&discard{h: http.Header{}}, r) }); got != 2+24 {
		t.Errorf("%v allocations, want %d", got, 2+24)
	}
}
