package e2e

import (
	"net/http"
	"testing"
	"time"

	"authsvc/internal/test/chromium"
)

// TestRequireFresh checks that a page that requires a fresh proof leads to the page
// that takes it, and back. A redirect to the sign-in page would loop: its primary
// button leads back to the page that the user came from.
func TestRequireFresh(t *testing.T) {
	t.Parallel()
	requested(t, "Chromium")
	for name, scripts := range map[string]bool{"scripts": true, "no scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b, h := newSite(t, nil), newTab(t), keyboard{}
			s.mux.Handle("GET /pay", s.auth.RequireFresh(5*time.Minute)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				writePage(w, "<title>Paid</title><h1>Paid</h1>")
			})))
			s.signIn(b, "ada", "/pay?to=bob")
			b.Shows("Paid")
			s.makeOld("ada@example.com")
			b.Scripts(scripts)
			b.Open(s.origin + "/pay?to=bob")
			b.At(s.base + "/confirm?callbackUrl=")
			b.Shows("Confirm it’s you", "ada@example.com")
			if back := chromium.Eval[int](b, `document.querySelectorAll("a[href*='/pay']").length`); back != 0 {
				t.Errorf("%d links lead back to where a fresh proof is asked for", back)
			}
			h.press(b, "form.provider.p-op button")
			b.At(s.op.Issuer())
			h.press(b, "button[value=ada]")
			b.At(s.origin + "/pay?to=bob")
			b.Shows("Paid")
			if n := s.count("GET /pay"); n != 3 {
				t.Errorf("the page was asked for %d times, want 3: signed in, too old, confirmed", n)
			}
			if n := s.count("GET /api/auth/confirm"); n != 1 {
				t.Errorf("a proof was asked for %d times", n)
			}
			b.Quiet()
		})
	}
}

// makeOld moves the start of a user's sessions an hour back.
func (s *site) makeOld(address string) {
	s.t.Helper()
	u, err := s.store.GetUserByEmail(s.t.Context(), address)
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := s.store.ListSessions(s.t.Context(), u.ID)
	if err != nil || len(list) == 0 {
		s.t.Fatal(list, err)
	}
	for _, r := range list {
		r.AuthTime = time.Now().Add(-time.Hour)
		if err := s.store.UpdateSession(s.t.Context(), r); err != nil {
			s.t.Fatal(err)
		}
	}
}
