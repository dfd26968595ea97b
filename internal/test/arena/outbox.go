package arena

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
)

// patience limits the wait for a mail; the machine may be busy.
const patience = time.Minute

// An Outbox collects the messages of an email provider. It keeps notices of changes
// apart from mails that ask the recipient to act.
type Outbox struct {
	mu      sync.Mutex
	sent    []authsvc.Message
	read    int               // by Next
	notices []authsvc.Message // unread

	// more and moreNotices hold one element for each unread mail and each notice.
	more, moreNotices chan struct{}
}

// NewOutbox returns an empty outbox.
func NewOutbox() *Outbox {
	return &Outbox{more: make(chan struct{}, 100_000), moreNotices: make(chan struct{}, 100_000)}
}

// IsNotice reports whether a mail only reports a change to its recipient.
func IsNotice(m authsvc.Message) bool {
	return !strings.Contains(strings.NewReplacer("/account/undo?token=", "", "/account/keep?token=", "").Replace(m.Text), "token=")
}

// Send implements [authsvc.Email.Send].
func (o *Outbox) Send(_ context.Context, m authsvc.Message) error {
	list, more := &o.sent, o.more
	if IsNotice(m) {
		list, more = &o.notices, o.moreNotices
	}
	o.mu.Lock()
	*list = append(*list, m)
	o.mu.Unlock()
	more <- struct{}{}
	return nil
}

// Count returns the number of mails sent so far, without notices.
func (o *Outbox) Count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.sent)
}

// Notice waits for the next notice.
func (o *Outbox) Notice(t testing.TB) authsvc.Message {
	t.Helper()
	select {
	case <-o.moreNotices:
	case <-time.After(patience):
		t.Fatal("no notice came")
	}
	return o.takeNotice()
}

func (o *Outbox) takeNotice() authsvc.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.notices[0]
	o.notices = o.notices[1:]
	return m
}

// Notices returns the unread notices.
func (o *Outbox) Notices() (list []authsvc.Message) {
	for {
		select {
		case <-o.moreNotices:
			list = append(list, o.takeNotice())
		default:
			return list
		}
	}
}

// Undo returns the link in a notice that undoes the change, or "".
func Undo(m authsvc.Message) string {
	for line := range strings.Lines(m.Text) {
		if line = strings.TrimSpace(line); strings.Contains(line, "/account/undo?token=") {
			return line
		}
	}
	return ""
}

// Sent returns all mails so far except notices.
func (o *Outbox) Sent() []authsvc.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]authsvc.Message(nil), o.sent...)
}

// Next waits for the next mail that is not a notice, in the order of delivery.
func (o *Outbox) Next(t testing.TB) authsvc.Message {
	t.Helper()
	select {
	case <-o.more:
	case <-time.After(patience):
		t.Fatal("no mail came")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.read++
	return o.sent[o.read-1]
}

// Any waits for the next mail of either kind.
func (o *Outbox) Any(t testing.TB) authsvc.Message {
	t.Helper()
	select {
	case <-o.moreNotices:
		return o.takeNotice()
	case <-o.more:
		o.more <- struct{}{}
		return o.Next(t)
	case <-time.After(patience):
		t.Fatal("no mail came")
	}
	return authsvc.Message{}
}

// Link returns the sign-in link of a mail.
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

// Code returns the code in the first line of a mail, or "".
func Code(m authsvc.Message) string {
	first, _, _ := strings.Cut(m.Text, "\n")
	if digits := strings.ReplaceAll(first, " ", ""); len(digits) != 8 || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	return first
}
