package main

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
)

// Bounds of the open connections: an idle one takes about 20 KB of memory, and
// the store and calls to identity providers need files too.
const (
	maxConnections = 8192
	reservedFiles  = 32 // at least; a quarter if that is more
)

// connectionLimit is how many connections the process may hold, given how many
// files it may open, 0 if that is unknown.
func connectionLimit(files uint64) int {
	if files == 0 {
		return maxConnections
	}
	reserved := max(reservedFiles, files/4)
	if files <= 2*reserved {
		reserved = files / 2
	}
	return int(max(1, min(maxConnections, files-reserved)))
}

// shareConnections returns how many connections clients may hold. With programs behind
// the gate a third of all are to these: requests that wait there leave as many to the
// routes of the service.
func shareConnections(s *config.Settings) (clients int) {
	all := connectionLimit(fileLimit())
	if !slices.ContainsFunc(s.Engine.Gate.Hosts, func(h authsvc.GateHost) bool { return h.Upstream != "" }) {
		return all
	}
	s.Engine.Gate.MaxRequests = max(8, all/3)
	return max(1, all-all/3)
}

// minIdleTime is how long a connection is idle before it is closed for another
// one: its next request may be on the way.
const minIdleTime = time.Second

// A limitListener bounds how many connections are open. At the limit, the one
// that has been idle longest is closed; when all are active, new ones wait.
type limitListener struct {
	net.Listener
	max int

	mu        sync.Mutex
	changed   sync.Cond
	open      int
	unused    int        // how many have not sent a request yet
	idleConns *list.List // of *limitConn, the longest idle first
	closed    bool
}

func newLimitListener(l net.Listener, limit int) *limitListener {
	c := &limitListener{Listener: l, max: limit, idleConns: list.New()}
	c.changed.L = &c.mu
	return c
}

// Accept implements [net.Listener].
func (c *limitListener) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return c.admit(conn), nil
}

// admit waits until a connection is within the limit, and counts it. If the listener
// is closed meanwhile, it admits the connection at once.
func (c *limitListener) admit(conn net.Conn) *limitConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open >= c.max && !c.closed {
		c.evictOrWait()
	}
	c.open++
	return &limitConn{Conn: conn, listener: c}
}

// evictOrWait closes the connection that has been idle longest, if that is long
// enough, or waits until something changes. The caller holds mu.
func (c *limitListener) evictOrWait() {
	first := c.idleConns.Front()
	if first == nil {
		c.changed.Wait()
		return
	}
	wait := minIdleTime - time.Since(first.Value.(*limitConn).idleSince)
	if wait <= 0 {
		c.evict(first)
		return
	}
	defer time.AfterFunc(wait, c.changed.Broadcast).Stop()
	c.changed.Wait()
}

// evict closes an idle connection. The caller holds mu.
func (c *limitListener) evict(e *list.Element) {
	conn := e.Value.(*limitConn)
	c.release(conn)
	conn.Conn.Close()
}

// release stops counting a connection, once. The caller holds mu.
func (c *limitListener) release(conn *limitConn) {
	c.markActive(conn)
	c.markUsed(conn)
	if !conn.released {
		conn.released = true
		c.open--
		c.changed.Signal()
	}
}

// markActive keeps a connection from being evicted. The caller holds mu.
func (c *limitListener) markActive(conn *limitConn) {
	if conn.idleElem != nil {
		c.idleConns.Remove(conn.idleElem)
		conn.idleElem = nil
	}
}

// markUsed records that a connection has sent a request. The caller holds mu.
func (c *limitListener) markUsed(conn *limitConn) {
	if conn.unused.CompareAndSwap(true, false) {
		c.unused--
	}
}

type connKey struct{}

// connContext is the ConnContext of an [http.Server]; it lets a request find its
// connection.
func (c *limitListener) connContext(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, nc)
}

// markRequest records that the connection of r has sent a request that will be
// answered.
func markRequest(r *http.Request) {
	conn, ok := r.Context().Value(connKey{}).(*limitConn)
	if !ok || !conn.unused.Load() { // avoids the lock for most requests
		return
	}
	conn.listener.mu.Lock()
	defer conn.listener.mu.Unlock()
	conn.listener.markUsed(conn)
}

// connState is the ConnState of an [http.Server]. A connection that has not sent
// a byte yet counts as idle.
func (c *limitListener) connState(nc net.Conn, state http.ConnState) {
	conn, ok := nc.(*limitConn)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case conn.released:
	case state == http.StateNew, state == http.StateIdle:
		if state == http.StateNew {
			conn.unused.Store(true)
			c.unused++
		}
		if conn.idleElem == nil {
			conn.idleElem, conn.idleSince = c.idleConns.PushBack(conn), time.Now()
			c.changed.Signal()
		}
	default:
		c.markActive(conn)
	}
}

// nearLimit reports whether so many connections are open that none should be
// kept after its request.
func (c *limitListener) nearLimit() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open > c.max-c.max/4
}

// count returns how many connections are open, and how many of these have not sent
// a request.
func (c *limitListener) count() (open, unused int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open, c.unused
}

// setMax changes the limit. Open connections stay open.
func (c *limitListener) setMax(limit int) {
	c.mu.Lock()
	c.max = limit
	c.changed.Broadcast()
	c.mu.Unlock()
}

// Close implements [net.Listener]. Open connections stay open.
func (c *limitListener) Close() error {
	c.mu.Lock()
	c.closed = true
	c.changed.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

// A limitConn counts towards the limit until it is closed. Its fields are guarded
// by listener.mu.
type limitConn struct {
	net.Conn
	listener  *limitListener
	idleElem  *list.Element // in listener.idleConns, nil while it is active
	idleSince time.Time     // when it became idle
	unused    atomic.Bool   // has not sent a request; written under listener.mu
	released  bool
}

// Close implements [net.Conn].
func (c *limitConn) Close() error {
	c.listener.mu.Lock()
	c.listener.release(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
