package engine_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/adaptertest"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/text/pages"
)

// recorder counts audit events by name and reason.
type recorder struct {
	mu  sync.Mutex
	got map[string]int
}

func (r *recorder) watch(c *authsvc.Config) {
	r.got = map[string]int{}
	c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got[e.Name]++
		if e.Name == "notice.sent" {
			r.got[e.Name+" "+e.Reason]++
		}
	}
}

func (r *recorder) count(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[name]
}

// TestNotices checks that each change causes one notice, and that no change causes
// none.
func TestNotices(t *testing.T) {
	t.Parallel()
	mailed := func(w *arena.World) *arena.Browser {
		b := w.Browser()
		b.SignInByMail(w, "ada@app.test")
		return b
	}
	id := func(w *arena.World) string {
		u, err := w.Store.GetUserByEmail(w.T.Context(), "ada@app.test")
		if err != nil {
			w.T.Fatal(err)
		}
		return u.ID
	}
	linked := func(w *arena.World) *arena.Browser {
		b := mailed(w)
		b.SignIn(w.OP, "grace", "link", "true")
		return b
	}
	for name, tt := range map[string]struct {
		tune func(*authsvc.Config)
		act  func(w *arena.World)
		want map[string]int // by the reason
	}{
		"first sign-in":         {act: func(w *arena.World) { mailed(w) }},
		"known browser":         {act: func(w *arena.World) { b := mailed(w); b.Post("/api/auth/signout"); b.SignInByMail(w, "ada@app.test") }},
		"new browser, mail":     {act: func(w *arena.World) { mailed(w); mailed(w) }, want: map[string]int{"browser": 1}},
		"new browser, provider": {act: func(w *arena.World) { w.Browser().SignIn(w.OP, "ada"); w.Browser().SignIn(w.OP, "ada") }, want: map[string]int{"browser": 1}},
		"new browser, credentials": {act: func(w *arena.World) {
			w.Store.CreateUser(w.T.Context(), authsvc.User{ID: "ada-id", Email: "ada@app.test"}, nil) //nolint:errcheck
			w.Browser().Login("ada")
			w.Browser().Login("ada")
		}, want: map[string]int{"browser": 1}},
		"known by another way":        {act: func(w *arena.World) { b := linked(w); b.Post("/api/auth/signout"); b.SignIn(w.OP, "grace") }, want: map[string]int{"linked": 1}},
		"new browser, not wanted":     {tune: func(c *authsvc.Config) { c.Notices.IgnoreNewBrowsers = true }, act: func(w *arena.World) { mailed(w); mailed(w) }},
		"linked":                      {act: func(w *arena.World) { linked(w) }, want: map[string]int{"linked": 1}},
		"linked again":                {act: func(w *arena.World) { linked(w).SignIn(w.OP, "grace", "link", "true") }, want: map[string]int{"linked": 1}},
		"unlinked by the application": {act: func(w *arena.World) { linked(w); w.UnlinkAccount(w.T.Context(), id(w), "op", "grace", nil) }, want: map[string]int{"linked": 1, "unlinked": 1}},
		"unlinked, not there":         {act: func(w *arena.World) { mailed(w); w.UnlinkAccount(w.T.Context(), id(w), "op", "grace", nil) }},
		"ended by the application":    {act: func(w *arena.World) { mailed(w); w.EndSessions(w.T.Context(), id(w)) }, want: map[string]int{"ended": 1}},
		"ended, no sessions":          {act: func(w *arena.World) { mailed(w).Post("/api/auth/signout"); w.EndSessions(w.T.Context(), id(w)) }},
		"ended by the person":         {act: func(w *arena.World) { mailed(w).Post("/api/auth/account/signout", "all", "true") }},
		"blocked": {act: func(w *arena.World) {
			linked(w)
			w.Block(w.T.Context(), id(w), "x")
			w.UnlinkAccount(w.T.Context(), id(w), "op", "grace", &engine.UnlinkOptions{EvenLast: true})
			w.Block(w.T.Context(), id(w), "y")
		}, want: map[string]int{"linked": 1, "blocked": 1}},
		"blocked at the same time": {act: func(w *arena.World) {
			mailed(w)
			u := id(w)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() { w.Block(w.T.Context(), u, "x") }) //nolint:errcheck // the mail shows it
			}
			all.Wait()
		}, want: map[string]int{"blocked": 1}},
		"blocked again, after a break": {act: func(w *arena.World) {
			mailed(w)
			for range 2 {
				w.Block(w.T.Context(), id(w), "x")
				w.Unblock(w.T.Context(), id(w))
			}
		}, want: map[string]int{"blocked": 2}},
		"deleted": {act: func(w *arena.World) { mailed(w); w.DeleteUser(w.T.Context(), id(w)) }},
		"to be deleted": {act: func(w *arena.World) {
			mailed(w)
			w.ScheduleDeletion(w.T.Context(), id(w)) //nolint:errcheck // the mail shows it
			w.ScheduleDeletion(w.T.Context(), id(w)) //nolint:errcheck
		}, want: map[string]int{"deletion": 1}},
		"to be deleted by the person, and kept": {tune: func(c *authsvc.Config) { c.Account.Delete = true }, act: func(w *arena.World) {
			b := mailed(w)
			b.Post("/api/auth/account/delete", "confirm", "ada@app.test")
			b.Post("/api/auth/account/keep", "pending", "true")
		}, want: map[string]int{"deletion": 1, "kept": 1}},
		"kept, without a scheduled deletion": {act: func(w *arena.World) {
			mailed(w)
			w.CancelDeletion(w.T.Context(), id(w)) //nolint:errcheck
		}},
		"deleted at once by the person": {tune: func(c *authsvc.Config) { c.Account.Delete, c.Account.DeleteGrace = true, -1 }, act: func(w *arena.World) {
			mailed(w).Post("/api/auth/account/delete", "confirm", "ada@app.test")
		}, want: map[string]int{"deleted": 1}},
		"changed by the application": {act: func(w *arena.World) {
			mailed(w)
			u := id(w)
			for range 2 {
				w.UpdateUser(w.T.Context(), u, adapter.UserUpdate{Email: new("new@app.test")})
			}
		}, want: map[string]int{"address": 1}},
		"address removed by the application": {act: func(w *arena.World) {
			mailed(w)
			w.UpdateUser(w.T.Context(), id(w), adapter.UserUpdate{Email: new("")})
		}, want: map[string]int{"noaddress": 1}},
		"unproved address changed by the application": {act: func(w *arena.World) {
			w.Store.CreateUser(w.T.Context(), authsvc.User{ID: "ada-id", Email: "anyone@app.test"}, nil) //nolint:errcheck
			w.Browser().Login("ada")
			w.UpdateUser(w.T.Context(), "ada-id", adapter.UserUpdate{Email: new("ada@app.test")})
		}, want: map[string]int{"ended": 1}},
		"renamed by the application": {act: func(w *arena.World) {
			mailed(w)
			w.UpdateUser(w.T.Context(), id(w), adapter.UserUpdate{Name: new("Ada")})
		}},
		"one ended by the application": {act: func(w *arena.World) {
			mailed(w)
			list, _ := w.Sessions(w.T.Context(), id(w))
			w.EndSession(w.T.Context(), id(w), list[0].ID)
		}, want: map[string]int{"ended": 1}},
		"undone": {act: func(w *arena.World) {
			linked(w)
			m := w.Mail.Notice(w.T)
			w.Mail.Send(w.T.Context(), m) //nolint:errcheck // for the check below
			undoPress(w.Browser(), arena.Undo(m))
		}, want: map[string]int{"linked": 1, "unlinked": 1}},
		"new browser, without cookies": {act: func(w *arena.World) { mailed(w); mailed(w); mailed(w); mailed(w) }, want: map[string]int{"browser": 1}},
		"two new browsers": {act: func(w *arena.World) {
			mailed(w)
			mailed(w)
			b := w.Browser()
			b.Header.Set("User-Agent", "another")
			b.SignInByMail(w, "ada@app.test")
			b = w.Browser()
			b.IP = "198.51.100.7:1"
			b.SignInByMail(w, "ada@app.test")
		}, want: map[string]int{"browser": 3}},
		"token made by the person":      {tune: forPersonal, act: func(w *arena.World) { mailed(w).Post(tokensRoute, "name", "nightly", "audiences", "api") }, want: map[string]int{"token": 1}},
		"token that cannot be made":     {tune: forPersonal, act: func(w *arena.World) { mailed(w).Post(tokensRoute, "name", "nightly", "audiences", "elsewhere") }},
		"token made by the application": {tune: forPersonal, act: func(w *arena.World) { mailed(w); nightly(w, id(w)) }, want: map[string]int{"token": 1}},
		"token of a blocked user":       {tune: forPersonal, act: func(w *arena.World) { mailed(w); w.Block(w.T.Context(), id(w), "x"); nightly(w, id(w)) }, want: map[string]int{"blocked": 1}},
		"token, notices off":            {tune: func(c *authsvc.Config) { forPersonal(c); c.Notices.Disabled = true }, act: func(w *arena.World) { mailed(w); nightly(w, id(w)) }},
		"off":                           {tune: func(c *authsvc.Config) { c.Notices.Disabled = true }, act: func(w *arena.World) { linked(w) }},
		"first proof of an old address": {act: func(w *arena.World) {
			w.Store.CreateUser(w.T.Context(), authsvc.User{ID: "squat", Email: "ada@app.test"}, nil) //nolint:errcheck
			mailed(w)
		}},
	} {
		for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
			t.Run(name+"/"+string(strategy), func(t *testing.T) {
				t.Parallel()
				var r recorder
				w := arena.Start(t, func(c *authsvc.Config) {
					c.Session.Strategy = strategy
					r.watch(c)
					if tt.tune != nil {
						tt.tune(c)
					}
				})
				tt.act(w)
				got := map[string]int{}
				for _, what := range pages.News() {
					if n := r.count("notice.sent " + what); n > 0 {
						got[what] = n
					}
				}
				if want := tt.want; !maps.Equal(got, want) {
					t.Errorf("notices of %v, want %v", got, want)
				}
				sent := 0
				for _, n := range got {
					sent += n
				}
				for range sent {
					m := w.Mail.Notice(t)
					keeps := strings.Contains(m.Subject, "will be deleted")
					opens := !keeps && !strings.Contains(m.Subject, "blocked") && !strings.Contains(m.Subject, "being deleted") // the account can be opened
					if strings.Contains(m.Text, arena.Origin+"/api/auth/account/keep?token=") != keeps || m.To != "ada@app.test" && m.To != "ada@example.com" || strings.Contains(m.Text, arena.Origin+"/api/auth/account\n") != opens || (arena.Undo(m) != "") != strings.Contains(m.Subject, "added") {
						t.Errorf("%s: %s\n%s", m.To, m.Subject, m.Text)
					}
				}
			})
		}
	}
}

// nightly makes a personal access token as the application, if the user may have one.
func nightly(w *arena.World, user string) {
	w.CreatePersonalToken(w.T.Context(), user, authsvc.PersonalTokenRequest{Name: "nightly", Audiences: []string{"api"}}) //nolint:errcheck // the mail shows it
}

// TestTokenNotice checks that the mail names the token and its maker's browser, is in
// the language of the person's last sign-in, and that tokens past the limit are made
// without a mail.
func TestTokenNotice(t *testing.T) {
	t.Parallel()
	var r recorder
	w := arena.Start(t, func(c *authsvc.Config) {
		forPersonal(c)
		r.watch(c)
		c.RateLimit.NoticesPerUser = authsvc.Rate{N: 2, Per: 24 * time.Hour}
	})
	b := w.Browser()
	b.Header.Set("Accept-Language", "de")
	b.SignInByMail(w, "ada@app.test")
	b.Header.Set("Accept-Language", "en")
	b.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	made(t, b.Post(tokensRoute, "name", "<nightly>", "audiences", "api", "json", "true"))
	m := w.Mail.Notice(t)
	if !strings.HasPrefix(m.Subject, "Neues Zugriffstoken") || !strings.Contains(m.Text, "„<nightly>“") || !strings.Contains(m.HTML, "„&lt;nightly&gt;“") ||
		!strings.Contains(m.Text, "Firefox auf Linux") || strings.Contains(m.Text+m.HTML, "asv1_") || m.To != "ada@app.test" {
		t.Errorf("to %s: %s\n%s", m.To, m.Subject, m.Text)
	}
	made(t, b.Post(tokensRoute, "name", "second", "audiences", "api", "json", "true"))
	if sent, limited := r.count("notice.sent token"), r.count("notice.limited"); sent != 1 || limited != 1 {
		t.Errorf("%d sent, %d limited", sent, limited)
	}
	if b.SignIn(w.OP, "grace", "link", "true"); r.count("notice.sent linked") != 1 {
		t.Errorf("tokens used up the limit of other notices: %v", r.got)
	}
}

// TestNoticeLimit checks that, past the limit, only the event is recorded, and the
// sign-in continues.
func TestNoticeLimit(t *testing.T) {
	t.Parallel()
	var r recorder
	w := arena.Start(t, func(c *authsvc.Config) {
		r.watch(c)
		c.RateLimit.NoticesPerUser = authsvc.Rate{N: 2, Per: 24 * 3600e9}
	})
	for i := range 5 {
		b := w.Browser()
		b.Header.Set("User-Agent", fmt.Sprint("browser ", i))
		if b.SignIn(w.OP, "ada") == nil || b.Email() != "ada@example.com" {
			t.Fatal("not signed in")
		}
	}
	w.Browser().SignIn(w.OP, "grace")
	w.Browser().SignIn(w.OP, "grace")
	if sent, limited := r.count("notice.sent"), r.count("notice.limited"); sent != 2 || limited == 0 {
		t.Errorf("%d sent, %d limited", sent, limited)
	}
	for range 2 {
		w.Mail.Notice(t)
	}
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	if b.SignIn(w.OP, "alan", "link", "true"); r.count("notice.sent linked") != 1 || arena.Undo(w.Mail.Notice(t)) == "" {
		t.Errorf("new browsers used up the limit of other notices: %v", r.got)
	}
}

// TestNoticeNeverFails checks that a sign-in continues if its notice cannot be queued.
func TestNoticeNeverFails(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{"PutMail", "PutCredential", "Permit", "GetPerson"} {
		store := adaptertest.Faulty(memory.New())
		w := arena.Start(t, func(c *authsvc.Config) { c.Adapter = store })
		b := w.Browser()
		b.SignInByMail(w, "ada@app.test")
		store.FailAll(broken)
		b.SignIn(w.OP, "grace", "link", "true")
		if _, err := w.Store.GetUserByAccount(t.Context(), "op", "grace"); err != nil {
			t.Errorf("%s fails: the way to sign in was not added: %v", broken, err)
		}
		if broken == "PutMail" {
			continue
		}
		if m := w.Mail.Notice(t); (arena.Undo(m) == "") != (broken == "PutCredential") {
			t.Errorf("%s fails: %s", broken, m.Text)
		}
	}
}

func undoPress(b *arena.Browser, link string) *browser.Answer {
	_, token, _ := strings.Cut(link, "token=")
	return b.Post("/api/auth/account/undo", "token", token, "json", "true")
}

// TestUndo checks that the link in a notice removes the identity and ends all sessions,
// once, without a session.
func TestUndo(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			var r recorder
			w := arena.Start(t, func(c *authsvc.Config) { c.Session.Strategy = strategy; r.watch(c) })
			owner, thief, elsewhere := w.Browser(), w.Browser(), w.Browser()
			owner.SignInByMail(w, "ada@app.test")
			maps.Copy(thief.Cookies, owner.Cookies) // a borrowed session
			thief.SignIn(w.OP, "grace", "link", "true")
			link := arena.Undo(w.Mail.Notice(t))
			if thief.Email() != "ada@app.test" || link == "" {
				t.Fatalf("the identity was not linked: %q, %q", thief.Email(), link)
			}
			if a := elsewhere.Get(link); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "Undo this change?") || thief.Email() == "" {
				t.Fatalf("looking at it: %d, thief %q", a.StatusCode, thief.Email())
			}
			for _, wrong := range []string{link + "x", link[:len(link)-1], "token=", "token=" + strings.Repeat("A", 43)} {
				if a := undoPress(elsewhere, wrong); !answers(a, http.StatusNotFound, "NotFound") || thief.Email() == "" {
					t.Errorf("%s: %d %s", wrong, a.StatusCode, a.Text)
				}
			}
			if a := elsewhere.Post("/api/auth/account/undo", "csrfToken", "wrong", "token", link[strings.Index(link, "token=")+6:], "json", "true"); !answers(a, http.StatusForbidden, "csrf") || thief.Email() == "" {
				t.Errorf("without the token of the form: %d %s", a.StatusCode, a.Text)
			}
			if a := undoPress(elsewhere, link); a.StatusCode != http.StatusOK {
				t.Fatalf("the press: %d %s", a.StatusCode, a.Text)
			}
			if thief.Email() != "" || owner.Email() != "" {
				t.Error("a session continues")
			}
			if _, err := w.Store.GetUserByAccount(t.Context(), "op", "grace"); err == nil {
				t.Error("the identity is still linked")
			}
			if a := undoPress(elsewhere, link); !answers(a, http.StatusNotFound, "NotFound") {
				t.Errorf("the second press: %d %s", a.StatusCode, a.Text)
			}
			if a := elsewhere.Get(link); a.StatusCode != http.StatusNotFound || !strings.Contains(a.Text, "This link no longer works") {
				t.Errorf("the second look: %d", a.StatusCode)
			}
			if r.count("change.undone") != 1 || r.count("account.unlinked") != 1 {
				t.Errorf("events: %v", r.got)
			}
			w.Mail.Notices()
			if owner.SignInByMail(w, "ada@app.test"); owner.Email() != "ada@app.test" {
				t.Error("twin: the owner cannot sign in again")
			}
		})
	}
}

// TestUndoOnce checks that only one of 64 concurrent requests undoes the change.
func TestUndoOnce(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.RateLimit.Disabled = true })
	b := w.Browser()
	b.SignInByMail(w, "ada@app.test")
	b.SignIn(w.OP, "grace", "link", "true")
	link := arena.Undo(w.Mail.Notice(t))
	var all sync.WaitGroup
	results := make(chan int, 64)
	for range cap(results) {
		racer := w.Browser()
		racer.CSRF()
		all.Go(func() { results <- undoPress(racer, link).StatusCode })
	}
	all.Wait()
	close(results)
	got := map[int]int{}
	for status := range results {
		got[status]++
	}
	if got[http.StatusOK] != 1 || got[http.StatusNotFound] != 63 {
		t.Errorf("answers: %v", got)
	}
}

// moved returns a user who signed in by mail and linked an identity. Then an attacker
// changed the address and linked another identity. It also returns the links of the
// three mails.
func moved(t *testing.T, w *arena.World) (b *arena.Browser, id, before, address, after string) {
	t.Helper()
	b = w.Browser()
	b.SignInByMail(w, "ada@app.test")
	b.SignIn(w.OP, "ada", "link", "true")
	before = arena.Undo(w.Mail.Notice(t))
	id = w.Person(t, b)
	was, err := w.Store.GetUser(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	eve := "eve@app.test"
	u, err := w.Store.UpdateUser(t.Context(), id, adapter.UserUpdate{Email: &eve})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond) // times are stored in milliseconds
	w.NotifyAddress(t.Context(), u, was.Email, was.EmailVerified)
	m := w.Mail.Notice(t)
	if address = arena.Undo(m); m.To != "ada@app.test" || address == "" || !strings.Contains(m.Text, eve) {
		t.Fatalf("to %s:\n%s", m.To, m.Text)
	}
	b.SignIn(w.OP, "grace", "link", "true")
	m = w.Mail.Notice(t)
	if after = arena.Undo(m); m.To != eve || after == "" {
		t.Fatalf("to %s:\n%s", m.To, m.Text)
	}
	return b, id, before, address, after
}

// TestUndoAddress checks that the link restores the address, and undoes everything
// added since, whose mails went to the other one.
func TestUndoAddress(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b, id, before, address, after := moved(t, w)
	other := w.Browser()
	if a := other.Get(address); !strings.Contains(a.Text, "will have the address") || !strings.Contains(a.Text, "ada") {
		t.Errorf("the page: %d %s", a.StatusCode, a.Text)
	}
	if a := undoPress(other, address); a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", a.StatusCode, a.Text)
	}
	if u, err := w.Store.GetUser(t.Context(), id); err != nil || u.Email != "ada@app.test" || u.EmailVerified.IsZero() || b.Email() != "" {
		t.Errorf("%+v, %v, session of %q", u, err, b.Email())
	}
	for range 2 { // the other address is told too: its owner may not have used the link
		m := w.Mail.Notice(t)
		if strings.Contains(m.Subject, "restored") != (m.To == "ada@app.test") || m.To != "ada@app.test" && m.To != "eve@app.test" || arena.Undo(m) != "" || !strings.Contains(m.Text, "ada@app.test") {
			t.Errorf("to %s: %s", m.To, m.Subject)
		}
	}
	if _, err := w.Store.GetUserByAccount(t.Context(), "op", "grace"); err == nil {
		t.Error("what was linked since is still linked")
	}
	if a := undoPress(other, after); a.StatusCode != http.StatusNotFound {
		t.Errorf("the link of a later change: %d", a.StatusCode)
	}
	if _, err := w.Store.GetUserByAccount(t.Context(), "op", "ada"); err != nil {
		t.Error("twin: what was linked before is gone:", err)
	}
	if a := undoPress(other, before); a.StatusCode != http.StatusOK {
		t.Errorf("twin: the link of an earlier change: %d", a.StatusCode)
	}
}

// TestUndoAddressAway checks that nothing is lost while the store is away: neither the
// address to restore nor the other changes to undo.
func TestUndoAddressAway(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GetPerson", "UnlinkAccount", "DeleteCredential", "UpdateUser", "EndSessions"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			store := adaptertest.Faulty(memory.New())
			w := arena.Start(t, func(c *authsvc.Config) { c.Adapter = store })
			b, id, _, address, after := moved(t, w)
			racer := w.Browser()
			store.FailAll(method)
			if a := undoPress(racer, address); !answers(a, http.StatusServiceUnavailable, "Unavailable") {
				t.Errorf("%d %s", a.StatusCode, a.Text)
			}
			store.FailBefore(0)
			store.FailAll("none")
			if a := undoPress(racer, address); a.StatusCode != http.StatusOK || b.Email() != "" {
				t.Errorf("once it is back: %d %s, session of %q", a.StatusCode, a.Text, b.Email())
			}
			if u, err := w.Store.GetUser(t.Context(), id); err != nil || u.Email != "ada@app.test" {
				t.Errorf("%+v, %v", u, err)
			}
			if _, err := w.Store.GetUserByAccount(t.Context(), "op", "grace"); err == nil {
				t.Error("what was linked since is still linked")
			}
			if a := undoPress(racer, after); a.StatusCode != http.StatusNotFound {
				t.Errorf("the link of a later change: %d", a.StatusCode)
			}
		})
	}
}

// TestUndoOfTwoAddresses checks the links of two changes of address, the second of
// which went to an attacker: the first decides, whenever it is used.
func TestUndoOfTwoAddresses(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"", "GetPerson", "GetUser", "GetCredential", "UpdateUser", "EndSessions"} {
		t.Run("before "+method, func(t *testing.T) {
			t.Parallel()
			p := &paused{Adapter: memory.New()}
			w := arena.Start(t, func(c *authsvc.Config) { c.Adapter = p })
			_, id, _, first, _ := moved(t, w)
			was, err := w.Store.GetUser(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			mallory := "mallory@app.test"
			u, err := w.Store.UpdateUser(t.Context(), id, adapter.UserUpdate{Email: &mallory})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Millisecond) // after the link of grace, as in moved
			w.NotifyAddress(t.Context(), u, was.Email, was.EmailVerified)
			second := arena.Undo(w.Mail.Notice(t))
			owner, thief := w.Browser(), w.Browser()
			owner.CSRF()
			thief.CSRF()
			if method == "" {
				if a := undoPress(thief, second); a.StatusCode != http.StatusOK {
					t.Fatalf("twin, the second alone: %d %s", a.StatusCode, a.Text)
				}
				if u, err := w.Store.GetUser(t.Context(), id); err != nil || u.Email != was.Email {
					t.Fatalf("twin: %+v, %v", u, err)
				}
			} else {
				p.after("UpdateCredential", method, func() {
					if a := undoPress(owner, first); a.StatusCode != http.StatusOK {
						t.Errorf("the first: %d %s", a.StatusCode, a.Text)
					}
				})
				a := undoPress(thief, second)
				if p.act != nil || a.StatusCode != http.StatusOK && a.StatusCode != http.StatusNotFound {
					t.Errorf("the second: %d %s", a.StatusCode, a.Text)
				}
			}
			if method == "" {
				undoPress(owner, first)
			}
			if u, err := w.Store.GetUser(t.Context(), id); err != nil || u.Email != "ada@app.test" {
				t.Errorf("%+v, %v", u, err)
			}
		})
	}
}

// TestUndoTaken checks that an address that another user has by now stays theirs.
func TestUndoTaken(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b, id, _, address, _ := moved(t, w)
	other := w.Browser()
	other.SignInByMail(w, "ada@app.test")
	if a := undoPress(w.Browser(), address); !answers(a, http.StatusConflict, "Taken") {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	if u, err := w.Store.GetUser(t.Context(), id); err != nil || u.Email != "eve@app.test" || b.Email() != "" || other.Email() != "ada@app.test" {
		t.Errorf("%+v, %v, sessions of %q and %q", u, err, b.Email(), other.Email())
	}
	if a := other.Get("/api/auth/account/undo?error=Taken"); !strings.Contains(a.Text, "could not be restored") {
		t.Errorf("the page: %s", a.Text)
	}
}

// TestUndoTimes checks that a link expires, and that a link in use is spent, but works
// again after a minute.
func TestUndoTimes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(c *adapter.Credential, now time.Time)
		want   int
	}{
		"expired":  {func(c *adapter.Credential, now time.Time) { c.Expires = now.Add(-time.Second) }, http.StatusNotFound},
		"at work":  {func(c *adapter.Credential, now time.Time) { c.Used = now }, http.StatusNotFound},
		"died":     {func(c *adapter.Credential, now time.Time) { c.Used = now.Add(-61 * time.Second) }, http.StatusOK},
		"in time":  {func(c *adapter.Credential, now time.Time) { c.Expires = now.Add(time.Minute) }, http.StatusOK},
		"tampered": {func(c *adapter.Credential, _ time.Time) { c.Data = append(c.Data[:len(c.Data)-2], "xy"...) }, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, nil)
			b := w.Browser()
			b.SignInByMail(w, "ada@app.test")
			b.SignIn(w.OP, "grace", "link", "true")
			link := arena.Undo(w.Mail.Notice(t))
			p, err := w.Store.GetPerson(t.Context(), w.Person(t, b))
			if err != nil || len(p.Credentials) != 1 || !p.Credentials[0].Expires.Equal(p.Credentials[0].Created.Add(72*time.Hour)) {
				t.Fatalf("%+v, %v", p, err)
			}
			c := p.Credentials[0]
			tt.change(&c, time.Now())
			if err := w.Store.UpdateCredential(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if a := undoPress(w.Browser(), link); a.StatusCode != tt.want || (b.Email() == "") != (tt.want == http.StatusOK) {
				t.Errorf("%d %s, session of %q", a.StatusCode, a.Text, b.Email())
			}
		})
	}
}

// TestUndoUnproved checks that an unverified address gets a notice without a link.
func TestUndoUnproved(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	none := time.Time{}
	if _, err := w.Store.UpdateUser(t.Context(), w.Person(t, b), adapter.UserUpdate{EmailVerified: &none}); err != nil {
		t.Fatal(err)
	}
	b.SignIn(w.OP, "grace", "link", "true")
	if m := w.Mail.Notice(t); m.To != "ada@example.com" || arena.Undo(m) != "" {
		t.Errorf("to %s:\n%s", m.To, m.Text)
	}
}

// TestUndoAway checks that nothing is lost while the store is away, and the link still
// works.
func TestUndoAway(t *testing.T) {
	t.Parallel()
	store := adaptertest.Faulty(memory.New())
	w := arena.Start(t, func(c *authsvc.Config) { c.Adapter = store })
	b, racer := w.Browser(), w.Browser()
	b.SignInByMail(w, "ada@app.test")
	b.SignIn(w.OP, "grace", "link", "true")
	link := arena.Undo(w.Mail.Notice(t))
	for _, method := range []string{"GetCredential", "UnlinkAccount", "EndSessions", "DeleteCredentials"} {
		store.FailAll(method)
		if a := undoPress(racer, link); !answers(a, http.StatusServiceUnavailable, "Unavailable") {
			t.Errorf("%s away: %d %s", method, a.StatusCode, a.Text)
		}
		store.FailBefore(0)
		store.FailAll("none")
	}
	if a := undoPress(racer, link); a.StatusCode != http.StatusOK || b.Email() != "" {
		t.Errorf("twin: %d %s, session of %q", a.StatusCode, a.Text, b.Email())
	}
}

// TestNoticeCost checks that a sign-in without a notice makes no more store calls than
// with notices off, and any other one makes two more, apart from its limits: for the
// language and for the queue.
func TestNoticeCost(t *testing.T) {
	t.Parallel()
	calls := map[bool]map[string][]string{}
	for _, off := range []bool{true, false} {
		store := adaptertest.Faulty(memory.New())
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Adapter, c.Notices.Disabled, c.RateLimit.Disabled = store, off, true
			c.Providers = append(c.Providers[:1:1], &authsvc.Email{From: "a@app.test", Send: func(context.Context, authsvc.Message) error { return nil }})
		})
		calls[off] = map[string][]string{}
		signIn := func(name string, b *arena.Browser) {
			store.FailBefore(0) // resets the count
			b.SignIn(w.OP, "ada")
			calls[off][name] = slices.DeleteFunc(store.Calls(), func(call string) bool {
				return slices.Contains([]string{"ClaimMail", "DeleteMail", "Revocations", "Sweep", "Lease", "Now", "TouchSessions"}, call)
			})
		}
		b := w.Browser()
		signIn("first", b)
		b.Post("/api/auth/signout")
		signIn("known", b)
		signIn("new", w.Browser())
	}
	for _, same := range []string{"first", "known"} {
		if !slices.Equal(calls[false][same], calls[true][same]) {
			t.Errorf("%s browser: %v, without notices %v", same, calls[false][same], calls[true][same])
		}
	}
	if got, want := calls[false]["new"], append(calls[true]["new"], "GetPerson", "PutMail"); !slices.Equal(got, want) {
		t.Errorf("new browser: %v, want %v", got, want)
	}
}
