//go:build !linux

package main

import (
	"net"
)

// refuseNew is not possible here: a connection that was made but not accepted
// when the listener closes is reset.
func refuseNew(net.Listener) bool { return false }

// acceptWaiting accepts nothing without refuseNew.
func acceptWaiting(net.Listener) []net.Conn { return nil }
