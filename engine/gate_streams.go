package engine

import (
	"context"
	"net/http"
	"sync"
	"time"

	"authsvc/internal/protocol/gate"
	"authsvc/stats"
)

// streams holds the requests that the gate has let pass and that are being answered.
type streams struct {
	mu    sync.Mutex
	open  map[*stream]struct{}
	ended bool // no more requests may pass
}

// add returns false if no more requests may pass.
func (l *streams) add(st *stream) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	if l.open == nil {
		l.open = map[*stream]struct{}{}
	}
	l.open[st] = struct{}{}
	return true
}

func (l *streams) remove(st *stream) {
	l.mu.Lock()
	delete(l.open, st)
	l.mu.Unlock()
}

// end ends all streams, and prevents new ones.
func (l *streams) end() {
	l.mu.Lock()
	l.ended = true
	all := l.open
	l.open = nil
	l.mu.Unlock()
	for st := range all {
		st.cut(stats.StreamStopped)
	}
}

// A stream is a request that is being answered, and its context. The context holds the
// session, and ends when the request may no longer pass.
type stream struct {
	context.Context
	service *gateRoom
	r       *http.Request
	verdict verdict
	meter   *hostMeter
	cancel  context.CancelFunc

	mu    sync.Mutex
	over  bool
	timer *time.Timer
}

// watch judges a request again every Config.Gate.Recheck until done is called.
func (gt *gateRoom) watch(r *http.Request, v verdict) *stream {
	st := &stream{service: gt, r: r, verdict: v, meter: gt.meters[v.site.Index()]}
	st.Context, st.cancel = context.WithCancel(r.Context())
	st.meter.open.Add(1)
	st.mu.Lock()
	st.timer = time.AfterFunc(gt.recheck, st.judgeAgain)
	st.mu.Unlock()
	if !gt.streams.add(st) {
		st.cut(stats.StreamStopped)
	}
	return st
}

// Value implements [context.Context].
func (st *stream) Value(key any) any {
	if key == (sessionKey{st.service.keeper}) {
		return st.verdict.session
	}
	return st.Context.Value(key)
}

// judgeAgain cuts the stream if the request would no longer pass.
func (st *stream) judgeAgain() {
	s, r := st.service, st.r
	now := st.service.judge(s.site.newRequest(r.WithContext(st.Context)), r.Host, r.Method, st.verdict.target, r.Header, false)
	switch {
	case now.Verdict == gate.Unjudged:
		st.cut(stats.StreamError)
	case now.Verdict != gate.Allowed || now.userID() != st.verdict.userID():
		st.cut(stats.StreamRefused)
	default:
		st.mu.Lock()
		defer st.mu.Unlock()
		if !st.over {
			st.timer.Reset(s.recheck)
		}
	}
}

// cut ends the stream before its answer is complete.
func (st *stream) cut(why stats.StreamEnd) {
	if st.finish() {
		st.meter.closed.Add(why)
	}
	st.cancel()
}

// done stops watching the stream.
func (st *stream) done() {
	st.finish()
	st.cancel()
	st.service.streams.remove(st)
	st.meter.open.Add(-1)
}

// finish stops the rechecks. It reports whether they were still running.
func (st *stream) finish() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	was := !st.over
	st.over = true
	st.timer.Stop()
	return was
}
