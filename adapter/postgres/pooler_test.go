package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"authsvc/adapter"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqltest"
)

// TestPoolerRefused checks that behind a pooler that pools transactions and keeps no
// prepared statements, the error names the parameter that helps: when the store is
// opened, when it is used, and when it is asked whether it is ready.
func TestPoolerRefused(t *testing.T) {
	t.Parallel()
	location := servertest.Postgres(t)
	opened(t, location, Options{Migrate: true}, other{}, sqladapter.TestHooks{})
	through := servertest.PgBouncer(t, location, 1)
	const want = "default_query_exec_mode=exec"
	first, err := Open(t.Context(), through(location), Options{})
	if err != nil {
		t.Fatal(err) // it is alone on the server connection
	}
	sqltest.CloseAtEnd(t, first)
	_, err = Open(t.Context(), through(location), Options{})
	if err == nil || !strings.Contains(err.Error(), want) || Unreachable(err) {
		t.Errorf("opened twice: %v", err)
	}
	for name, use := range map[string]func() error{
		"used":  func() error { _, err := first.ListUsers(t.Context(), "", 1); return err },
		"ready": func() error { return first.Ping(t.Context()) },
	} {
		var errs []error
		var held *pgxpool.Conn
		for range 2 { // by one connection, and then by another
			conn, err := first.pool.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if held != nil {
				held.Release()
			}
			held = conn
			errs = append(errs, use())
		}
		held.Release()
		if err := errors.Join(errs...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	u, err := url.Parse(through(with(location, "search_path=public")))
	if err != nil {
		t.Fatal(err)
	}
	sqltest.Refused(t, testDatabase, u.String(), "set it at the role with ALTER ROLE", false)
}

// TestPooler checks that two stores that share one server connection work with the
// parameter, and that times stay what they are.
func TestPooler(t *testing.T) {
	t.Parallel()
	location := servertest.Postgres(t)
	pooled := with(servertest.PgBouncer(t, location, 1)(location), "default_query_exec_mode=exec")
	opened(t, location, Options{Migrate: true}, other{}, sqladapter.TestHooks{})
	stores := []shared{opened(t, pooled, Options{}, other{}, sqladapter.TestHooks{}), opened(t, pooled, Options{}, other{}, sqladapter.TestHooks{})}
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	for i := range 8 {
		s, next := stores[i%2], stores[(i+1)%2]
		id := fmt.Sprint("person-", i)
		u := adapter.User{ID: id, Email: id + "@example.com", EmailVerified: expires}
		r := adapter.SessionRecord{ID: id, SessionToken: "token-" + id, Digest: "digest-" + id, Expires: expires}
		if _, err := s.SignUp(t.Context(), u, &adapter.Account{ID: id, Type: "oidc", Provider: "op", ProviderAccountID: id}, &r, "", nil); err != nil {
			t.Fatal(err)
		}
		got, user, err := next.GetSession(t.Context(), "token-"+id, "digest-"+id)
		if err != nil || user.Email != u.Email || !got.Expires.Equal(expires) || !user.EmailVerified.Equal(expires) {
			t.Errorf("%+v of %+v: %v", got, user, err)
		}
		if err := next.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if users, err := stores[1].ListUsers(t.Context(), "", 100); err != nil || len(users) != 8 {
		t.Errorf("%d users, %v", len(users), err)
	}
}
