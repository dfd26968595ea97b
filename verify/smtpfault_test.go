package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"
	"unicode"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
	"authsvc/mail"
)

var smtpfaultChecks = checks{
	"01": {title: "SMTP down", run: smtpfault01},
	"02": {title: "SMTP slow", run: smtpfault02},
	"03": {title: "4xx and 5xx replies", run: smtpfault03},
	"04": {title: "ambiguous end", run: smtpfault04},
	"05": {title: "crash with queued mail", run: smtpfault05, once: true, least: ci},
	"06": {title: "hostile server", run: smtpfault06, once: true, alone: true},
}

// smtpfaultAsk requests a link. The answer must come immediately and be the same for
// everyone.
func smtpfaultAsk(t *T, b *arena.Browser, address string) {
	t.Helper()
	began := time.Now()
	a := b.Post("/api/auth/signin/email", "email", address)
	if took := time.Since(began); took > 500*time.Millisecond {
		t.Errorf("the answer took %v", took)
	}
	if !strings.HasSuffix(a.Location(), "/api/auth/verify-request?provider=email&type=email") {
		t.Errorf("%d %s", a.StatusCode, a.Location())
	}
}

func smtpfault01(t *T) {
	for name, dial := range map[string]func(ctx context.Context) error{
		"refuses connections": func(context.Context) error { return errors.New("connection refused") },
		"does not answer":     func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		for _, outage := range []time.Duration{5 * time.Minute, 10 * time.Minute} {
			t.Run(fmt.Sprint(name, " for ", outage), func(t *T) {
				emailBubble(t, func(t *T) { smtpfaultOutage(t, dial, outage) })
			})
		}
	}
	t.Run("bounded queue", func(t *T) { emailBubble(t, smtpfaultBounded) })
}

func smtpfaultOutage(t *T, down func(context.Context) error, outage time.Duration) {
	s := smtpfaultNew()
	start := time.Now()
	send := s.sender(t, "smtp://localhost", mail.Options{})
	w := t.EnterOffline(func(c *authsvc.Config) {
		c.Providers[0] = &authsvc.Email{From: "Acme <no-reply@app.test>", Send: func(ctx context.Context, m authsvc.Message) error {
			if time.Since(start) < outage {
				return down(ctx)
			}
			return send(ctx, m)
		}}
	})
	first, last := w.Browser(), w.Browser()
	smtpfaultAsk(t, first, "ada@app.test")
	smtpfaultAsk(t, w.Browser(), "stranger@app.test")
	time.Sleep(outage - 30*time.Second)
	smtpfaultAsk(t, last, "late@app.test")
	time.Sleep(10 * time.Minute)
	synctest.Wait()
	got := map[string]int{}
	_, mails := s.attempts()
	for _, m := range mails {
		got[m.to[0]]++
	}
	want := map[string]int{"late@app.test": 1}
	if outage < 8*time.Minute {
		want["ada@app.test"], want["stranger@app.test"] = 1, 1
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after %v: mails %v, want %v", outage, got, want)
	}
	if s.last().Sub(start) > outage+10*time.Minute {
		t.Errorf("a mail went out %v after the start", s.last().Sub(start))
	}
	smtpfaultAsk(t, last, "late@app.test")
	if last.Get(smtpfaultLink(t, smtpfaultLast(t, s))); last.Email() != "late@app.test" {
		t.Errorf("twin: %q", last.Email())
	}
}

// smtpfaultLast returns the newest mail.
func smtpfaultLast(t *T, s *smtpfaultServer) smtpfaultMail {
	t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	_, mails := s.attempts()
	if len(mails) == 0 {
		t.Fatal("no mail")
	}
	return mails[len(mails)-1]
}

// smtpfaultLink returns the link in a mail.
func smtpfaultLink(t *T, m smtpfaultMail) string {
	t.Helper()
	_, parsed := emailHeader(t, m.raw)
	return smtpfaultFind(t, parsed)
}

// smtpfaultBounded fills the queue of 10 000 mails. The next mail must be refused in
// the same way for all addresses, and the queue must recover with the server.
func smtpfaultBounded(t *T) {
	store := &smtpfaultCounted{Adapter: memory.New()}
	s := smtpfaultNew()
	var down atomic.Bool
	down.Store(true)
	send := s.sender(t, "smtp://localhost", mail.Options{})
	w := t.EnterOffline(func(c *authsvc.Config) {
		c.Adapter = store
		c.Providers[0] = &authsvc.Email{From: "Acme <no-reply@app.test>", Send: func(ctx context.Context, m authsvc.Message) error {
			if down.Load() {
				return errors.New("connection refused")
			}
			return send(ctx, m)
		}}
	})
	n := t.Scale("mails into a bounded queue", 600, 2000, 10_000)
	store.bound = n // in the contract; the engine sets 10 000
	b := w.Browser()
	token := b.CSRF()
	refusals := map[string]int{}
	for i := range n + 50 {
		address := fmt.Sprintf("someone%d@app.test", i)
		if i >= n && i%2 == 0 {
			address = "ada@app.test" // a known user
		}
		if a := b.Clone().Post("/api/auth/signin/email", "csrfToken", token, "email", address); !strings.Contains(a.Location(), "/verify-request") {
			to, _, _ := strings.Cut(a.Location(), "&request=")
			refusals[fmt.Sprint(a.StatusCode, to)]++
		}
	}
	if len(refusals) != 1 || store.asked != 10_000 {
		t.Errorf("past the bound of %d: %v", store.asked, refusals)
	}
	for _, n := range refusals {
		if n != 50 {
			t.Errorf("%d are refused", n)
		}
	}
	down.Store(false)
	time.Sleep(11 * time.Minute)
	smtpfaultAsk(t, b, "ada@app.test")
	if m := smtpfaultLast(t, s); m.to[0] != "ada@app.test" {
		t.Errorf("twin: mail to %q", m.to)
	}
}

// smtpfaultCounted is a store whose queue length a test sets.
type smtpfaultCounted struct {
	adapter.Adapter
	asked, bound int
}

func (s *smtpfaultCounted) PutToken(ctx context.Context, token adapter.VerificationToken, m adapter.Mail, maxQueued int) error {
	s.asked = maxQueued
	return s.Adapter.PutToken(ctx, token, m, s.bound)
}

func smtpfault02(t *T) {
	for name, slow := range map[string]func(s *smtpfaultServer){
		"a byte a second": func(s *smtpfaultServer) { s.pace = time.Second },
		"60 s a command": func(s *smtpfaultServer) {
			s.reply = func(int, string) string { time.Sleep(60 * time.Second); return "" }
		},
		"never": func(s *smtpfaultServer) { s.reply = func(int, string) string { return smtpfaultHang } },
		"never after the mail": func(s *smtpfaultServer) {
			s.reply = func(_ int, verb string) string { return map[string]string{"DATA": smtpfaultHang}[verb] }
		},
	} {
		t.Run(name, func(t *T) {
			emailBubble(t, func(t *T) {
				s := smtpfaultNew()
				slow(s)
				w := smtpfaultWorld(t, s, nil)
				for i := range 60 {
					smtpfaultAsk(t, w.Browser(), fmt.Sprintf("someone%d@app.test", i))
					time.Sleep(5 * time.Second)
				}
				if a := w.Browser().Login("ada"); a.Location() != arena.Origin {
					t.Errorf("other sign-ins: %d %s", a.StatusCode, a.Location())
				}
				synctest.Wait()
				s.mu.Lock()
				most := s.most
				s.mu.Unlock()
				s.says(nil)
				if most < 1 || most > 4 {
					t.Errorf("%d connections at once", most)
				}
				b := w.Browser()
				smtpfaultAsk(t, b, "last@app.test")
				time.Sleep(9 * time.Minute)
				synctest.Wait()
				found := false
				_, mails := s.attempts()
				for _, m := range mails {
					found = found || m.to[0] == "last@app.test"
				}
				if !found {
					t.Errorf("twin: none of %d mails is the last one", len(mails))
				}
			})
		})
	}
}

func smtpfault03(t *T) {
	for code, final := range map[int]bool{421: false, 450: false, 451: false, 452: false, 550: true, 552: true, 554: true} {
		for _, verb := range []string{"MAIL", "RCPT", "DATA", "."} {
			t.Run(fmt.Sprint(code, verb), func(t *T) {
				emailBubble(t, func(t *T) {
					smtpfaultReplies(t, verb, fmt.Sprintf("%d mailbox of ada@app.test, <b>no</b>", code), final)
				})
			})
		}
	}
	t.Run("greylisting", func(t *T) {
		emailBubble(t, func(t *T) {
			s := smtpfaultNew()
			begin := time.Now()
			s.reply = func(_ int, verb string) string {
				if verb == "RCPT" && time.Since(begin) < 5*time.Minute {
					return "450 greylisted, come back later"
				}
				return ""
			}
			w := smtpfaultWorld(t, s, nil)
			b := w.Browser()
			smtpfaultAsk(t, b, "ada@app.test")
			time.Sleep(9 * time.Minute)
			m := smtpfaultLast(t, s)
			if b.Get(smtpfaultLink(t, m)); b.Email() != "ada@app.test" {
				t.Errorf("twin: %q", b.Email())
			}
		})
	})
}

func smtpfaultReplies(t *T, at, reply string, final bool) {
	s := smtpfaultNew()
	s.reply = emailSay(at, reply)
	given := make(chan struct{}, 10)
	w := smtpfaultWorld(t, s, func(c *authsvc.Config) { c.Events.Audit = emailGivenUp(c, given) })
	begin := time.Now()
	b := w.Browser()
	smtpfaultAsk(t, b, "ada@app.test")
	if text := b.Get("/api/auth/verify-request").Text; strings.Contains(text, "<b>no</b>") || strings.Contains(text, "mailbox of") {
		t.Error("the person reads the server's words")
	}
	time.Sleep(30 * time.Minute)
	synctest.Wait()
	begun, mails := s.attempts()
	if len(mails) != 0 || len(given) != 1 || !strings.Contains(w.Logs.String(), "mail given up") {
		t.Errorf("%d mails, given up %d times", len(mails), len(given))
	}
	if final && len(begun) != 1 || !final && len(begun) < 4 {
		t.Errorf("%d attempts", len(begun))
	}
	for i := 2; i < len(begun); i++ {
		if wait, before := begun[i].Sub(begun[i-1]), begun[i-1].Sub(begun[i-2]); wait < before || wait < 5*time.Second {
			t.Errorf("attempt %d comes %v after the one before, that %v", i, wait, before)
		}
	}
	if late := s.last().Sub(begin); late > 10*time.Minute {
		t.Errorf("an attempt %v after the request", late)
	}
	if _, err := w.Store.ClaimMail(t.Context(), time.Now(), time.Now()); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("still queued: %v", err)
	}
	s.says(nil)
	smtpfaultAsk(t, b, "ada@app.test")
	if b.Get(smtpfaultLink(t, smtpfaultLast(t, s))); b.Email() != "ada@app.test" {
		t.Error("twin: the server is healthy, and the link does not work")
	}
}

func smtpfault04(t *T) {
	for name, how := range map[string]string{"lost": smtpfaultDrop, "never said": smtpfaultHang} {
		for lost, want := range map[int]int{1: 2, 1000: 2} {
			t.Run(fmt.Sprint(name, " ", lost), func(t *T) {
				emailBubble(t, func(t *T) {
					s := smtpfaultNew()
					s.reply = func(n int, verb string) string {
						if verb == "." && n <= lost {
							return how
						}
						return ""
					}
					w := smtpfaultWorld(t, s, nil)
					b := w.Browser()
					smtpfaultAsk(t, b, "ada@app.test")
					time.Sleep(5 * time.Minute)
					synctest.Wait()
					_, mails := s.attempts()
					if len(mails) < 1 || len(mails) > want { // one too many: docs/when-others-fail.md
						t.Fatalf("%d mails", len(mails))
					}
					ids := map[string]bool{}
					for _, m := range mails {
						_, parsed := emailHeader(t, m.raw)
						ids[parsed.Header.Get("Message-ID")] = true
					}
					if len(ids) != 1 {
						t.Errorf("Message-IDs %v", ids)
					}
					first, last := smtpfaultLink(t, mails[0]), smtpfaultLink(t, mails[len(mails)-1])
					if emailConfirm(t, b, last); b.Email() != "ada@app.test" {
						t.Error("twin: the link does not work")
					}
					emailVoid(t, w, w.Browser(), first)
					emailVoid(t, w, w.Browser(), last)
				})
			})
		}
	}
}

// smtpfaultPlain reports whether a text is safe in a log.
func smtpfaultPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
}
