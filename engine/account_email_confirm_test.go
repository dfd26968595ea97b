package engine_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
)

// TestEmailFormAgain checks that a person without a session who followed a mailed link
// can send its form again after a refusal. A redirect to the account page would lead to
// the sign-in page and lose the link.
func TestEmailFormAgain(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		changesEmail(c)
		c.RateLimit.Link = authsvc.Rate{N: 2, Per: time.Hour}
	})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	askEmail(b, newAddress)
	mails := mailsTo(t, w, 2)
	for _, tt := range []struct {
		name, link, ip, says string
		more                 []string
		tries                int // with another link, before
	}{
		{"without the token", mails[newAddress].links[0], "203.0.113.1:1", "This page was open for too long", []string{"csrfToken", "wrong"}, 0},
		{"stop without the token", mails[oldAddress].links[1], "203.0.113.2:1", "This page was open for too long", []string{"csrfToken", "wrong", "stop", "true"}, 0},
		{"stop after too many tries", mails[oldAddress].links[1], "203.0.113.3:1", "There were too many attempts.", []string{"stop", "true"}, 2},
	} {
		phone := w.Browser()
		phone.IP = tt.ip
		for range tt.tries {
			phone.Post(emailConfirmPath, "id", "x", "token", "y")
		}
		a := confirmEmail(t, phone, tt.link, tt.more...)
		page := phone.Get(a.Location())
		if page.StatusCode != http.StatusOK || !strings.Contains(page.Text, tt.says) || !strings.Contains(page.Text, `role="alert"`) || !strings.Contains(page.Text, `name="token"`) {
			t.Errorf("%s: %d %s leads to %d %s", tt.name, a.StatusCode, a.Location(), page.StatusCode, page.Text)
		}
		if strings.Index(page.Text, "Stop the change") > strings.Index(page.Text, "Allow the change") {
			t.Errorf("%s: the page offers Allow first", tt.name)
		}
	}
	if a := confirmEmail(t, w.Browser(), mails[oldAddress].links[1], "stop", "true"); a.Location() != arena.Origin+emailConfirmPath+"?done=stopped" {
		t.Errorf("twin: %d %s", a.StatusCode, a.Location())
	}
}
