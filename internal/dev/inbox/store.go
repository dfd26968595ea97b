package inbox

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

const (
	maxKept      = 200      // mails
	maxKeptBytes = 64 << 20 // of raw mail in total
)

// A Box holds mails, oldest first, in memory and optionally in a directory. Its methods
// may be called concurrently.
type Box struct {
	mu       sync.Mutex
	disk     *disk // nil: memory only
	messages []Message
	bytes    int
	lastID   uint64
	arrival  chan struct{} // closed and replaced when a mail arrives
	done     chan struct{} // closed by Close
	closed   bool
}

// Open returns a box that keeps each mail as a .eml file with mode 0600 in dir. It
// creates dir if it is missing, and reads the existing mails. It ignores files of mails
// larger than maxMessage bytes. If dir is "", the box keeps mails only in memory.
func Open(dir string, maxMessage int64) (*Box, error) {
	s := &Box{arrival: make(chan struct{}), done: make(chan struct{})}
	if dir == "" {
		return s, nil
	}
	d, err := openDisk(dir, maxMessage)
	if err != nil {
		return nil, err
	}
	s.disk = d
	kept, err := d.load()
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	for _, m := range kept {
		s.keep(m)
	}
	return s, s.trim()
}

// Add keeps a mail as it was sent over the wire. If writing it to disk fails, Add does
// not keep it. After Close, it returns ErrClosed.
func (s *Box) Add(from string, to []string, raw string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	m := newMessage(s.newID(), from, to, raw)
	if s.disk != nil {
		if err := s.disk.write(m); err != nil {
			return err
		}
	}
	s.keep(m)
	close(s.arrival)
	s.arrival = make(chan struct{})
	return s.trim()
}

// newID returns the time in nanoseconds, increased if an earlier mail has it.
func (s *Box) newID() string {
	s.lastID = max(s.lastID+1, uint64(time.Now().UnixNano()))
	return fmt.Sprintf("%016x", s.lastID)
}

func (s *Box) keep(m Message) {
	if n, err := strconv.ParseUint(m.ID, 16, 64); err == nil {
		s.lastID = max(s.lastID, n)
	}
	s.messages = append(s.messages, m)
	s.bytes += len(m.Raw)
}

// trim drops the oldest mails while there are too many.
func (s *Box) trim() error {
	var errs []error
	for len(s.messages) > maxKept || s.bytes > maxKeptBytes && len(s.messages) > 1 {
		errs = append(errs, s.forget(s.messages[0]))
		s.messages[0] = Message{} // release the memory
		s.messages = s.messages[1:]
	}
	return errors.Join(errs...)
}

// forget undoes keep and write, except for the place in the list.
func (s *Box) forget(m Message) error {
	s.bytes -= len(m.Raw)
	if s.disk == nil {
		return nil
	}
	return s.disk.remove(m.ID)
}

func (s *Box) remove(match func(Message) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	var errs []error
	var kept []Message
	for _, m := range s.messages {
		if !match(m) {
			kept = append(kept, m)
			continue
		}
		errs = append(errs, s.forget(m))
	}
	s.messages = kept
	return errors.Join(errs...)
}

func (s *Box) list() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Message, len(s.messages))
	for i, m := range s.messages {
		list[i] = m.clone()
	}
	return list
}

func (s *Box) nextArrival() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrival
}

// Close ends all waiting and stops writing. It keeps the files. Calls after the first
// do nothing.
func (s *Box) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.done)
	if s.disk != nil {
		_ = s.disk.close()
	}
}
