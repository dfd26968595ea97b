package main

import (
	"net"
	"os"
	"syscall"
)

// refuseSYN has the kernel drop SYN segments, and reports whether it does: it has
// no filters for Multipath TCP. Connections whose handshake has begun can then be
// accepted before the listener closes, which would reset them. Other clients send
// SYN again after a second and find nobody listening.
func refuseSYN(l net.Listener) (done bool) {
	const flags, synAck, syn = 13, 0x12, 0x02 // RFC 9293 §3.1
	filter := []syscall.SockFilter{           // sees segments from the TCP header on
		{Code: syscall.BPF_LD | syscall.BPF_B | syscall.BPF_ABS, K: flags},
		{Code: syscall.BPF_ALU | syscall.BPF_AND | syscall.BPF_K, K: synAck},
		{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, Jf: 1, K: syn},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: 0},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: 1 << 18},
	}
	controlFD(l, func(fd int) {
		done = syscall.AttachLsf(fd, filter) == nil //lint:ignore SA1019 its replacement takes two more packages
	})
	return done
}

// acceptQueued accepts the connections in the accept queue.
func acceptQueued(l net.Listener) (queued []net.Conn) {
	controlFD(l, func(fd int) {
		for {
			accepted, _, err := syscall.Accept4(fd, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
			if err == syscall.EINTR || err == syscall.ECONNABORTED { //nolint:errorlint // of a system call
				continue
			}
			if err != nil {
				return
			}
			f := os.NewFile(uintptr(accepted), "")
			if c, err := net.FileConn(f); err == nil {
				queued = append(queued, c)
			}
			f.Close()
		}
	})
	return queued
}

func controlFD(l net.Listener, do func(fd int)) {
	s, ok := l.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := s.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { do(int(fd)) }) // a closed listener has no queue
	}
}
