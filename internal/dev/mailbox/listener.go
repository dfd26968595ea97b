package mailbox

import (
	"net"
	"sync"
)

// listener counts connections. It can close the listening socket together with all
// accepted connections.
type listener struct {
	net.Listener

	mu     sync.Mutex
	open   map[net.Conn]bool
	count  int
	closed bool
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	l.count++
	tc := &trackedConn{Conn: c, listener: l}
	l.open[tc] = true
	return tc, nil
}

func (l *listener) accepted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// shut closes the socket and every open connection.
func (l *listener) shut() error {
	err := l.Listener.Close()
	l.mu.Lock()
	l.closed = true
	open := make([]net.Conn, 0, len(l.open))
	for c := range l.open {
		open = append(open, c)
	}
	l.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
	return err
}

// trackedConn notifies its listener when it is closed.
type trackedConn struct {
	net.Conn
	listener *listener
}

func (c *trackedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
