// Package mongowire reads messages of the MongoDB wire protocol.
//
// https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
package mongowire

import (
	"encoding/binary"
	"io"
)

const (
	headerSize = 16
	maxMessage = 48 << 20
)

// ReadMessage reads one message, including its header. The first four bytes are its
// length. An impossible length is an [io.ErrUnexpectedEOF].
func ReadMessage(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n < headerSize || n > maxMessage {
		return nil, io.ErrUnexpectedEOF
	}
	m := make([]byte, n)
	copy(m, length[:])
	_, err := io.ReadFull(r, m[len(length):])
	return m, err
}
