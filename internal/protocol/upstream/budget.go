package upstream

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Limits on how slow a client may be when sending a body or receiving an answer. Time
// in which it has nothing to send or receive does not count.
const (
	minRate = 240             // bytes a second, on average
	grace   = 5 * time.Second // allowed in addition
)

// ErrBusy is the error of a request for which a Budget has no room.
var ErrBusy = errors.New("too many requests to programs are in progress")

// A Budget limits the concurrent requests to programs, in total and for one client.
type Budget struct {
	most, mostOf int

	mu   sync.Mutex
	open map[*passing]struct{}
	of   map[string]int
}

// NewBudget makes a Budget for most requests, at least 8. One client may use a quarter
// of it.
func NewBudget(most int) *Budget {
	most = max(most, 8)
	return &Budget{most: most, mostOf: most / 4, open: map[*passing]struct{}{}, of: map[string]int{}}
}

// A passing is a request in progress at a program.
type passing struct {
	client string
	begun  time.Time
	bytes  atomic.Int64 // of bodies and tunnels, both ways
	end    func()
}

// enter counts a request until leave. At a client's limit, it ends the client's slowest
// request. At the total limit, it ends the slowest request of the clients that have
// most. If all these requests are younger than grace, there is no room, and enter
// returns nil.
func (b *Budget) enter(client string, end func()) *passing {
	p := &passing{client: client, begun: time.Now(), end: end}
	b.mu.Lock()
	defer b.mu.Unlock()
	own := func(p *passing) bool { return p.client == client }
	if b.of[client] >= b.mostOf && !b.makeRoom(p.begun, own) {
		return nil
	}
	if len(b.open) >= b.most {
		most := 0
		for _, n := range b.of {
			most = max(most, n)
		}
		from := func(p *passing) bool { return b.of[p.client] == most }
		if b.of[client] == most { // otherwise a client with most requests would end requests of others
			from = own
		}
		if !b.makeRoom(p.begun, from) {
			return nil
		}
	}
	b.open[p] = struct{}{}
	b.of[client]++
	return p
}

// makeRoom ends the slowest request for which of returns true. The caller must hold mu.
func (b *Budget) makeRoom(now time.Time, of func(*passing) bool) bool {
	var slowest *passing
	least := 0.0
	for p := range b.open {
		age := now.Sub(p.begun)
		if age < grace || !of(p) {
			continue
		}
		if rate := float64(p.bytes.Load()) / age.Seconds(); slowest == nil || rate < least {
			slowest, least = p, rate
		}
	}
	if slowest == nil {
		return false
	}
	b.remove(slowest)
	slowest.end()
	return true
}

// pressed reports whether more than half of the room is taken.
func (b *Budget) pressed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.open) > b.most/2
}

func (b *Budget) leave(p *passing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(p)
}

func (b *Budget) remove(p *passing) {
	if _, there := b.open[p]; !there {
		return
	}
	delete(b.open, p)
	if b.of[p.client]--; b.of[p.client] == 0 {
		delete(b.of, p.client)
	}
}

// A pace tracks how much more time a client has than its next bytes may take.
type pace struct{ spare time.Duration }

// maxSpare limits the time that a fast client can save; otherwise it could be silent
// for hours.
const maxSpare = stallTimeout - grace

// least returns how long n bytes may take.
func least(n int) time.Duration { return time.Duration(n) * time.Second / minRate }

// deadline returns when a client must have sent something, or received n bytes.
func (p *pace) deadline(now time.Time, n int) time.Time {
	return now.Add(grace + p.spare + least(n))
}

// went counts n bytes that were waited for since begun.
func (p *pace) went(n int, begun time.Time) {
	p.spare = min(p.spare+least(n)-time.Since(begun), maxSpare)
}

// deadlines holds the deadlines of a connection while a program handles a request. The
// transport may still read the body after the handler is done.
type deadlines struct {
	control *http.ResponseController
	mu      sync.Mutex
	ended   bool
	noReads bool // the read deadline no longer changes
}

func (d *deadlines) read(t time.Time, last bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended && !d.noReads {
		d.noReads = last
		_ = d.control.SetReadDeadline(t) // a writer without deadlines returns an error
	}
}

func (d *deadlines) write(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended {
		_ = d.control.SetWriteDeadline(t)
	}
}

// end makes every wait for the client fail now.
func (d *deadlines) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	_ = d.control.SetReadDeadline(time.Unix(1, 0))
	_ = d.control.SetWriteDeadline(time.Unix(1, 0))
}
