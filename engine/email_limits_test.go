package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// sentMails collects what goes out.
type sentMails struct {
	mu       sync.Mutex
	to       []string
	last     map[string]string // address → link
	recorded []authsvc.AuditEvent
	hang     chan struct{} // not nil: the server takes nothing until it is closed
}

func (s *sentMails) send(ctx context.Context, m authsvc.Message) error {
	if s.hang != nil {
		select {
		case <-s.hang:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if arena.IsNotice(m) {
		return nil
	}
	s.to = append(s.to, m.To)
	for line := range strings.Lines(m.Text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "http") {
			s.last[m.To] = line
		}
	}
	return nil
}

// count is how many went to addresses that begin so.
func (s *sentMails) count(prefix string) (n int) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, to := range s.to {
		if strings.HasPrefix(to, prefix) {
			n++
		}
	}
	return n
}

// events counts the audit events of a name.
func (s *sentMails) events(name string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.recorded {
		if e.Name == name {
			n++
		}
	}
	return n
}

func mailing(t *testing.T, tune func(*authsvc.Config)) (*sentMails, func(string) *guest, *engine.Service) {
	t.Helper()
	s := &sentMails{last: map[string]string{}}
	service, at := guests(t, func(c *authsvc.Config) {
		c.Adapter = memory.New()
		c.Providers = append(c.Providers, &authsvc.Email{From: "no-reply@guests.test", Send: s.send})
		c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.recorded = append(s.recorded, e)
		}
		if tune != nil {
			tune(c)
		}
	})
	return s, at, service
}

// TestRefusedLinksLeaveMailLimit: a stranger asks for links that the SignIn
// callback refuses. Not one mail goes out for it, and the members' mails are
// not less.
func TestRefusedLinksLeaveMailLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, at, _ := mailing(t, func(c *authsvc.Config) {
			c.RateLimit.EmailTotal = authsvc.Rate{N: 60, Per: time.Hour}
			c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
				if !strings.HasPrefix(a.User.Email, "member") {
					return "", errors.New("no")
				}
				return "", nil
			}
		})
		stranger := at("203.0.113.66:1")
		for i := range 120 { // 30 a minute, for four minutes
			stranger.ask(fmt.Sprintf("nobody%d@app.test", i))
			time.Sleep(2 * time.Second)
		}
		answers := map[string]bool{}
		for i := range 40 {
			r := at(host(i)).ask(fmt.Sprintf("member%d@app.test", i))
			answers[r.Status+r.Header.Get("Location")+r.text] = true
			r = stranger.ask(fmt.Sprintf("nobody%d@app.test", i))
			answers[r.Status+r.Header.Get("Location")+r.text] = true
			time.Sleep(2 * time.Second)
		}
		if n := s.count("member"); n != 40 || s.count("nobody") != 0 {
			t.Errorf("%d of 40 members have a mail, %d others", n, s.count("nobody"))
		}
		if len(answers) != 1 {
			t.Errorf("answers differ: %q", slices.Collect(maps.Keys(answers)))
		}
	})
}

// TestDelayedMailsSurviveRestart: what waits for a turn when the process stops
// goes out from the next one, no faster than email_total lets it.
func TestDelayedMailsSurviveRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c authsvc.Config
		s, at, service := mailing(t, func(g *authsvc.Config) {
			g.RateLimit.EmailTotal = authsvc.Rate{N: 60, Per: time.Hour}
			defer func() { c = *g }()
		})
		const people = 80
		for i := range people {
			at(host(i)).ask(fmt.Sprintf("u%d@app.test", i))
		}
		time.Sleep(time.Second)
		before := s.count("u")
		if before >= people-10 {
			t.Fatalf("%d of %d went out at once", before, people)
		}
		if err := service.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		next, err := engine.New(c)
		if err != nil {
			t.Fatal(err)
		}
		defer next.Close(t.Context())
		time.Sleep(5 * time.Minute)
		if n := s.count("u") - before; n < 3 || n > 7 {
			t.Errorf("%d mails in five minutes", n)
		}
		time.Sleep(time.Hour) // longer than a link counts
		if n, lost := s.count("u"), s.events("email.limited"); n < before+6 || n+lost != people {
			t.Errorf("%d of %d mails, %d are said to be lost", n, people, lost)
		}
	})
}

// TestMailLimitPerNetwork: ten /64s of one IPv6 /48, each at the rate that one
// client may have, do not keep others from their mails.
func TestMailLimitPerNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, at, _ := mailing(t, nil)
		var line []*guest
		for i := range 10 {
			line = append(line, at(fmt.Sprintf("[2001:db8:7:%x::1]:1", i)))
		}
		for minute := range 180 {
			for i, g := range line {
				for n := range 3 { // ten times three is what a home line has; more changes nothing
					g.ask(fmt.Sprintf("evil%d-%d-%d@app.test", minute, i, n))
				}
			}
			if minute >= 120 { // in the third hour, 60 people an hour
				at(fmt.Sprintf("[2001:db8:%x::1]:1", 0x100+minute)).ask(fmt.Sprintf("person%d@app.test", minute))
			}
			time.Sleep(time.Minute)
		}
		if n := s.count("person"); n != 60 {
			t.Errorf("%d of 60 people have a mail", n)
		}
		if n := s.count("evil"); n > 100*4 {
			t.Errorf("%d mails for one /48 in three hours", n)
		}
		if n := s.count("evil"); n < 100 {
			t.Errorf("twin: %d mails", n)
		}
	})
}

// TestMailLimitIsFairToClients: when many clients together use up email_total,
// mails wait, and clients have their turns one after another. Nobody is dropped
// without a word to the operator.
func TestMailLimitIsFairToClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, at, _ := mailing(t, nil)
		crowd := make([]*guest, 30)
		for i := range crowd {
			crowd[i] = at(host(i))
		}
		asked := 0
		flood := func(minutes int) {
			for range minutes {
				for _, g := range crowd {
					for range 10 {
						g.ask(fmt.Sprintf("evil%d@app.test", asked))
						asked++
					}
				}
				time.Sleep(time.Minute)
			}
		}
		flood(10)
		if n := s.count("evil"); n < 800 || n > 800+10*14 {
			t.Fatalf("%d mails in ten minutes", n)
		}
		r := at("203.0.113.1:1").ask("person@app.test")
		if !strings.Contains(r.Header.Get("Location"), "/verify-request") {
			t.Errorf("%d %s", r.StatusCode, r.Header.Get("Location"))
		}
		flood(5)
		if n := s.count("person"); n != 1 {
			t.Errorf("the person has %d mails after five minutes", n)
		}
		if s.events("email.delayed") == 0 {
			t.Error("no event says that mails wait")
		}
		time.Sleep(time.Hour)
		if n := s.count("person"); n != 1 || s.events("email.limited") == 0 {
			t.Error("no event says that mails were lost")
		}
	})
}

// TestMailsReservedForKnownDevices: a fifth is for browsers that signed in with
// the address before.
func TestMailsReservedForKnownDevices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, at, _ := mailing(t, nil)
		owner := at("203.0.113.1:1")
		owner.ask("owner@app.test")
		s.count("")
		if r := owner.get(s.last["owner@app.test"]); !r.in() || owner.cookies[knownCookie] == "" {
			t.Fatalf("%d, known %q", r.StatusCode, owner.cookies[knownCookie])
		}
		time.Sleep(time.Hour)
		for i := range 60 {
			g := at(host(i))
			for n := range 20 {
				g.ask(fmt.Sprintf("evil%d-%d@app.test", i, n))
			}
		}
		s.count("")
		began := time.Now()
		owner.ask("owner@app.test")
		if n := s.count("owner"); n != 2 || time.Since(began) > 0 {
			t.Errorf("the known browser has %d mails", n)
		}
		stranger := at("203.0.113.2:1")
		stranger.ask("other@app.test")
		if n := s.count("other"); n != 0 {
			t.Errorf("twin: an unknown browser did not wait")
		}
	})
}

// A tokenBook is a store that remembers which tokens there were.
type tokenBook struct {
	authsvc.Adapter
	mu  sync.Mutex
	put []authsvc.VerificationToken
}

func (b *tokenBook) PutToken(ctx context.Context, v authsvc.VerificationToken, m authsvc.Mail, most int) error {
	b.mu.Lock()
	b.put = append(b.put, v)
	b.mu.Unlock()
	return b.Adapter.PutToken(ctx, v, m, most)
}

// TestLostMailsHaveNoToken: a mail that is given up for lack of room leaves nothing
// behind that could be guessed.
func TestLostMailsHaveNoToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		book := &tokenBook{Adapter: memory.New()}
		s, at, _ := mailing(t, func(c *authsvc.Config) {
			c.Adapter, c.RateLimit.EmailTotal = book, authsvc.Rate{N: 10, Per: time.Hour}
		})
		for i := range 30 { // the first go out, four of a client wait, the others are lost
			at(host(i % 4)).ask(fmt.Sprintf("u%d@app.test", i))
			time.Sleep(time.Second)
		}
		alive := 0
		for _, v := range book.put {
			if _, err := book.GetToken(t.Context(), v.Identifier, v.Token); err == nil {
				alive++
			}
		}
		if sent := s.count("u"); sent < 5 || sent > 13 || alive != sent+4*4 {
			t.Errorf("%d sent, %d tokens left of 30", sent, alive)
		}
	})
}
