package mailbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func listen(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// post sends raw with the standard library's client.
func post(s *Server, raw string, to ...string) error {
	if len(to) == 0 {
		to = []string{"ann@example.com"}
	}
	return smtp.SendMail(s.Addr(), nil, "app@example.com", to, []byte(raw))
}

func mustPost(t *testing.T, s *Server, raw string, to ...string) {
	t.Helper()
	if err := post(s, raw, to...); err != nil {
		t.Fatal(err)
	}
}

const simple = "Subject: Hello\r\n\r\nGo to http://localhost:3000/x?a=1&b=2.\r\n"

func TestListenRefuses(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"beyond loopback":     {Addr: "0.0.0.0:0"},
		"a name":              {Addr: "localhost:0"},
		"no port":             {Addr: "127.0.0.1"},
		"negative size":       {MaxMessage: -1},
		"TLS without a cert":  {ImplicitTLS: true},
		"half a login":        {Username: "u"},
		"unknown mechanism":   {AuthMechanisms: []string{"NTLM"}},
		"directory is a file": {Dir: "mailbox_test.go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if s, err := Listen(o); err == nil {
				_ = s.Close()
				t.Error("listens")
			}
		})
	}
	t.Run("all mistakes together", func(t *testing.T) {
		t.Parallel()
		_, err := Listen(Options{Addr: "192.0.2.1:25", MaxMessage: -1})
		if err == nil || !strings.Contains(err.Error(), "192.0.2.1") || !strings.Contains(err.Error(), "MaxMessage") {
			t.Errorf("got %v", err)
		}
	})
}

func TestReceive(t *testing.T) {
	t.Parallel()
	s := listen(t, Options{})
	before := time.Now()
	mustPost(t, s, simple, "ann@example.com", "bob@example.com")
	mustPost(t, s, "Subject: second\r\n\r\n.dot\r\n..two\r\n")

	got := s.Messages()
	want := []Message{{
		From: "app@example.com", To: []string{"ann@example.com"}, Subject: "second",
		Text: ".dot\r\n..two\r\n", Raw: "Subject: second\r\n\r\n.dot\r\n..two\r\n",
	}, {
		From: "app@example.com", To: []string{"ann@example.com", "bob@example.com"}, Subject: "Hello",
		Text: "Go to http://localhost:3000/x?a=1&b=2.\r\n", Raw: simple,
		Links: []string{"http://localhost:3000/x?a=1&b=2"},
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Message{}, "ID", "Date")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if d := got[0].Date; d.Before(before) || d.After(time.Now()) {
		t.Errorf("date %v is not now", d)
	}
	if link := got[1].Link(); link != "http://localhost:3000/x?a=1&b=2" {
		t.Errorf("link %q", link)
	}
	if n := s.Conversations(); n != 2 {
		t.Errorf("%d conversations, want 2", n)
	}
	if m, ok := s.Message(got[1].ID); !ok || m.Subject != "Hello" {
		t.Errorf("by id: %v %v", m, ok)
	}
	if _, ok := s.Message("../" + got[1].ID); ok {
		t.Error("found an id that does not exist")
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := listen(t, Options{Dir: dir})
	for range 3 {
		mustPost(t, s, simple)
	}
	all := s.Messages()
	if err := errors.Join(s.Delete(all[1].ID), s.Delete("nope")); err != nil {
		t.Fatal(err)
	}
	if got := s.Messages(); len(got) != 2 || got[0].ID != all[0].ID || got[1].ID != all[2].ID {
		t.Errorf("left after Delete: %v", got)
	}
	if files := emlFiles(t, dir); len(files) != 2 {
		t.Errorf("files after Delete: %v", files)
	}
	if err := s.Clear(); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Messages()) + len(emlFiles(t, dir)); n != 0 {
		t.Errorf("%d mails and files after Clear", n)
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	s := listen(t, Options{})
	isSecond := func(m Message) bool { return m.Subject == "second" }

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	mustPost(t, s, simple)
	if m, err := s.Wait(ctx, func(Message) bool { return true }); err != nil || m.Subject != "Hello" {
		t.Errorf("a kept mail: %v %v", m, err)
	}
	arrived := make(chan error, 1)
	go func() {
		m, err := s.Wait(ctx, isSecond)
		if err == nil && !isSecond(m) {
			err = fmt.Errorf("got %q", m.Subject)
		}
		arrived <- err
	}()
	mustPost(t, s, simple)
	mustPost(t, s, "Subject: second\r\n\r\nx")
	if err := <-arrived; err != nil {
		t.Errorf("an arriving mail: %v", err)
	}

	short, cancelShort := context.WithCancel(ctx)
	cancelShort()
	never := func(Message) bool { return false }
	if _, err := s.Wait(short, never); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	go func() { _, err := s.Wait(ctx, never); arrived <- err }()
	_ = s.Close()
	if err := <-arrived; !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := listen(t, Options{MaxMessage: 1000})
	err := post(s, "Subject: x\r\n\r\n"+strings.Repeat("line of text\r\n", 100))
	if err == nil || !strings.HasPrefix(err.Error(), "552") {
		t.Errorf("too large: %v", err)
	}
	mustPost(t, s, "Subject: x\r\n\r\n"+strings.Repeat("line of text\r\n", 50))
	if n := len(s.Messages()); n != 1 {
		t.Errorf("%d kept, want the small one", n)
	}
}

func TestAuth(t *testing.T) {
	t.Parallel()
	s := listen(t, Options{Username: "user", Password: "right"})
	send := func(a smtp.Auth) error {
		return smtp.SendMail(s.Addr(), a, "a@example.com", []string{"b@example.com"}, []byte(simple))
	}
	if err := send(nil); err == nil || !strings.HasPrefix(err.Error(), "530") {
		t.Errorf("no login: %v", err)
	}
	for _, c := range [][2]string{{"user", "wrong"}, {"User", "right"}, {"", ""}} {
		if err := send(smtp.PlainAuth("", c[0], c[1], "127.0.0.1")); err == nil || !strings.HasPrefix(err.Error(), "535") {
			t.Errorf("%q: %v", c, err)
		}
	}
	if err := send(smtp.PlainAuth("", "user", "right", "127.0.0.1")); err != nil {
		t.Errorf("right login: %v", err)
	}
	if n := len(s.Messages()); n != 1 {
		t.Errorf("%d kept, want 1", n)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := listen(t, Options{})
	s.Fail(Mail, 451, 1)
	s.Fail(Rcpt, 450, 1)
	s.Fail(Rcpt, 550, 1)
	s.Fail(Data, 554, 1)
	for _, want := range []string{"451", "450", "550", "554"} {
		if err := post(s, simple); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if n := len(s.Messages()); n != 0 {
		t.Errorf("%d kept of the refused", n)
	}
	s.DropAfterData(1)
	if err := post(s, simple); err == nil {
		t.Error("the dropped connection went unnoticed")
	}
	mustPost(t, s, simple)
	if n := len(s.Messages()); n != 2 {
		t.Errorf("%d kept, want the dropped one and the last", n)
	}
}

func TestCloseEndsConversations(t *testing.T) {
	t.Parallel()
	s := listen(t, Options{})
	s.Delay(time.Hour)
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	buf := make([]byte, 100)
	if _, err := c.Read(buf); err != nil { // the greeting
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("EHLO x\r\n")); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Close waits for the delay")
	}
	if _, err := net.Dial("tcp", s.Addr()); err == nil {
		t.Error("still listening")
	}
}

// TestHostileClient sends input that no client should. The server must continue to run
// and keep nothing.
func TestHostileClient(t *testing.T) {
	t.Parallel()
	s := listen(t, Options{})
	for name, lines := range map[string]string{
		"long line":       "EHLO " + strings.Repeat("x", 10_000) + "\r\n",
		"binary":          "\x00\x01\x02\xff\xfe\r\n\r\n\r\n\r\n\r\n\r\n",
		"out of order":    "DATA\r\nRCPT TO:<a@b>\r\nBDAT 5 LAST\r\nhello",
		"after quit":      "EHLO x\r\nQUIT\r\nMAIL FROM:<a@b>\r\nRCPT TO:<a@b>\r\nDATA\r\nx\r\n.\r\n",
		"reset in BDAT":   "EHLO x\r\nMAIL FROM:<a@b>\r\nRCPT TO:<a@b>\r\nBDAT 3\r\nabcRSET\r\nQUIT\r\n",
		"huge BDAT":       "EHLO x\r\nMAIL FROM:<a@b>\r\nRCPT TO:<a@b>\r\nBDAT 4294967295 LAST\r\nx",
		"cut in the data": "EHLO x\r\nMAIL FROM:<a@b>\r\nRCPT TO:<a@b>\r\nDATA\r\nSubject: x\r\n",
	} {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, _ = c.Write([]byte(lines))
		_ = c.Close()
	}
	mustPost(t, s, simple)
	if got := s.Messages(); len(got) != 1 || got[0].Subject != "Hello" {
		t.Errorf("kept %v", got)
	}
}
