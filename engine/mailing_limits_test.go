package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// sentMails collects the mails that are sent.
type sentMails struct {
	mu       sync.Mutex
	to       []string
	last     map[string]string // address → link
	recorded []authsvc.AuditEvent
	hang     chan struct{} // not nil: the server accepts nothing until it is closed
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

// count returns how many mails went to addresses with this prefix.
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

// TestRefusedLinksLeaveMailLimit checks that strangers who ask for links that the
// SignIn callback refuses, more than the limit of all mails, cause no mail and do not
// reduce the members' mails.
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
		strangers := make([]*guest, 20)
		for i := range strangers {
			strangers[i] = at(fmt.Sprintf("203.0.113.%d:1", i))
		}
		for i := range 120 { // 30 a minute, for four minutes
			strangers[i%20].ask(fmt.Sprintf("nobody%d@app.test", i))
			time.Sleep(2 * time.Second)
		}
		answers := map[string]bool{}
		for i := range 40 {
			r := at(host(i)).ask(fmt.Sprintf("member%d@app.test", i))
			answers[r.Status+r.Header.Get("Location")+r.text] = true
			r = strangers[i%20].ask(fmt.Sprintf("nobody%d@app.test", i))
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

// TestMailLimitPerNetwork checks that ten /64s of one IPv6 /48, each at the rate
// allowed for one client, do not keep others from their mails.
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
				for n := range 3 { // ten times three is the limit of a home line; more changes nothing
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

// A permitCount is a store that counts the calls of rate limits, and their quotas.
type permitCount struct {
	adapter.Adapter
	asked int
}

func (p *permitCount) Permit(ctx context.Context, now time.Time, list ...adapter.Quota) (int, time.Duration, error) {
	p.asked += 1 + len(list)
	return p.Adapter.Permit(ctx, now, list...)
}

// TestRefusedLinksAskStoreAsMuch checks that the number of store calls for limits does
// not reveal whether the SignIn callback refused a link, before and past the limit of
// all mails.
func TestRefusedLinksAskStoreAsMuch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &permitCount{Adapter: memory.New()}
		s, at, _ := mailing(t, func(c *authsvc.Config) {
			c.Adapter, c.RateLimit.EmailTotal = store, authsvc.Rate{N: 60, Per: time.Hour}
			c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
				if strings.HasPrefix(a.User.Email, "nobody") {
					return "", errors.New("no")
				}
				return "", nil
			}
		})
		g := at("203.0.113.66:1")
		cost := func(address string) int {
			before := store.asked
			g.ask(address)
			return store.asked - before
		}
		within := cost("member@app.test")
		if n := cost("nobody@app.test"); n != within {
			t.Errorf("the store is asked %d times for a link that is refused, %d for others", n, within)
		}
		for i := range 60 {
			at(host(i)).ask(fmt.Sprintf("u%d@app.test", i))
		}
		past := cost("member@app.test")
		if n := cost("nobody@app.test"); n != past {
			t.Errorf("past the limit: the store is asked %d times for a link that is refused, %d for others", n, past)
		}
		if n := s.count("member"); n != 1 || past >= within {
			t.Errorf("%d mails, the store was asked %d times within the limit and %d past it", n, within, past)
		}
	})
}

// TestMailsPastTotalAreRefused checks that links past email_total are not mailed, then
// or later. The client cannot tell; the operator can. Freed capacity is available to
// anyone.
func TestMailsPastTotalAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, logs := memory.New(), &arena.LogBuffer{}
		s, at, _ := mailing(t, func(c *authsvc.Config) {
			c.Adapter, c.Logger = store, slog.New(slog.NewTextHandler(logs, nil))
			c.RateLimit.EmailTotal = authsvc.Rate{N: 60, Per: time.Hour}
		})
		answers := map[string]bool{}
		judge := func(when string, mails, refused, warnings int) {
			t.Helper()
			if n := s.count("u"); n != mails || s.events("email.requested") != mails || s.events("email.limited") != refused {
				t.Errorf("%s: %d mails, %d and %d events", when, n, s.events("email.requested"), s.events("email.limited"))
			}
			if n := strings.Count(logs.String(), "field=RateLimit.EmailTotal"); n != warnings {
				t.Errorf("%s: %d warnings", when, n)
			}
			if len(answers) != 1 {
				t.Errorf("%s: answers differ: %q", when, slices.Collect(maps.Keys(answers)))
			}
		}
		people := 0
		ask := func(n int) {
			for range n {
				r := at(host(people)).ask(fmt.Sprintf("u%d@app.test", people))
				answers[r.Status+r.Header.Get("Location")+r.text] = true
				people++
			}
		}
		ask(48) // the other 12 of 60 are for known browsers
		judge("within the limit", 48, 0, 0)
		ask(12)
		judge("past it", 48, 12, 1)
		time.Sleep(5 * time.Minute) // in which four more may be sent
		judge("later", 48, 12, 1)
		ask(4)
		judge("twin, what is free again", 52, 12, 1)
		ask(2)
		judge("past it again", 52, 14, 2)
		if _, err := store.ClaimMail(t.Context(), time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("what was refused is in the queue: %v", err)
		}
		for _, e := range s.recorded {
			if e.Name == "email.limited" && (e.Reason != "too many links in total" || e.Code != authsvc.CodeRateLimited || e.ClientIP == "") {
				t.Errorf("%+v", e)
			}
		}
	})
}

// TestMailsReservedForKnownDevices checks that a fifth is for browsers that signed in
// with the address before.
func TestMailsReservedForKnownDevices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, at, _ := mailing(t, func(c *authsvc.Config) { c.RateLimit.EmailTotal = authsvc.Rate{N: 10, Per: time.Hour} })
		owner := at("203.0.113.1:1")
		owner.ask("owner@app.test")
		s.count("")
		if r := owner.get(s.last["owner@app.test"]); !r.in() || owner.cookies[knownCookie] == "" {
			t.Fatalf("%d, known %q", r.StatusCode, owner.cookies[knownCookie])
		}
		time.Sleep(time.Hour)
		for i := range 10 {
			at(host(i)).ask(fmt.Sprintf("evil%d@app.test", i))
		}
		if n := s.count("evil"); n != 8 {
			t.Errorf("%d mails for strangers", n)
		}
		for i, want := range []int{2, 3, 3} { // one before, two of the reserve
			if owner.ask("owner@app.test"); s.count("owner") != want {
				t.Errorf("request %d: the known browser has %d mails in all, want %d", i, s.count("owner"), want)
			}
		}
		at("203.0.113.2:1").ask("other@app.test")
		if n := s.count("other"); n != 0 || s.events("email.limited") != 4 {
			t.Errorf("twin: an unknown browser has %d mails, %d were refused", n, s.events("email.limited"))
		}
	})
}

// TestEmailChangePastTotal checks that the mails about a change of address count
// against the limit, and those of a known browser also against the reserve.
func TestEmailChangePastTotal(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.RateLimit.EmailTotal = authsvc.Rate{N: 10, Per: 1000 * time.Hour} })
	b, stranger := w.Browser(), w.Browser()
	b.SignIn(w.OP, "ada")
	stranger.IP = "203.0.113.66:1"
	for i := range 7 { // of eight that are not reserved
		stranger.Post("/api/auth/signin/email", "email", fmt.Sprintf("u%d@app.test", i))
	}
	if a := askEmail(b, newAddress); a.StatusCode != http.StatusOK { // two mails, one of them by the reserve
		t.Errorf("twin: %d %s", a.StatusCode, a.Text)
	}
	if a := askEmail(b, newAddress); !answers(a, http.StatusTooManyRequests, "RateLimited") || a.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	if n := strings.Count(w.Logs.String(), "field=RateLimit.EmailTotal"); n != 1 {
		t.Errorf("%d warnings\n%s", n, w.Logs)
	}
	if all := mailsTo(t, w, 7+2); all[newAddress].To == "" || all[b.Email()].To == "" {
		t.Errorf("twin: mails to %q", slices.Collect(maps.Keys(all)))
	}
}

// TestOwnMailsPastTotal checks that strangers' requests do not prevent notices and
// invitations, and that those mails do not prevent links.
func TestOwnMailsPastTotal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := map[string]int{}
		var s *sentMails
		var at func(string) *guest
		var service *engine.Service
		s, at, service = mailing(t, func(c *authsvc.Config) {
			c.RateLimit.EmailTotal = authsvc.Rate{N: 10, Per: time.Hour}
			e := c.Providers[len(c.Providers)-1].(*authsvc.Email)
			send := e.Send
			e.Send = func(ctx context.Context, m authsvc.Message) error {
				s.mu.Lock()
				told[m.To]++
				s.mu.Unlock()
				return send(ctx, m)
			}
		})
		member, err := service.CreateUser(t.Context(), authsvc.User{Email: "member@app.test", EmailVerified: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		own := func() {
			t.Helper()
			service.NotifyAddress(t.Context(), member, "former@app.test", time.Now())
			if err := service.RequestEmailChange(t.Context(), member.ID, "new@app.test"); err != nil {
				t.Error(err)
			}
			if _, err := service.Invite(t.Context(), authsvc.Invitation{Email: "guest@app.test"}); err != nil {
				t.Error(err)
			}
		}
		for range 4 { // more than the limit of all mails
			own()
		}
		for i := range 9 {
			at(host(i)).ask(fmt.Sprintf("u%d@app.test", i))
		}
		if n := s.count("u"); n != 8 {
			t.Errorf("%d people have links", n)
		}
		own()
		s.count("")
		for address, want := range map[string]int{"former@app.test": 5, "member@app.test": 5, "new@app.test": 5, "guest@app.test": 5} {
			if told[address] != want {
				t.Errorf("%d mails to %s, want %d", told[address], address, want)
			}
		}
	})
}
