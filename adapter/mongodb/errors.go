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

	"authsvc"
)

// retries bounds how often one command is tried.
const retries = 6

var errNetwork = errors.New("the server cannot be found")

// Unreachable tells an error that may pass by itself, because the server could
// not be reached or has no primary yet, from one that needs another
// configuration.
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

// certificateRefused reports a server whose certificate is refused.
func certificateRefused(s description.Server) bool {
	var certificate *tls.CertificateVerificationError
	return errors.As(s.LastError, &certificate)
}

// fail translates an error into the words of the contract. Errors of the
// server about a duplicate quote the value, so they end here.
func fail(ctx context.Context, op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, mongo.ErrNoDocuments):
		err = authsvc.ErrNotFound
	case duplicate(err):
		err = authsvc.ErrConflict
	}
	return fmt.Errorf("%s: %w", op, withContextError(ctx, err))
}

// withContextError adds the context's own error to what came of its end.
func withContextError(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && err != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// duplicate reports a broken uniqueness. FerretDB has a code for it when a
// document is inserted; of an update it passes on what its SQLite says.
func duplicate(err error) bool {
	if err == nil {
		return false
	}
	return mongo.IsDuplicateKeyError(err) || hasCode(err, 1) && strings.Contains(err.Error(), "UNIQUE constraint failed")
}

// onlyDuplicates reports that of many inserts none failed but those of
// documents that are there.
func onlyDuplicates(err error) bool {
	var many mongo.BulkWriteException
	if !errors.As(err, &many) || many.WriteConcernError != nil || len(many.WriteErrors) == 0 {
		return false
	}
	return !slices.ContainsFunc(many.WriteErrors, func(e mongo.BulkWriteError) bool { return !duplicate(e.WriteError) })
}

func hasCode(err error, codes ...int) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && slices.ContainsFunc(codes, server.HasErrorCode)
}

// notExecuted reports that a command was not executed: not the primary (10107,
// 13435, 13436), or undone because another one wrote the same (112).
func notExecuted(err error) bool {
	var command mongo.CommandError
	return errors.As(err, &command) && slices.Contains([]int32{10107, 13435, 13436, 112}, command.Code)
}

// outcomeUnknown reports that a command was not executed, or that it is not known
// whether it was: the connection broke, or the server shuts down or gives up
// being the primary.
func outcomeUnknown(err error) bool {
	var labelled mongo.LabeledError
	if errors.As(err, &labelled) && slices.ContainsFunc([]string{"NetworkError", "RetryableWriteError", "TransientTransactionError"}, labelled.HasErrorLabel) {
		return true
	}
	return notExecuted(err) || hasCode(err, 6, 7, 89, 91, 189, 262, 9001, 11600, 11602)
}

// retry runs f, and again after errors that may says pass by themselves.
func retry(ctx context.Context, may func(error) bool, f func() error) error {
	for try := 1; ; try++ {
		err := f()
		if err == nil || try == retries || ctx.Err() != nil || !may(err) {
			return err
		}
		if err := backoff(ctx, try); err != nil {
			return err
		}
	}
}

// backoff waits before the next try, at most 1.28 s, by chance less, so that many
// who wait do not come back at once.
func backoff(ctx context.Context, try int) error {
	timer := time.NewTimer(rand.N(10 * time.Millisecond << min(try, 7)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
