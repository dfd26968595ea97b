package verify

import (
	"errors"
	"maps"
	"net/http"
	"strings"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// accountUndo presses the button on the page of the link in a notice.
func accountUndo(b *arena.Browser, link string) *browser.Answer {
	_, token, _ := strings.Cut(link, "token=")
	return b.Post("/api/auth/account/undo", "token", token, "json", "true")
}

// account19 checks that the owner learns of a sign-in method added with a stolen
// session. When the owner presses the link without being signed in, the thief loses
// both.
func account19(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
		owner, thief := w.Browser(), w.Browser()
		owner.SignInByMail(w, "ada@app.test")
		id := w.Person(t, owner)
		maps.Copy(thief.Cookies, owner.Cookies)
		if list := w.Mail.Notices(); len(list) > 0 {
			t.Errorf("notified of the first sign-in: %q", list)
		}
		thief.SignIn(w.OP, "grace", "link", "true")
		m := w.Mail.Notice(t)
		link := arena.Undo(m)
		if m.To != "ada@app.test" || link == "" || !strings.Contains(m.Text, "203.0.113.0/24") {
			t.Fatalf("the notice: %s\n%s", m.To, m.Text)
		}
		if thief.SignIn(w.OP, "grace"); w.Person(t, thief) != id {
			t.Fatal("twin: the way to sign in does not work")
		}
		// A scanner, a guess and a form of another site undo nothing.
		anybody := w.Browser()
		anybody.Get(link)
		for what, a := range map[string]*browser.Answer{
			"guess":    accountUndo(anybody, link[:len(link)-2]+"xy"),
			"no token": anybody.Post("/api/auth/account/undo", "json", "true"),
			"csrf":     anybody.Post("/api/auth/account/undo", "csrfToken", "x", "token", link[strings.Index(link, "token=")+6:], "json", "true"),
		} {
			if a.StatusCode != http.StatusNotFound && a.StatusCode != http.StatusForbidden || thief.Email() == "" {
				t.Errorf("%s: %d, thief %q", what, a.StatusCode, thief.Email())
			}
		}
		if a := accountUndo(anybody, link); a.StatusCode != http.StatusOK {
			t.Fatalf("the link: %d %s", a.StatusCode, a.Text)
		}
		if thief.Email() != "" || owner.Email() != "" {
			t.Error("a session continues")
		}
		if thief.SignIn(w.OP, "grace"); thief.Email() != "" && w.Person(t, thief) == id {
			t.Error("the removed way to sign in still works")
		}
		if a := accountUndo(anybody, link); a.StatusCode != http.StatusNotFound {
			t.Errorf("the second press: %d", a.StatusCode)
		}
		if m := w.Mail.Notice(t); m.To != "ada@app.test" || !strings.Contains(m.Subject, "removed") || arena.Undo(m) != "" {
			t.Errorf("undone: %s: %s", m.To, m.Subject)
		}
		// The owner returns and learns what others do.
		owner.SignInByMail(w, "ada@app.test")
		if w.Person(t, owner) != id {
			t.Fatal("twin: the owner is another user now")
		}
		if m := w.Mail.Notice(t); !strings.Contains(m.Subject, "New sign-in") {
			t.Errorf("the browser is known after the undo: %s", m.Subject)
		}
		if err := w.EndSessions(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if m := w.Mail.Notice(t); m.To != "ada@app.test" || arena.Undo(m) != "" {
			t.Errorf("sessions ended: %s\n%s", m.To, m.Text)
		}
		owner = w.Browser()
		owner.Header.Set("User-Agent", "a new browser")
		owner.SignInByMail(w, "ada@app.test")
		if m := w.Mail.Notice(t); !strings.Contains(m.Subject, "New sign-in") {
			t.Errorf("a new browser: %s", m.Subject)
		}
		if err := w.UnlinkAccount(t.Context(), id, "op", "grace", nil); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("the identity was not removed: %v", err)
		}
		owner.SignIn(w.OP, "alan", "link", "true")
		w.Mail.Notice(t)
		if err := w.UnlinkAccount(t.Context(), id, "op", "alan", nil); err != nil {
			t.Fatal(err)
		}
		if m := w.Mail.Notice(t); m.To != "ada@app.test" || !strings.Contains(m.Subject, "removed") {
			t.Errorf("removed: %s: %s", m.To, m.Subject)
		}
		if _, err := w.UpdateUser(t.Context(), id, adapter.UserUpdate{Email: new("new@app.test")}); err != nil {
			t.Fatal(err)
		}
		if m := w.Mail.Notice(t); m.To != "ada@app.test" || !strings.Contains(m.Text, "new@app.test") || arena.Undo(m) != "" {
			t.Errorf("a new address: %s\n%s", m.To, m.Text)
		}
		if err := w.Block(t.Context(), id, "for the test"); err != nil {
			t.Fatal(err)
		}
		if m := w.Mail.Notice(t); m.To != "new@app.test" || !strings.Contains(m.Subject, "blocked") || strings.Contains(m.Text, "for the test") {
			t.Errorf("blocked: %s\n%s", m.To, m.Text)
		}
	})
}
