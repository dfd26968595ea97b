package engine_test

import (
	"authsvc"
	"net/http"
	"strings"
	"testing"
	"time"

	"authsvc/internal/test/arena"
)

// TestUndoForgetsBrowsers checks that a known browser causes no notice when it signs in
// again, unless an undo or the end of all sessions came between.
func TestUndoForgetsBrowsers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		between func(t *testing.T, w *arena.World, user, undo string)
		told    bool
	}{
		"nothing": {func(*testing.T, *arena.World, string, string) {}, false},
		"an undo": {func(t *testing.T, w *arena.World, _, undo string) {
			if a := undoPress(w.Browser(), undo); a.StatusCode != http.StatusOK {
				t.Fatalf("undo: %d %s", a.StatusCode, a.Text)
			}
		}, true},
		"the removal of a way to sign in": {func(t *testing.T, w *arena.World, user, _ string) {
			if err := w.UnlinkAccount(t.Context(), user, "op", "grace", nil); err != nil {
				t.Fatal(err)
			}
		}, false},
		"the end of all sessions": {func(t *testing.T, w *arena.World, user, _ string) {
			if err := w.EndSessions(t.Context(), user); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r recorder
			w := arena.Start(t, r.watch)
			owner, thief := w.Browser(), w.Browser()
			owner.SignInByMail(w, "ada@app.test")
			user := w.Person(t, owner)
			thief.SignInByMail(w, "ada@app.test")
			if m := w.Mail.Notice(t); !strings.Contains(m.Subject, "New sign-in") {
				t.Fatal(m.Subject)
			}
			thief.SignIn(w.OP, "grace", "link", "true")
			undo := arena.Undo(w.Mail.Notice(t))
			thief.Post("/api/auth/signout")
			tt.between(t, w, user, undo)
			before := r.count("notice.sent browser")
			if thief.SignInByMail(w, "ada@app.test"); w.Person(t, thief) != user {
				t.Fatal("not signed in")
			}
			told := r.count("notice.sent browser") > before
			if told != tt.told {
				t.Errorf("told: %v, want %v", told, tt.told)
			}
		})
	}
}

// TestKnownAfterSweep: the user's epoch lasts longer than the sessions that it ended, so a
// thief's browser does not become known again.
func TestKnownAfterSweep(t *testing.T) {
	t.Parallel()
	var r recorder
	w := arena.Start(t, func(c *authsvc.Config) {
		r.watch(c)
		c.Session.MaxAge, c.Session.AbsoluteMaxAge = time.Minute, time.Minute
	})
	owner, thief := w.Browser(), w.Browser()
	owner.SignInByMail(w, "ada@app.test")
	user := w.Person(t, owner)
	thief.SignInByMail(w, "ada@app.test")
	w.Mail.Notice(t)
	thief.Post("/api/auth/signout")
	if err := w.EndSessions(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	w.Mail.Notice(t)
	if _, err := w.Store.Sweep(t.Context(), time.Now().Add(179*24*time.Hour), 1000); err != nil {
		t.Fatal(err)
	}
	before := r.count("notice.sent browser")
	if thief.SignInByMail(w, "ada@app.test"); w.Person(t, thief) != user {
		t.Fatal("twin: the thief cannot sign in")
	}
	if n := r.count("notice.sent browser") - before; n != 1 {
		t.Errorf("%d notices of the thief's browser, want 1", n)
	}
}
