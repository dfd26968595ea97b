package gate

import (
	"sync"
	"time"
)

// Overdue detects clients that are repeatedly sent a new cookie but never return it.
type Overdue struct {
	mu   sync.Mutex
	seen map[string]*late
	told bool
}

type late struct {
	first time.Time
	times int
}

// A client is not reported at once, since concurrent requests are all sent before the
// new cookie arrives.
const (
	overdueTimes  = 3
	overdueWithin = time.Minute
	maxOverdue    = 1000 // cookies; when there are more, all are dropped
)

// Again records that a cookie is due for replacement. It returns true once: when the
// same cookie is due for at least the third time, a minute or more after the first.
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
