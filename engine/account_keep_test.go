package engine_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/test/arena"
)

// TestKeepOnAccountPage checks the banner that a session shows if another program
// scheduled the deletion: it names the day, and one press keeps the account.
func TestKeepOnAccountPage(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, deletable)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	user := readAccount(t, b).User.ID
	const banner, another = "Your account will be deleted on 24 December 2099.", "/api/auth/account/delete"
	if page := b.Get("/api/auth/account").Text; strings.Contains(page, "will be deleted on") || !strings.Contains(page, another) {
		t.Errorf("twin: nothing is scheduled: %s", page)
	}
	day := time.Date(2099, 12, 24, 18, 0, 0, 0, time.UTC)
	if err := w.Store.SetPerson(t.Context(), user, adapter.PersonUpdate{DeleteAfter: &day}, nil); err != nil {
		t.Fatal(err)
	}
	if page := b.Get("/api/auth/account").Text; !strings.Contains(page, banner) || !strings.Contains(page, "Keep my account") || strings.Contains(page, another) {
		t.Errorf("the banner: %s", page)
	}
	a := b.Post("/api/auth/account/keep")
	page := b.Get(a.Location())
	if !strings.HasSuffix(a.Location(), "/account?done=kept") || page.StatusCode != http.StatusOK || !strings.Contains(page.Text, "Your account will not be deleted.") || strings.Contains(page.Text, banner) || !deletionOf(t, w, user).IsZero() {
		t.Errorf("kept: %s, %d %s", a.Location(), page.StatusCode, page.Text)
	}
}
