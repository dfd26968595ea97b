package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/adaptertest"
	"authsvc/internal/dev/idp"
	"authsvc/internal/protocol/outbound"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

var requestID = regexp.MustCompile(`request=([0-9a-f]{12})`)

// requestNumber matches the id of a request on a page.
var requestNumber = regexp.MustCompile(`[0-9a-f]{12}`)

func TestProviderDown(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	w.OP.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointDiscovery: 503}})
	b := w.Browser()
	a := b.Post("/api/auth/signin/op")
	id := requestID.FindStringSubmatch(a.Location())
	if !strings.Contains(a.Location(), "error=OAuthSignin") || id == nil {
		t.Fatalf("%d %s", a.StatusCode, a.Location())
	}
	a = b.Get(b.Get(a.Location()).Location())
	if !strings.Contains(a.Text, "does not answer at the moment") {
		t.Errorf("the page does not say why: %s", a.Text)
	}
	if a.StatusCode != 200 || !strings.Contains(a.Text, id[1]) || !strings.Contains(a.Text, "mention the request number") || strings.Contains(a.Text, "different account") {
		t.Errorf("error page: %d %s", a.StatusCode, a.Text)
	}
	if !strings.Contains(w.Logs.String(), id[1]) {
		t.Error("the request id is not in the log")
	}
	if a := b.Post("/api/auth/signin/email", "email", "ada@app.test"); !strings.Contains(a.Location(), "verify-request") {
		t.Errorf("another provider: %s", a.Location())
	}
}

// TestHints: the pages show which reason an error code had. Nothing else in an address
// can add to them.
func TestHints(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	page := func(b *arena.Browser, a *browser.Answer) *browser.Answer {
		for a.StatusCode == http.StatusFound {
			a = b.Get(a.Location())
		}
		return a
	}
	cancelled, stale := w.Browser(), w.Browser()
	back := stale.Approve(w.OP, stale.Begin("op", "callbackUrl", "/in"), "ada")
	stale.Get(back)
	for _, tt := range []struct {
		name, want, wire string
		b                *arena.Browser
		a                *browser.Answer
	}{
		{"cancelled", "You did not finish signing in with ", "error=AccessDenied", cancelled, cancelled.Get(cancelled.Approve(w.OP, cancelled.Begin("op"), ""))},
		{"finished before", "had no effect.", "error=OAuthCallback", stale, stale.Get(back)},
		{"another browser's", "took too long or was finished in another tab", "error=OAuthCallback", cancelled, cancelled.Get(back)},
	} {
		if !strings.Contains(tt.a.Location(), tt.wire+"&request=") {
			t.Errorf("%s: %s", tt.name, tt.a.Location())
		}
		if p := page(tt.b, tt.a); !strings.Contains(p.Text, tt.want) {
			t.Errorf("%s: %s", tt.name, p.Text)
		}
	}
	for _, query := range []string{"", "&reason=cancelled", "&provider=op", "&reason=cancelled&provider=nosuch", "&reason=cancelled&reason=cancelled&provider=op", "&reason=gone&provider=op"} {
		if p := w.Browser().Get("/api/auth/error?error=AccessDenied" + query); p.StatusCode != http.StatusForbidden || !strings.Contains(p.Text, "You do not have permission to sign in.") {
			t.Errorf("%q: %d %s", query, p.StatusCode, p.Text)
		}
	}
}

// TestHookDoesNotAnswer: if a callback fails because something that it calls does not
// answer, the page blames neither the person nor the provider.
func TestHookDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
			if a.User.Email == "ada@example.com" {
				return "", fmt.Errorf("the hook: %w", outbound.ErrUnavailable)
			}
			return "", authsvc.ErrAccessDenied
		}
	})
	for who, want := range map[string]struct{ location, text string }{
		"ada":  {"&reason=unavailable", "We cannot sign you in at the moment. Try again in a few minutes."},
		"alan": {"", "You do not have permission to sign in."},
	} {
		b := w.Browser()
		a := b.SignIn(w.OP, who)
		query := arena.MustURL(t, a.Location()).Query()
		if query.Get("error") != "AccessDenied" || query.Has("provider") || strings.Contains(a.Location(), "&reason=unavailable") != (want.location != "") {
			t.Errorf("%s: %s", who, a.Location())
		}
		if p := b.Get(strings.TrimPrefix(a.Location(), arena.Origin)); !strings.Contains(p.Text, want.text) || want.location != "" && strings.Contains(p.Text, "permission") {
			t.Errorf("%s: %s", who, p.Text)
		}
	}
}

// TestReasonOnOwnPages: pages of the application's own receive the known reason.
func TestReasonOnOwnPages(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.Pages = authsvc.Pages{SignIn: "/welcome", Error: "/sorry"} })
	for from, want := range map[string]string{
		"error?error=AccessDenied&reason=cancelled&provider=op":           "/sorry?error=AccessDenied&provider=op&reason=cancelled",
		"error?error=AccessDenied":                                        "/sorry?error=AccessDenied",
		"error?error=AccessDenied&reason=gone&provider=op":                "/sorry?error=AccessDenied",
		"signin?error=OAuthSignin&reason=unavailable&provider=op":         "&error=OAuthSignin&provider=op&reason=unavailable",
		"signin?error=OAuthSignin&reason=unavailable&provider=%22%3Cnone": "&error=OAuthSignin",
		"signin?error=EmailSignin&reason=unavailable":                     "&error=EmailSignin&reason=unavailable",
		"signin?error=OAuthCallback&reason=misconfigured&provider=op":     "&error=OAuthCallback&provider=op&reason=misconfigured",
		"signin?error=OAuthCallback&reason=misconfigured":                 "&error=OAuthCallback",
	} {
		if a := w.Browser().Get("/api/auth/" + from); !strings.HasSuffix(a.Location(), want) {
			t.Errorf("%s: %s", from, a.Location())
		}
	}
}

// TestMailWithoutStore checks what a person reads who asks for a mail while the store
// fails. It does not depend on whether a user has the address, and differs from what is
// said about an address that cannot exist.
func TestMailWithoutStore(t *testing.T) {
	t.Parallel()
	faulty := adaptertest.Faulty(memory.New())
	w := arena.Start(t, func(c *authsvc.Config) { c.Adapter, c.RateLimit.Disabled = faulty, true })
	w.Browser().SignInByMail(w, "ada@app.test")
	ask := func(address string, fail func()) string {
		t.Helper()
		b := w.Browser()
		b.Get("/api/auth/signin")
		fail()
		a := b.Post("/api/auth/signin/email", "email", address)
		faulty.FailAll("none")
		to := a.Location()
		for a.StatusCode == http.StatusFound && strings.Contains(a.Location(), "error") {
			a = b.Get(a.Location())
		}
		_, banner, _ := strings.Cut(a.Text, `role="alert"`)
		banner, _, _ = strings.Cut(banner, "</div>")
		return requestID.ReplaceAllString(to, "") + requestNumber.ReplaceAllString(banner, "")
	}
	for name, fail := range map[string]func(){
		"all":        func() { faulty.FailAll() },
		"the lookup": func() { faulty.FailAll("GetUserByEmail") },
		"the link":   func() { faulty.FailAll("PutToken") },
	} {
		known, unknown := ask("ada@app.test", fail), ask("grace@app.test", fail)
		if known != unknown {
			t.Errorf("%s:\n%s\n%s", name, known, unknown)
		}
		if !strings.Contains(known, "error=EmailSignin&&reason=unavailable") || !strings.Contains(known, "We cannot send mail at the moment. Try again in a few minutes") ||
			!strings.Contains(known, "mention the request number") || strings.Contains(known, "Check its spelling") {
			t.Errorf("%s: %s", name, known)
		}
	}
	none := func() {}
	if bad := ask("ada@localhost", none); strings.Contains(bad, "reason=") || !strings.Contains(bad, "error=EmailSignin") || !strings.Contains(bad, "We cannot send mail to this address. Check its spelling.") {
		t.Errorf("a bad address: %s", bad)
	}
	if good := ask("grace@app.test", none); !strings.Contains(good, "verify-request") {
		t.Errorf("a good address: %s", good)
	}
	for line := range strings.Lines(w.Logs.String()) {
		if strings.Contains(line, "sign-in refused") && (strings.Contains(line, "u000a") || !strings.Contains(line, "the store failed: ") && !strings.Contains(line, "domain")) {
			t.Errorf("cause: %s", line)
		}
	}
}

func TestTokenEndpointDown(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	back := b.Approve(w.OP, b.Begin("op"), "ada")
	w.OP.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointToken: 500}})
	if a := b.Get(back); !strings.Contains(a.Location(), "error=OAuthCallback") || b.Email() != "" {
		t.Errorf("%s as %q", a.Location(), b.Email())
	}
	w.OP.SetFault(idp.Fault{})
	if a := b.SignIn(w.OP, "ada"); a.Location() != arena.Origin {
		t.Errorf("the next try: %s\n%s", a.Location(), w.Logs)
	}
	if strings.Contains(w.Logs.String(), arena.ClientSecret) {
		t.Error("the client secret is in the log")
	}
}

// TestStoreDown: while the store does not answer, no user is signed in because of it,
// and nothing is lost when it answers again.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		faulty := adaptertest.Faulty(memory.New())
		w := arena.Start(t, func(c *authsvc.Config) {
			c.Session.Strategy, c.Adapter, c.RateLimit.Disabled = authsvc.Strategy(strategy), faulty, true
		})
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		for n := range 12 {
			for _, inject := range []func(int){faulty.FailBefore, faulty.FailAfter} {
				c := w.Browser()
				back := c.Approve(w.OP, c.Begin("op"), "grace")
				inject(n + 1)
				a := c.Get(back)
				faulty.FailBefore(0)
				if a.StatusCode >= 500 || a.StatusCode != http.StatusFound {
					t.Errorf("%s, call %d: %d", strategy, n+1, a.StatusCode)
				}
				if strings.Contains(a.Location(), "error=") && c.Email() != "" {
					t.Errorf("%s, call %d: refused and signed in", strategy, n+1)
				}
				if a := w.Browser().SignIn(w.OP, "grace"); a.Location() != arena.Origin {
					t.Errorf("%s, call %d: the next try ends at %s\n%s", strategy, n+1, a.Location(), w.Logs)
				}
			}
		}
		if b.Email() != "ada@example.com" {
			t.Error("another user's session was lost")
		}
	}
}
