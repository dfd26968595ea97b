package main

import (
	"io"
	"net"
	"testing"
	"time"
)

// TestRefuseSYN: a listener that refuses gets no further connections, and they are not
// reset either; those in its queue are accepted, and receive.
func TestRefuseSYN(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			l, err := listen(t.Context(), address, "listen")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			before, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer before.Close()
			if !refuseSYN(l) {
				t.Fatal("the kernel takes no filter")
			}
			later := net.Dialer{Timeout: 300 * time.Millisecond}
			if conn, err := later.Dial("tcp", l.Addr().String()); err == nil {
				conn.Close()
				t.Error("connected while refusing")
			} else if e, ok := err.(net.Error); !ok || !e.Timeout() {
				t.Errorf("%v, want no answer", err)
			}
			queued := acceptQueued(l)
			if len(queued) != 1 {
				t.Fatalf("%d connections in the queue, want 1", len(queued))
			}
			defer queued[0].Close()
			if _, err := before.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			queued[0].SetReadDeadline(time.Now().Add(patience))
			if _, err := io.ReadFull(queued[0], make([]byte, 1)); err != nil {
				t.Error(err)
			}
		})
	}
}
