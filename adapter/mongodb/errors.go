package mongodb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/auth"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"authsvc/adapter"
	"authsvc/internal/sql/stores"
)

// retries is the maximum number of attempts for one command.
const retries = 6

var errNetwork = errors.New("the server cannot be found")

// Unreachable reports whether an error means that the server is unreachable or has no
// primary yet, so that retrying may help. Other errors need a configuration change.
func Unreachable(err error) bool {
	var selection topology.ServerSelectionError
	var network net.Error
	var refused *auth.Error
	switch {
	case err == nil, errors.As(err, &refused), errors.As(err, &selection) && slices.ContainsFunc(selection.Desc.Servers, certificateRefused):
		return false
	case errors.Is(err, errNetwork), errors.As(err, &selection), errors.As(err, &network), mongo.IsNetworkError(err):
		return true
	}
	return outcomeUnknown(err)
}

// certificateRefused reports whether the client rejected the server's certificate.
func certificateRefused(s description.Server) bool {
	var certificate *tls.CertificateVerificationError
	return errors.As(s.LastError, &certificate)
}

// explain adds to an error of Open what to do about it, if that is known.
func explain(database string, err error) error {
	var refused *auth.Error
	var selection topology.ServerSelectionError
	what := ""
	switch {
	case errors.As(err, &refused), hasCode(err, 18):
		what = "the server refuses the user or the password of the URL: correct them, or name the database of the user by authSource"
	case errors.As(err, &selection) && slices.ContainsFunc(selection.Desc.Servers, certificateRefused):
		what = "cannot verify the server's certificate: name the file of its authority by tlsCAFile in the URL"
	case errors.As(err, &selection) && slices.ContainsFunc(selection.Desc.Servers, tlsRefused):
		what = "TLS failed: check whether the server speaks TLS, and tls in the URL"
	case hasCode(err, 13):
		what = "the user of the URL lacks permissions: grant it readWrite and dbAdmin on the database " + database
	case notExecuted(err):
		what = "the server is not the primary: name all members of the replica set in the URL, and wait until they have a primary"
	case Unreachable(err):
		what = "the server cannot be reached: check that it runs, and hosts, ports and replicaSet in the URL"
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, what)
}

// tlsRefused reports whether client and server disagree about TLS.
func tlsRefused(s description.Server) bool {
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(s.LastError, &record) || errors.As(s.LastError, &alert)
}

// contractError translates an error into one of [adapter.Adapter]. It does not wrap the
// server's error about a duplicate, which quotes the value.
func contractError(ctx context.Context, op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, mongo.ErrNoDocuments):
		err = adapter.ErrNotFound
	case isDuplicate(err):
		err = adapter.ErrConflict
	}
	return fmt.Errorf("%s: %w", op, withContextError(ctx, err))
}

// withContextError adds the context's own error to an error caused by the end of the
// context.
func withContextError(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && err != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// isDuplicate reports whether an error is a violation of a unique index. FerretDB sets
// the code for inserts only; for updates it passes on SQLite's message.
func isDuplicate(err error) bool {
	if err == nil {
		return false
	}
	return mongo.IsDuplicateKeyError(err) || hasCode(err, 1) && strings.Contains(err.Error(), "UNIQUE constraint failed")
}

// onlyDuplicates reports whether several inserts failed only for documents that already
// exist.
func onlyDuplicates(err error) bool {
	var many mongo.BulkWriteException
	if !errors.As(err, &many) || many.WriteConcernError != nil || len(many.WriteErrors) == 0 {
		return false
	}
	return !slices.ContainsFunc(many.WriteErrors, func(e mongo.BulkWriteError) bool { return !isDuplicate(e.WriteError) })
}

func hasCode(err error, codes ...int) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && slices.ContainsFunc(codes, server.HasErrorCode)
}

// notExecuted reports whether an error proves that the command was not executed: the
// server is not the primary (10107, 13435, 13436), or there was a write conflict (112).
func notExecuted(err error) bool {
	var command mongo.CommandError
	return errors.As(err, &command) && slices.Contains([]int32{10107, 13435, 13436, 112}, command.Code)
}

// outcomeUnknown reports whether a command was not executed, or may not have been: the
// connection broke, or the server is shutting down or stepping down.
func outcomeUnknown(err error) bool {
	var labelled mongo.LabeledError
	if errors.As(err, &labelled) && slices.ContainsFunc([]string{"NetworkError", "RetryableWriteError", "TransientTransactionError"}, labelled.HasErrorLabel) {
		return true
	}
	return notExecuted(err) || hasCode(err, 6, 7, 89, 91, 189, 262, 9001, 11600, 11602)
}

// retry runs f until it succeeds or fails with an error that is not transient, at most
// retries times.
func retry(ctx context.Context, transient func(error) bool, f func() error) error {
	for try := 1; ; try++ {
		err := f()
		if err == nil || try == retries || ctx.Err() != nil || !transient(err) {
			return err
		}
		if err := wait(ctx, try); err != nil {
			return err
		}
	}
}

// wait waits before the next attempt for a random time of at most 1.28 s, so that
// concurrent callers do not retry all at once.
func wait(ctx context.Context, try int) error {
	return stores.Wait(ctx, rand.N(10*time.Millisecond<<min(try, 7)))
}
