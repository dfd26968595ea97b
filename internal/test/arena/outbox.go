package arena

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
)

// An Outbox collects what an e-mail provider sends.
type Outbox struct {
	mu   sync.Mutex
	sent []authsvc.Message
	read int // by Next
	more chan struct{}
}

func NewOutbox() *Outbox { return &Outbox{more: make(chan struct{}, 100_000)} }

// Send is an [authsvc.Email.Send].
func (o *Outbox) Send(_ context.Context, m authsvc.Message) error {
	o.mu.Lock()
	o.sent = append(o.sent, m)
	o.mu.Unlock()
	o.more <- struct{}{}
	return nil
}

func (o *Outbox) Count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.sent)
}

// Sent are all mails so far.
func (o *Outbox) Sent() []authsvc.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]authsvc.Message(nil), o.sent...)
}

// Next waits for the next mail, in the order of delivery.
func (o *Outbox) Next(t testing.TB) authsvc.Message {
	t.Helper()
	select {
	case <-o.more:
	case <-time.After(10 * time.Second):
		t.Fatal("no mail came")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.read++
	return o.sent[o.read-1]
}

// Link is the sign-in link of a mail.
func Link(t testing.TB, m authsvc.Message) string {
	t.Helper()
	for line := range strings.Lines(m.Text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "http") {
			return line
		}
	}
	t.Fatalf("no link in %q", m.Text)
	return ""
}

// Code returns the code in a mail, as its first line shows it, or "".
func Code(m authsvc.Message) string {
	first, _, _ := strings.Cut(m.Text, "\n")
	if digits := strings.ReplaceAll(first, " ", ""); len(digits) != 8 || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	return first
}
