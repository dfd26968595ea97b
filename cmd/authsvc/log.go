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
	logQueueSize    = 1024                   // lines that wait
	logWriteTimeout = 100 * time.Millisecond // that one line holds its writer up
	logFlushTimeout = time.Second            // at the end
)

// A logSink keeps a log that nobody reads, such as a full pipe, from stopping
// the service. As long as lines are taken, Write returns when its line is, so
// that a crash loses none. When one is not taken within logWriteTimeout, lines wait
// in a bounded queue and nobody waits for them; what does not fit is dropped
// and counted, and the count is logged when lines are taken again.
type logSink struct {
	out      io.Writer
	notices  atomic.Pointer[slog.Logger] // writes to to
	lines    chan logLine
	blocked  atomic.Bool
	dropped  atomic.Int64
	stopping chan struct{}
	done     chan struct{}
	stop     func()
}

type logLine struct {
	text []byte
	done chan struct{}
}

// newLogSink starts a sink.
func newLogSink(to io.Writer) *logSink {
	s := &logSink{out: to, lines: make(chan logLine, logQueueSize), stopping: make(chan struct{}), done: make(chan struct{})}
	s.stop = sync.OnceFunc(func() { close(s.stopping) })
	s.notices.Store(newLogger(to, config.Log{}))
	go s.run()
	return s
}

// logger makes a logger that writes to the sink. The sink's own line looks
// like those of the last one.
func (s *logSink) logger(l config.Log) *slog.Logger {
	s.notices.Store(newLogger(s.out, l))
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
	if s.blocked.Load() {
		return len(p), nil
	}
	timer := time.NewTimer(logWriteTimeout)
	defer timer.Stop()
	select {
	case <-l.done:
	case <-timer.C:
		s.blocked.Store(true)
	}
	return len(p), nil
}

// run hands lines over until the end, and then those that wait.
func (s *logSink) run() {
	defer close(s.done)
	for {
		select {
		case l := <-s.lines:
			s.writeLine(l)
			continue
		default:
		}
		select {
		case l := <-s.lines:
			s.writeLine(l)
		case <-s.stopping:
			if len(s.lines) == 0 {
				return
			}
		}
	}
}

// writeLine writes a line. One that fails is dropped: a disk may be full for a
// while.
func (s *logSink) writeLine(l logLine) {
	if _, err := s.out.Write(l.text); err != nil {
		s.dropped.Add(1)
		close(l.done)
		return
	}
	close(l.done)
	if len(s.lines) > 0 {
		return
	}
	s.blocked.Store(false)
	if n := s.dropped.Swap(0); n > 0 {
		s.notices.Load().Warn("log lines were dropped, because nobody took them", "lines", n)
	}
}

// close waits for the lines that wait, but not for long.
func (s *logSink) close() {
	s.stop()
	select {
	case <-s.done:
	case <-time.After(logFlushTimeout):
	}
}
