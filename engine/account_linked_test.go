package engine_test

import (
	"strings"
	"testing"

	"authsvc/internal/test/arena"
)

// TestLinkedIsReported checks that the account page says that a way to sign in was
// added, and that no other page gets the word.
func TestLinkedIsReported(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	for _, tt := range []struct{ sub, back, want string }{
		{"alan", "/api/auth/account", "/api/auth/account?done=linked"},
		{"alan", "/api/auth/account", "/api/auth/account"}, // linked before
		{"grace", "/welcome", "/welcome"},
	} {
		a := b.Get(b.Approve(w.OP, b.Begin("op", "link", "true", "callbackUrl", arena.Origin+tt.back), tt.sub))
		if a.Location() != arena.Origin+tt.want {
			t.Errorf("%s, %s: %d %s", tt.sub, tt.back, a.StatusCode, a.Location())
		}
	}
	for word, shown := range map[string]bool{"linked": true, "Linked": false} {
		if page := b.Get("/api/auth/account?done=" + word).Text; strings.Contains(page, "That way to sign in has been added to your account.") != shown {
			t.Errorf("%s: %s", word, page)
		}
	}
	if page := b.Get("/api/auth/account?done=export").Text; strings.Count(page, `href="/api/auth/account/export"`)+strings.Count(page, `href="`+arena.Origin+`/api/auth/account/export"`) != 2 {
		t.Errorf("the page after the proof for an export does not offer the download: %s", page)
	}
}

// TestConfirmMail checks that the mail for a fresh proof says what it confirms, and that
// a sign-in mail does not.
func TestConfirmMail(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignInByMail(w, "ada@app.test")
	b.Post("/api/auth/confirm", "provider", "email")
	w.Mail.Next(t)
	m := w.Mail.Sent()
	if len(m) != 2 || !strings.Contains(m[0].Subject, "Sign in to") || strings.Contains(m[0].Text, "Confirm that it is you") ||
		!strings.HasPrefix(m[1].Subject, "Confirm that it is you") || !strings.Contains(m[1].HTML, "Confirm that it is you") || strings.Contains(m[1].Text+m[1].HTML, "Sign in to") {
		t.Errorf("%d mails: %q", len(m), m)
	}
}
