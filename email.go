package authsvc

import (
	"context"
	"time"
)

// Email signs in with a link that is sent to a mailbox. It needs an Adapter.
type Email struct {
	ID   string // default "email"
	Name string // default "Email"
	From string // RFC 5322 address, such as "Acme <no-reply@example.com>"
	// MaxAge of a link, default 10 minutes, at most 24 hours.
	MaxAge time.Duration
	// Send delivers one message; package mail has senders. It is called from
	// the mail queue, never while a browser waits. An error that Is
	// ErrMailRefused is final, any other is tried again until the link expires.
	Send func(ctx context.Context, m Message) error
	// Templates replaces the texts of the mail; nil fields keep the default.
	Templates MailTemplates
}

// A Message is a mail to one recipient.
type Message struct {
	From, To string // To is exactly the stored address
	Subject  string // one line
	Text     string // text/plain, UTF-8
	HTML     string // text/html, UTF-8
}
