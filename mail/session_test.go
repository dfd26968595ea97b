package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/dev/mailbox"
)

// TestSessionIsUsedAgain checks that mails share a connection with its STARTTLS and its
// login, but not with mails that greet the server under another name.
func TestSessionIsUsedAgain(t *testing.T) {
	t.Parallel()
	cert, roots := certificate(t, "localhost")
	box := listen(t, mailbox.Options{Certificate: cert, Username: "u", Password: "p"})
	_, port, _ := net.SplitHostPort(box.Addr())
	w := &wire{addr: box.Addr()}
	send := sender(t, "smtp://u:p@localhost:"+port, Options{RootCAs: roots, DialContext: w.dial})
	for range maxMessages + 1 {
		if err := send(t.Context(), testMessage()); err != nil {
			t.Fatal(err)
		}
	}
	if n := box.Conversations(); n != 2 || strings.Count(w.written(), "STARTTLS") != 2 {
		t.Errorf("%d conversations for %d mails, want %d mails in one", n, maxMessages+1, maxMessages)
	}
	other := testMessage()
	other.From = "no-reply@other.example"
	if err := send(t.Context(), other); err != nil || box.Conversations() != 3 {
		t.Errorf("another sender: %v, %d conversations", err, box.Conversations())
	}
}

// TestSessionsAtOnce checks that of many connections at once at most maxIdle wait.
func TestSessionsAtOnce(t *testing.T) {
	t.Parallel()
	box := listen(t, mailbox.Options{})
	s, err := newServer("smtp://"+box.Addr(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if err := s.send(t.Context(), testMessage()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(s.waiting.list); n < 1 || n > maxIdle {
		t.Errorf("%d sessions wait", n)
	}
}

// TestSessionThatEnded checks what happens to a mail for which a waiting session cannot
// be used. It is sent once, or not at all.
func TestSessionThatEnded(t *testing.T) {
	t.Parallel()
	first := acceptAll[:6]
	for name, c := range map[string]struct {
		rest  []string // after the first mail
		again bool     // over a new connection
		want  string   // part of the error
	}{
		"is open":                 {[]string{"250 ok", "250 ok", "354 go", "250 taken"}, false, ""},
		"was closed":              {nil, true, ""},
		"says that it ends":       {[]string{"421 4.4.2 idle"}, true, ""},
		"is full":                 {[]string{"452 4.5.3 too many messages", "221 bye"}, true, ""},
		"has forgotten the login": {[]string{"530 5.7.0 authentication required", "221 bye"}, true, ""},
		"refuses the recipient":   {[]string{"250 ok", "554 5.7.1 relay access denied", "221 bye"}, true, ""},
		"answers twice":           {[]string{"250 ok\n250 ok", "250 ok", "221 bye"}, true, ""},
		"ends within":             {[]string{"250 ok"}, true, ""},
		"loses the answer":        {[]string{"250 ok", "250 ok", "354 go"}, false, "DATA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				scripts := [][]string{append(append([]string(nil), first...), c.rest...), acceptAll}
				dialled := 0
				send := sender(t, "smtp://localhost?starttls=off", Options{DialContext: func(context.Context, string, string) (net.Conn, error) {
					if dialled == len(scripts) {
						return nil, errors.New("no more connections")
					}
					client, server := net.Pipe()
					go play(server, scripts[dialled])
					dialled++
					return client, nil
				}})
				if err := send(t.Context(), testMessage()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				err := send(t.Context(), testMessage())
				if again := dialled == 2; again != c.again || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, %d connections", err, dialled)
				}
				if lost := errors.Is(err, authsvc.ErrMailUnconfirmed); lost != (c.want == "DATA") {
					t.Errorf("unconfirmed: %v", err)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestSilentSession checks that a mail does not wait long for a server that has vanished
// while a session waited.
func TestSilentSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dialled := 0
		send := sender(t, "smtp://localhost?starttls=off", Options{DialContext: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			dialled++
			if dialled == 1 {
				go func() { play(&unclosed{server}, acceptAll[:6]); _, _ = io.Copy(io.Discard, server) }()
			} else {
				go play(server, acceptAll)
			}
			return client, nil
		}})
		if err := send(t.Context(), testMessage()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := send(t.Context(), testMessage()); err != nil || dialled != 2 || time.Since(began) > resumeTimeout+quitTimeout {
			t.Errorf("%v over %d connections after %v", err, dialled, time.Since(began))
		}
		time.Sleep(time.Minute)
	})
}

// TestAnswerTooMany checks that a session is not used again if the server has sent more
// than the answers to one mail: the rest would count as the answers to the next one.
func TestAnswerTooMany(t *testing.T) {
	t.Parallel()
	addr, heard := scripted(t, replacing(5, "250 taken\n250 ok\n250 ok\n354 go\n250 taken"))
	send := sender(t, fmt.Sprintf("smtp://%s?starttls=off", addr), Options{})
	if err := send(t.Context(), testMessage()); err != nil {
		t.Fatal(err)
	}
	if got := heard(); got[len(got)-1] != "QUIT" {
		t.Errorf("the client said %q", got)
	}
}
