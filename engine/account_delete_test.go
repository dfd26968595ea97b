package engine_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

func deletable(c *authsvc.Config) { c.Account.Delete = true }

// deletionOf returns when a user is to be deleted.
func deletionOf(t *testing.T, w *arena.World, user string) time.Time {
	t.Helper()
	u, err := w.Store.GetUser(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	return u.DeleteAfter
}

func heldBack(a *browser.Answer) bool { return a.Location() == arena.Origin+"/api/auth/account/keep" }

// TestDeletionByThePerson checks that a deletion ends all sessions, that no way to sign
// in starts one in the grace period, and that each way offers to keep the account.
func TestDeletionByThePerson(t *testing.T) {
	t.Parallel()
	strategies(t, deletable, func(t *testing.T, w *arena.World) {
		b, other := w.Browser(), w.Browser()
		b.SignIn(w.OP, "ada")
		other.SignIn(w.OP, "ada")
		user := w.Person(t, b)
		if page := b.Get("/api/auth/account").Text; !strings.Contains(page, "/account/delete") {
			t.Error("the account page does not link to it")
		}
		if page := b.Get("/api/auth/account/delete").Text; !strings.Contains(page, "ada@example.com") || !strings.Contains(page, "Delete my account") {
			t.Errorf("%s", page)
		}
		for _, wrong := range []string{"", "delete", "ada@example.org"} {
			if a := b.Post("/api/auth/account/delete", "confirm", wrong, "json", "true"); !answers(a, http.StatusBadRequest, "Invalid") {
				t.Errorf("%q: %d %s", wrong, a.StatusCode, a.Text)
			}
		}
		a := b.Post("/api/auth/account/delete", "confirm", "ada@exampel.com")
		if page := b.Get(a.Location()).Text; !strings.Contains(a.Location(), "account/delete?error=Invalid") || !strings.Contains(page, `value="ada@exampel.com"`) {
			t.Errorf("the entered text is lost: %s %s", a.Location(), page)
		}
		if !deletionOf(t, w, user).IsZero() {
			t.Fatal("a deletion without confirmation")
		}
		a = b.Post("/api/auth/account/delete", "confirm", " ADA@example.com")
		if a.Location() != arena.Origin+"/api/auth/account/delete?done=scheduled" {
			t.Fatalf("%d %s %s", a.StatusCode, a.Location(), a.Text)
		}
		if left := time.Until(deletionOf(t, w, user)); left < 335*time.Hour || left > 337*time.Hour {
			t.Errorf("deleted in %v", left)
		}
		if page := b.Get(a.Location()).Text; !strings.Contains(page, "Your account will be deleted") || !strings.Contains(page, "account/keep") {
			t.Errorf("%s", page)
		}
		if w.Person(t, b)+w.Person(t, other) != "" {
			t.Error("a session continues")
		}
		inTheGrace(t, w, user)
	})
}

// inTheGrace tries all ways to sign in, leaves, and then keeps the account.
func inTheGrace(t *testing.T, w *arena.World, user string) {
	t.Helper()
	stranger := w.Browser()
	for name, signIn := range map[string]func(*arena.Browser) *browser.Answer{
		"provider": func(b *arena.Browser) *browser.Answer { return b.SignIn(w.OP, "ada") },
		"link":     func(b *arena.Browser) *browser.Answer { return b.Get(arena.Link(t, askForMail(t, w, b))) },
		"code": func(b *arena.Browser) *browser.Answer {
			mail := askForMail(t, w, b)
			if arena.Code(mail) == "" { // compat modes have none
				return b.Get(arena.Link(t, mail))
			}
			return b.Post("/api/auth/callback/email", "email", "ada@example.com", "code", arena.Code(mail))
		},
	} {
		b := w.Browser()
		if a := signIn(b); !heldBack(a) || w.Person(t, b) != "" {
			t.Errorf("%s: %d %s, %q is signed in", name, a.StatusCode, a.Location(), w.Person(t, b))
		}
		page := b.Get("/api/auth/account/keep").Text
		if day := deletionOf(t, w, user).UTC().Format("2 January 2006"); !strings.Contains(page, day) || !strings.Contains(page, "ada@example.com") {
			t.Errorf("%s: no %s in %s", name, day, page)
		}
		stranger = b
	}
	leaves := stranger.Clone()
	if a := leaves.Post("/api/auth/account/keep", "pending", "true", "leave", "true"); a.Location() != arena.Origin || deletionOf(t, w, user).IsZero() {
		t.Errorf("leave: %d %s", a.StatusCode, a.Location())
	}
	if a := stranger.Post("/api/auth/account/keep", "pending", "true", "json", "true"); !answers(a, http.StatusUnauthorized, "SessionRequired") || deletionOf(t, w, user).IsZero() {
		t.Errorf("an abandoned sign-in kept the account: %d %s", a.StatusCode, a.Text)
	}
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	if a := b.Post("/api/auth/account/keep", "pending", "true", "csrfToken", "wrong", "json", "true"); !answers(a, http.StatusForbidden, "csrf") || deletionOf(t, w, user).IsZero() {
		t.Errorf("without the token: %d %s", a.StatusCode, a.Text)
	}
	if a := b.Post("/api/auth/account/keep", "pending", "true"); a.Location() != arena.Origin+"/api/auth/account/keep?done=kept" || !deletionOf(t, w, user).IsZero() {
		t.Fatalf("keep: %d %s %s", a.StatusCode, a.Location(), a.Text)
	}
	if page := b.Get("/api/auth/account/keep?done=kept").Text; !strings.Contains(page, "Your account will not be deleted") {
		t.Errorf("%s", page)
	}
	if w.Person(t, b) != "" {
		t.Error("keeping the account began a session")
	}
	if b.SignIn(w.OP, "ada"); w.Person(t, b) != user {
		t.Error("after keeping the account, its user cannot sign in")
	}
}

// askForMail asks for a sign-in mail and waits for it.
func askForMail(t *testing.T, w *arena.World, b *arena.Browser) authsvc.Message {
	t.Helper()
	b.Post("/api/auth/signin/email", "email", "ada@example.com")
	for {
		if m := w.Mail.Next(t); strings.Contains(m.Text, "/callback/email?") {
			return m
		}
	}
}

// TestDeletionNeedsAFreshProof checks that a deletion needs a fresh proof, as removing
// a way to sign in does.
func TestDeletionNeedsAFreshProof(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, deletable)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	user := w.Person(t, b)
	_, form := formTo(t, b.Get("/api/auth/account/delete").Text, "account/delete")
	makeOld(t, w, user)
	if a := b.Get("/api/auth/account/delete"); a.Location() != arena.Origin+"/api/auth/confirm?callbackUrl="+url.QueryEscape(arena.Origin+"/api/auth/account/delete") {
		t.Errorf("the page: %d %s", a.StatusCode, a.Location())
	}
	if a := b.Post("/api/auth/account/delete", "confirm", "ada@example.com", "json", "true"); !answers(a, http.StatusUnauthorized, "FreshRequired") || !deletionOf(t, w, user).IsZero() {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	if a := b.Post("/api/auth/account/delete", "confirm", "ada@example.com", "fresh", form.Get("fresh"), "json", "true"); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, `"account":null`) ||
		deletionOf(t, w, user).IsZero() {
		t.Errorf("twin, a page opened in time: %d %s", a.StatusCode, a.Text)
	}
}

// TestDeletionTurnedOff checks that there is no page, but that users can keep accounts
// whose deletion others scheduled.
func TestDeletionTurnedOff(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	user := w.Person(t, b)
	if page := b.Get("/api/auth/account").Text; strings.Contains(page, "account/delete") {
		t.Error("the account page links to it")
	}
	if a := b.Get("/api/auth/account/delete"); a.StatusCode != http.StatusNotFound {
		t.Errorf("the page: %d", a.StatusCode)
	}
	if a := b.Post("/api/auth/account/delete", "confirm", "ada@example.com"); a.StatusCode != http.StatusNotFound || !deletionOf(t, w, user).IsZero() {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	at, err := w.ScheduleDeletion(t.Context(), user)
	if again, err := w.ScheduleDeletion(t.Context(), user); !again.Equal(at) || err != nil {
		t.Errorf("asked twice: %v and %v, %v", at, again, err)
	}
	if err != nil || !at.Equal(deletionOf(t, w, user)) || w.Person(t, b) != "" {
		t.Errorf("%v, %v", at, err)
	}
	if a := b.SignIn(w.OP, "ada"); !heldBack(a) {
		t.Errorf("%d %s", a.StatusCode, a.Location())
	}
	if a := b.Post("/api/auth/account/keep", "json", "true"); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, `"account":null`) || !deletionOf(t, w, user).IsZero() {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
}

// TestKeepIsOfOnePerson checks that the page of a pending sign-in keeps that sign-in's
// account, whatever other user is signed in, and that signed-in users keep their own.
func TestKeepIsOfOnePerson(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, deletable)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	ada := w.Person(t, b)
	if _, err := w.ScheduleDeletion(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	b = w.Browser()
	b.SignIn(w.OP, "grace")
	if a := b.Get(b.Approve(w.OP, b.Begin("op", "prompt", "login"), "ada")); !heldBack(a) {
		t.Fatalf("%d %s", a.StatusCode, a.Location())
	}
	if a := b.Post("/api/auth/account/keep", "json", "true"); !strings.Contains(a.Text, `"email":"grace@example.com"`) || deletionOf(t, w, ada).IsZero() {
		t.Errorf("grace's own: %d %s", a.StatusCode, a.Text)
	}
	leaves := b.Clone()
	if a := leaves.Post("/api/auth/account/keep", "leave", "true", "json", "true"); a.StatusCode != http.StatusOK || a.URL(t) != arena.Origin || deletionOf(t, w, ada).IsZero() {
		t.Errorf("leave, without keeping: %d %s", a.StatusCode, a.Text)
	}
	b.Get(b.Approve(w.OP, b.Begin("op", "prompt", "login"), "ada"))
	if a := b.Post("/api/auth/account/keep", "pending", "true"); !deletionOf(t, w, ada).IsZero() {
		t.Errorf("ada's: %d %s", a.StatusCode, a.Text)
	}
}

// TestKeepAgain checks that a decision to keep the account that the store did not carry
// out can be repeated, and that one that was carried out cannot.
func TestKeepAgain(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, nil)
	if _, err := w.ScheduleDeletion(t.Context(), "ada-id"); err != nil {
		t.Fatal(err)
	}
	b := w.Browser()
	b.Login("ada")
	b.CSRF()
	w.Ledger.BreakAt(func(_ int, called string) arena.Failure {
		if called == "SetPerson" {
			return arena.FailBefore
		}
		return arena.Works
	})
	for range 2 {
		if a := b.Post("/api/auth/account/keep", "pending", "true", "json", "true"); !answers(a, http.StatusServiceUnavailable, "Unavailable") || deletionOf(t, w, "ada-id").IsZero() {
			t.Errorf("the store is away: %d %s", a.StatusCode, a.Text)
		}
	}
	w.Ledger.BreakAt(nil)
	again := b.Clone()
	if a := b.Post("/api/auth/account/keep", "pending", "true", "json", "true"); a.StatusCode != http.StatusOK || !deletionOf(t, w, "ada-id").IsZero() {
		t.Errorf("again: %d %s", a.StatusCode, a.Text)
	}
	if a := again.Post("/api/auth/account/keep", "pending", "true", "json", "true"); !answers(a, http.StatusUnauthorized, "SessionRequired") {
		t.Errorf("once more: %d %s", a.StatusCode, a.Text)
	}
}

// TestKeepGivenUpMeanwhile checks that, of concurrent decisions to keep an account and to
// leave, the first one counts.
func TestKeepGivenUpMeanwhile(t *testing.T) {
	t.Parallel()
	for _, leaves := range []bool{true, false} {
		t.Run(fmt.Sprintf("leaves %v", leaves), func(t *testing.T) {
			t.Parallel()
			store := &interposed{Store: memory.New(), before: map[string]func(){}}
			w := arena.EnterOffline(t, func(c *authsvc.Config) { deletable(c); c.Adapter = store })
			if _, err := w.ScheduleDeletion(t.Context(), "ada-id"); err != nil {
				t.Fatal(err)
			}
			b := w.Browser()
			b.Login("ada")
			b.CSRF()
			other := b.Clone()
			store.mu.Lock()
			store.before["DeleteCredential"] = func() {
				if !leaves {
					return
				}
				if a := other.Post("/api/auth/account/keep", "leave", "true", "json", "true"); a.StatusCode != http.StatusOK {
					t.Errorf("leave: %d %s", a.StatusCode, a.Text)
				}
			}
			store.mu.Unlock()
			a := b.Post("/api/auth/account/keep", "pending", "true", "json", "true")
			if kept := deletionOf(t, w, "ada-id").IsZero(); kept == leaves || (a.StatusCode == http.StatusOK) == leaves || len(store.before) != 0 {
				t.Errorf("kept: %v, %d %s", kept, a.StatusCode, a.Text)
			}
		})
	}
}

// TestLinkDuringTheGrace checks that a new identity with a verified address is not
// linked to an account that is to be deleted.
func TestLinkDuringTheGrace(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.Providers[0].(*authsvc.OAuth).LinkVerifiedEmail = true })
	owner := w.Browser()
	owner.SignInByMail(w, "ada@example.com")
	user := w.Person(t, owner)
	if _, err := w.ScheduleDeletion(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	b := w.Browser()
	a := b.SignIn(w.OP, "ada")
	if list, err := w.Store.ListAccounts(t.Context(), user); !heldBack(a) || len(list) > 0 || err != nil || w.Person(t, b) != "" {
		t.Errorf("%d %s, %d accounts, %v", a.StatusCode, a.Location(), len(list), err)
	}
	b.Post("/api/auth/account/keep", "pending", "true")
	if b.SignIn(w.OP, "ada"); w.Person(t, b) != user {
		t.Error("twin: the account was kept, but not linked")
	}
}

// TestKeepIsForTenMinutes checks that a sign-in is pending for at most ten minutes, and
// only the latest five are.
func TestKeepIsForTenMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := arena.EnterOffline(t, nil)
		if _, err := w.ScheduleDeletion(t.Context(), "ada-id"); err != nil {
			t.Fatal(err)
		}
		var list []*arena.Browser
		for range 7 {
			b := w.Browser()
			if a := b.Login("ada"); !heldBack(a) {
				t.Fatalf("%d %s", a.StatusCode, a.Location())
			}
			b.CSRF()
			list = append(list, b)
			time.Sleep(time.Second)
		}
		p, err := w.Store.GetPerson(t.Context(), "ada-id")
		if err != nil || len(p.Credentials) != 5 {
			t.Errorf("%d pending sign-ins, %v", len(p.Credentials), err)
		}
		if a := list[1].Post("/api/auth/account/keep", "pending", "true", "json", "true"); !answers(a, http.StatusUnauthorized, "SessionRequired") {
			t.Errorf("a dropped one: %d %s", a.StatusCode, a.Text)
		}
		time.Sleep(10 * time.Minute) // the next sweep is later
		if a := list[6].Post("/api/auth/account/keep", "pending", "true", "json", "true"); !answers(a, http.StatusUnauthorized, "SessionRequired") {
			t.Errorf("too late: %d %s", a.StatusCode, a.Text)
		}
		late := w.Browser()
		late.Login("ada")
		late.CSRF()
		time.Sleep(10*time.Minute - time.Second)
		if a := late.Post("/api/auth/account/keep", "pending", "true", "json", "true"); a.StatusCode != http.StatusOK {
			t.Errorf("twin, in time: %d %s", a.StatusCode, a.Text)
		}
		closeAll(t, []*arena.World{w})
	})
}
