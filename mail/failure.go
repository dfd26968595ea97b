package mail

import (
	"context"
	"encoding/base64"
	"errors"
	"net/textproto"
	"strings"
	"unicode"

	"authsvc"
	texts "authsvc/internal/text"
)

const maxReply = 300 // bytes of the server's text in an error

// A failure says which step failed, and why. Its text is safe for the log.
type failure struct {
	server      string // host:port, or empty before a connection
	step        string // step of the conversation, often the SMTP command
	cause       error
	text        string // text of the cause, if not its own
	fix         string // how to fix it, or empty
	final       bool   // another try is useless
	early       bool   // no text of the mail was sent
	unconfirmed bool   // the server may have accepted the mail
}

func (f *failure) Error() string {
	text := "mail: " + f.step
	if f.server != "" {
		text += " at " + f.server
	}
	if f.text != "" {
		text += ": " + f.text
	} else {
		text += ": " + f.cause.Error()
	}
	if f.fix != "" {
		text += "; " + f.fix
	}
	return text
}

// Unwrap returns the cause, and authsvc.ErrMailRefused for a final refusal or
// authsvc.ErrMailUnconfirmed for a lost answer.
func (f *failure) Unwrap() []error {
	switch {
	case f.final:
		return []error{f.cause, authsvc.ErrMailRefused}
	case f.unconfirmed:
		return []error{f.cause, authsvc.ErrMailUnconfirmed}
	}
	return []error{f.cause}
}

// failure describes the error of a step. It does not wrap errors that quote the server,
// because the server can send anything, even the password.
func (s *server) failure(step string, err error) *failure {
	f := &failure{server: s.addr, step: step, cause: err, text: s.clean(err.Error())}
	var reply *textproto.Error
	switch {
	case errors.As(err, &reply):
		f.cause = &textproto.Error{Code: reply.Code, Msg: s.clean(reply.Msg)}
		// In other steps 5xx is about the server or the login, not the message.
		about := step == "MAIL" || step == "RCPT" || step == "DATA"
		f.final = about && reply.Code >= 500 && reply.Code <= 599
	case step == "AUTH" && !errors.Is(err, errNoAUTH):
		f.cause = errors.New(f.text)
	}
	return f
}

// failed is like failure, but if the context has ended, which closes the connection,
// the error is the context's.
func (s *server) failed(ctx context.Context, step string, err error) error {
	var f *failure
	if !errors.As(err, &f) {
		f = s.failure(step, err)
	}
	var reply *textproto.Error
	if ctxErr := ctx.Err(); ctxErr != nil && !f.final && !errors.As(f.cause, &reply) {
		f.cause, f.text = ctxErr, "gave up waiting: "+ctxErr.Error()
	}
	return f
}

// clean makes text from the server safe for a log line: it masks the password if the
// server repeats it, replaces control characters, and shortens the text.
func (s *server) clean(text string) string {
	if s.pass != "" {
		const mask = "[password]"
		encode := base64.StdEncoding.EncodeToString
		for _, secret := range []string{encode([]byte("\x00" + s.user + "\x00" + s.pass)), encode([]byte(s.pass)), s.pass} {
			text = texts.Redact(text, secret, mask)
		}
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReply {
		text = strings.ToValidUTF8(text[:maxReply], "") + "..."
	}
	return text
}
