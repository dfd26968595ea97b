package upstream

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// How slow a client may be, as it sends a body and takes an answer. The time in which it
// has nothing to send or to take does not count.
const (
	minRate = 240             // bytes a second, on average
	grace   = 5 * time.Second // more than that takes
)

// ErrBusy is the error of a request that a Budget has no room for.
var ErrBusy = errors.New("too many requests are with programs at once")

// A Budget bounds how many requests are with programs at once, in all and of one client.
type Budget struct {
	most, mostOf int

	mu   sync.Mutex
	open map[*passing]struct{}
	of   map[string]int
}

// NewBudget makes one for so many requests, at least 8, of which a client may have a
// quarter.
func NewBudget(most int) *Budget {
	most = max(most, 8)
	return &Budget{most: most, mostOf: most / 4, open: map[*passing]struct{}{}, of: map[string]int{}}
}

// A passing is a request that is with a program.
type passing struct {
	client string
	begun  time.Time
	bytes  atomic.Int64 // of bodies and tunnels, both ways
	end    func()
}

// enter counts a request until leave. At the limit it ends the slowest one of the client,
// or of those clients that have most. There is no room (nil) if all of these are younger
// than grace.
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
		if b.of[client] == most { // or those who take all would end what others have
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

// makeRoom ends the slowest request of some. The caller holds mu.
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

// pressed reports whether half of the room is taken.
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

// A pace is how much time a client has left beside what a body may take.
type pace struct{ spare time.Duration }

// maxSpare bounds what a client saves by being fast, or it could be silent for hours.
const maxSpare = stallTimeout - grace

// least is how long so many bytes may take.
func least(n int) time.Duration { return time.Duration(n) * time.Second / minRate }

// deadline is until when a client has to send something, or to take n bytes.
func (p *pace) deadline(now time.Time, n int) time.Time {
	return now.Add(grace + p.spare + least(n))
}

// went counts n bytes for which the client was waited for since begun.
func (p *pace) went(n int, begun time.Time) {
	p.spare = min(p.spare+least(n)-time.Since(begun), maxSpare)
}

// deadlines are those of a connection while a request is with a program. The transport may
// still read the body when the handler is done.
type deadlines struct {
	control *http.ResponseController
	mu      sync.Mutex
	ended   bool
	noReads bool // the deadline of reads is not changed any more
}

func (d *deadlines) read(t time.Time, last bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended && !d.noReads {
		d.noReads = last
		_ = d.control.SetReadDeadline(t) // a writer without deadlines has none
	}
}

func (d *deadlines) write(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended {
		_ = d.control.SetWriteDeadline(t)
	}
}

// end lets whatever waits for the client fail now.
func (d *deadlines) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	_ = d.control.SetReadDeadline(time.Unix(1, 0))
	_ = d.control.SetWriteDeadline(time.Unix(1, 0))
}
