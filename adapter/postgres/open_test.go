package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/freeport"
	"authsvc/internal/test/quiet"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqltest"
)

// refusing starts a server that answers every connection with one error. Without a code
// it hangs up; with "silent" it says nothing.
func refusing(t *testing.T, code, message string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go refuse(t.Context(), conn, code, message)
		}
	}()
	return fmt.Sprintf("postgres://ann:secret@%s/people", l.Addr())
}

func refuse(ctx context.Context, conn net.Conn, code, message string) {
	defer conn.Close()
	if code == "silent" {
		<-ctx.Done()
		return
	}
	backend := pgproto3.NewBackend(conn, conn)
	for {
		m, err := backend.ReceiveStartupMessage()
		if err != nil || code == "" {
			return
		}
		if _, tls := m.(*pgproto3.SSLRequest); tls {
			conn.Write([]byte("N"))
			continue
		}
		backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: code, Message: message})
		backend.Flush()
		io.Copy(io.Discard, conn)
		return
	}
}

// TestOpenRefused checks that Open's errors say in one line what to do.
func TestOpenRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		location string
		want     string
		later    bool
	}{
		"wrong password":   {refusing(t, "28P01", `password authentication failed for user "ann"`), "check user and password", false},
		"access denied":    {refusing(t, "28000", `no pg_hba.conf entry`), "check user and password", false},
		"no database":      {refusing(t, "3D000", `database "people" does not exist`), "CREATE DATABASE", false},
		"no privilege":     {refusing(t, "42501", `permission denied for database "people"`), "grant it", false},
		"starting":         {refusing(t, "57P03", `the database system is starting up`), "wait until it has started", true},
		"stopping":         {refusing(t, "57P01", `terminating connection`), "wait until it has started", true},
		"closed":           {refusing(t, "55000", `database "people" is not currently accepting connections`), "ALLOW_CONNECTIONS", true},
		"full":             {refusing(t, "53300", `sorry, too many clients already`), "pool_max_conns", true},
		"hangs up":         {refusing(t, "", ""), "check that the server runs", true},
		"silent":           {refusing(t, "silent", "") + "?connect_timeout=1", "check that the server runs", true},
		"refused":          {fmt.Sprintf("postgres://ann:secret@%s/people", freeport.Refusing(t)), "check that the server runs", true},
		"unknown host":     {"postgres://ann:secret@no-such-host.invalid/people", "check that the server runs", true},
		"no TLS":           {refusing(t, "28000", "") + "?sslmode=verify-full", "the server does not support TLS", false},
		"too weak":         {"postgres://ann:secret@db.example.com/people?sslmode=prefer", "use verify-full", false},
		"unknown to pools": {"postgres://ann:secret@127.0.0.1/people?pool_size=3", "unknown parameter pool_size", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sqltest.Refused(t, testDatabase, c.location, c.want, c.later)
		})
	}
}

func TestOpenRefusedByServer(t *testing.T) {
	t.Parallel()
	location := servertest.Postgres(t)
	u, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/there_is_no_such_database"
	sqltest.Refused(t, testDatabase, u.String(), "CREATE DATABASE", false)
	sqltest.Refused(t, testDatabase, with(location, "schema=public"), "search_path", false)
	sqltest.Refused(t, testDatabase, with(location, "sslmod=disable"), "remove it from the URL", false)
	sqltest.Refused(t, testDatabase, with(location, "default_transaction_read_only=on"), "the server is read-only", true)
	db := testDatabase.Connected(t, location)
	if _, err := db.ExecContext(t.Context(), sqltest.Replace(t, prisma, `"image" TEXT, `, ``)); err != nil {
		t.Fatal(err)
	}
	sqltest.Refused(t, testDatabase, location, "table User has no column image", false)
	if _, err := db.ExecContext(t.Context(), `ALTER TABLE "User" ADD "image" TEXT`); err != nil {
		t.Fatal(err)
	}
	opened(t, location, Options{Migrate: true}, other{}, sqladapter.TestHooks{})
}

// TestOpenObeysContext checks that Open stops when its context ends while the server is
// silent.
func TestOpenObeysContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := Open(ctx, refusing(t, "silent", ""), Options{})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > quiet.Limit(time.Second) {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
}
