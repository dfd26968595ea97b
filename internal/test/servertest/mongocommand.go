package servertest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"

	"go.mongodb.org/mongo-driver/v2/bson"

	"authsvc/internal/test/mongowire"
)

// These tests need three commands of the MongoDB protocol: ping, and the commands
// that list and drop databases. One message each is enough. They do not use the
// driver because its pools outlive a server that a test kills.
// https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/

const (
	opMsg = 2013
	// messageHead is the size of four int32 (length, request, response to, code), the
	// flags and the kind of the only section.
	messageHead = 4*4 + 4 + 1
)

// mongoCommand runs one command against a database of the server and returns the
// answer. It does not support servers that require a password.
func mongoCommand(ctx context.Context, server, database string, command bson.D) (bson.Raw, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "mongodb" {
		return nil, errURL
	}
	if u.User != nil {
		return nil, errors.New("a MongoDB server for tests must let in without a password")
	}
	port := u.Port()
	if port == "" {
		port = "27017"
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if err := writeCommand(conn, append(command, bson.E{Key: "$db", Value: database})); err != nil {
		return nil, err
	}
	return readAnswer(conn)
}

func writeCommand(w io.Writer, command bson.D) error {
	body, err := bson.Marshal(command)
	if err != nil {
		return err
	}
	message := make([]byte, messageHead, messageHead+len(body))
	binary.LittleEndian.PutUint32(message, uint32(messageHead+len(body)))
	binary.LittleEndian.PutUint32(message[4:], 1)
	binary.LittleEndian.PutUint32(message[12:], opMsg)
	_, err = w.Write(append(message, body...))
	return err
}

// readAnswer returns the document of the answer, or the server's refusal as an error.
func readAnswer(r io.Reader) (bson.Raw, error) {
	m, err := mongowire.ReadMessage(r)
	if err != nil {
		return nil, err
	}
	if code := binary.LittleEndian.Uint32(m[12:]); code != opMsg || len(m) < messageHead {
		return nil, fmt.Errorf("not an answer of MongoDB: code %d, %d bytes", code, len(m))
	}
	body := bson.Raw(m[messageHead:])
	var status struct {
		OK      float64 `bson:"ok"`
		Message string  `bson:"errmsg"`
	}
	if err := bson.Unmarshal(body, &status); err != nil {
		return nil, err
	}
	if status.OK != 1 {
		return nil, fmt.Errorf("refused: %s", status.Message)
	}
	return body, nil
}
