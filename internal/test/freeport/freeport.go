// Package freeport finds ports for the servers that tests start.
package freeport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
)

// next starts below 32768: Linux takes ports for outgoing connections, and for
// listeners on port 0, from 32768 upwards. Other tests use thousands of those, which
// could take a port between Pick and its use.
var next = sync.OnceValue(func() *atomic.Int32 {
	p := new(atomic.Int32)
	p.Store(20_000 + rand.Int32N(11_000))
	return p
})

// Pick returns the first of n consecutive ports of 127.0.0.1 that are free. Within a
// process, it never returns the same port twice.
func Pick(n int) (int, error) {
	for range 1000 {
		if first := int(next().Add(int32(n))) - n + 1; free(first, n) {
			return first, nil
		}
	}
	return 0, errors.New("no port is free")
}

func free(first, n int) bool {
	for port := first; port < first+n; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}
