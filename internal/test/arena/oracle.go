package arena

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"authsvc/internal/test/browser"
)

// refusedAt matches the redirects of a refused browser.
var refusedAt = regexp.MustCompile(`/api/auth/((error|confirm|account(/(keep|delete|email|email/confirm))?)\?error=|(verify-request\?.*&error=Code)|account/undo\?token=[^&]*&error=)|\?csrf=true$`)

// IsRefusal reports whether an answer is a 4xx, or redirects to a page that gives the
// reason with a fixed word.
func IsRefusal(a *browser.Answer) bool {
	if a.StatusCode >= 400 && a.StatusCode < 500 {
		return true
	}
	return a.StatusCode == http.StatusFound && refusedAt.MatchString(a.Location())
}

// MustRefuse is the oracle of every attack. It fails unless the answer is a refusal,
// sets no session, calls no token endpoint and changes nothing lasting. The attack
// must also be one audit event, unless the request itself was malformed.
func (w *World) MustRefuse(t testing.TB, attack func() *browser.Answer) *browser.Answer {
	t.Helper()
	return w.refuse(t, false, attack)
}

// MustRefuseLate works like MustRefuse, but allows calls of the token endpoint.
func (w *World) MustRefuseLate(t testing.TB, attack func() *browser.Answer) *browser.Answer {
	t.Helper()
	return w.refuse(t, true, attack)
}

var malformed = map[int]bool{400: true, 404: true, 405: true, 413: true, 415: true}

func (w *World) refuse(t testing.TB, tokenCall bool, attack func() *browser.Answer) *browser.Answer {
	t.Helper()
	effects, audits, calls := w.Ledger.Lasting(), w.Audits.Load(), w.TokenCalls()
	a := attack()
	if !IsRefusal(a) {
		t.Errorf("not refused: %d %s %.200s", a.StatusCode, a.Location(), a.Text)
	}
	for _, c := range a.Cookies() {
		if strings.Contains(c.Name, "session") && c.Value != "" {
			t.Errorf("a refusal sets %s", c.Name)
		}
	}
	if now := w.Ledger.Lasting(); now != effects {
		t.Errorf("a refusal has effects: %s", strings.TrimPrefix(now, effects))
	}
	if got := w.TokenCalls() - calls; got != 0 && !tokenCall {
		t.Errorf("%d token calls", got)
	}
	if got := w.Audits.Load() - audits; got < 1 && !malformed[a.StatusCode] {
		t.Errorf("%d audit events of a refusal", got)
	}
	return a
}

// NoEffect runs MustRefuse against a signed-in victim. The victim must still be
// signed in as the same user, and nothing lasting may have changed.
func (w *World) NoEffect(t testing.TB, victim *Browser, attack func() *browser.Answer) *browser.Answer {
	t.Helper()
	before := w.Person(t, victim)
	a := w.MustRefuse(t, attack)
	if now := w.Person(t, victim); now != before {
		t.Errorf("the victim was %q and is %q", before, now)
	}
	return a
}

// Together runs n copies of f at once.
func Together(n int, f func(i int)) {
	var all sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		all.Go(func() { <-gate; f(i) })
	}
	close(gate)
	all.Wait()
}
