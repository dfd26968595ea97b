package main

import (
	"net"
	"net/http"
	"syscall"
	"testing"
)

// TestAttachSYNFilter: a kernel that is too busy for a filter is asked again;
// without one, connections that wait are reset when the listener closes.
func TestAttachSYNFilter(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for want, failing := range map[bool]int{true: 3, false: attachAttempts} {
		tries := 0
		if got := attachSYNFilter(l, func(int, []syscall.SockFilter) error {
			if tries++; tries <= failing {
				return syscall.ENOTSUP
			}
			return nil
		}); got != want {
			t.Errorf("after %d failures: %v", failing, got)
		}
	}
}

// TestUnusedConnections: who has connected and asked for nothing yet is waited
// for at a stop, since a server that shuts down drops a first request.
func TestUnusedConnections(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := newLimitListener(l, 10)
	var s handlerSwitch
	server := &http.Server{Handler: &s, ConnState: c.connState, ConnContext: c.connContext}
	go server.Serve(c)
	t.Cleanup(func() { server.Close() })
	see := func(what string, open, fresh int) {
		t.Helper()
		eventually(t, what, func() bool {
			o, f := c.count()
			return o == open && f == fresh
		})
	}
	one := dial(t, l)
	see("a connection", 1, 1)
	two := dial(t, l)
	see("two", 2, 2)
	if _, err := one.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	see("one has asked", 2, 1)
	two.Close()
	see("the other has gone", 1, 0)
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
