package main

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"authsvc/cmd/authsvc/internal/config"
)

// Bounds of a log that nobody reads.
const (
	logWaiting  = 1024                   // lines that wait
	logPatience = 100 * time.Millisecond // that one line holds its writer up
	logFlush    = time.Second            // at the end
)

// A logSink keeps a log that nobody reads, such as a full pipe, from stopping
// the service. As long as lines are taken, Write returns when its line is, so
// that a crash loses none. When one is not taken within logPatience, lines wait
// in a bounded queue and nobody waits for them; what does not fit is dropped
// and counted, and the count is logged when lines are taken again.
type logSink struct {
	to      io.Writer
	notice  atomic.Pointer[slog.Logger] // writes to to
	lines   chan logLine
	stuck   atomic.Bool
	dropped atomic.Int64
	ended   chan struct{}
	done    chan struct{}
	end     func()
}

type logLine struct {
	text  []byte
	taken chan struct{}
}

// newLogSink starts a sink.
func newLogSink(to io.Writer) *logSink {
	s := &logSink{to: to, lines: make(chan logLine, logWaiting), ended: make(chan struct{}), done: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.ended) })
	s.notice.Store(newLogger(to, config.Log{}))
	go s.run()
	return s
}

// logger makes a logger that writes to the sink. The sink's own line looks
// like those of the last one.
func (s *logSink) logger(l config.Log) *slog.Logger {
	s.notice.Store(newLogger(s.to, l))
	return newLogger(s, l)
}

// Write implements [io.Writer]. It takes one line and never fails.
func (s *logSink) Write(p []byte) (int, error) {
	l := logLine{bytes.Clone(p), make(chan struct{})}
	select {
	case s.lines <- l:
	default:
		s.dropped.Add(1)
		return len(p), nil
	}
	if s.stuck.Load() {
		return len(p), nil
	}
	timer := time.NewTimer(logPatience)
	defer timer.Stop()
	select {
	case <-l.taken:
	case <-timer.C:
		s.stuck.Store(true)
	}
	return len(p), nil
}

// run hands lines over until the end, and then those that wait.
func (s *logSink) run() {
	defer close(s.done)
	for {
		select {
		case l := <-s.lines:
			s.hand(l)
			continue
		default:
		}
		select {
		case l := <-s.lines:
			s.hand(l)
		case <-s.ended:
			if len(s.lines) == 0 {
				return
			}
		}
	}
}

// hand writes a line. One that fails is dropped: a disk may be full for a
// while.
func (s *logSink) hand(l logLine) {
	if _, err := s.to.Write(l.text); err != nil {
		s.dropped.Add(1)
		close(l.taken)
		return
	}
	close(l.taken)
	if len(s.lines) > 0 {
		return
	}
	s.stuck.Store(false)
	if n := s.dropped.Swap(0); n > 0 {
		s.notice.Load().Warn("log lines were dropped, because nobody took them", "lines", n)
	}
}

// close waits for the lines that wait, but not for long.
func (s *logSink) close() {
	s.end()
	select {
	case <-s.done:
	case <-time.After(logFlush):
	}
}
