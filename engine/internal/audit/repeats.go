package audit

import (
	"container/list"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"authsvc"
)

// The same refusal of one client is recorded once a minute; repetitions are only
// counted. Otherwise one client could fill the log and push other clients' events out
// of the store.
const (
	repeatWindow = time.Minute
	maxRepeats   = 10_000 // keys; beyond that the oldest window ends early
)

// repeats deduplicates audit events. Each key has a window, which opens with a recorded
// event and counts the events that follow.
type repeats struct {
	disabled bool

	mu    sync.Mutex
	all   map[string]*list.Element
	order *list.List  // of *repeat, oldest first
	timer *time.Timer // calls recordRepeats; nil: not scheduled
}

// A repeat is the window of one key.
type repeat struct {
	key     string
	until   time.Time
	counted int                // events after the first
	last    authsvc.AuditEvent // the latest of them
}

func newRepeats(disabled bool) *repeats {
	return &repeats{all: map[string]*list.Element{}, order: list.New(), disabled: disabled}
}

// add reports whether e opens a window and must be recorded. If not, e was only
// counted. It also returns the summaries of windows that have ended.
func (r *repeats) add(key string, e authsvc.AuditEvent, now time.Time) (record bool, summaries []authsvc.AuditEvent) {
	if r.disabled {
		return true, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	summaries = r.removeWhile(func(w *repeat) bool { return !now.Before(w.until) })
	if at := r.all[key]; at != nil {
		w := at.Value.(*repeat)
		w.counted++
		e.UserAgent = strings.Clone(e.UserAgent) // do not retain the whole header
		w.last = e
		return false, summaries
	}
	if len(r.all) >= maxRepeats {
		oldest := r.order.Front().Value.(*repeat)
		summaries = append(summaries, r.removeWhile(func(w *repeat) bool { return w == oldest })...)
	}
	r.all[key] = r.order.PushBack(&repeat{key: key, until: now.Add(repeatWindow)})
	return true, summaries
}

// removeWhile removes windows, oldest first, while ended reports true. It returns a
// summary of each removed window that counted events. r.mu is held.
func (r *repeats) removeWhile(ended func(*repeat) bool) (summaries []authsvc.AuditEvent) {
	for at := r.order.Front(); at != nil; at = r.order.Front() {
		w := at.Value.(*repeat)
		if !ended(w) {
			break
		}
		r.order.Remove(at)
		delete(r.all, w.key)
		if w.counted > 0 {
			w.last.Reason = fmt.Sprintf("%s (%d more from there within a minute)", w.last.Reason, w.counted)
			summaries = append(summaries, w.last)
		}
	}
	return summaries
}

// schedule runs call after repeatWindow, when every window that is open now has ended.
// It does nothing if a call is already scheduled.
func (r *repeats) schedule(call func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer == nil && len(r.all) > 0 {
		r.timer = time.AfterFunc(repeatWindow, call)
	}
}

// flush returns the summaries of the windows that ended by now, or of all windows. more
// reports whether a remaining window has counted events.
func (r *repeats) flush(now time.Time, all bool) (summaries []authsvc.AuditEvent, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	summaries = r.removeWhile(func(w *repeat) bool { return all || !now.Before(w.until) })
	for at := r.order.Front(); at != nil && !more; at = at.Next() {
		more = at.Value.(*repeat).counted > 0
	}
	return summaries, more
}

// RecordLimited records e, unless the same client had the same refusal or failure
// within the last minute: then e is only counted. Successes are always recorded. It
// reports whether e was recorded.
func (au *Log) RecordLimited(ctx context.Context, client string, e authsvc.AuditEvent) bool {
	if client == "" || au.outcomeOf(e.Name) == authsvc.AuditSuccess {
		au.Record(ctx, e)
		return true
	}
	plain(&e)
	key := strings.Join([]string{client, e.Name, string(e.Code), e.Reason, e.Provider}, "\x00")
	record, summaries := au.repeats.add(key, e, time.Now())
	for _, summary := range summaries {
		au.Record(ctx, summary)
	}
	if record {
		au.Record(ctx, e)
	} else {
		au.repeats.schedule(au.recordRepeats)
	}
	return record
}

// recordRepeats records the summaries of windows that have ended, and schedules its
// next run if a remaining window has counted events.
func (au *Log) recordRepeats() {
	summaries, more := au.repeats.flush(time.Now(), false)
	for _, summary := range summaries {
		au.Record(context.Background(), summary)
	}
	if more {
		au.repeats.schedule(au.recordRepeats)
	}
}

// flushRepeats records all summaries when the service ends.
func (au *Log) flushRepeats() {
	summaries, _ := au.repeats.flush(time.Now(), true)
	for _, summary := range summaries {
		au.Record(context.Background(), summary)
	}
}
