package verify

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// accountListed returns the ids of the accounts on a user's account page.
func accountListed(t *T, b *arena.Browser) (ids []string) {
	t.Helper()
	c := b.Clone()
	c.Header.Set("Accept", "application/json")
	a := c.Get("/api/auth/account")
	var v struct{ Accounts []struct{ ID string } }
	if err := json.Unmarshal([]byte(a.Text), &v); err != nil || len(v.Accounts) == 0 {
		t.Fatalf("%d %s: %v", a.StatusCode, a.Text, err)
	}
	for _, one := range v.Accounts {
		ids = append(ids, one.ID)
	}
	return ids
}

// accountAge moves the start of a user's sessions an hour back.
func accountAge(t *T, w *arena.World, userID string) {
	t.Helper()
	list, err := w.Store.ListSessions(t.Context(), userID)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, r := range list {
		r.AuthTime = time.Now().Add(-time.Hour)
		if err := w.Store.UpdateSession(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

// account20 checks that another user's ids do not work here, and that no field names
// a user.
func account20(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
		attacker, victim := w.Browser(), w.Browser()
		attacker.SignIn(w.OP, "ada")
		victim.SignIn(w.OP, "grace")
		mine, theirs, me := accountListed(t, attacker)[0], accountListed(t, victim)[0], w.Person(t, victim)
		for _, fields := range [][]string{{"id", theirs}, {"id", theirs, "userId", me}, {"id", theirs, "user", me}, {"id", strings.ToUpper(theirs)}, {"id", ""}, {"id", "ada"}} {
			a := w.NoEffect(t, attacker, func() *browser.Answer {
				return attacker.Post("/api/auth/account/unlink", append(fields, "json", "true")...)
			})
			if a.StatusCode != http.StatusNotFound {
				t.Errorf("%v: %d %s", fields, a.StatusCode, a.Text)
			}
		}
		sessions, err := w.Sessions(t.Context(), me)
		if err != nil || len(sessions) != 1 {
			t.Fatal(sessions, err)
		}
		if a := w.NoEffect(t, attacker, func() *browser.Answer {
			return attacker.Post("/api/auth/account/signout", "session", sessions[0].ID, "json", "true")
		}); a.StatusCode != http.StatusNotFound || victim.Email() == "" {
			t.Errorf("a session: %d %s", a.StatusCode, a.Text)
		}
		attacker.Post("/api/auth/account/profile", "name", "Renamed", "id", me, "userId", me)
		if u, err := w.Store.GetUser(t.Context(), me); err != nil || u.Name == "Renamed" {
			t.Errorf("another user was renamed: %v %v", u, err)
		}
		if u, err := w.Store.GetUser(t.Context(), w.Person(t, attacker)); err != nil || u.Name != "Renamed" {
			t.Errorf("twin: %v %v", u, err)
		}
		if a := attacker.Post("/api/auth/account/unlink", "id", mine, "json", "true"); a.StatusCode != http.StatusOK {
			t.Errorf("twin: %d %s", a.StatusCode, a.Text)
		}
	})
}

// account21 checks that a session with an old proof removes nothing, whatever seal
// the form contains.
func account21(t *T) {
	w := t.Enter(nil)
	b, thief := w.Browser(), w.Browser()
	b.SignIn(w.OP, "ada")
	thief.SignIn(w.OP, "ada") // the same person in another browser
	seal := func(b *arena.Browser, path string) string {
		_, rest, _ := strings.Cut(b.Get(path).Text, `name="fresh" value="`)
		value, _, _ := strings.Cut(rest, `"`)
		return value
	}
	id, own, elsewhere := accountListed(t, b)[0], seal(b, "/api/auth/account"), seal(thief, "/api/auth/account")
	link := seal(b, "/api/auth/signin")
	if own == "" || elsewhere == "" || link == "" {
		t.Fatal("the pages have no seal")
	}
	accountAge(t, w, w.Person(t, b))
	for name, fresh := range map[string]string{"none": "", "of another session": elsewhere, "of another form": link,
		"cut": own[:len(own)-2], "the session's own cookie": b.Cookies[w.SessionCookie()], "the CSRF token": b.CSRF()} {
		a := w.NoEffect(t, b, func() *browser.Answer {
			return b.Post("/api/auth/account/unlink", "id", id, "fresh", fresh, "json", "true")
		})
		if a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.Text, "FreshRequired") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Text)
		}
	}
	if a := b.Post("/api/auth/account/unlink", "id", id, "fresh", own, "json", "true"); a.StatusCode != http.StatusOK {
		t.Errorf("twin: opened in time: %d %s", a.StatusCode, a.Text)
	}
	for _, query := range []string{"", "?fresh=" + own, "?user=" + w.Person(t, b)} {
		if a := b.Get("/api/auth/account/export" + query); strings.Contains(a.Text, "ada@example.com") || !strings.Contains(a.Location(), "/confirm?") {
			t.Errorf("the data, by an old proof%s: %d %s", query, a.StatusCode, a.Text)
		}
	}
	late := w.Browser()
	late.SignIn(w.OP, "grace")
	if a := late.Get("/api/auth/account/export?user=" + w.Person(t, b)); !strings.Contains(a.Text, "grace@example.com") || strings.Contains(a.Text, "ada@example.com") {
		t.Errorf("twin: the own data and no one else's: %d %s", a.StatusCode, a.Text)
	}
}

// account22 checks that a fresh proof with another identity does not switch the user.
func account22(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		start := func() string { return b.Post("/api/auth/confirm", "provider", "op").Location() }
		for _, sub := range []string{"grace", "katherine"} {
			back := b.Approve(w.OP, start(), sub)
			w.MustRefuseLate(t, func() *browser.Answer { return b.Get(back) })
			if b.Email() != "ada@example.com" {
				t.Errorf("%s took the place of ada: %s", sub, b.Email())
			}
		}
		back := b.Approve(w.OP, start(), "ada")
		other := w.Browser()
		other.SignIn(w.OP, "grace")
		if other.Get(back); other.Email() != "grace@example.com" {
			t.Errorf("another browser: %s", other.Email())
		}
		old := b.Clone()
		if a := b.Get(back); a.Location() == "" || strings.Contains(a.Location(), "error") || b.Email() != "ada@example.com" {
			t.Errorf("twin: %d %s", a.StatusCode, a.Location())
		}
		if old.Email() != "" {
			t.Error("the session from before the proof is valid")
		}
	})
}
