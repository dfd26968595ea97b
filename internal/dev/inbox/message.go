package inbox

import (
	"context"
	"errors"
	"slices"
	"time"
)

// ErrClosed is the error of Wait and Add after the box is closed.
var ErrClosed = errors.New("inbox: closed")

// A Message is a received mail. All its texts are untrusted: escape them before showing
// them.
type Message struct {
	ID   string   // lower-case hexadecimal digits, growing with the time of arrival
	From string   // envelope sender, empty for a bounce
	To   []string // envelope recipients, in order
	Date time.Time

	Subject string   // decoded (RFC 2047)
	Text    string   // the first text/plain part; the raw mail if it cannot be read
	HTML    string   // the first text/html part
	Raw     string   // as sent over the wire, without dot-stuffing
	Links   []string // http and https URLs of Text, then of HTML, without repeats
	Code    string   // a line of Text with eight digits, unchanged, or ""
}

// Link returns the first http or https link of the mail, or "".
func (m Message) Link() string {
	if len(m.Links) == 0 {
		return ""
	}
	return m.Links[0]
}

// clone returns a copy that shares nothing a caller could change.
func (m Message) clone() Message {
	m.To = slices.Clone(m.To)
	m.Links = slices.Clone(m.Links)
	return m
}

// Messages lists the kept mails, newest first.
func (s *Box) Messages() []Message {
	list := s.list()
	slices.Reverse(list)
	return list
}

// Message returns the mail with an ID, and whether it exists.
func (s *Box) Message(id string) (Message, bool) {
	list := s.list()
	i := slices.IndexFunc(list, func(m Message) bool { return m.ID == id })
	if i < 0 {
		return Message{}, false
	}
	return list[i], true
}

// Wait returns the newest kept mail that matches, or else the first matching mail to
// arrive. It returns the error of ctx if ctx is done, or ErrClosed.
func (s *Box) Wait(ctx context.Context, match func(Message) bool) (Message, error) {
	for {
		arrival := s.nextArrival()
		for _, m := range s.Messages() {
			if match(m) {
				return m, nil
			}
		}
		select {
		case <-arrival:
		case <-s.done:
			return Message{}, ErrClosed
		case <-ctx.Done():
			return Message{}, ctx.Err()
		}
	}
}

// LinkTo waits for a mail to one address and returns the first link in it.
func (s *Box) LinkTo(ctx context.Context, address string) (string, error) {
	m, err := s.Wait(ctx, func(m Message) bool { return len(m.To) == 1 && m.To[0] == address })
	return m.Link(), err
}

// Delete deletes a mail and its file. An unknown ID is not an error.
func (s *Box) Delete(id string) error {
	return s.remove(func(m Message) bool { return m.ID == id })
}

// Clear deletes all mails and their files.
func (s *Box) Clear() error {
	return s.remove(func(Message) bool { return true })
}
