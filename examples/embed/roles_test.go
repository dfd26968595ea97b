package main

import (
	"context"
	"database/sql"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"testing"

	"authsvc"
	"authsvc/adapter/sqlite"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// adminsOnly returns a handler that answers 418 to people with the role admin.
func adminsOnly(auth *engine.Service) http.Handler {
	reports := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })

	// docs: role
	type member struct{ Role string }
	admins := func(next http.Handler) http.Handler {
		return auth.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			session, err := auth.Session(r)
			if err != nil {
				http.Error(w, "try again later", http.StatusServiceUnavailable)
				return
			}
			me, err := authsvc.Decode[member](session)
			if err != nil || me.Role != "admin" {
				http.Error(w, "not for you", http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		}))
	}
	handler := admins(reports)
	// docs

	return handler
}

// A roleSource is a row of the table in docs/manual/roles.md.
type roleSource struct {
	configure func(t *testing.T, config *authsvc.Config)
	grant     func(t *testing.T) // gives Ada the role after her first sign-in; nil: she has it
	first     any                // session.user.role after the first sign-in
	role      any                // after the second
	admitted  bool               // by adminsOnly
}

// roleSources returns the rows, with their Go from the page.
func roleSources() map[string]roleSource {
	path := ""
	granted := false
	return map[string]roleSource{
		"a column": {
			configure: func(t *testing.T, config *authsvc.Config) {
				ctx := t.Context()
				path = filepath.Join(t.TempDir(), "authsvc.db")

				// docs: role column
				store, err := sqlite.Open(ctx, path, sqlite.Options{Migrate: true, Naming: sqlite.Naming{UserColumns: []string{"role"}}})
				if err != nil {
					log.Fatal(err) // if an existing table has no such column, the error has the statement that adds it
				}
				config.Adapter = store
				config.Session.Expose = map[string]string{"role": "role"}
				// docs

				t.Cleanup(func() { store.Close() })
			},
			grant:    func(t *testing.T) { execute(t, path, `UPDATE "User" SET "role" = 'admin'`) },
			role:     "admin",
			admitted: true,
		},
		"a claim of the provider": {
			configure: func(_ *testing.T, config *authsvc.Config) {
				// docs: role claim
				config.Session.Claims = map[string]string{"role": "realm_access.roles"}
				config.Session.Expose = map[string]string{"role": "role"}
				// docs
			},
			first: []any{"admin"}, role: []any{"admin"}, // a list is not the text "admin"
		},
		"a callback": {
			configure: func(_ *testing.T, config *authsvc.Config) {
				roles := func(context.Context, string) (string, error) {
					return map[bool]string{false: "guest", true: "admin"}[granted], nil
				}

				// docs: role callback
				config.Callbacks.Claims = func(ctx context.Context, a authsvc.SignInAttempt, kept authsvc.Claims) (authsvc.Claims, error) {
					if a.IsNewUser { // has no id yet, and so no role
						return kept, nil
					}
					role, err := roles(ctx, a.User.ID)
					if err != nil {
						return nil, err // the sign-in fails without a role
					}
					if kept == nil { // Session.Claims lists no claims
						kept = authsvc.Claims{}
					}
					kept["role"] = role
					return kept, nil
				}
				config.Session.Expose = map[string]string{"role": "claims.role"}
				// docs
			},
			grant:    func(*testing.T) { granted = true },
			role:     "admin",
			admitted: true,
		},
	}
}

func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// TestRoles runs each row of the table in docs/manual/roles.md with its Go, with both
// strategies: session.user.role has the role, and a handler that reads it with Decode
// admits only people who have it.
func TestRoles(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		for name, row := range roleSources() {
			t.Run(string(strategy)+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := arena.Start(t, func(c *authsvc.Config) {
					c.Session.Strategy = strategy
					row.configure(t, c)
				})
				w.OP.SetFault(idp.Fault{IDToken: func(claims map[string]any) {
					maps.Copy(claims, map[string]any{"realm_access": map[string]any{"roles": []string{"admin"}}})
				}})
				b := w.Browser()
				signIn := func(role any, status int) {
					t.Helper()
					b.SignIn(w.OP, "ada")
					user, _ := b.Session()["user"].(map[string]any)
					if user["email"] != "ada@example.com" || !reflect.DeepEqual(user["role"], role) {
						t.Errorf("GET session: %v, want the role %v", user, role)
					}
					r := httptest.NewRequest(http.MethodGet, arena.Origin+"/reports", nil)
					for _, cookie := range b.SessionCookies() {
						r.Header.Add("Cookie", cookie+"="+b.Cookies[cookie])
					}
					rec := httptest.NewRecorder()
					if adminsOnly(w.Service).ServeHTTP(rec, r); rec.Code != status {
						t.Errorf("the handler answers %d %s, want %d", rec.Code, rec.Body, status)
					}
				}
				signIn(row.first, http.StatusForbidden)
				if row.grant != nil {
					row.grant(t)
				}
				if row.admitted {
					signIn(row.role, http.StatusTeapot)
				} else {
					signIn(row.role, http.StatusForbidden)
				}
			})
		}
	}
}
