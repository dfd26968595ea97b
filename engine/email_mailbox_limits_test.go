package engine_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// TestMailboxLimitOfKnownDevice checks that a stranger who asks twice in four minutes
// uses up the mailbox for all browsers but its owner's.
func TestMailboxLimitOfKnownDevice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, at, _ := mailing(t, nil)
		owner, stranger := at("203.0.113.1:1"), at("203.0.113.66:1")
		owner.ask("ada@app.test")
		s.count("")
		owner.get(s.last["ada@app.test"])
		asked, mailed := 0, 0
		for round := range 15 * 24 { // a day
			stranger.ask("ada@app.test")
			time.Sleep(2 * time.Minute)
			stranger.ask("ada@app.test")
			time.Sleep(2 * time.Minute)
			if round%6 == 0 {
				before := s.count("ada")
				owner.ask("ada@app.test")
				asked++
				mailed += s.count("ada") - before
			}
		}
		if asked != 60 || mailed != asked {
			t.Errorf("%d of %d of the owner's requests were mailed", mailed, asked)
		}
		before := s.count("ada")
		for range 10 {
			owner.ask("ada@app.test")
		}
		if n := s.count("ada") - before; n != 5 {
			t.Errorf("a known browser has %d mails at once", n)
		}
		other := at("203.0.113.67:1")
		for range 6 { // use up the rest
			stranger.ask("ada@app.test")
		}
		before = s.count("ada")
		maps.Copy(other.cookies, owner.cookies)
		delete(other.cookies, knownCookie)
		other.ask("ada@app.test")
		if n := s.count("ada") - before; n != 0 {
			t.Error("twin: without the cookie it does not share the strangers' limit")
		}
	})
}

// TestMailboxLimitOfKnownUser checks that a browser that signed in as a user by a
// provider counts as known when it asks for a link to the user's address.
func TestMailboxLimitOfKnownUser(t *testing.T) {
	t.Parallel()
	var last atomic.Value // the event of the last request
	w := arena.Start(t, func(c *authsvc.Config) {
		c.RateLimit = authsvc.RateLimit{EmailPerAddress: authsvc.Rate{N: 2, Per: time.Hour}}
		c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) { last.Store(e.Name) }
	})
	owner, stranger, other := w.Browser(), w.Browser(), w.Browser()
	owner.SignIn(w.OP, "ada")
	other.SignIn(w.OP, "grace")
	address := owner.Email()
	for _, tt := range []struct {
		who  string
		b    *arena.Browser
		want string
	}{
		{"stranger, once", stranger, "email.requested"}, {"stranger, twice", stranger, "email.requested"}, {"stranger, again", stranger, "email.limited"},
		{"a browser of another user", other, "email.limited"}, {"twin, the owner's browser", owner, "email.requested"},
	} {
		if tt.b.Post("/api/auth/signin/email", "email", address); last.Load() != tt.want {
			t.Errorf("%s: %s", tt.who, last.Load())
		}
	}
}

// TestMailboxLimitOfUnprovedAddress checks that a person who signs in as a user with an
// unproved address, and may not have its mailbox, has the limit of strangers.
func TestMailboxLimitOfUnprovedAddress(t *testing.T) {
	t.Parallel()
	var last atomic.Value // the event of the last request
	w := arena.Start(t, func(c *authsvc.Config) {
		c.RateLimit = authsvc.RateLimit{EmailPerAddress: authsvc.Rate{N: 2, Per: time.Hour}}
		c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) { last.Store(e.Name) }
	})
	claim := func(c map[string]any) { c["email"], c["email_verified"] = "victim@app.test", false }
	w.OP.SetFault(idp.Fault{IDToken: claim, UserInfo: claim})
	squatter, stranger := w.Browser(), w.Browser()
	if squatter.SignIn(w.OP, "grace"); squatter.Email() != "victim@app.test" {
		t.Fatalf("signed in as %q", squatter.Email())
	}
	for _, tt := range []struct {
		who  string
		b    *arena.Browser
		want string
	}{{"stranger, once", stranger, "email.requested"}, {"stranger, twice", stranger, "email.requested"}, {"a browser that claims the address", squatter, "email.limited"}} {
		if tt.b.Post("/api/auth/signin/email", "email", "victim@app.test"); last.Load() != tt.want {
			t.Errorf("%s: %s, want %s", tt.who, last.Load(), tt.want)
		}
	}
}

// TestMailboxLimitNormalisesAddress checks that tags and spellings of the domain share
// a mailbox's limit. The mail goes to the address as it was entered.
func TestMailboxLimitNormalisesAddress(t *testing.T) {
	t.Parallel()
	for name, spelling := range map[string]func(i int) string{
		"tags":    func(i int) string { return fmt.Sprintf("victim+%d@app.test", i) },
		"domains": func(i int) string { return []string{"victim@bücher.test", "victim@XN--BCHER-KVA.test"}[i%2] },
		"case":    func(i int) string { return []string{"victim@app.test", "VICTIM+A@App.Test"}[i%2] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, at, _ := mailing(t, nil)
				answers := map[string]bool{}
				for i := range 1800 {
					r := at(host(i % 200)).ask(spelling(i))
					answers[r.Status+r.Header.Get("Location")+r.text] = true
					time.Sleep(2 * time.Second)
				}
				if n := s.count("victim"); n < 5 || n > 5+5 {
					t.Errorf("%d mails in an hour", n)
				}
				if len(answers) != 1 {
					t.Errorf("%d answers", len(answers))
				}
				first := strings.ToLower(spelling(0))
				if s.to[0] != first {
					t.Errorf("mailed to %s, asked for %s", s.to[0], first)
				}
				at(host(201)).ask("+odd@app.test")
				if s.count("+odd") != 1 {
					t.Error("twin: another mailbox")
				}
			})
		})
	}
}

// TestRefusedLinksAreNotQueued checks that links refused by a limit or the callback are
// not in the queue while the mail server hangs.
func TestRefusedLinksAreNotQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &queueBound{Adapter: memory.New(), most: 20}
		hang := make(chan struct{})
		s, at, _ := mailing(t, func(c *authsvc.Config) { c.Adapter = store })
		s.hang = hang
		for i := range 10 {
			at(host(i)).ask(fmt.Sprintf("slow%d@app.test", i)) // keep the workers busy
		}
		for i := range 500 {
			if r := at(host(i % 100)).ask("victim@app.test"); !strings.Contains(r.Header.Get("Location"), "/verify-request") {
				t.Fatalf("request %d: %d %s", i, r.StatusCode, r.Header.Get("Location"))
			}
			synctest.Wait()
		}
		close(hang)
		time.Sleep(5 * time.Minute)
		if n := s.count("victim"); n != 5 {
			t.Errorf("twin: %d mails", n)
		}
	})
}

// A queueBound is a store whose mail queue is small.
type queueBound struct {
	adapter.Adapter
	most int
}

func (q *queueBound) PutToken(ctx context.Context, v adapter.VerificationToken, m adapter.Mail, _ int) error {
	return q.Adapter.PutToken(ctx, v, m, q.most)
}
