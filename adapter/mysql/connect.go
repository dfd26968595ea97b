package mysql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"authsvc/internal/sql/sqladapter"
)

// open creates the connection pool. It does not connect.
func (t *target) open(hooks sqladapter.TestHooks) (*sql.DB, error) {
	inner, err := mysql.NewConnector(t.config)
	if err != nil {
		return nil, fmt.Errorf("mysql: %w", err)
	}
	return t.pool.Open(connector{inner, t.timeout}, hooks), nil
}

// A connector limits the time until a new connection is usable. The pool also connects
// in the background without a deadline, so a server that hangs would exhaust it.
type connector struct {
	driver.Connector
	timeout time.Duration
}

// isolation sets the isolation level of all transactions. They lock each row they rely
// on.
const isolation = `SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`

// Connect implements [driver.Connector].
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, isolation, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Unreachable reports whether an error of [Open] or of a [Store] means that the server
// is unreachable for now: the connection was refused or timed out, the host name is
// unknown, or the server is starting, stopping or out of connections. Waiting may help.
// It returns false for a wrong password, an unknown database or a missing privilege,
// where waiting does not help.
func Unreachable(err error) bool {
	var network *net.OpError
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case err == nil, errors.As(err, &certificate):
		return false
	case is(errTooManyConnections, errShutdown, errTooManyOfUser, errUnknownCommand)(err):
		return true
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return true
	}
	if errors.As(err, &network) {
		return !strings.HasSuffix(network.Op, " error") // a TLS alert
	}
	return errors.As(err, &name)
}

// explain says in one line what to do about an error of open.
func (t *target) explain(err error) error {
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var alert *net.OpError
	what := ""
	switch {
	case err == nil:
		return nil
	case is(errAccessDenied, errAccessDeniedNoWord)(err):
		what = "the server refuses this user: check user and password in the URL, and the hosts from which the user may connect"
	case is(errDatabaseDenied)(err):
		what = "the user has no access to this database: GRANT ALL ON " + quote(t.config.DBName) + ".* to it"
	case is(errUnknownDatabase)(err):
		what = "there is no such database: CREATE DATABASE " + quote(t.config.DBName)
	case errors.Is(err, mysql.ErrNoTLS):
		what = "the server offers no TLS, which is required except on this machine: set it up, or put tls=false in the URL to send everything, including passwords, unencrypted"
	case errors.As(err, &certificate), errors.As(err, &authority):
		what = "cannot verify the server's certificate: name its authority with tls_ca in the URL"
	case errors.As(err, &alert) && strings.HasSuffix(alert.Op, " error"):
		what = "the server refuses TLS: check the certificates and the TLS versions of both sides, and tls in the URL"
	case is(errTooManyConnections, errTooManyOfUser)(err):
		what = "the server accepts no further connection: raise its max_connections, or lower pool_max_conns in the URL"
	case is(errShutdown, errUnknownCommand)(err):
		what = "the server answers, but is not ready: wait, or look at its log"
	case Unreachable(err):
		what = "the server cannot be reached: check that it runs, and that this is its address"
	default:
		return err
	}
	return fmt.Errorf("mysql: %s: %s (%w)", t.where, what, oneLine{err})
}

// oneLine is an error with its line breaks replaced; joined errors have them.
type oneLine struct{ error }

// Error implements error.
func (o oneLine) Error() string { return strings.ReplaceAll(o.error.Error(), "\n", "; ") }

// Unwrap supports errors.Is and errors.As.
func (o oneLine) Unwrap() error { return o.error }
