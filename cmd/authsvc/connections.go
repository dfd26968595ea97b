package main

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the open connections: an idle one costs about 20 KB of memory, and
// files have to be left for the store and for calls to identity providers.
const (
	mostConnections = 8192
	sparedFiles     = 32 // at least; a quarter if that is more
)

// connectionLimit is how many connections the process may hold, given how many
// files it may open; 0 is no limit.
func connectionLimit(files uint64) int {
	if files == 0 {
		return mostConnections
	}
	spared := max(sparedFiles, files/4)
	if files <= 2*spared {
		spared = files / 2
	}
	return int(max(1, min(mostConnections, files-spared)))
}

// idleTime is how long a connection is left alone that is idle, though others
// wait for its place: its request may be on the way.
const idleTime = time.Second

// connections is a listener that bounds how many connections are open. When
// there is no room, the one that has been idle longest is closed; when all are
// at work, new ones wait.
type connections struct {
	net.Listener
	max int

	mu     sync.Mutex
	room   sync.Cond
	open   int
	fresh  int        // of these have brought no request yet
	idle   *list.List // of *connection, the longest first
	closed bool
}

func newConnections(l net.Listener, limit int) *connections {
	c := &connections{Listener: l, max: limit, idle: list.New()}
	c.room.L = &c.mu
	return c
}

// Accept implements [net.Listener].
func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return c.hold(conn), nil
}

// hold waits for room for a connection, and counts it. A listener that is
// closed meanwhile keeps what it accepted.
func (c *connections) hold(conn net.Conn) *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open >= c.max && !c.closed {
		c.makeRoom()
	}
	c.open++
	return &connection{Conn: conn, all: c}
}

// makeRoom closes the connection that has been idle longest, if that is long
// enough, or waits until something changes. The caller holds mu.
func (c *connections) makeRoom() {
	first := c.idle.Front()
	if first == nil {
		c.room.Wait()
		return
	}
	wait := idleTime - time.Since(first.Value.(*connection).since)
	if wait <= 0 {
		c.evict(first)
		return
	}
	defer time.AfterFunc(wait, c.room.Broadcast).Stop()
	c.room.Wait()
}

// evict closes an idle connection. The caller holds mu.
func (c *connections) evict(e *list.Element) {
	conn := e.Value.(*connection)
	c.forget(conn)
	conn.Conn.Close()
}

// forget makes room, once for a connection. The caller holds mu.
func (c *connections) forget(conn *connection) {
	c.busy(conn)
	c.heard(conn)
	if !conn.gone {
		conn.gone = true
		c.open--
		c.room.Signal()
	}
}

// busy keeps a connection from being evicted. The caller holds mu.
func (c *connections) busy(conn *connection) {
	if conn.place != nil {
		c.idle.Remove(conn.place)
		conn.place = nil
	}
}

// heard notes that a connection is no longer fresh. The caller holds mu.
func (c *connections) heard(conn *connection) {
	if conn.fresh.CompareAndSwap(true, false) {
		c.fresh--
	}
}

type connectionKey struct{}

// remember lets a request find its connection, as the ConnContext of an
// [http.Server].
func (c *connections) remember(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, nc)
}

// first notes that a connection has brought a request that will be answered.
func first(r *http.Request) {
	conn, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok || !conn.fresh.Load() { // most are not: no lock for those
		return
	}
	conn.all.mu.Lock()
	defer conn.all.mu.Unlock()
	conn.all.heard(conn)
}

// note follows a connection, as the ConnState of an [http.Server]. One that has
// not sent a byte yet counts as idle.
func (c *connections) note(nc net.Conn, state http.ConnState) {
	conn, ok := nc.(*connection)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case conn.gone:
	case state == http.StateNew, state == http.StateIdle:
		if state == http.StateNew {
			conn.fresh.Store(true)
			c.fresh++
		}
		if conn.place == nil {
			conn.place, conn.since = c.idle.PushBack(conn), time.Now()
			c.room.Signal()
		}
	default:
		c.busy(conn)
	}
}

// crowded reports that room is short: connections are then not kept.
func (c *connections) crowded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open > c.max-c.max/4
}

// count returns how many connections are open, and how many of these have
// brought no request.
func (c *connections) count() (open, fresh int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open, c.fresh
}

// Close implements [net.Listener]: no more connections; those that are open
// stay.
func (c *connections) Close() error {
	c.mu.Lock()
	c.closed = true
	c.room.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

// A connection makes room when it is closed. Its fields are guarded by all.mu.
type connection struct {
	net.Conn
	all   *connections
	place *list.Element // in all.idle, nil while it is at work
	since time.Time     // when it got there
	fresh atomic.Bool   // has brought no request; written under all.mu
	gone  bool
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.all.mu.Lock()
	c.all.forget(c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}
