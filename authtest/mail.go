package authtest

import (
	"context"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/dev/inbox"
)

// Mail is a box that catches the mails of a service.
type Mail struct{ box *inbox.Box }

// A Message is a caught mail.
type Message struct {
	To      string
	Subject string
	Text    string // text/plain
	HTML    string // text/html, empty if there is none
	Link    string // the first http or https link, or empty
	Code    string // the one-time code, such as "1234 5678", or empty
}

// maxMessage is the largest mail that the engine queues, with room for its encoding.
const maxMessage = 1 << 20

// patience is how long to wait for a mail. It usually arrives within milliseconds.
const patience = 30 * time.Second

func newMail() (*Mail, error) {
	box, err := inbox.Open("", maxMessage)
	return &Mail{box}, err
}

func (m *Mail) send(_ context.Context, x authsvc.Message) error {
	return m.box.Deliver(x.From, x.To, x.Subject, x.Text, x.HTML)
}

func message(x inbox.Message) Message {
	return Message{To: x.To[0], Subject: x.Subject, Text: x.Text, HTML: x.HTML, Link: x.Link(), Code: x.Code}
}

// Messages returns the mails since the last [Mail.Clear], newest first, but at most the
// latest 200. A mail that was just requested may not have arrived yet; see [Mail.Wait].
func (m *Mail) Messages() []Message {
	var all []Message
	for _, x := range m.box.Messages() {
		all = append(all, message(x))
	}
	return all
}

// Wait returns the newest mail to an address. If there is none, it waits for one. If
// none arrives within 30 s, Wait ends the test as failed.
func (m *Mail) Wait(t testing.TB, address string) Message {
	t.Helper()
	return m.wait(t, address, func(inbox.Message) bool { return true })
}

func (m *Mail) wait(t testing.TB, address string, wanted func(inbox.Message) bool) Message {
	t.Helper()
	to, err := authsvc.NormaliseEmail(address)
	if err != nil {
		t.Fatalf("authtest: %q: %v", address, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	x, err := m.box.Wait(ctx, func(x inbox.Message) bool { return len(x.To) == 1 && x.To[0] == to && wanted(x) })
	if err != nil {
		t.Fatalf("authtest: no mail to %s: %v", address, err)
	}
	return message(x)
}

// Link returns the link in the newest mail to an address. It waits as [Mail.Wait] does.
func (m *Mail) Link(t testing.TB, address string) string {
	t.Helper()
	return m.Wait(t, address).Link
}

// Code returns the one-time code in the newest mail to an address. It waits as
// [Mail.Wait] does.
func (m *Mail) Code(t testing.TB, address string) string {
	t.Helper()
	return m.Wait(t, address).Code
}

// Clear deletes all mails.
func (m *Mail) Clear(t testing.TB) {
	t.Helper()
	if err := m.box.Clear(); err != nil {
		t.Fatalf("authtest: %v", err)
	}
}
