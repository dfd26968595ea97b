package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"authsvc/internal/text"
)

// SQLSTATE codes, https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	protocolViolation   = "08P01" // a pooler's refusal of a parameter, for example
	featureNotSupported = "0A000" // see stale
	invalidText         = "22P02"
	numberOutOfRange    = "22003"
	restrictViolation   = "23001" // ON DELETE RESTRICT, from version 18 on
	notNullViolation    = "23502"
	foreignKeyViolation = "23503"
	uniqueViolation     = "23505"
	readOnly            = "25006" // for example from a standby
	idleInTransaction   = "25P03"
	noSuchStatement     = "26000" // see stale
	invalidUser         = "28000"
	wrongPassword       = "28P01"
	noSuchDatabase      = "3D000"
	serialization       = "40001"
	deadlock            = "40P01"
	noPrivilege         = "42501"
	noSuchColumn        = "42703"
	noSuchParameter     = "42704"
	noSuchTable         = "42P01"
	duplicateStatement  = "42P05" // see poolerFix
	duplicateTable      = "42P07"
	duplicateObject     = "42710"
	tooManyConnections  = "53300"
	adminShutdown       = "57P01"
	crashShutdown       = "57P02"
	cannotConnectNow    = "57P03"
	notAccepting        = "55000" // connections are not allowed, as while a database is replaced
	idleSession         = "57P05"
)

// code returns the SQLSTATE of an error, or "" if the error is not the server's.
func code(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code
}

// is returns a function that reports whether an error has one of the codes.
func is(codes ...string) func(error) bool {
	return func(err error) bool { return slices.Contains(codes, code(err)) }
}

// noSuchID reports whether the server refused text as a number or as a UUID. An enum or
// a boolean, which another program's column may be, is not an id.
func noSuchID(err error) bool {
	var e *pgconn.PgError
	return is(invalidText, numberOutOfRange)(err) && errors.As(err, &e) && e.Routine != "enum_in" && e.Routine != "boolin"
}

var (
	quotedValue  = text.LazyRegexp(`(?s)["«»„“”].*["«»„“”]|0x.*`) // a server may speak another language
	encodedValue = text.LazyRegexp(`(?s)unable to encode .* into (binary|text) format for ([^:]*).*`)
)

// said returns an error with the names of the table, the column, the constraint and the
// type, and without values: errors of class 22, about data, quote them, and so does the
// driver.
func said(err error) string {
	all := encodedValue.ReplaceAllString(err.Error(), "unable to encode a value into $1 format for $2")
	if more := poolerFix(err); more != "" {
		all += ": " + more
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return all
	}
	message := e.Message
	if strings.HasPrefix(e.Code, "22") {
		message = quotedValue.ReplaceAllString(message, "…")
	}
	details := "SQLSTATE " + e.Code
	for _, d := range []struct{ what, name string }{{"table", e.TableName}, {"column", e.ColumnName}, {"constraint", e.ConstraintName}, {"type", e.DataTypeName}} {
		if d.name != "" {
			details += ", " + d.what + " " + d.name
		}
	}
	return strings.ReplaceAll(all, e.Error(), e.Severity+": "+message+" ("+details+")")
}

// stale reports whether the server refused to run a prepared statement because a table
// has changed or the statement was dropped.
func stale(e *pgconn.PgError) bool {
	return e.Code == noSuchStatement || e.Code == featureNotSupported && e.Routine == "RevalidateCachedQuery"
}

// poolerFix returns what to do about an error that only the configuration can end, or "".
// A name of a prepared statement is the driver's and unique on its connection, so if it
// is taken, a pooler has lent one server connection to several clients.
func poolerFix(err error) string {
	switch {
	case is(duplicateStatement, noSuchStatement)(err):
		return "a pooler in front of the server pools transactions and keeps no prepared statements: put default_query_exec_mode=exec into the URL"
	case code(err) == protocolViolation && strings.Contains(err.Error(), "unsupported startup parameter"):
		return "a pooler in front of the server does not pass this parameter on: remove it from the URL, and set it at the role with ALTER ROLE … SET, not in the pooler's ignore_startup_parameters"
	}
	return ""
}

// keep reports whether a connection remains usable after an error. A connection to a
// server that became a standby is not: the next one goes to the new primary.
func keep(_ *pgconn.PgConn, e *pgconn.PgError) bool {
	return e.Severity != "FATAL" && e.SeverityUnlocalized != "FATAL" && e.Code != readOnly && !stale(e)
}

// retryable reports whether an error proves that nothing was done, at any point of the
// transaction: the server rolled back or refused, or the request was never sent.
func retryable(err error) bool {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return is(serialization, deadlock, cannotConnectNow, readOnly)(err) || stale(server)
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return Unreachable(err)
	}
	return errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err)
}

// interrupted reports whether an error ended the connection. The server then rolls the
// transaction back, unless it was committing; the outcome of a commit is unknown.
func interrupted(err error) bool {
	if code := code(err); code != "" {
		return strings.HasPrefix(code, "08") && code != protocolViolation && code != "08007" ||
			is(adminShutdown, crashShutdown, idleSession, idleInTransaction)(err)
	}
	return broken(err)
}

// broken reports whether the connection ended without an error from the server.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, pgconn.ErrConnClosed)
}

// Unreachable reports whether an error of Open, or of a method, means that the server
// is unreachable for now: the server or the network is down, or the server is starting,
// failing over or out of connections. Waiting may help. It returns false for errors
// that waiting cannot fix, such as a wrong password, an unknown database or a missing
// privilege.
func Unreachable(err error) bool {
	if c := code(err); c != "" {
		return is(readOnly, tooManyConnections, cannotConnectNow, notAccepting)(err) || interrupted(err)
	}
	if untrusted(err) || refusedTLS(err) {
		return false
	}
	var netErr net.Error
	return broken(err) || errors.As(err, &netErr) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, pgconn.ErrReadOnlyConnection) || errors.Is(err, pgconn.ErrStandbyConnection)
}

// untrusted reports whether verification of the server's certificate failed.
func untrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &host)
}

func refusedTLS(err error) bool {
	return strings.Contains(oneLine(err), "server refused TLS connection")
}

// An openError says in one line what to do. It cannot contain the password: the driver
// never sees the URL, so its errors have no password either.
type openError struct {
	text string
	err  error
}

func (e *openError) Error() string { return e.text }
func (e *openError) Unwrap() error { return e.err }

// explained is explain for errors of the schema, which name the database themselves.
func explained(where string, err error) error {
	if poolerFix(err) == "" {
		return err
	}
	return explain(where, err)
}

// explain wraps an error of Open. where names the database.
func explain(where string, err error) error {
	if err == nil {
		return nil
	}
	return &openError{text: "postgres: " + where + ": " + advice(err), err: err}
}

func advice(err error) string {
	msg := oneLine(err)
	var server *pgconn.PgError
	if errors.As(err, &server) {
		msg = server.Message
	}
	if more := poolerFix(err); more != "" {
		return msg + ": " + more
	}
	for _, c := range []struct {
		when bool
		text string
	}{
		{is(wrongPassword, invalidUser)(err), "%s: check user and password in the URL, and the server's pg_hba.conf"},
		{is(noSuchDatabase)(err), "%s: create it with CREATE DATABASE, or correct its name in the URL"},
		{is(noPrivilege)(err), "%s: grant it to the user in the URL"},
		{is(noSuchParameter)(err), "%s: remove it from the URL, or correct it (a schema is named by search_path)"},
		{is(tooManyConnections)(err), "%s: lower pool_max_conns in the URL, or raise max_connections of the server"},
		{is(cannotConnectNow, adminShutdown, crashShutdown)(err), "%s: wait until it has started"},
		{is(notAccepting)(err), "%s: wait until it accepts connections, or set ALLOW_CONNECTIONS true"},
		{is(readOnly)(err) || errors.Is(err, pgconn.ErrReadOnlyConnection) || errors.Is(err, pgconn.ErrStandbyConnection),
			"the server is read-only: name the primary in the URL, or all servers, separated by commas"},
		{untrusted(err), "cannot verify the server's certificate (%s): name the file of its authority with sslrootcert in the URL"},
		{refusedTLS(err), "the server does not support TLS: enable it there, or put sslmode=disable in the URL if no one can eavesdrop on the connection"},
		{Unreachable(err), "%s: check that the server runs, and host and port in the URL"},
	} {
		if c.when {
			return strings.ReplaceAll(c.text, "%s", msg)
		}
	}
	return msg
}

// oneLine returns the last line of an error. The driver lists one failed attempt per
// line.
func oneLine(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
