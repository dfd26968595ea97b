package mail

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// Bounds of the sessions that wait for the next mail.
const (
	maxIdle     = 4
	idleTime    = 10 * time.Second // servers must wait for minutes (RFC 5321 section 4.5.3.2)
	maxMessages = 100              // in one session

	// resumeTimeout limits the wait until a session that has waited takes a mail.
	resumeTimeout = 20 * time.Second
)

// A session is a connection on which the server is ready for a mail.
type session struct {
	conn     *boundedConn
	client   *smtp.Client
	helo     string
	messages int
	end      *time.Timer // while the session waits
}

// sessions holds sessions that wait, the one that has waited longest first.
type sessions struct {
	mu   sync.Mutex
	list []*session
}

// take returns a session that was opened under a name, or nil.
func (w *sessions) take(helo string) *session {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, c := range slices.Backward(w.list) {
		if c.helo == helo {
			w.list = slices.Delete(w.list, i, i+1)
			c.end.Stop()
			return c
		}
	}
	return nil
}

// keep reports whether the session will wait for another mail. If none comes within
// idleTime, it is passed to end.
func (w *sessions) keep(c *session, end func(*session)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Text that the server has already sent would be taken for the answer to the next
	// mail.
	if c.messages >= maxMessages || len(w.list) >= maxIdle || c.client.Text.R.Buffered() > 0 {
		return false
	}
	c.end = time.AfterFunc(idleTime, func() {
		w.mu.Lock()
		i := slices.Index(w.list, c)
		if i >= 0 {
			w.list = slices.Delete(w.list, i, i+1)
		}
		w.mu.Unlock()
		if i >= 0 {
			end(c)
		}
	})
	w.list = append(w.list, c)
	return true
}

// open connects and does everything that precedes a mail.
func (s *server) open(ctx context.Context, sender string) (*session, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, s.failed(ctx, "connect", err)
	}
	// Close the connection when ctx ends, so that every wait for the server ends.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	c, err := s.greet(ctx, conn, sender)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &session{conn: conn, client: c, helo: s.helo(sender)}, nil
}

// use calls do. Unless reuse is set and do succeeds, the session ends.
func (s *server) use(ctx context.Context, c *session, reuse bool, do func(*session) error) error {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.Close() })
	defer stop()
	c.messages++
	c.conn.left = maxFromServer
	err := do(c)
	if err == nil && reuse && stop() && s.waiting.keep(c, s.end) {
		return nil
	}
	s.end(c)
	if err != nil {
		return s.failed(ctx, "", err)
	}
	return nil
}

// end closes a session.
func (s *server) end(c *session) {
	s.quit(c.conn, c.client)
	_ = c.conn.Close()
}

// early reports whether an error occurred before any text of the mail was sent.
func early(err error) bool {
	var f *failure
	return errors.As(err, &f) && f.early
}
