package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/text/plainlog"
)

// newLogger returns a logger that writes to w with the level and format of the
// settings.
func newLogger(w io.Writer, l config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil { // the loader accepts nothing else
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: config.Attr}
	if l.Format == "json" {
		return slog.New(plainlog.Handler(slog.NewJSONHandler(w, o)))
	}
	return slog.New(plainlog.Handler(slog.NewTextHandler(w, o)))
}

// Limits of a log whose reader does not keep up.
const (
	logQueueSize    = 1024                   // lines that wait to be written
	logWriteTimeout = 100 * time.Millisecond // longest time that a line may block its caller
	logFlushTimeout = time.Second            // longest time that close waits
)

// A logSink keeps a log that is not read, such as a full pipe, from blocking the
// service. While lines are read, Write returns after its line has been written, so that
// a crash loses no lines. If a line takes longer than logWriteTimeout, lines go to a
// bounded queue and Write returns at once. Lines that do not fit are dropped and
// counted; the count is logged when lines are read again.
type logSink struct {
	out      io.Writer
	notices  atomic.Pointer[slog.Logger] // writes to out
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

// newLogSink returns a sink that writes to out until close.
func newLogSink(out io.Writer) *logSink {
	s := &logSink{out: out, lines: make(chan logLine, logQueueSize), stopping: make(chan struct{}), done: make(chan struct{})}
	s.stop = sync.OnceFunc(func() { close(s.stopping) })
	s.notices.Store(newLogger(out, config.Log{}))
	go s.run()
	return s
}

// logger returns a logger that writes to the sink. The sink's own lines have the format
// of the latest logger.
func (s *logSink) logger(l config.Log) *slog.Logger {
	s.notices.Store(newLogger(s.out, l))
	return newLogger(s, l)
}

// Write implements [io.Writer]. It accepts one line and never fails.
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

// run writes lines until close, and then the lines that are waiting.
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

// writeLine writes a line. If writing fails, it drops the line, because a disk may be
// full for a while.
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
		s.notices.Load().Warn("log lines were dropped because nothing read them", "lines", n)
	}
}

// close writes the waiting lines for at most logFlushTimeout.
func (s *logSink) close() {
	s.stop()
	select {
	case <-s.done:
	case <-time.After(logFlushTimeout):
	}
}

// A redisLogger is the logger of the Redis client. The client has one logger for the
// whole program.
type redisLogger struct{ log *slog.Logger }

// Printf implements the client's logger. The messages are about connections and contain
// no passwords.
func (r redisLogger) Printf(ctx context.Context, format string, v ...any) {
	r.log.DebugContext(ctx, "redis client", "said", fmt.Sprintf(format, v...))
}

func setRedisLogger(log *slog.Logger) { goredis.SetLogger(redisLogger{log}) }
