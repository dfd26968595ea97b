package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/quiet"
	"authsvc/mail"
)

func TestMailServerDown(t *testing.T) {
	t.Parallel()
	box, err := mailbox.Listen(mailbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	box.Fail(mailbox.Rcpt, 451, 1)
	send, err := mail.SMTP("smtp://"+box.Addr(), mail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Providers = []authsvc.Provider{&authsvc.Email{From: "Acme <no-reply@app.test>", Send: send}}
	})
	b := w.Browser()
	begin := time.Now()
	if a := b.Post("/api/auth/signin/email", "email", "ada@app.test"); !strings.Contains(a.Location(), "/verify-request") {
		t.Errorf("%d %s", a.StatusCode, a.Location())
	}
	if d := time.Since(begin); quiet.Full && d > 2*time.Second {
		t.Errorf("the answer took %v", d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m, err := box.Wait(ctx, func(mailbox.Message) bool { return true })
	if err != nil {
		t.Fatalf("the mail was not tried again: %v\n%s", err, w.Logs)
	}
	if !strings.Contains(w.Logs.String(), "cannot send a mail; will retry") {
		t.Errorf("the cause is not in the log:\n%s", w.Logs)
	}
	if a := b.Get(m.Link()); a.Location() != arena.Origin || b.Email() != "ada@app.test" {
		t.Errorf("%s as %q", a.Location(), b.Email())
	}
}
