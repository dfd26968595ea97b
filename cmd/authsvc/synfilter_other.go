//go:build !linux

package main

import (
	"net"
)

// refuseSYN does nothing here: connections that were not accepted when the
// listener closes are reset.
func refuseSYN(net.Listener) bool { return false }

// acceptQueued returns nothing without refuseSYN.
func acceptQueued(net.Listener) []net.Conn { return nil }
