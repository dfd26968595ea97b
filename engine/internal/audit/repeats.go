package audit

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"authsvc"
)

// The same refusal of one client is recorded once a minute; repetitions are only
// counted. Otherwise one client could fill the log and push other clients' events out
// of the store.
//
// Refusals are the same if their event, code, provider, reason and cause are. A client
// can make up causes, for example by error_description. So of one event, a client has
// maxCauses windows for causes that quote the request, and as many for all others: what
// it makes up cannot hide what the service found out. Further causes share a window.
const (
	repeatWindow = time.Minute
	maxRepeats   = 10_000 // windows; beyond that the oldest window ends early
	maxCauses    = 16
)

// InLog is the reason of an event whose cause has no fixed words. The cause is in
// another log line of the request.
const InLog = "the log line of this request says why"

// A Quoting error is a cause that quotes the request, so that the client can vary it.
type Quoting interface {
	error
	QuotesRequest()
}

// A repeatKey identifies a window.
type repeatKey struct {
	group repeatGroup
	cause uint64 // hash of the reason and the cause; 0 in the window of further causes
	more  bool   // the window of causes beyond maxCauses
}

// A repeatGroup holds the windows of one event of a client.
type repeatGroup struct {
	client, name, code, provider string
	quoting                      bool
}

// repeats deduplicates audit events. Each key has a window, which opens with a recorded
// event and counts the events that follow.
type repeats struct {
	disabled bool
	seed     maphash.Seed

	mu     sync.Mutex
	all    map[repeatKey]*list.Element
	causes map[repeatGroup]int // windows of each group, except the one for further causes
	order  *list.List          // of *repeat, oldest first
	timer  *time.Timer         // calls recordRepeats; nil: not scheduled
}

// A repeat is the window of one key.
type repeat struct {
	key     repeatKey
	until   time.Time
	first   string             // request of the first event, which the log explains
	counted int                // events after the first
	last    authsvc.AuditEvent // the latest of them
}

func newRepeats(disabled bool) *repeats {
	return &repeats{all: map[repeatKey]*list.Element{}, causes: map[repeatGroup]int{}, order: list.New(), disabled: disabled, seed: maphash.MakeSeed()}
}

// keyOf returns the key of an event with its cause, which may be nil.
func (r *repeats) keyOf(client string, e authsvc.AuditEvent, cause error) repeatKey {
	var h maphash.Hash
	h.SetSeed(r.seed)
	h.WriteString(e.Reason) //nolint:errcheck // never fails
	k := repeatKey{group: repeatGroup{client: client, name: e.Name, code: string(e.Code), provider: e.Provider}}
	if cause != nil {
		var q Quoting
		k.group.quoting = errors.As(cause, &q)
		h.WriteString("\x00" + cause.Error()) //nolint:errcheck // never fails
	}
	k.cause = h.Sum64()
	return k
}

// add reports whether e opens a window and must be recorded. If not, e was only
// counted. It also returns the summaries of windows that have ended.
func (r *repeats) add(key repeatKey, e authsvc.AuditEvent, now time.Time) (record bool, summaries []authsvc.AuditEvent) {
	if r.disabled {
		return true, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	summaries = r.removeWhile(func(w *repeat) bool { return !now.Before(w.until) })
	if r.all[key] == nil && r.causes[key.group] >= maxCauses {
		key.cause, key.more = 0, true
	}
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
	r.all[key] = r.order.PushBack(&repeat{key: key, until: now.Add(repeatWindow), first: e.RequestID})
	if !key.more {
		r.causes[key.group]++
	}
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
		if group := w.key.group; !w.key.more {
			if r.causes[group]--; r.causes[group] == 0 {
				delete(r.causes, group)
			}
		}
		if w.counted > 0 {
			w.last.Reason = fmt.Sprintf("%s (%d more from there within a minute)", w.reason(), w.counted)
			summaries = append(summaries, w.last)
		}
	}
	return summaries
}

// reason returns the reason of the summary. Counted events have no log lines.
func (w *repeat) reason() string {
	switch {
	case w.key.more:
		return fmt.Sprintf("more than %d different causes", maxCauses)
	case w.last.Reason == InLog:
		return "the log line of request " + w.first + " says why"
	}
	return w.last.Reason
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

// RecordLimited records e, unless the same client had the same refusal or failure, with
// the same cause, within the last minute: then e is only counted. Successes are always
// recorded. It reports whether e was recorded. cause may be nil.
func (au *Log) RecordLimited(ctx context.Context, client string, e authsvc.AuditEvent, cause error) bool {
	au.count(e)
	if client == "" || au.outcomeOf(e.Name) == authsvc.AuditSuccess {
		au.record(ctx, e)
		return true
	}
	plain(&e)
	record, summaries := au.repeats.add(au.repeats.keyOf(client, e, cause), e, time.Now())
	for _, summary := range summaries {
		au.record(ctx, summary)
	}
	if record {
		au.record(ctx, e)
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
		au.record(context.Background(), summary)
	}
	if more {
		au.repeats.schedule(au.recordRepeats)
	}
}

// flushRepeats records all summaries when the service ends.
func (au *Log) flushRepeats() {
	summaries, _ := au.repeats.flush(time.Now(), true)
	for _, summary := range summaries {
		au.record(context.Background(), summary)
	}
}
