package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// constant sends requests at a constant rate over the connections of the load,
// whether or not answers come. It measures each answer from the moment when its
// request was due: a server that stops for a second delays all users who come in that
// second, not only those whose requests it has already received (coordinated
// omission). Rate 0 sends as fast as answers come.
//
// It polls the sockets instead of sleeping, because a sleep may end up to a
// millisecond late; loadCore has nothing else to do.
func (l load) constant(ctx context.Context, addr string, rate float64, length time.Duration) (result, error) {
	p := &pacer{length: length, rate: rate, most: math.MaxInt}
	if err := l.pace(ctx, addr, p); err != nil {
		return result{}, err
	}
	r, err := summary(p.took, length)
	r.Stalled = p.stalled.Seconds() / length.Seconds()
	return r, err
}

// longest limits the time of a number of answers or sign-ins.
const longest = 5 * time.Minute

var errTooSlow = fmt.Errorf("not done within %s", longest)

// times sends n requests as fast as answers come.
func (l load) times(ctx context.Context, addr string, n int) error {
	p := &pacer{length: longest, most: n}
	err := l.pace(ctx, addr, p)
	if err == nil && len(p.took) < n {
		err = errTooSlow
	}
	return err
}

func (l load) pace(ctx context.Context, addr string, p *pacer) error {
	defer p.close()
	if err := p.open(addr, l.conns); err != nil {
		return err
	}
	p.requests = l.requests(addr)
	p.took = make([]time.Duration, 0, int(max(p.rate, 100_000)*min(p.length, 10*time.Second).Seconds())+1)
	// On one core, a garbage collection would keep this program from its sockets.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	p.begin = time.Now()
	return p.run(ctx)
}

// summary computes a result from the times of answers or sign-ins.
func summary(all []time.Duration, length time.Duration) (result, error) {
	if len(all) == 0 {
		return result{}, errors.New("no answer in time")
	}
	slices.Sort(all)
	at := func(part float64) time.Duration { return all[min(int(part*float64(len(all))), len(all)-1)] }
	return result{
		Rate: float64(len(all)) / length.Seconds(),
		P50:  at(0.5), P90: at(0.9), P99: at(0.99), Max: all[len(all)-1],
	}, nil
}

// A pacer sends requests when they are due.
type pacer struct {
	requests [][]byte
	begin    time.Time
	length   time.Duration
	rate     float64 // per second; 0: as soon as a connection is free
	most     int     // number of requests

	epoll int
	conns map[int32]*paced // by file descriptor
	free  []*paced         // longest free first
	sent  int
	took  []time.Duration

	turn    time.Time     // time of the last poll
	stalled time.Duration // time without polls
}

// stall is the shortest pause between two polls that only the machine can cause: a
// poll takes microseconds.
const stall = 300 * time.Microsecond

// A paced connection has at most one request in progress.
type paced struct {
	fd  int
	due time.Time
	in  []byte
}

// patience is the time after the end in which answers may still come.
const patience = 10 * time.Second

func (p *pacer) open(addr string, conns int) error {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return err
	}
	p.conns = map[int32]*paced{}
	if p.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return err
	}
	for range conns {
		if err := p.connect(to); err != nil {
			return err
		}
	}
	return nil
}

func (p *pacer) connect(to netip.AddrPort) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c := &paced{fd: fd, in: make([]byte, 0, 8192)}
	p.conns[int32(fd)], p.free = c, append(p.free, c) // #nosec G115 -- file descriptors are small
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		return fmt.Errorf("connect to %s: %w", to, err)
	}
	return errors.Join(
		syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1),
		syscall.SetNonblock(fd, true),
		syscall.EpollCtl(p.epoll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}), // #nosec G115 -- as above
	)
}

func (p *pacer) close() {
	for fd := range p.conns {
		_ = syscall.Close(int(fd))
	}
	if p.epoll > 0 {
		_ = syscall.Close(p.epoll)
	}
}

// run sends and receives until the time is over and every request is answered.
func (p *pacer) run(ctx context.Context) error {
	events := make([]syscall.EpollEvent, 128)
	for over := false; !over || len(p.free) < len(p.conns); {
		var err error
		if over, err = p.send(); err != nil {
			return err
		}
		n, err := syscall.EpollWait(p.epoll, events, 0)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return err
		}
		for _, e := range events[:max(n, 0)] {
			if err := p.receive(p.conns[e.Fd]); err != nil {
				return err
			}
		}
		if time.Since(p.begin) > p.length+patience {
			return fmt.Errorf("%d requests were not answered", len(p.conns)-len(p.free))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// send sends due requests and reports whether there are no more.
func (p *pacer) send() (over bool, err error) {
	if now := time.Now(); now.Sub(p.turn) > stall && !p.turn.IsZero() {
		p.stalled += now.Sub(p.turn)
	}
	for {
		now := time.Now()
		p.turn = now
		due := now
		if p.rate > 0 {
			due = p.begin.Add(time.Duration(float64(p.sent) / p.rate * float64(time.Second)))
		}
		if due.Sub(p.begin) >= p.length || p.sent >= p.most {
			return true, nil
		}
		if due.After(now) || len(p.free) == 0 {
			return false, nil
		}
		c := p.free[0]
		p.free = p.free[1:]
		c.due = due
		if _, err := syscall.Write(c.fd, p.requests[p.sent%len(p.requests)]); err != nil {
			return false, err
		}
		p.sent++
	}
}

// receive reads available data. A complete answer frees its connection.
func (p *pacer) receive(c *paced) error {
	c.in = slices.Grow(c.in, 4096)
	n, err := syscall.Read(c.fd, c.in[len(c.in):cap(c.in)])
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return nil
	case err != nil:
		return err
	case n == 0:
		return net.ErrClosed
	}
	c.in = c.in[:len(c.in)+n]
	whole, err := wholeAnswer(c.in)
	if err != nil || !whole {
		return err
	}
	p.took = append(p.took, time.Since(c.due))
	c.in, p.free = c.in[:0], append(p.free, c)
	return nil
}

// wholeAnswer reports whether text is a complete answer, with status 200 and a
// Content-Length.
func wholeAnswer(text []byte) (bool, error) {
	header, body, ok := bytes.Cut(text, []byte("\r\n\r\n"))
	if !ok {
		return false, nil
	}
	if !bytes.HasPrefix(header, []byte("HTTP/1.1 200 ")) {
		return false, fmt.Errorf("answer %.60q", header)
	}
	_, length, ok := bytes.Cut(header, []byte("\r\nContent-Length: "))
	if !ok {
		return false, errors.New("an answer without Content-Length")
	}
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	n, err := strconv.Atoi(string(length))
	if err != nil {
		return false, fmt.Errorf("an answer with Content-Length %q", length)
	}
	return len(body) >= n, nil
}
