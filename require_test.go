package authsvc_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

func TestRequire(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		guarded := w.Require(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			s, err := w.Session(r)
			if err != nil || s == nil {
				t.Errorf("behind Require: %v, %v", s, err)
				return
			}
			io.WriteString(rw, s.Email)
		}))
		ask := func(method, accept string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, arena.Origin+"/app/page?a=b", nil)
			r.Header.Set("Accept", accept)
			for name, v := range b.Cookies {
				r.AddCookie(&http.Cookie{Name: name, Value: v})
			}
			rec := httptest.NewRecorder()
			guarded.ServeHTTP(rec, r)
			return rec
		}
		want := arena.Origin + "/api/auth/signin?callbackUrl=https%3A%2F%2Fapp.test%2Fapp%2Fpage%3Fa%3Db"
		if a := ask("GET", "text/html"); a.Code != http.StatusFound || a.Header().Get("Location") != want {
			t.Errorf("a person: %d %s", a.Code, a.Header().Get("Location"))
		}
		for _, a := range []*httptest.ResponseRecorder{ask("GET", "application/json"), ask("POST", "text/html")} {
			if a.Code != http.StatusUnauthorized {
				t.Errorf("a script: %d", a.Code)
			}
		}
		b.SignIn(w.OP, "ada")
		if a := ask("GET", "text/html"); a.Code != http.StatusOK || a.Body.String() != "ada@example.com" {
			t.Errorf("signed in: %d %s", a.Code, a.Body)
		}
	})
}

func TestEndSessionsAndDeleteUser(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		one, two, other := w.Browser(), w.Browser(), w.Browser()
		one.SignIn(w.OP, "ada")
		two.SignIn(w.OP, "ada")
		other.SignIn(w.OP, "grace")
		ada := currentUser(t, w, one)
		if err := w.EndSessions(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
		if one.Email() != "" || two.Email() != "" || other.Email() == "" {
			t.Errorf("after EndSessions: %q, %q, %q", one.Email(), two.Email(), other.Email())
		}
		// Signing in again arena.Works at once, and deletion ends that too.
		if one.SignIn(w.OP, "ada"); one.Email() != "ada@example.com" {
			t.Fatalf("signed in again as %q\n%s", one.Email(), w.Logs)
		}
		if err := w.DeleteUser(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
		if one.Email() != "" || other.Email() == "" {
			t.Errorf("after DeleteUser: %q, %q", one.Email(), other.Email())
		}
		if _, err := w.Store.GetUserByAccount(t.Context(), "op", "ada"); !errors.Is(err, authsvc.ErrNotFound) {
			t.Errorf("the account is left: %v", err)
		}
		if err := w.DeleteUser(t.Context(), ada); !errors.Is(err, authsvc.ErrNotFound) {
			t.Errorf("deleting again: %v", err)
		}
	})
}
