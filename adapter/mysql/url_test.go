package mysql

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqltest"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"mysql://ann:p%40s%2Fs@127.0.0.1:3307/db":              "tcp 127.0.0.1:3307 ann p@s/s db tls=no",
		"mariadb://ann@localhost/my%20db":                      "tcp localhost:3306 ann  my db tls=no",
		"mysql://ann:pass@/db?socket=/run/mysqld/mysqld.sock":  "unix /run/mysqld/mysqld.sock ann pass db tls=no",
		"mysql://ann@localhost/db?socket=/run/m.sock":          "unix /run/m.sock ann  db tls=no",
		"mysql://[::1]/db":                                     "tcp [::1]:3306   db tls=no",
		"mysql://127.0.0.1/db?tls=true":                        "tcp 127.0.0.1:3306   db tls=127.0.0.1",
		"mysql://db.example.com/db":                            "tcp db.example.com:3306   db tls=db.example.com",
		"mysql://192.0.2.1/db":                                 "tcp 192.0.2.1:3306   db tls=192.0.2.1",
		"mysql://db.example.com/db?tls=false":                  "tcp db.example.com:3306   db tls=no",
		"mysql://db.example.com/db?tls=skip-verify":            "tcp db.example.com:3306   db tls=any",
		"mysql://localhost.example.com/db?pool_max_conns=1000": "tcp localhost.example.com:3306   db tls=localhost.example.com",
	} {
		got, err := parseURL(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		c := got.config
		if said := fmt.Sprint(c.Net, " ", c.Addr, " ", c.User, " ", c.Passwd, " ", c.DBName, " tls=", security(c.TLS)); said != want {
			t.Errorf("%s: got %s, want %s", url, said, want)
		}
		if !c.ParseTime || !c.ClientFoundRows || c.InterpolateParams || c.MultiStatements || c.AllowAllFiles || c.AllowCleartextPasswords {
			t.Errorf("%s: settings %+v", url, c)
		}
	}
}

func security(c *tls.Config) string {
	switch {
	case c == nil:
		return "no"
	case c.InsecureSkipVerify:
		return "any"
	}
	return c.ServerName
}

func TestParameters(t *testing.T) {
	t.Parallel()
	got, err := parseURL("mysql://localhost/db?timeout=2s&pool_max_conns=7&pool_max_conn_idle_time=3m&pool_max_conn_lifetime=4h")
	if err != nil || got.timeout != 2*time.Second || got.pool != (sqladapter.Pool{Size: 7, IdleTime: 3 * time.Minute, Lifetime: 4 * time.Hour}) {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = parseURL("mysql://localhost/db")
	if err != nil || got.timeout != 5*time.Second || got.pool != (sqladapter.Pool{Size: 10, IdleTime: 5 * time.Minute, Lifetime: time.Hour}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestRefusesURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"mysql://ann:secret@127.0.0.1:33x6/db":              "not a URL",
		"mysql://ann:secret%zz@127.0.0.1/db":                "not a URL",
		"ann:secret@tcp(127.0.0.1)/db":                      "write mysql://",
		"postgres://ann:secret@127.0.0.1/db":                "write mysql://",
		"mysql:ann:secret@127.0.0.1/db":                     "write mysql://",
		"mysql://ann:secret@127.0.0.1/db#x":                 "write mysql://",
		"mysql://ann:secret@127.0.0.1":                      "names no database",
		"mysql://ann:secret@127.0.0.1/a/b":                  "names no database",
		"mysql://ann:secret@/db":                            "neither a host nor a socket",
		"mysql://ann:secret@h/db?socket=/x":                 "must be empty or localhost",
		"mysql://ann:secret@/db?socket=x":                   "absolute path",
		"mysql://ann:secret@/db?socket=/x&tls=true":         "must not be set with a socket",
		"mysql://ann:secret@h/db?parseTime=false":           `unknown parameter "parseTime"`,
		"mysql://ann:secret@h/db?connection_limit=5":        "supported are socket, tls",
		"mysql://ann:secret@h/db?%zz":                       "cannot be read",
		"mysql://ann:secret@h/db?tls=true&tls=false":        "twice",
		"mysql://ann:secret@h/db?tls=preferred":             "tls must be true, skip-verify or false",
		"mysql://ann:secret@h/db?tls=false&tls_ca=/x":       "must not be set with tls=false",
		"mysql://ann:secret@h/db?tls_ca=/does/not/exist":    "no such file",
		"mysql://ann:secret@h/db?tls_ca=url_test.go":        "holds no certificate",
		"mysql://ann:secret@h/db?pool_max_conns=0":          "from 1 to 1000",
		"mysql://ann:secret@h/db?timeout=5":                 "a time such as 30s",
		"mysql://ann:secret@h/db?pool_max_conn_lifetime=-1": "a time such as 30s",
	} {
		sqltest.Refused(t, testDatabase, url, want, false)
	}
}

func TestParseServer(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"10.11.19-MariaDB-0+deb12u1":     "utf8mb4_nopad_bin",
		"5.5.5-10.6.0-MariaDB-log":       "utf8mb4_nopad_bin",
		"11.4.2-MariaDB":                 "utf8mb4_nopad_bin",
		"8.0.17":                         "utf8mb4_0900_bin",
		"8.0.36-0ubuntu0.22.04.1":        "utf8mb4_0900_bin",
		"9.1.0-commercial":               "utf8mb4_0900_bin",
		"8.0.16":                         "too old",
		"5.7.44-log":                     "too old",
		"10.5.23-MariaDB-1:10.5.23+mar~": "too old",
		"5.5.5-10.3.39-MariaDB":          "too old",
		"8.0.11-TiDB-v7.5.0":             "too old",
		"what":                           "cannot tell",
		"":                               "cannot tell",
	} {
		s, err := parseServer(version)
		if said := fmt.Sprint(s.keyType(), err); !strings.Contains(said, want) || (err == nil) != strings.HasPrefix(want, "utf8") {
			t.Errorf("%q: got %s, want %s", version, said, want)
		}
	}
}

func TestFolds(t *testing.T) {
	t.Parallel()
	for collation, want := range map[string]bool{"binary": false, "utf8mb4_nopad_bin": false, "utf8mb4_0900_bin": false, "utf8mb4_bin": true,
		"utf8mb4_unicode_ci": true, "utf8mb4_0900_ai_ci": true, "latin1_swedish_ci": true, "utf8mb4_0900_as_cs": true} {
		if folds(collation) != want {
			t.Errorf("%s: got %v", collation, !want)
		}
	}
}

// TestExplain checks that an error says what to do about its own cause.
func TestExplain(t *testing.T) {
	t.Parallel()
	at := &target{where: "db.example.com/people", config: &mysql.Config{DBName: "people"}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&mysql.MySQLError{Number: errAccessDenied}, "check user and password in the URL"},
		{&mysql.MySQLError{Number: errUnknownDatabase}, "CREATE DATABASE `people`"},
		{&mysql.MySQLError{Number: errDatabaseDenied}, "GRANT ALL ON `people`.*"},
		{&mysql.MySQLError{Number: errTooManyConnections}, "accepts no further connection"},
		{&mysql.MySQLError{Number: errTooManyOfUser}, "accepts no further connection"},
		{&mysql.MySQLError{Number: errShutdown}, "the server answers, but is not ready"},
		{mysql.ErrNoTLS, "the server offers no TLS"},
		{&tls.CertificateVerificationError{Err: errors.New("x")}, "name its authority with tls_ca"},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(40)}, "the server refuses TLS"},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, "the server cannot be reached"},
		{&net.DNSError{Err: "no such host"}, "the server cannot be reached"},
	} {
		if said := at.explain(c.err).Error(); !strings.Contains(said, c.want) || !strings.HasPrefix(said, "mysql: db.example.com/people: ") {
			t.Errorf("%v: %s, want %s", c.err, said, c.want)
		}
	}
	if err := errors.New("the tables differ"); !errors.Is(at.explain(err), err) || at.explain(err).Error() != err.Error() {
		t.Errorf("another error is explained: %v", at.explain(err))
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("no"), false},
		{&mysql.MySQLError{Number: errAccessDenied}, false},
		{&mysql.MySQLError{Number: errUnknownDatabase}, false},
		{&mysql.MySQLError{Number: errDatabaseDenied}, false},
		{mysql.ErrNoTLS, false},
		{&net.OpError{Op: "remote error", Err: &tls.CertificateVerificationError{Err: errors.New("x")}}, false},
		{&mysql.MySQLError{Number: errTooManyConnections}, true},
		{&mysql.MySQLError{Number: errShutdown}, true},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, true},
		{&net.DNSError{Err: "no such host"}, true},
		{context.DeadlineExceeded, true},
		{mysql.ErrInvalidConn, true},
		{driver.ErrBadConn, true},
	} {
		if Unreachable(c.err) != c.want {
			t.Errorf("%v: got %v", c.err, !c.want)
		}
		if c.err != nil && Unreachable(fmt.Errorf("open: %w", c.err)) != c.want {
			t.Errorf("%v, wrapped: got %v", c.err, !c.want)
		}
	}
}

// TestOpenRefuses checks that errors of Open have one line and no password.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	url := servertest.MySQL(t)
	to, err := parseURL(url)
	if err != nil || to.config.Net != "tcp" {
		t.Skip("the server has no address", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // closed again, so that it refuses connections
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	listener.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	noTLS := "tls=false in the URL"
	if got := sqltest.Query(t, testDatabase.Connected(t, url), "SHOW STATUS LIKE 'Ssl_server_not_after'"); strings.Contains(got[0], "GMT") {
		// MySQL creates its own certificate, with an unknown authority.
		noTLS = "name its authority with tls_ca"
	}
	for name, c := range map[string]struct {
		url, want   string
		unreachable bool
	}{
		"wrong password":   {"mysql://authsvc_nobody:secret@" + to.config.Addr + "/" + to.config.DBName, "check user and password", false},
		"missing database": {strings.Replace(url, to.config.DBName, "authsvc_no_such_database", 1), "CREATE DATABASE `authsvc_no_such_database`", false},
		"refused":          {"mysql://ann:secret@" + closed + "/db", "cannot be reached", true},
		"silent":           {"mysql://ann:secret@" + silent.Addr().String() + "/db?timeout=100ms", "cannot be reached", true},
		"no such host":     {"mysql://ann:secret@no-such-host.invalid/db", "cannot be reached", true},
		"no socket":        {"mysql://ann:secret@/db?socket=/no/such/socket", "cannot be reached", true},
		"no TLS":           {withParameters(url, "tls=true"), noTLS, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sqltest.Refused(t, testDatabase, c.url, c.want, c.unreachable)
		})
	}
}
