package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// transientReplies are the replies of a server that is starting, failing over or busy.
// A script receives them before its first write.
var transientReplies = []string{"LOADING", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS", "BUSY", "MOVED", "ASK",
	"max number of clients reached"}

// notExecuted reports whether err proves that the server did not run the command: the
// server refused the command or never received all of it.
func notExecuted(err error) bool {
	if answered(err) || readOnly(err) || errors.Is(err, goredis.ErrPoolTimeout) || errors.Is(err, goredis.ErrPoolExhausted) {
		return true
	}
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "write")
}

// answered reports whether the server replied that it is starting, failing over or busy.
func answered(err error) bool {
	return slices.ContainsFunc(transientReplies, func(reply string) bool { return goredis.HasErrorPrefix(err, reply) })
}

// readOnly reports whether a replica refused a write. Redis 6 adds the position in the
// script to this error.
func readOnly(err error) bool {
	var reply goredis.Error
	return errors.As(err, &reply) && strings.Contains(reply.Error(), "READONLY You can't write")
}

// outcomeUnknown reports whether the connection broke or stayed silent, so that the
// command may or may not have run.
func outcomeUnknown(err error) bool {
	var reply goredis.Error
	if errors.As(err, &reply) || misconfigured(err) {
		return false
	}
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}

// misconfigured reports whether client and server disagree about TLS.
func misconfigured(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &certificate) || errors.As(err, &record) || errors.As(err, &alert)
}

// Unreachable reports whether an error of this package means that the server is
// unreachable or not ready yet, so that retrying may help. Other errors of Open need a
// configuration change.
func Unreachable(err error) bool {
	return err != nil && !misconfigured(err) && (notExecuted(err) || outcomeUnknown(err) || errors.Is(err, context.DeadlineExceeded))
}
