package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/adaptertest"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// linkMany links identities of n new people to the browser's user.
func linkMany(t *testing.T, w *arena.World, b *arena.Browser, n int) {
	t.Helper()
	for i := range n {
		sub := fmt.Sprint("spare", i)
		if _, err := w.OP.AddPerson(idp.Person{Sub: sub, Name: sub}); err != nil {
			t.Fatal(err)
		}
		b.SignIn(w.OP, sub, "link", "true")
		if _, err := w.Store.GetUserByAccount(t.Context(), "op", sub); err != nil {
			t.Fatalf("%s: %v", sub, err)
		}
	}
}

// TestUndoOfUnmailed checks that an attacker cannot use up the limit of notices, or the
// number of undo links, to link an identity that stays: any link that was mailed undoes
// what was not.
func TestUndoOfUnmailed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rate           authsvc.Rate
		linked, mails  int
		withLink, kept int // kept: identities after the first link was used
	}{
		"limit of notices":       {authsvc.Rate{N: 3, Per: 24 * time.Hour}, 6, 3, 3, 2},
		"number of undo links":   {authsvc.Rate{N: 100, Per: 24 * time.Hour}, 18, 18, 15, 14},
		"below the limit (twin)": {authsvc.Rate{N: 100, Per: 24 * time.Hour}, 3, 3, 3, 2},
	} {
		for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
			t.Run(name+"/"+string(strategy), func(t *testing.T) {
				t.Parallel()
				w := arena.Start(t, func(c *authsvc.Config) {
					c.Session.Strategy = strategy
					c.RateLimit = authsvc.RateLimit{NoticesPerUser: tt.rate, SignIn: authsvc.Rate{N: 1000, Per: time.Minute}}
				})
				b := w.Browser()
				b.SignInByMail(w, "ada@app.test")
				user := w.Person(t, b)
				linkMany(t, w, b, tt.linked)
				first, with := "", 0
				for range tt.mails {
					if link := arena.Undo(w.Mail.Notice(t)); link != "" {
						if with++; first == "" {
							first = link
						}
					}
				}
				if with != tt.withLink {
					t.Errorf("%d mails with a link", with)
				}
				if a := undoPress(w.Browser(), first); a.StatusCode != http.StatusOK || b.Email() != "" {
					t.Fatalf("%d %s, session of %q", a.StatusCode, a.Text, b.Email())
				}
				list, err := w.Store.ListAccounts(t.Context(), user)
				if err != nil || len(list) != tt.kept {
					t.Errorf("%d identities are left, %v", len(list), err)
				}
				for i := tt.linked - 1; i >= tt.kept+1; i-- {
					if _, err := w.Store.GetUserByAccount(t.Context(), "op", fmt.Sprint("spare", i)); !errors.Is(err, adapter.ErrNotFound) {
						t.Errorf("spare%d was linked without a link and stays: %v", i, err)
					}
				}
			})
		}
	}
}

// TestUndoLinkPlaces checks that an undo of a change of address finds a place after any
// number of linked identities.
func TestUndoLinkPlaces(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.RateLimit = authsvc.RateLimit{NoticesPerUser: authsvc.Rate{N: 2, Per: 24 * time.Hour}, SignIn: authsvc.Rate{N: 1000, Per: time.Minute}}
	})
	b := w.Browser()
	b.SignInByMail(w, "ada@app.test")
	linkMany(t, w, b, 17)
	for range 2 {
		w.Mail.Notice(t)
	}
	u, err := w.Store.GetUser(t.Context(), w.Person(t, b))
	if err != nil {
		t.Fatal(err)
	}
	was, eve := u, "eve@app.test"
	if u, err = w.Store.UpdateUser(t.Context(), u.ID, adapter.UserUpdate{Email: &eve}); err != nil {
		t.Fatal(err)
	}
	w.NotifyAddress(t.Context(), u, was.Email, was.EmailVerified)
	m := w.Mail.Notice(t)
	if a := undoPress(w.Browser(), arena.Undo(m)); m.To != "ada@app.test" || a.StatusCode != http.StatusOK {
		t.Fatalf("to %s: %d %s", m.To, a.StatusCode, a.Text)
	}
	if list, err := w.Store.ListAccounts(t.Context(), u.ID); err != nil || len(list) != 2 { // mailed before the change
		t.Errorf("%d identities are left, %v", len(list), err)
	}
}

// TestUndoAfterDeletion checks that the link of a deleted user shows that it no longer
// works, and does nothing, and that it works until then.
func TestUndoAfterDeletion(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{true, false} {
		w := arena.Start(t, nil)
		b := w.Browser()
		b.SignInByMail(w, "ada@app.test")
		user := w.Person(t, b)
		b.SignIn(w.OP, "grace", "link", "true")
		link := arena.Undo(w.Mail.Notice(t))
		if _, err := w.ScheduleDeletion(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		want, text := http.StatusOK, "Undo this change?"
		if gone {
			want, text = http.StatusNotFound, "This link no longer works"
			if err := w.DeleteUser(t.Context(), user); err != nil {
				t.Fatal(err)
			}
		}
		if a := w.Browser().Get(link); a.StatusCode != want || !strings.Contains(a.Text, text) {
			t.Errorf("gone %v, the page: %d", gone, a.StatusCode)
		}
		if a := undoPress(w.Browser(), link); a.StatusCode != want {
			t.Errorf("gone %v, the press: %d %s", gone, a.StatusCode, a.Text)
		}
	}
}

// TestUndoOfMovedIdentity checks that the link does not remove an identity that belongs
// to another user by now.
func TestUndoOfMovedIdentity(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b, grace := w.Browser(), w.Browser()
	b.SignInByMail(w, "ada@app.test")
	b.SignIn(w.OP, "grace", "link", "true")
	link := arena.Undo(w.Mail.Notice(t))
	if err := w.UnlinkAccount(t.Context(), w.Person(t, b), "op", "grace", nil); err != nil {
		t.Fatal(err)
	}
	grace.SignIn(w.OP, "grace")
	if a := undoPress(w.Browser(), link); a.StatusCode != http.StatusOK || b.Email() != "" {
		t.Errorf("%d %s, session of %q", a.StatusCode, a.Text, b.Email())
	}
	if u, err := w.Store.GetUserByAccount(t.Context(), "op", "grace"); err != nil || u.Email != "grace@example.com" || grace.Email() != u.Email {
		t.Errorf("%+v, %v, session of %q", u, err, grace.Email())
	}
}

// TestShutOutNotices checks that the mail about a block or a deletion goes out once
// even if a later step of the change fails and the caller repeats it.
func TestShutOutNotices(t *testing.T) {
	t.Parallel()
	for what, act := range map[string]func(*arena.World, string) error{
		"blocked":  func(w *arena.World, user string) error { return w.Block(w.T.Context(), user, "x") },
		"deletion": func(w *arena.World, user string) error { _, err := w.ScheduleDeletion(w.T.Context(), user); return err },
	} {
		var r recorder
		store := adaptertest.Faulty(memory.New())
		w := arena.Start(t, func(c *authsvc.Config) { c.Adapter = store; r.watch(c) })
		b := w.Browser()
		b.SignInByMail(w, "ada@app.test")
		user := w.Person(t, b)
		for _, broken := range []string{"SetPerson", "EndSessions", "none"} {
			store.FailAll(broken)
			if err := act(w, user); (err == nil) != (broken == "none") {
				t.Errorf("%s, %s fails: %v", what, broken, err)
			}
			if n := r.count("notice.sent " + what); n != map[string]int{"EndSessions": 1, "none": 1}[broken] {
				t.Errorf("%s, %s fails: %d notices", what, broken, n)
			}
			store.FailBefore(0)
		}
	}
}

// TestNoticeWaits checks that a change is made at once while the mail server is away,
// and that its mail waits for the server, but not longer than a day.
func TestNoticeWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		away time.Duration
		want int
	}{"back in time": {20 * time.Hour, 1}, "away for too long": {25 * time.Hour, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				begin, got := time.Now(), []authsvc.Message{}
				w := arena.EnterOffline(t, func(c *authsvc.Config) {
					c.Notices.IgnoreNewBrowsers = true
					c.Providers[0] = &authsvc.Email{From: "a@app.test", Send: func(_ context.Context, m authsvc.Message) error {
						if time.Since(begin) < tt.away {
							return errors.New("connection refused")
						}
						mu.Lock()
						defer mu.Unlock()
						got = append(got, m)
						return nil
					}}
				})
				b := w.Browser()
				b.Login("ada")
				if err := w.EndSessions(t.Context(), "ada-id"); err != nil || b.Email() != "" || time.Since(begin) > time.Second {
					t.Errorf("the change: %v, session of %q, after %v", err, b.Email(), time.Since(begin))
				}
				settle(30 * time.Hour)
				mu.Lock()
				defer mu.Unlock()
				if len(got) != tt.want || tt.want > 0 && !strings.Contains(got[0].Text, begin.UTC().Format("2 January 2006 at 15:04 UTC")) {
					t.Errorf("%d mails: %.500q", len(got), got)
				}
			})
		})
	}
}

// TestHostileNotice checks that neither the browser nor a long name can add lines or
// text to a notice.
func TestHostileNotice(t *testing.T) {
	t.Parallel()
	hostile := strings.Repeat("https://evil.test/\u202e\x00\r\nBcc: eve@evil.test<script>", 200) // 10 000 characters
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignInByMail(w, "ada@app.test")
	if _, err := w.Store.UpdateUser(t.Context(), w.Person(t, b), adapter.UserUpdate{Name: &hostile}); err != nil {
		t.Fatal(err)
	}
	b.Header.Set("User-Agent", strings.ReplaceAll(strings.ReplaceAll(hostile, "\r\n", "\t"), "\x00", "")) // HTTP carries no others
	b.Header.Set("Accept-Language", hostile[:100]+"de;q=0.9,")
	b.SignIn(w.OP, "grace", "link", "true")
	m := w.Mail.Notice(t)
	if arena.Undo(m) == "" || strings.ContainsAny(m.Subject, "\r\n") {
		t.Errorf("%q\n%s", m.Subject, m.Text)
	}
	for form, s := range map[string]string{"subject": m.Subject, "text": m.Text, "HTML": m.HTML} {
		if len(s) > 20_000 || strings.Contains(s, "evil") || strings.ContainsAny(s, "\x00\u202e") {
			t.Errorf("%s: %d bytes: %.1000s", form, len(s), s)
		}
	}
}

// TestUndoInTwoTabs checks the link in two tabs of a browser that is signed in: after
// the first press, the form of the other tab shows that the link no longer works.
func TestUndoInTwoTabs(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignInByMail(w, "ada@app.test")
	b.SignIn(w.OP, "grace", "link", "true")
	link := arena.Undo(w.Mail.Notice(t))
	csrf := b.CSRF() // of both tabs
	_, token, _ := strings.Cut(link, "token=")
	press := func() *browser.Answer {
		return b.Form("/api/auth/account/undo", url.Values{"csrfToken": {csrf}, "token": {token}})
	}
	if a := press(); !strings.HasSuffix(a.Location(), "/account/undo?done=undone") || b.Email() != "" {
		t.Fatalf("the first tab: %d %s", a.StatusCode, a.Location())
	}
	a := press()
	if !strings.Contains(a.Location(), "/account/undo?token="+token+"&error=csrf") {
		t.Fatalf("the second tab: %d %s", a.StatusCode, a.Location())
	}
	if a = b.Get(a.Location()); a.StatusCode != http.StatusNotFound || !strings.Contains(a.Text, "This link no longer works") {
		t.Errorf("the page of the second tab: %d %s", a.StatusCode, a.Text)
	}
}
