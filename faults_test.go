package authsvc_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/adaptertest"
	"authsvc/internal/idp"
	"authsvc/internal/mailbox"
	"authsvc/mail"
)

var requestID = regexp.MustCompile(`request=([0-9a-f]{12})`)

func TestProviderDown(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.op.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointDiscovery: 503}})
	b := w.browser()
	a := b.post("/api/auth/signin/op")
	id := requestID.FindStringSubmatch(a.location())
	if !strings.Contains(a.location(), "error=OAuthSignin") || id == nil {
		t.Fatalf("%d %s", a.StatusCode, a.location())
	}
	a = b.get(b.get(a.location()).location())
	if a.StatusCode != 200 || !strings.Contains(a.body, id[1]) || !strings.Contains(a.body, "Try signing in with a different account.") {
		t.Errorf("error page: %d %s", a.StatusCode, a.body)
	}
	if !strings.Contains(w.logs.String(), id[1]) {
		t.Error("the request id is not in the log")
	}
	if a := b.post("/api/auth/signin/email", "email", "ada@app.test"); !strings.Contains(a.location(), "verify-request") {
		t.Errorf("another provider: %s", a.location())
	}
}

func TestTokenEndpointDown(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	b := w.browser()
	back := b.approve(w.op, b.begin("op"), "ada")
	w.op.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointToken: 500}})
	if a := b.get(back); !strings.Contains(a.location(), "error=OAuthCallback") || b.email() != "" {
		t.Errorf("%s as %q", a.location(), b.email())
	}
	w.op.SetFault(idp.Fault{})
	if a := b.signIn(w.op, "ada"); a.location() != origin {
		t.Errorf("the next try: %s\n%s", a.location(), w.logs)
	}
	if strings.Contains(w.logs.String(), clientSecret) {
		t.Error("the client secret is in the log")
	}
}

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
	w := start(t, func(c *authsvc.Config) {
		c.Providers = []authsvc.Provider{&authsvc.Email{From: "Acme <no-reply@app.test>", Send: send}}
	})
	b := w.browser()
	begin := time.Now()
	if a := b.post("/api/auth/signin/email", "email", "ada@app.test"); !strings.Contains(a.location(), "/verify-request") {
		t.Errorf("%d %s", a.StatusCode, a.location())
	}
	if d := time.Since(begin); d > 2*time.Second {
		t.Errorf("the answer took %v", d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	m, err := box.Wait(ctx, func(mailbox.Message) bool { return true })
	if err != nil {
		t.Fatalf("the mail was not tried again: %v\n%s", err, w.logs)
	}
	if !strings.Contains(w.logs.String(), "will be tried again") {
		t.Errorf("the cause is not in the log:\n%s", w.logs)
	}
	if a := b.get(m.Link()); a.location() != origin || b.email() != "ada@app.test" {
		t.Errorf("%s as %q", a.location(), b.email())
	}
}

func TestMailRefusedForGood(t *testing.T) {
	t.Parallel()
	tried := make(chan struct{}, 10)
	w := start(t, func(c *authsvc.Config) {
		c.Providers = []authsvc.Provider{&authsvc.Email{From: "a@app.test", Send: func(context.Context, authsvc.Message) error {
			tried <- struct{}{}
			return errors.Join(authsvc.ErrMailRefused, errors.New("550 no such mailbox"))
		}}}
	})
	w.browser().post("/api/auth/signin/email", "email", "ada@app.test")
	<-tried
	for range 100 {
		if strings.Contains(w.logs.String(), "mail given up") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := w.store.ClaimMail(t.Context(), time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)); !errors.Is(err, authsvc.ErrNotFound) {
		t.Errorf("the mail is still queued: %v", err)
	}
}

// TestStoreDown: whatever the store cannot say, nobody is signed in by it, and
// nothing is lost when it is back.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		faulty := adaptertest.Faulty(memory.New())
		w := start(t, func(c *authsvc.Config) {
			c.Session.Strategy, c.Adapter, c.RateLimit.Disabled = strategy, faulty, true
		})
		b := w.browser()
		b.signIn(w.op, "ada")
		for n := range 12 {
			for _, inject := range []func(int){faulty.FailBefore, faulty.FailAfter} {
				c := w.browser()
				back := c.approve(w.op, c.begin("op"), "grace")
				inject(n + 1)
				a := c.get(back)
				faulty.FailBefore(0)
				if a.StatusCode >= 500 || a.StatusCode != http.StatusFound {
					t.Errorf("%s, call %d: %d", strategy, n+1, a.StatusCode)
				}
				if strings.Contains(a.location(), "error=") && c.email() != "" {
					t.Errorf("%s, call %d: refused and signed in", strategy, n+1)
				}
				if a := w.browser().signIn(w.op, "grace"); a.location() != origin {
					t.Errorf("%s, call %d: the next try ends at %s\n%s", strategy, n+1, a.location(), w.logs)
				}
			}
		}
		if b.email() != "ada@example.com" {
			t.Error("somebody else's session was lost")
		}
	}
}
