package engine_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
)

// posted delivers mails to a channel.
type posted chan authsvc.Message

func (p posted) send(_ context.Context, m authsvc.Message) error {
	if !arena.IsNotice(m) {
		p <- m
	}
	return nil
}

// link returns the link of the next mail.
func (p posted) link(t testing.TB) string {
	t.Helper()
	for line := range strings.Lines((<-p).Text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "http") {
			return line
		}
	}
	t.Fatal("no link")
	return ""
}

func withMail(t *testing.T, tune func(*authsvc.Config)) (posted, func(string) *guest) {
	t.Helper()
	mails := make(posted, 100)
	_, at := guests(t, func(c *authsvc.Config) {
		c.Adapter = memory.New()
		c.Providers = append(c.Providers, &authsvc.Email{From: "no-reply@guests.test", Send: mails.send})
		if tune != nil {
			tune(c)
		}
	})
	return mails, at
}

func (g *guest) ask(address string, more ...string) *reply {
	g.t.Helper()
	return g.post("/api/auth/signin/email", append([]string{"email", address}, more...)...)
}

func TestUsedLinkVoidsOtherLinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mails, at := withMail(t, func(c *authsvc.Config) { c.RateLimit.EmailPerAddress = authsvc.Rate{N: 20, Per: time.Hour} })
		g := at("203.0.113.9:1")
		var links []string
		for range 10 {
			g.ask("ada@app.test")
			links = append(links, mails.link(t))
		}
		g.ask("bob@app.test")
		bobs := mails.link(t)
		// confirm posts the form of the confirm page.
		confirm := func(g *guest, link string) *reply {
			u, err := url.Parse(link)
			if err != nil {
				t.Fatal(err)
			}
			r := u.Query()
			return g.post("/api/auth/callback/email", "token", r.Get("token"), "email", r.Get("email"))
		}
		time.Sleep(time.Second)
		if r := confirm(at("203.0.113.9:1"), links[3]); !r.in() {
			t.Fatalf("the fourth of ten: %d %s", r.StatusCode, r.Header.Get("Location"))
		}
		for i, l := range links {
			if r := confirm(at("203.0.113.10:1"), l); r.in() || !strings.Contains(r.Header.Get("Location"), "error=Verification") {
				t.Errorf("link %d: %d %s", i, r.StatusCode, r.Header.Get("Location"))
			}
		}
		if r := confirm(at("203.0.113.9:1"), bobs); !r.in() {
			t.Errorf("twin, another address: %d %s", r.StatusCode, r.Header.Get("Location"))
		}
		again := at("203.0.113.9:1")
		again.ask("ada@app.test")
		fresh := mails.link(t)
		if r := again.get(fresh); !r.in() {
			t.Errorf("twin, asked for afterwards: %d %s", r.StatusCode, r.Header.Get("Location"))
		}
		// An expired link voids nothing.
		late := at("203.0.113.11:1")
		late.ask("ada@app.test")
		old := mails.link(t)
		time.Sleep(11 * time.Minute)
		late.ask("ada@app.test")
		good := mails.link(t)
		if r := late.get(old); r.in() {
			t.Error("a link that is over")
		}
		if r := late.get(good); !r.in() {
			t.Errorf("twin, the newer link: %d %s", r.StatusCode, r.Header.Get("Location"))
		}
	})
}

func TestMailboxLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mails, at := withMail(t, nil)
		at("203.0.113.1:1").ask("ada@app.test")
		if r := at("203.0.113.1:1").get(mails.link(t)); r.StatusCode != http.StatusOK { // the confirm page of another browser
			t.Fatal(r.StatusCode)
		}
		for _, address := range []string{"ada@app.test", "nobody@app.test"} {
			var answers []string
			for i := range 8 {
				spelling := []string{address, strings.ToUpper(address)}[i%2]
				r := at(host(i)).ask(spelling, "callbackUrl", "/x")
				answers = append(answers, r.Status+" "+r.Header.Get("Location")+" "+r.Header.Get("Retry-After"))
			}
			synctest.Wait()
			if first := answers[0]; !strings.Contains(first, "/verify-request") || slices.ContainsFunc(answers, func(a string) bool { return a != first }) {
				t.Errorf("%s: %q", address, answers)
			}
		}
		if want := 4 + 5; len(mails) != want {
			t.Errorf("%d mails, want %d", len(mails), want)
		}
	})
}

// TestLinkLimit checks that the page that asks first does not count against the limit,
// but redeeming does.
func TestLinkLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mails, at := withMail(t, func(c *authsvc.Config) { c.RateLimit.Link = authsvc.Rate{N: 2, Per: time.Hour} })
		asker := at("203.0.113.1:1")
		asker.ask("ada@app.test")
		link := mails.link(t)
		g := at("[2001:db8:1:2::1]:1")
		for range 20 {
			if r := g.get(link); r.StatusCode != http.StatusOK {
				t.Fatalf("the confirm page: %d", r.StatusCode)
			}
		}
		guess := func(g *guest, more ...string) *reply {
			return g.post("/api/auth/callback/email", append([]string{"token", strings.Repeat("x", 43), "email", "ada@app.test"}, more...)...)
		}
		for range 2 {
			if r := guess(g); !strings.Contains(r.Header.Get("Location"), "error=Verification") {
				t.Errorf("%d %s", r.StatusCode, r.Header.Get("Location"))
			}
		}
		neighbour := at("[2001:db8:1:2:ffff::9]:1")
		if r := guess(neighbour); r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") == "" || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			t.Errorf("the page: %d %v", r.StatusCode, r.Header)
		}
		if r := guess(neighbour, "json", "true"); r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") == "" || !strings.Contains(r.text, `{"url":"`+guestOrigin+`/api/auth/error?error=RateLimited`) {
			t.Errorf("JSON: %d %s", r.StatusCode, r.text)
		}
		if r := asker.get(link); !r.in() {
			t.Errorf("twin, another client by GET: %d %s", r.StatusCode, r.Header.Get("Location"))
		}
	})
}

// TestSignInLimit checks that all ways to begin a sign-in share signInLimit.
func TestSignInLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, at := withMail(t, func(c *authsvc.Config) { c.RateLimit.SignIn = authsvc.Rate{N: 2, Per: time.Hour} })
		g := at("192.0.2.1:1")
		g.login("ada", "wrong")
		g.ask("ada@app.test")
		mapped := at("[::ffff:192.0.2.1]:9")
		if r := mapped.login("bob", "right", "json", "true"); r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "1800" || !strings.Contains(r.text, `{"url":"`) {
			t.Errorf("credentials: %d %v %s", r.StatusCode, r.Header, r.text)
		}
		if r := mapped.ask("ada@app.test"); r.StatusCode != http.StatusTooManyRequests {
			t.Errorf("email: %d", r.StatusCode)
		}
		if r := at("192.0.2.2:1").ask("ada@app.test"); !strings.Contains(r.Header.Get("Location"), "/verify-request") {
			t.Errorf("twin, the next address: %d %s", r.StatusCode, r.Header.Get("Location"))
		}
		time.Sleep(30 * time.Minute)
		if r := g.ask("ada@app.test"); !strings.Contains(r.Header.Get("Location"), "/verify-request") {
			t.Errorf("twin, after Retry-After: %d %s", r.StatusCode, r.Header.Get("Location"))
		}
	})
}
