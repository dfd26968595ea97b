package mail

import (
	"errors"
	"net"
)

// maxFromServer is how much one conversation may read. A handshake with a long
// certificate chain takes some 20 KiB, the replies less than 4.
const maxFromServer = 256 << 10

var errTalkative = errors.New("the server sent more than belongs into an SMTP conversation")

// boundedConn ends endless replies: the reader of replies would gather all of
// one in memory. It has one reader at a time.
type boundedConn struct {
	net.Conn
	left int
}

func (c *boundedConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errTalkative
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
