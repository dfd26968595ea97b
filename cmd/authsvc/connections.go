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

// Limits of open connections. An idle connection takes about 20 KB of memory. The store
// and calls to identity providers need files too.
const (
	maxConnections = 8192
	reservedFiles  = 32 // a minimum; more if a quarter of the files is more
)

// connectionLimit returns how many connections the process may hold. files is how many
// files it may open, or 0 if that is unknown.
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

// shareConnections returns how many connections clients may hold. If there are programs
// behind the gate, it reserves a third of all connections for them, so that requests
// waiting there leave room for the routes of the service.
func shareConnections(s *config.Settings) (clients int) {
	all := connectionLimit(fileLimit())
	if !hasPrograms(s) {
		return all
	}
	s.Engine.Gate.MaxRequests = max(8, all/3)
	return max(1, all-all/3)
}

// hasPrograms reports whether the gate forwards requests to programs.
func hasPrograms(s *config.Settings) bool {
	return slices.ContainsFunc(s.Engine.Gate.Hosts, func(h authsvc.GateHost) bool { return h.Upstream != "" })
}

// limitConnections keeps at most limit connections open. Further connections wait in
// the kernel's queue; the deadlines of the server limit how long. Above three quarters,
// nearLimit returns true: connections should then close after their request, so that
// idle ones leave room.
func limitConnections(l net.Listener, limit int) (limited net.Listener, nearLimit func() bool) {
	counted := &countingListener{Listener: l}
	return netutil.LimitListener(counted, limit), func() bool { return counted.open.Load() > int64(limit-limit/4) }
}

// A countingListener counts open connections. It includes connections that have
// switched to another protocol, which an [http.Server] does not report.
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

// A countedConn is counted until it is closed.
type countedConn struct {
	net.Conn
	release func()
}

// Close implements [net.Conn].
func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
