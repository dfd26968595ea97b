package authsvc_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"authsvc"
)

func TestRequire(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *world) {
		b := w.browser()
		guarded := w.Require(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			s, err := w.Session(r)
			if err != nil || s == nil {
				t.Errorf("behind Require: %v, %v", s, err)
				return
			}
			io.WriteString(rw, s.Email)
		}))
		ask := func(method, accept string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, origin+"/app/page?a=b", nil)
			r.Header.Set("Accept", accept)
			for name, v := range b.cookies {
				r.AddCookie(&http.Cookie{Name: name, Value: v})
			}
			rec := httptest.NewRecorder()
			guarded.ServeHTTP(rec, r)
			return rec
		}
		want := origin + "/api/auth/signin?callbackUrl=https%3A%2F%2Fapp.test%2Fapp%2Fpage%3Fa%3Db"
		if a := ask("GET", "text/html"); a.Code != http.StatusFound || a.Header().Get("Location") != want {
			t.Errorf("a person: %d %s", a.Code, a.Header().Get("Location"))
		}
		for _, a := range []*httptest.ResponseRecorder{ask("GET", "application/json"), ask("POST", "text/html")} {
			if a.Code != http.StatusUnauthorized {
				t.Errorf("a script: %d", a.Code)
			}
		}
		b.signIn(w.op, "ada")
		if a := ask("GET", "text/html"); a.Code != http.StatusOK || a.Body.String() != "ada@example.com" {
			t.Errorf("signed in: %d %s", a.Code, a.Body)
		}
	})
}

func TestEndSessionsAndDeleteUser(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *world) {
		one, two, other := w.browser(), w.browser(), w.browser()
		one.signIn(w.op, "ada")
		two.signIn(w.op, "ada")
		other.signIn(w.op, "grace")
		ada := currentUser(t, w, one)
		if err := w.EndSessions(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
		if one.email() != "" || two.email() != "" || other.email() == "" {
			t.Errorf("after EndSessions: %q, %q, %q", one.email(), two.email(), other.email())
		}
		// Signing in again works at once, and deletion ends that too.
		if one.signIn(w.op, "ada"); one.email() != "ada@example.com" {
			t.Fatalf("signed in again as %q\n%s", one.email(), w.logs)
		}
		if err := w.DeleteUser(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
		if one.email() != "" || other.email() == "" {
			t.Errorf("after DeleteUser: %q, %q", one.email(), other.email())
		}
		if _, err := w.store.GetUserByAccount(t.Context(), "op", "ada"); !errors.Is(err, authsvc.ErrNotFound) {
			t.Errorf("the account is left: %v", err)
		}
		if err := w.DeleteUser(t.Context(), ada); !errors.Is(err, authsvc.ErrNotFound) {
			t.Errorf("deleting again: %v", err)
		}
	})
}
