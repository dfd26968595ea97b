package verify

import (
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"runtime"
	"strings"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	"authsvc/mail"
)

// smtpfaultFind returns the link in the text of a parsed mail.
func smtpfaultFind(t *T, m *netmail.Message) string {
	t.Helper()
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		t.Fatalf("%q %v", kind, err)
	}
	part, err := multipart.NewReader(m.Body, params["boundary"]).NextRawPart()
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader = part
	switch part.Header.Get("Content-Transfer-Encoding") {
	case "quoted-printable":
		r = quotedprintable.NewReader(part)
	case "base64":
		r = base64.NewDecoder(base64.StdEncoding, part)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return arena.Link(t, authsvc.Message{Text: string(text)})
}

const smtpfaultPassword = "hunter2-smtp"

func smtpfault06(t *T) {
	echo := base64.StdEncoding.EncodeToString([]byte("\x00user\x00" + smtpfaultPassword))
	for name, reply := range map[string]func(string) string{
		"huge banner":          smtpfaultAt("CONNECT", "220 "+strings.Repeat("x", 10<<20)),
		"endless multiline":    smtpfaultAt("CONNECT", strings.Repeat("220-more\r\n", 1<<18)+"220 end"),
		"endless EHLO":         smtpfaultAt("EHLO", strings.Repeat("250-X\r\n", 1<<18)+"250 end"),
		"endless at the end":   smtpfaultAt(".", strings.Repeat("550-X\r\n", 1<<18)+"550 end"),
		"controls":             smtpfaultAt("RCPT", "550 \x1b[2Jgone\x00\x07\u202e\u2028 \xff"),
		"CR in a reply":        smtpfaultAt("RCPT", "550 no\rlevel=ERROR msg=forged"),
		"LF in a reply":        smtpfaultAt("RCPT", "550-no\nlevel=ERROR msg=forged\n550 no"),
		"markup":               smtpfaultAt("RCPT", "550 <script>alert(1)</script>"),
		"not SMTP":             smtpfaultAt("CONNECT", "HTTP/1.1 400 Bad Request"),
		"empty lines":          smtpfaultAt("CONNECT", "\r\n\r\n\r\n"),
		"a code too large":     smtpfaultAt("MAIL", "999 what"),
		"no code":              smtpfaultAt("MAIL", "what"),
		"AUTH lies: echo":      smtpfaultAt("AUTH", "535 no "+smtpfaultPassword+" "+echo),
		"AUTH lies: continues": smtpfaultAt("AUTH", strings.Repeat("334 aHVudGVyMg==\r\n", 1000)+"334 x"),
		"AUTH lies: prompts":   smtpfaultAt("AUTH", "334 %%not-base64"),
		"AUTH is refused":      smtpfaultAt("AUTH", "454 later"),
		"354 at once":          smtpfaultAt("MAIL", "354 go on"),
		"it hangs up":          smtpfaultAt("RCPT", smtpfaultDrop),
	} {
		t.Run(name, func(t *T) {
			emailBubble(t, func(t *T) {
				s := smtpfaultNew()
				s.reply = func(_ int, verb string) string { return reply(verb) }
				send := s.sender(t, "smtp://user:"+smtpfaultPassword+"@localhost", mail.Options{})
				w := t.EnterOffline(func(c *authsvc.Config) { c.Providers[0] = &authsvc.Email{From: "Acme <no-reply@app.test>", Send: send} })
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				b := w.Browser()
				smtpfaultAsk(t, b, "ada@app.test")
				time.Sleep(20 * time.Minute)
				synctest.Wait()
				runtime.GC()
				runtime.ReadMemStats(&after)
				if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); measures() && grown > 64<<20 {
					t.Errorf("%d MiB are kept", grown>>20)
				}
				_, mails := s.attempts()
				logs := w.Logs.String()
				if len(mails) != 0 || !strings.Contains(logs, "mail") || len(logs) > 64<<10 || !smtpfaultPlain(logs) {
					t.Errorf("%d mails, %d bytes of log: %.300q", len(mails), len(logs), logs)
				}
				if strings.Contains(logs, smtpfaultPassword) || strings.Contains(logs, echo) || strings.Contains(logs, "\nlevel=ERROR msg=forged") {
					t.Error("the log has the password or a forged line")
				}
				for _, path := range []string{"/api/auth/verify-request", "/api/auth/signin", "/api/auth/error?error=EmailSignin"} {
					if text := b.Get(path).Text; strings.Contains(text, "alert(1)") || strings.Contains(text, "gone") || strings.Contains(text, "forged") {
						t.Errorf("%s repeats the server", path)
					}
				}
				s.says(nil)
				smtpfaultAsk(t, b, "ada@app.test")
				if b.Get(smtpfaultLink(t, smtpfaultLast(t, s))); b.Email() != "ada@app.test" {
					t.Error("twin: the server is healthy, and the link does not work")
				}
			})
		})
	}
}

func smtpfaultAt(at, reply string) func(string) string {
	return func(verb string) string {
		if verb == at {
			return reply
		}
		return ""
	}
}

// smtpfault05 kills the service between storing a token and sending its mail, and
// between sending a mail and the server's acknowledgement.
func smtpfault05(t *T) {
	for name, at := range map[string]string{"before the mail": "CONNECT", "in the middle": "RCPT", "before the answer": "."} {
		t.Run(name, func(t *T) {
			s := smtpfaultNew()
			s.reply = emailSay(at, smtpfaultHang)
			p := smtpfaultServe(t, s.listen(t, ""))
			ada, bob := browser.New(p.URL, nil), browser.New(p.URL, nil)
			for v, address := range map[*browser.Browser]string{ada: "ada@app.test", bob: "bob@app.test"} {
				if a, err := v.Post("/api/auth/signin/email", "email", address); err != nil || !strings.Contains(a.Location(), "/verify-request") {
					t.Fatal(err)
				}
			}
			if at == "." {
				s.next(t)
				s.next(t)
			} else {
				smtpfaultUntil(t, func() bool { begun, _ := s.attempts(); return len(begun) >= 2 })
			}
			p.Kill()
			s.mu.Lock()
			early := len(s.mails)
			s.mu.Unlock()
			s.says(nil)
			p.Start()
			p.Ready(patience)
			_, mails := s.attempts()
			for i, m := range mails[:early] { // the links in sent mails work
				v := map[string]*browser.Browser{"ada@app.test": ada, "bob@app.test": bob}[m.to[0]]
				if err := v.Open(smtpfaultLink(t, m)); err != nil {
					t.Errorf("mail %d has no token: %v", i, err)
				}
				if err := browser.New(p.URL, nil).Open(smtpfaultLink(t, m)); err == nil {
					t.Error("it works twice")
				}
			}
			if at != "." { // request again
				v := browser.New(p.URL, nil)
				if a, err := v.Post("/api/auth/signin/email", "email", "ada@app.test"); err != nil || !strings.Contains(a.Location(), "/verify-request") {
					t.Fatal(err)
				}
				if err := v.Open(smtpfaultLink(t, s.next(t))); err != nil {
					t.Errorf("twin: asked again: %v", err)
				}
			}
			if theScale() < full {
				return
			}
			// Another process may send unfinished mails after 90 s.
			smtpfaultUntil(t, func() bool { _, m := s.attempts(); return len(m) >= early+2 })
		})
	}
	smtpfaultRandom(t)
}

// smtpfaultRandom kills the service repeatedly while links are requested. Every mail
// that arrives must have a working link.
func smtpfaultRandom(t *T) {
	rounds := t.Scale("rounds of kill -9", 1, 3, 100)
	box, err := mailbox.Listen(mailbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	p := smtpfaultServe(t, box.Addr())
	for round := range rounds {
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				v := browser.New(p.URL, nil)
				v.Post("/api/auth/signin/email", "email", "someone"+time.Now().Format("150405.000000000")+"@app.test")
			}
		}()
		smtpfaultUntil(t, func() bool { return len(box.Messages()) > 0 })
		time.Sleep(time.Duration(round%7*40) * time.Millisecond)
		p.Kill()
		close(stop)
		<-done
		p.Start()
		p.Ready(patience)
		for _, m := range box.Messages() {
			v := browser.New(p.URL, nil)
			q := emailQuery(t, m.Link())
			a, err := v.Post("/api/auth/callback/email", "token", q.Get("token"), "email", q.Get("email"))
			if err != nil || strings.Contains(a.Location(), "error") {
				t.Errorf("a mail to %s has no token: %v %v", m.To, a.Location(), err)
			}
		}
		if err := box.Clear(); err != nil {
			t.Fatal(err)
		}
	}
}

// smtpfaultServe runs the service on a file, with a mail server.
func smtpfaultServe(t *T, server string) *process.Process {
	t.Helper()
	return process.Serve(t, `url: "{origin}"
secret: `+arena.Secret+`
rate_limit: {enabled: false}
providers:
  - {id: email, type: email, server: "smtp://`+server+`", from: "Acme <no-reply@app.test>"}
outbound: {allow_networks: ["127.0.0.0/8"]}
`, "AUTHSVC_STORAGE_URL=sqlite:auth.db")
}

func smtpfaultUntil(t *T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(150 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}
