package arena

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
)

// patience is how long a mail may take to come; the machine may be busy.
const patience = time.Minute

// An Outbox collects what an e-mail provider sends: notices of changes apart from
// mails that ask somebody to do something.
type Outbox struct {
	mu      sync.Mutex
	sent    []authsvc.Message
	read    int               // by Next
	notices []authsvc.Message // not read

	// One for each mail of sent that was not read, and of notices.
	more, moreNotices chan struct{}
}

func NewOutbox() *Outbox {
	return &Outbox{more: make(chan struct{}, 100_000), moreNotices: make(chan struct{}, 100_000)}
}

// IsNotice reports whether a mail only tells somebody what has changed.
func IsNotice(m authsvc.Message) bool {
	return !strings.Contains(strings.ReplaceAll(m.Text, "/account/undo?token=", ""), "token=")
}

// Send is an [authsvc.Email.Send].
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

// Notices are those that came and were not read.
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

// Undo is the link in a notice that takes the change back, "" if there is none.
func Undo(m authsvc.Message) string {
	for line := range strings.Lines(m.Text) {
		if line = strings.TrimSpace(line); strings.Contains(line, "/account/undo?token=") {
			return line
		}
	}
	return ""
}

// Sent are all mails so far but notices.
func (o *Outbox) Sent() []authsvc.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]authsvc.Message(nil), o.sent...)
}

// Next waits for the next mail that is no notice, in the order of delivery.
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
