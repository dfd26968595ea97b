package gate

import (
	"sync"
	"time"
)

// Overdue notices who is sent a new cookie again and again, and never comes with it.
type Overdue struct {
	mu   sync.Mutex
	seen map[string]*late
	told bool
}

type late struct {
	first time.Time
	times int
}

// When it is noticed: not at once, since requests that come together have all left
// before the new cookie came.
const (
	overdueTimes  = 3
	overdueWithin = time.Minute
	maxOverdue    = 1000 // cookies; beyond that all are forgotten
)

// Again takes down that a cookie is to be replaced. It reports, once, that one was
// to be a third time, over a minute or more.
func (o *Overdue) Again(cookie string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told {
		return false
	}
	l := o.seen[cookie]
	if l == nil {
		if o.seen == nil || len(o.seen) >= maxOverdue {
			o.seen = map[string]*late{}
		}
		l = &late{first: now}
		o.seen[cookie] = l
	}
	l.times++
	o.told = l.times >= overdueTimes && now.Sub(l.first) >= overdueWithin
	if o.told {
		o.seen = nil
	}
	return o.told
}
