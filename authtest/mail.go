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
	Link    string // the first http or https link, empty if there is none
	Code    string // the one-time code, such as "1234 5678", empty if there is none
}

// maxMessage is what the engine may queue, with room for its encoding.
const maxMessage = 1 << 20

// patience is how long a mail may take, which is on its way within milliseconds
// on a machine that is not busy.
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

// Messages returns the newest mails, the last first. A mail that somebody has
// just asked for may still be on its way; see [Mail.Wait].
func (m *Mail) Messages() []Message {
	var all []Message
	for _, x := range m.box.Messages() {
		all = append(all, message(x))
	}
	return all
}

// Wait returns the newest mail to an address, and waits for it if there is none
// yet; one that does not come ends the test.
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

// Link returns the link in the newest mail to an address, as [Mail.Wait] does.
func (m *Mail) Link(t testing.TB, address string) string {
	t.Helper()
	return m.Wait(t, address).Link
}

// Code returns the one-time code in the newest mail to an address, as [Mail.Wait]
// does.
func (m *Mail) Code(t testing.TB, address string) string {
	t.Helper()
	return m.Wait(t, address).Code
}

// Clear forgets all mails.
func (m *Mail) Clear(t testing.TB) {
	t.Helper()
	if err := m.box.Clear(); err != nil {
		t.Fatalf("authtest: %v", err)
	}
}
