package main

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/net/netutil"

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
	if !hasPrograms(s) {
		return all
	}
	s.Engine.Gate.MaxRequests = max(8, all/3)
	return max(1, all-all/3)
}

// hasPrograms reports whether requests are passed on to programs behind the gate.
func hasPrograms(s *config.Settings) bool {
	return slices.ContainsFunc(s.Engine.Gate.Hosts, func(h authsvc.GateHost) bool { return h.Upstream != "" })
}

// limitConnections has at most limit connections open. Further ones wait in the queue
// of the kernel, so the deadlines of the server bound how long. Beyond three quarters
// nearLimit is true: none should be kept after its request, so that idle ones leave room.
func limitConnections(l net.Listener, limit int) (limited net.Listener, nearLimit func() bool) {
	counted := &countingListener{Listener: l}
	return netutil.LimitListener(counted, limit), func() bool { return counted.open.Load() > int64(limit-limit/4) }
}

// A countingListener counts the open connections. An [http.Server] says nothing of
// those that have changed to another protocol, and they count, too.
type countingListener struct {
	net.Listener
	open atomic.Int64
}

// Accept implements [net.Listener].
func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.open.Add(1)
	return &countedConn{conn, sync.OnceFunc(func() { l.open.Add(-1) })}, nil
}

// A countedConn counts until it is closed.
type countedConn struct {
	net.Conn
	release func()
}

// Close implements [net.Conn].
func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
