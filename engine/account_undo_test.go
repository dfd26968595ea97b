package engine_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/adaptertest"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// noticesTo returns the next n notices by their recipients and subjects.
func noticesTo(t *testing.T, w *arena.World, n int) map[string]authsvc.Message {
	t.Helper()
	all := map[string]authsvc.Message{}
	for range n {
		m := w.Mail.Notice(t)
		all[m.To+": "+m.Subject] = m
	}
	return all
}

// TestUndoOfDeleted checks that a change of address can be undone although the deletion
// of the account is scheduled before its mail is queued. An attacker could do so, and
// cancel the deletion afterwards. The restored address is also told of the deletion.
func TestUndoOfDeleted(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignInByMail(w, "ada@app.test")
	was, err := w.Store.GetUser(t.Context(), w.Person(t, b))
	if err != nil {
		t.Fatal(err)
	}
	eve := "eve@app.test"
	u, err := w.Store.UpdateUser(t.Context(), was.ID, adapter.UserUpdate{Email: &eve})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.ScheduleDeletion(t.Context(), was.ID); err != nil {
		t.Fatal(err)
	}
	if m := w.Mail.Notice(t); m.To != eve {
		t.Fatalf("to %s: %s", m.To, m.Subject)
	}
	w.NotifyAddress(t.Context(), u, was.Email, was.EmailVerified)
	m := w.Mail.Notice(t)
	if a := undoPress(w.Browser(), arena.Undo(m)); m.To != was.Email || a.StatusCode != http.StatusOK || storedEmail(t, w, was.ID) != was.Email {
		t.Fatalf("to %s: %d, the address is %s\n%s", m.To, a.StatusCode, storedEmail(t, w, was.ID), m.Text)
	}
	var told []string
	for to := range noticesTo(t, w, 3) {
		told = append(told, to)
	}
	for _, want := range []string{"ada@app.test: Your address at App is restored", "eve@app.test: Your address at App was changed", "ada@app.test: Your account at App will be deleted"} {
		if !strings.Contains(strings.Join(told, "\n"), want[:strings.Index(want, " at ")]) {
			t.Errorf("no %q in %q", want, told)
		}
	}
}

// TestUndoAgainstOperator checks that the link that restores a former address ends with
// a change of address by an operator, who may act because that mailbox was stolen. The
// link that removes an identity remains.
func TestUndoAgainstOperator(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	_, id, before, address, _ := moved(t, w)
	if _, err := w.UpdateUser(t.Context(), id, adapter.UserUpdate{Email: new("desk@app.test"), EmailVerified: new(w.Now())}); err != nil {
		t.Fatal(err)
	}
	if a := undoPress(w.Browser(), address); a.StatusCode != http.StatusNotFound || storedEmail(t, w, id) != "desk@app.test" {
		t.Errorf("%d, the address is %s", a.StatusCode, storedEmail(t, w, id))
	}
	if a := undoPress(w.Browser(), before); a.StatusCode != http.StatusOK {
		t.Errorf("twin, a linked identity: %d %s", a.StatusCode, a.Text)
	}
}

// TestUndoAgainstSession checks that an identity that a session links while an undo ends
// the sessions is removed too.
func TestUndoAgainstSession(t *testing.T) {
	t.Parallel()
	p := &paused{Adapter: memory.New()}
	w := arena.Start(t, func(c *authsvc.Config) { c.Adapter = p })
	b, id, _, address, _ := moved(t, w)
	if _, err := w.OP.AddPerson(idp.Person{Sub: "spare", Name: "spare"}); err != nil {
		t.Fatal(err)
	}
	owner := w.Browser()
	owner.CSRF()
	p.after("UpdateUser", "EndSessions", func() {
		b.SignIn(w.OP, "spare", "link", "true")
		if _, err := w.Store.GetUserByAccount(t.Context(), "op", "spare"); err != nil {
			t.Errorf("it was not linked: %v", err)
		}
	})
	if a := undoPress(owner, address); a.StatusCode != http.StatusOK || p.act != nil || storedEmail(t, w, id) != "ada@app.test" || b.Email() != "" {
		t.Errorf("%d %s, session of %q", a.StatusCode, a.Text, b.Email())
	}
	if _, err := w.Store.GetUserByAccount(t.Context(), "op", "spare"); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("what was linked during the undo stays: %v", err)
	}
}

// TestUndoRevokesTokens checks that an undo revokes the personal access tokens made since
// the change, and no older ones.
func TestUndoRevokesTokens(t *testing.T) {
	t.Parallel()
	var r recorder
	w := arena.Start(t, func(c *authsvc.Config) {
		c.PersonalTokens.Enabled = true
		r.watch(c)
	})
	b := w.Browser()
	b.SignInByMail(w, "ada@app.test")
	id := w.Person(t, b)
	made := func(name string) {
		t.Helper()
		time.Sleep(2 * time.Millisecond) // times are stored in milliseconds
		r := authsvc.PersonalTokenRequest{Name: name, Hosts: []string{"https://grafana.example.com"}}
		if _, _, err := w.CreatePersonalToken(t.Context(), id, r); err != nil {
			t.Fatal(err)
		}
		if m := w.Mail.Notice(t); !strings.Contains(m.Text, "“"+name+"”") {
			t.Fatalf("the mail does not name the token %s: %s", name, m.Text)
		}
	}
	made("backup")
	time.Sleep(2 * time.Millisecond)
	b.SignIn(w.OP, "ada", "link", "true")
	link := arena.Undo(w.Mail.Notice(t))
	made("thief 1")
	made("thief 2")
	if a := undoPress(w.Browser(), link); a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", a.StatusCode, a.Text)
	}
	left, err := w.PersonalTokens(t.Context(), id)
	if err != nil || len(left) != 1 || left[0].Name != "backup" {
		t.Errorf("left: %+v, %v", left, err)
	}
	if n := r.count("pat.revoked"); n != 1 {
		t.Errorf("%d events", n)
	}
}

// TestUndoRevokesTokensOfUnmailed checks that an undo also revokes the personal access
// tokens made since a way to sign in was added without a mail, if it removes that one.
func TestUndoRevokesTokensOfUnmailed(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.PersonalTokens.Enabled = true
		c.RateLimit.NoticesPerUser = authsvc.Rate{N: 1, Per: 24 * time.Hour}
	})
	b := w.Browser()
	b.SignInByMail(w, "ada@app.test")
	id := w.Person(t, b)
	now := time.Now()
	made := func(name string, at time.Time) {
		t.Helper()
		u, err := w.Store.GetUser(t.Context(), id)
		if err == nil {
			c := adapter.Credential{Kind: adapter.CredentialToken, ID: name, UserID: id, Name: name, Created: at, Expires: now.Add(time.Hour)}
			err = w.Store.PutCredential(t.Context(), c, u.Epoch, 100)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	made("backup", now.Add(-time.Hour))
	linkMany(t, w, b, 2) // one with a mail
	w.Mail.Notice(t)
	time.Sleep(2 * time.Millisecond) // times are stored in milliseconds
	made("thief", time.Now())
	time.Sleep(2 * time.Millisecond)
	u, err := w.Store.GetUser(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	w.NotifyAddress(t.Context(), u, u.Email, u.EmailVerified) // a later change
	if a := undoPress(w.Browser(), arena.Undo(w.Mail.Notice(t))); a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", a.StatusCode, a.Text)
	}
	p, err := w.Store.GetPerson(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, c := range p.Credentials {
		if c.Kind == adapter.CredentialToken {
			left = append(left, c.Name)
		}
	}
	if strings.Join(left, " ") != "backup" {
		t.Errorf("left: %q", left)
	}
}

// A flaky store fails calls of some methods, before or after their effect.
type flaky struct {
	adapter.Adapter
	putUndo, updateUser atomic.Bool
	behind              atomic.Bool // the clock of the replica that stores undo links is a minute behind
	leave               func()      // called after a sign-in that waits was deleted
}

func (s *flaky) PutCredential(ctx context.Context, c adapter.Credential, epoch int64, most int) error {
	if c.Kind == adapter.CredentialUndo && s.putUndo.Load() {
		return adaptertest.ErrFault
	}
	if c.Kind == adapter.CredentialUndo && s.behind.Load() {
		c.Created = c.Created.Add(-time.Minute)
	}
	return s.Adapter.PutCredential(ctx, c, epoch, most)
}

func (s *flaky) UpdateUser(ctx context.Context, id string, change adapter.UserUpdate) (authsvc.User, error) {
	u, err := s.Adapter.UpdateUser(ctx, id, change)
	if change.Email != nil && s.updateUser.Load() {
		return authsvc.User{}, adaptertest.ErrFault
	}
	return u, err
}

func (s *flaky) DeleteCredential(ctx context.Context, kind adapter.CredentialKind, id, userID string, r *adapter.Revocation) error {
	err := s.Adapter.DeleteCredential(ctx, kind, id, userID, r)
	if kind == adapter.CredentialPending && s.leave != nil {
		s.leave()
	}
	return err
}

// TestEmailChangeFlaky checks that no change of address is made without a link that
// undoes it, and that the old address is told even if the answer of the store is lost.
func TestEmailChangeFlaky(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		putUndo, updateUser, made bool
	}{"the link is not stored": {putUndo: true}, "the answer is lost": {updateUser: true, made: true}, "twin": {made: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &flaky{Adapter: memory.New()}
			w, _, user, mails := waiting(t, func(c *authsvc.Config) { c.Adapter = s })
			confirmEmail(t, w.Browser(), mails[oldAddress].links[0])
			s.putUndo.Store(tt.putUndo)
			s.updateUser.Store(tt.updateUser)
			a := confirmEmail(t, w.Browser(), mails[newAddress].links[0])
			s.updateUser.Store(false)
			if (storedEmail(t, w, user) == newAddress) != tt.made || (a.StatusCode == http.StatusServiceUnavailable) == tt.made {
				t.Fatalf("%d %s, the address is %s", a.StatusCode, a.Location(), storedEmail(t, w, user))
			}
			if !tt.made {
				return
			}
			m := w.Mail.Notice(t)
			for strings.HasPrefix(m.Subject, "New sign-in") {
				m = w.Mail.Notice(t)
			}
			if a := undoPress(w.Browser(), arena.Undo(m)); m.To != oldAddress || a.StatusCode != http.StatusOK || storedEmail(t, w, user) != oldAddress {
				t.Errorf("to %s: %d, the address is %s", m.To, a.StatusCode, storedEmail(t, w, user))
			}
		})
	}
}

// TestUndoWithClocks checks that the link of a change of address removes an identity
// that was linked later, by a replica whose clock is behind, and none linked before.
func TestUndoWithClocks(t *testing.T) {
	t.Parallel()
	s := &flaky{Adapter: memory.New()}
	w, b, user, mails := waiting(t, func(c *authsvc.Config) { c.Adapter = s })
	for _, sub := range []string{"before", "since"} {
		if _, err := w.OP.AddPerson(idp.Person{Sub: sub, Name: sub}); err != nil {
			t.Fatal(err)
		}
	}
	b.SignIn(w.OP, "before", "link", "true")
	confirmEmail(t, w.Browser(), mails[oldAddress].links[0])
	confirmEmail(t, b, mails[newAddress].links[0])
	s.behind.Store(true)
	b.SignIn(w.OP, "since", "link", "true")
	link := ""
	for range 3 {
		if m := w.Mail.Notice(t); m.To == oldAddress && strings.Contains(m.Subject, "was changed") {
			link = arena.Undo(m)
		}
	}
	if a := undoPress(w.Browser(), link); a.StatusCode != http.StatusOK || storedEmail(t, w, user) != oldAddress {
		t.Fatalf("%q: %d, the address is %s", link, a.StatusCode, storedEmail(t, w, user))
	}
	for sub, want := range map[string]bool{"before": true, "since": false} {
		if _, err := w.Store.GetUserByAccount(t.Context(), "op", sub); (err == nil) != want {
			t.Errorf("linked %s: %v", sub, err)
		}
	}
}

// TestKeepAfterBrowserLeft checks that an account is kept even if the browser
// disconnects after its sign-in that waits was used up.
func TestKeepAfterBrowserLeft(t *testing.T) {
	t.Parallel()
	s := &flaky{Adapter: memory.New()}
	w := arena.Start(t, func(c *authsvc.Config) { deletable(c); c.Adapter = s })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	user := readAccount(t, b).User.ID
	if _, err := w.ScheduleDeletion(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	b.SignIn(w.OP, "ada")
	gone := httptest.NewRequest(http.MethodPost, b.Abs("/api/auth/account/keep"), strings.NewReader(url.Values{"csrfToken": {b.CSRF()}, "pending": {"true"}}.Encode()))
	gone.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	ctx, cancel := context.WithCancel(gone.Context())
	s.leave = cancel
	b.Do(gone.WithContext(ctx))
	if ctx.Err() == nil || !deletionOf(t, w, user).IsZero() {
		t.Errorf("left: %v, the account is to be deleted on %s", ctx.Err(), deletionOf(t, w, user))
	}
}

// TestEndedNoticeAfterError checks that people are told of ended sessions although a
// later step failed: the repeated call finds no session.
func TestEndedNoticeAfterError(t *testing.T) {
	t.Parallel()
	var r recorder
	store := adaptertest.Faulty(memory.New())
	w := arena.Start(t, func(c *authsvc.Config) { c.Adapter = store; r.watch(c) })
	b := w.Browser()
	b.SignInByMail(w, "ada@app.test")
	user := w.Person(t, b)
	for _, broken := range []string{"DeleteCredentials", "none"} {
		store.FailAll(broken)
		if err := w.EndSessions(t.Context(), user); (err == nil) != (broken == "none") || r.count("notice.sent ended") != 1 {
			t.Errorf("%s fails: %v, %d notices", broken, err, r.count("notice.sent ended"))
		}
	}
}

// TestOldLinkAfterWait checks that the link to the old address offers to allow a change
// only for as long as it can.
func TestOldLinkAfterWait(t *testing.T) {
	t.Parallel()
	for days, allows := range map[int]bool{6: true, 8: false} {
		synctest.Test(t, func(t *testing.T) {
			w := arena.EnterOffline(t, nil)
			b := w.Browser()
			b.Login("ada")
			askEmail(b, newAddress)
			mails := mailsTo(t, w, 2)
			confirmEmail(t, b, mails[newAddress].links[0])
			restartAfter(t, w, time.Duration(days)*24*time.Hour)
			for _, link := range mails["ada@app.test"].links {
				page := w.Browser().Get(link).Text
				if strings.Contains(page, "Allow the change") != allows || !strings.Contains(page, "Stop the change") {
					t.Errorf("after %d days: %s", days, page)
				}
			}
		})
	}
}
