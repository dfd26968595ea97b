package authsvc

import (
	"container/list"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// What a client is refused is told once a minute for each reason, and then
// counted: otherwise one client fills the log and pushes the events of others
// out of the store.
const (
	repeatWindow = time.Minute
	maxRepeats   = 10_000 // reasons of clients that are kept in mind
)

// repeats are the refusals told within the last minute.
type repeats struct {
	mu    sync.Mutex
	all   map[string]*list.Element
	order *list.List // of *repeat, the one told first is first
	armed *time.Timer
	off   bool
}

type repeat struct {
	key   string
	until time.Time
	more  int
	last  AuditEvent
}

func newRepeats(off bool) *repeats {
	return &repeats{all: map[string]*list.Element{}, order: list.New(), off: off}
}

// first reports whether e is to be told now, rather than counted. ended are the
// events that tell the counts of before.
func (r *repeats) first(key string, e AuditEvent, now time.Time) (told bool, ended []AuditEvent) {
	if r.off {
		return true, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ended = r.end(func(one *repeat) bool { return !now.Before(one.until) })
	if at := r.all[key]; at != nil {
		one := at.Value.(*repeat)
		one.more++
		e.UserAgent = strings.Clone(e.UserAgent) // not the whole header with it
		one.last = e
		return false, ended
	}
	if len(r.all) >= maxRepeats {
		oldest := r.order.Front().Value.(*repeat)
		ended = append(ended, r.end(func(one *repeat) bool { return one == oldest })...)
	}
	r.all[key] = r.order.PushBack(&repeat{key: key, until: now.Add(repeatWindow)})
	return true, ended
}

// end removes from the front while over, and returns the counts.
func (r *repeats) end(over func(*repeat) bool) (ended []AuditEvent) {
	for at := r.order.Front(); at != nil; at = r.order.Front() {
		one := at.Value.(*repeat)
		if !over(one) {
			break
		}
		r.order.Remove(at)
		delete(r.all, one.key)
		if one.more > 0 {
			one.last.Reason = fmt.Sprintf("%s (%d more from there within a minute)", one.last.Reason, one.more)
			ended = append(ended, one.last)
		}
	}
	return ended
}

// arm has call called when the minute of the oldest is over, once.
func (r *repeats) arm(call func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.armed == nil && len(r.all) > 0 {
		r.armed = time.AfterFunc(repeatWindow, call)
	}
}

// rest ends what is over by now, or all, and reports whether more is to come.
func (r *repeats) rest(now time.Time, all bool) (ended []AuditEvent, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.armed != nil {
		r.armed.Stop()
		r.armed = nil
	}
	ended = r.end(func(one *repeat) bool { return all || !now.Before(one.until) })
	for at := r.order.Front(); at != nil && !more; at = at.Next() {
		more = at.Value.(*repeat).more > 0
	}
	return ended, more
}

// recordLimited records what a client was refused, or what failed for it, unless the
// same was told of it within the minute; then it is counted. Other events are
// always recorded. It reports which.
func (s *Service) recordLimited(ctx context.Context, client string, e AuditEvent) bool {
	if client == "" || outcomeOf(e.Name) == AuditSuccess {
		s.record(ctx, e)
		return true
	}
	e.plain()
	key := strings.Join([]string{client, e.Name, string(e.Code), e.Reason, e.Provider}, "\x00")
	first, ended := s.repeats.first(key, e, time.Now())
	for _, count := range ended {
		s.record(ctx, count)
	}
	if first {
		s.record(ctx, e)
	} else {
		s.repeats.arm(s.recordRepeats)
	}
	return first
}

// recordRepeats records the counts of the minutes that are over.
func (s *Service) recordRepeats() {
	ended, more := s.repeats.rest(time.Now(), false)
	for _, count := range ended {
		s.record(context.Background(), count)
	}
	if more {
		s.repeats.arm(s.recordRepeats)
	}
}

// flushRepeats records all counts; the service ends.
func (s *Service) flushRepeats() {
	ended, _ := s.repeats.rest(time.Now(), true)
	for _, count := range ended {
		s.record(context.Background(), count)
	}
}
