package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
)

// TestNoticesOnStores makes every change that a notice reports, on each store and with
// both strategies. Each causes one mail, whose link undoes it if it has one.
func TestNoticesOnStores(t *testing.T) {
	t.Parallel()
	for _, k := range stores.Combined() {
		for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
			t.Run(k.Name+"/"+string(strategy), func(t *testing.T) {
				t.Parallel()
				n := &noticed{T: t}
				n.w = arena.Start(t, func(c *authsvc.Config) {
					c.Adapter, c.Session.Strategy = k.Open(t), strategy
					c.Account.Delete, c.Account.ChangeEmail = true, new(true)
					c.PersonalTokens.Enabled, c.Tokens.Audiences = true, []authsvc.Audience{{ID: "api"}}
					c.RateLimit.Disabled = true
					c.Events.Audit = n.watch
				})
				n.walk()
			})
		}
	}
}

// noticed counts the notices of one service.
type noticed struct {
	*testing.T
	w    *arena.World
	mu   sync.Mutex
	sent []string // reasons of the events
}

func (n *noticed) watch(_ context.Context, e authsvc.AuditEvent) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if strings.HasPrefix(e.Name, "notice.") {
		n.sent = append(n.sent, strings.TrimPrefix(e.Name, "notice.")+" "+e.Reason)
	}
}

// one checks that the last change caused one notice, to an address and with an undo
// link or without one. It returns the link.
func (n *noticed) one(what, to string, undo bool) (link string) {
	n.Helper()
	m := n.w.Mail.Notice(n)
	link = arena.Undo(m)
	n.mu.Lock()
	defer n.mu.Unlock()
	if want := []string{"sent " + what}; !slices.Equal(n.sent, want) || m.To != to || (link != "") != undo {
		n.Fatalf("events %q, want %q; a mail to %s, want %s: %s\n%s", n.sent, want, m.To, to, m.Subject, m.Text)
	}
	n.sent = nil
	return link
}

// both checks that the last change caused two notices without an undo link.
func (n *noticed) both(what, to, what2, to2 string) {
	n.Helper()
	got := map[string]bool{}
	for range 2 {
		m := n.w.Mail.Notice(n)
		got[m.To] = arena.Undo(m) == ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if want := []string{"sent " + what, "sent " + what2}; !slices.Equal(n.sent, want) || !got[to] || !got[to2] {
		n.Fatalf("events %q, want %q; mails %v", n.sent, want, got)
	}
	n.sent = nil
}

func (n *noticed) press(link string) {
	n.Helper()
	_, token, _ := strings.Cut(link, "token=")
	if a := n.w.Browser().Post("/api/auth/account/undo", "token", token, "json", "true"); a.StatusCode != 200 {
		n.Fatalf("the undo: %d %s", a.StatusCode, a.Text)
	}
}

// done fails the test if err is an error.
func (n *noticed) done(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

func (n *noticed) walk() {
	const ada, eve = "ada@app.test", "eve@app.test"
	w, ctx := n.w, n.Context()
	b := w.Browser()
	b.SignInByMail(w, ada)
	user := w.Person(n, b)

	b.SignIn(w.OP, "grace", "link", "true")
	n.press(n.one("linked", ada, true))
	n.one("unlinked", ada, false)

	b.SignInByMail(w, ada)
	n.one("browser", ada, false) // an undo forgets all browsers
	b.SignIn(w.OP, "grace", "link", "true")
	n.one("linked", ada, true)
	n.done(w.UnlinkAccount(ctx, user, "op", "grace", nil))
	n.one("unlinked", ada, false)

	w.Browser().SignInByMail(w, ada)
	n.one("browser", ada, false)

	list, err := w.Sessions(ctx, user)
	n.done(err)
	n.done(w.EndSession(ctx, user, list[0].ID))
	n.one("ended", ada, false)
	n.done(w.EndSessions(ctx, user))
	n.one("ended", ada, false)

	b.SignInByMail(w, ada)
	n.one("browser", ada, false) // so does an end of all sessions
	b.Post("/api/auth/account/email", "email", eve)
	for range 2 {
		u := arena.MustURL(n, arena.Link(n, w.Mail.Next(n)))
		if a := b.Post("/api/auth/account/email/confirm", "id", u.Query().Get("id"), "token", u.Query().Get("token"), "json", "true"); a.StatusCode != 200 {
			n.Fatalf("%s: %d %s", u, a.StatusCode, a.Text)
		}
	}
	n.press(n.one("address", ada, true))
	n.both("restored", ada, "address", eve)

	_, _, err = w.CreatePersonalToken(ctx, user, authsvc.PersonalTokenRequest{Name: "nightly", Audiences: []string{"api"}})
	n.done(err)
	n.one("token", ada, false)

	_, err = w.ScheduleDeletion(ctx, user)
	n.done(err)
	n.one("deletion", ada, false)
	n.done(w.CancelDeletion(ctx, user))
	n.one("kept", ada, false)

	_, err = w.UpdateUser(ctx, user, adapter.UserUpdate{Email: new(eve), EmailVerified: new(w.Now())})
	n.done(err)
	n.one("address", ada, false)
	_, err = w.UpdateUser(ctx, user, adapter.UserUpdate{Email: new("")})
	n.done(err)
	n.one("noaddress", eve, false)
	_, err = w.UpdateUser(ctx, user, adapter.UserUpdate{Email: new(ada)})
	n.done(err)
	n.done(w.Block(ctx, user, "for the test"))
	n.done(w.Block(ctx, user, "again"))
	n.one("blocked", ada, false)
	if more := w.Mail.Notices(); len(more) > 0 {
		n.Errorf("%d more notices: %s", len(more), more[0].Subject)
	}
}
