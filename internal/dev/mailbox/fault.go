package mailbox

import (
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

// A Phase is a point of the conversation at which the server can refuse.
type Phase int

// The phases are the replies to MAIL, to RCPT and to the end of the data.
const (
	Mail Phase = iota + 1
	Rcpt
	Data
)

// faults holds the faults that the server simulates.
type faults struct {
	mu     sync.Mutex
	queued map[Phase][]int // reply codes, used in order
	drops  int
	delay  time.Duration
}

// Fail makes the next n replies of a phase the given code, 400 to 599. Calls queue up:
// Fail(Rcpt, 450, 2) and then Fail(Rcpt, 550, 1) give 450, 450, 550.
func (s *Server) Fail(p Phase, code, n int) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	if s.faults.queued == nil {
		s.faults.queued = make(map[Phase][]int)
	}
	for range n {
		s.faults.queued[p] = append(s.faults.queued[p], code)
	}
}

// DropAfterData makes the server keep each of the next n mails, but close the
// connection instead of confirming it (RFC 1047). The client cannot know the result.
func (s *Server) DropAfterData(n int) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.drops = n
}

// Delay makes the server wait before it answers EHLO, AUTH, MAIL, RCPT and the end of
// the data.
func (s *Server) Delay(d time.Duration) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.delay = d
}

// next returns the next refusal of a phase, or nil.
func (f *faults) next(p Phase) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queued[p]
	if len(q) == 0 {
		return nil
	}
	f.queued[p] = q[1:]
	return &smtp.SMTPError{Code: q[0], Message: "Refused on request"}
}

func (f *faults) dropNow() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.drops == 0 {
		return false
	}
	f.drops--
	return true
}

// pause waits for the delay, or until the server closes.
func (s *Server) pause() {
	s.faults.mu.Lock()
	d := s.faults.delay
	s.faults.mu.Unlock()
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.done:
	}
}
