package verify

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/mail"
)

// Special replies of a smtpfaultServer.
const (
	smtpfaultDrop = "drop" // ends the connection
	smtpfaultHang = "hang" // sends nothing until the client leaves
)

// A smtpfaultServer is a mail server with scripted replies. It can serve pipes, so
// that it works in a bubble.
type smtpfaultServer struct {
	// reply returns the reply to a verb of the n-th connection, from 1; "" stands for
	// a good server's reply. CONNECT asks for the greeting, "." for the reply to a
	// whole mail.
	reply func(n int, verb string) string
	pace  time.Duration // per byte of a reply
	tls   *tls.Config   // for STARTTLS

	mu                sync.Mutex
	began             []time.Time
	ended             time.Time // end of the last connection
	open, most        int       // pipes not yet closed by the client
	mails             []smtpfaultMail
	inClear, received strings.Builder
	arrived           chan smtpfaultMail
}

type smtpfaultMail struct {
	from string
	to   []string
	raw  string // as on the wire, with its dots
}

func smtpfaultNew() *smtpfaultServer {
	return &smtpfaultServer{reply: func(int, string) string { return "" }, arrived: make(chan smtpfaultMail, 100_000)}
}

// A smtpfaultPipe claims a local address, and counts as open until the client closes
// it.
type smtpfaultPipe struct {
	net.Conn
	closed func()
}

func (p smtpfaultPipe) Close() error {
	p.closed()
	return p.Conn.Close()
}

func (smtpfaultPipe) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 25} }

// dial is a mail.Options.DialContext.
func (s *smtpfaultServer) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	s.mu.Lock()
	s.open++
	s.most = max(s.most, s.open)
	s.mu.Unlock()
	go s.serve(server)
	return smtpfaultPipe{client, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
	})}, nil
}

// listen serves a local address, "" for any, until t ends.
func (s *smtpfaultServer) listen(t testing.TB, address string) (at string) {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return l.Addr().String()
}

// sender returns a function that sends mails to this server.
func (s *smtpfaultServer) sender(t testing.TB, address string, o mail.Options) func(context.Context, authsvc.Message) error {
	t.Helper()
	if o.DialContext == nil {
		o.DialContext = s.dial
	}
	send, err := mail.SMTP(address, o)
	if err != nil {
		t.Fatal(err)
	}
	return send
}

// smtpfaultWorld returns a world that sends its mails to the server.
func smtpfaultWorld(t *T, s *smtpfaultServer, tune func(*authsvc.Config)) *arena.World {
	t.Helper()
	return t.EnterOffline(func(c *authsvc.Config) {
		c.Providers[0] = &authsvc.Email{From: "Acme <no-reply@app.test>", Send: s.sender(t, "smtp://localhost", mail.Options{})}
		if tune != nil {
			tune(c)
		}
	})
}

// A smtpfaultTalk is one connection.
type smtpfaultTalk struct {
	*smtpfaultServer
	n         int
	conn      net.Conn
	r         *bufio.Reader
	encrypted bool
	mail      smtpfaultMail
}

func (s *smtpfaultServer) serve(c net.Conn) {
	s.mu.Lock()
	s.began = append(s.began, time.Now())
	k := &smtpfaultTalk{smtpfaultServer: s, n: len(s.began), conn: c, r: bufio.NewReader(c)}
	s.mu.Unlock()
	for verb := "CONNECT"; k.answer(verb); {
		line, err := k.line()
		if err != nil {
			break
		}
		verb, _, _ = strings.Cut(strings.ToUpper(strings.TrimSpace(line)), " ")
		k.note(verb, line)
	}
	k.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = time.Now()
}

func (k *smtpfaultTalk) line() (string, error) {
	line, err := k.r.ReadString('\n')
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.received.WriteString(line); !k.encrypted {
		k.inClear.WriteString(line)
	}
	return line, err
}

func (k *smtpfaultTalk) note(verb, line string) {
	_, address, _ := strings.Cut(line, "<")
	address, _, _ = strings.Cut(address, ">")
	switch verb {
	case "MAIL":
		k.mail = smtpfaultMail{from: address}
	case "RCPT":
		k.mail.to = append(k.mail.to, address)
	}
}

// answer sends the reply to a verb and reports whether to continue.
func (k *smtpfaultTalk) answer(verb string) bool {
	offer := ""
	if k.tls != nil && !k.encrypted {
		offer = "250-STARTTLS\r\n"
	}
	good := map[string]string{"CONNECT": "220 mail.test ESMTP", "EHLO": "250-mail.test\r\n" + offer + "250-8BITMIME\r\n250-AUTH PLAIN\r\n250 SMTPUTF8",
		"DATA": "354 go on", "QUIT": "221 bye", "STARTTLS": "220 go on", "AUTH": "235 you are"}[verb]
	if good == "" {
		good = "250 ok"
	}
	k.mu.Lock()
	reply := k.reply
	k.mu.Unlock()
	said := reply(k.n, verb)
	switch said {
	case "":
		said = good
	case smtpfaultDrop:
		if verb == "." {
			k.keep()
		}
		return false
	case smtpfaultHang:
		if verb == "." {
			k.keep()
		}
		io.Copy(io.Discard, k.r)
		return false
	}
	if verb == "." && said[0] == '2' {
		k.keep()
	}
	if !k.say(said) {
		return false
	}
	switch {
	case verb == "STARTTLS" && said[0] == '2':
		c := tls.Server(k.conn, k.tls)
		k.conn, k.r, k.encrypted = c, bufio.NewReader(c), true
		if c.Handshake() != nil {
			return false
		}
	case verb == "DATA" && said[0] == '3':
		return k.body() && k.answer(".")
	}
	return verb != "QUIT"
}

func (k *smtpfaultTalk) say(text string) bool {
	k.mu.Lock()
	pace := k.pace
	k.mu.Unlock()
	if pace == 0 {
		_, err := k.conn.Write([]byte(text + "\r\n"))
		return err == nil
	}
	for _, c := range []byte(text + "\r\n") {
		time.Sleep(pace)
		if _, err := k.conn.Write([]byte{c}); err != nil {
			return false
		}
	}
	return true
}

func (k *smtpfaultTalk) body() bool {
	k.mail.raw = ""
	for {
		line, err := k.line()
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			return true
		}
		k.mail.raw += line
	}
}

func (k *smtpfaultTalk) keep() {
	k.mu.Lock()
	m := k.mail
	m.to = slices.Clone(m.to)
	k.mails = append(k.mails, m)
	k.mu.Unlock()
	k.arrived <- m
}

// says changes the replies; nil makes it a good server.
func (s *smtpfaultServer) says(reply func(n int, verb string) string) {
	if reply == nil {
		reply = func(int, string) string { return "" }
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reply, s.pace = reply, 0
}

// last returns the time when the last connection ended.
func (s *smtpfaultServer) last() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// next waits for the next mail.
func (s *smtpfaultServer) next(t testing.TB) smtpfaultMail {
	t.Helper()
	select {
	case m := <-s.arrived:
		return m
	case <-time.After(patience):
		t.Fatal("no mail came")
		return smtpfaultMail{}
	}
}

func (s *smtpfaultServer) attempts() (begun []time.Time, mails []smtpfaultMail) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.began), slices.Clone(s.mails)
}
