package mail

import (
	"errors"
	"net"
)

// maxFromServer limits how many bytes one SMTP session may read. A handshake with a
// long certificate chain takes about 20 KiB, and the replies less than 4.
const maxFromServer = 256 << 10

var errTooMuchData = errors.New("the server sent more than an SMTP conversation needs")

// A boundedConn fails reads past maxFromServer, since each reply is read into memory
// whole. It supports one reader at a time.
type boundedConn struct {
	net.Conn
	left int
}

func (c *boundedConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errTooMuchData
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
