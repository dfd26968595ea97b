package advisories

import (
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

var mailAdvisories = []advisory{
	{"CVE-2022-31127", "markup in the email field is in the mail", markup},
	{"CVE-2022-35924", "a list of addresses counts as one identifier", addresses(
		"a@x.test,v@app.test", "a@x.test;v@app.test", "a@x.test v@app.test", "a@x.test\r\nBcc: v@app.test", "a@x.test\x00v@app.test", "a@x.test,", "<a@x.test>", "a@x.test (v@app.test)")},
	{"GHSA-5jpx-9hw9-2fx4", "a quoted local part delivers elsewhere", addresses(`"a@evil.test"@app.test`, `"a b"@app.test`, `a\@evil.test@app.test`, `a@[127.0.0.1]`)},
	{"GHSA-7rqj-j65f-68wh CVE-2026-40574", "an at sign before Unicode normalisation", addresses("a\uff20evil.test@app.test", "a\ufe6bevil.test@app.test", "a@evil.test@app.test", "a@app\u3002test@evil.test")},
	{"CVE-2022-39263 CVE-2021-21310", "a link token is not bound to its address", foreignToken},
	{"GHSA-hc7v-rggr-4hvx CVE-2026-28268", "a link works several times", manyClicks},
	{"CVE-2023-39522 CVE-2026-23511", "the answer reveals who has an account", enumeration},
	{"GHSA-9pvm-fcf6-9234", "link tokens can be guessed without limit", guessing},
	{"CVE-2026-18963 CVE-2025-46815", "a sign-in by mail that needs no mail", withoutMail},
}

// addresses checks that a mail goes to a valid address and to none of the bad ones.
func addresses(bad ...string) func(*testing.T, *arena.World) {
	return func(t *testing.T, w *arena.World) {
		client := clients(w)
		for _, v := range bad {
			if a := client().Post("/api/auth/signin/email", "email", v); strings.Contains(a.Location(), "verify-request") {
				t.Errorf("%q is accepted: %s", v, a.Location())
			}
		}
		client().Post("/api/auth/signin/email", "email", "Ada+x@App.test")
		if m := w.Mail.Next(t); m.To != "ada+x@app.test" || w.Mail.Count() != 1 {
			t.Errorf("mail to %q, %d mails", m.To, w.Mail.Count())
		}
	}
}

func markup(t *testing.T, w *arena.World) {
	client := clients(w)
	for _, v := range []string{`<b>x</b>@app.test`, `"><img/src=x>@app.test`, `x'y@app.test`, `a&amp;b@app.test`} {
		client().Post("/api/auth/signin/email", "email", v)
	}
	client().Post("/api/auth/signin/email", "email", "last@app.test")
	for {
		m := w.Mail.Next(t)
		if strings.Contains(m.HTML, "<b>x") || strings.Contains(m.HTML, "<img") || strings.Count(m.HTML, "<a ") != 1 {
			t.Errorf("to %s: %s", m.To, m.HTML)
		}
		if m.To == "last@app.test" {
			return
		}
	}
}

func foreignToken(t *testing.T, w *arena.World) {
	b := clients(w)()
	ask := func(address string) url.Values {
		b.Post("/api/auth/signin/email", "email", address)
		return arena.MustURL(t, arena.Link(t, w.Mail.Next(t))).Query()
	}
	mine, theirs := ask("attacker@app.test"), ask("victim@app.test")
	for name, q := range map[string]url.Values{
		"own token, their address": {"email": theirs["email"], "token": mine["token"], "callbackUrl": {arena.Origin}},
		"no token":                 {"email": theirs["email"], "callbackUrl": {arena.Origin}},
		"address as a token":       {"email": theirs["email"], "token": theirs["email"], "callbackUrl": {arena.Origin}},
	} {
		if b.Get("/api/auth/callback/email?" + q.Encode()); b.Email() != "" {
			t.Errorf("%s: %s", name, b.Email())
		}
	}
	if b.Get("/api/auth/callback/email?" + theirs.Encode()); b.Email() != "victim@app.test" {
		t.Errorf("twin: %q", b.Email())
	}
}

func manyClicks(t *testing.T, _ *arena.World) {
	// 100 at once exceed one client's limit, so they come from many addresses.
	w := arena.Start(t, nil)
	client := clients(w)
	asked := client()
	asked.Post("/api/auth/signin/email", "email", "ada@app.test")
	link := arena.Link(t, w.Mail.Next(t))
	var copies []*arena.Browser
	for range 100 {
		c := asked.Clone()
		c.IP = client().IP
		copies = append(copies, c)
	}
	var in atomic.Int64
	arena.Together(len(copies), func(i int) {
		if copies[i].Get(link); copies[i].Email() != "" {
			in.Add(1)
		}
	})
	if in.Load() != 1 {
		t.Errorf("%d of 100 got in", in.Load())
	}
}

func enumeration(t *testing.T, w *arena.World) {
	if _, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: "x", Email: "known@app.test"}, nil); err != nil {
		t.Fatal(err)
	}
	client := clients(w)
	ask := func(address string) *browser.Answer {
		b := client()
		a := b.Post("/api/auth/signin/email", "email", address)
		page := b.Get(a.Location())
		same := strings.NewReplacer(address, "ADDRESS", b.CSRF(), "TOKEN")
		return &browser.Answer{Response: a.Response, Text: same.Replace(a.Text + page.Text)}
	}
	known, unknown := ask("known@app.test"), ask("strange@app.test")
	if known.StatusCode != unknown.StatusCode || known.Location() != unknown.Location() || known.Text != unknown.Text {
		t.Errorf("%d %s and %d %s", known.StatusCode, known.Location(), unknown.StatusCode, unknown.Location())
	}
	w.Mail.Next(t)
	w.Mail.Next(t)
}

func guessing(t *testing.T, w *arena.World) {
	b := clients(w)()
	b.Post("/api/auth/signin/email", "email", "ada@app.test")
	q := arena.MustURL(t, arena.Link(t, w.Mail.Next(t))).Query()
	limited := 0
	for i := range 200 {
		guess := strings.Repeat(string(rune('a'+i%26)), 43)
		a := b.Post("/api/auth/callback/email", "email", q.Get("email"), "token", guess, "callbackUrl", arena.Origin)
		if a.StatusCode == 429 {
			limited++
		}
	}
	if limited < 100 || b.Email() != "" {
		t.Errorf("%d of 200 guesses were refused unread", limited)
	}
	other := b.Clone()
	other.IP = "192.0.2.99:1"
	if other.Get("/api/auth/callback/email?" + q.Encode()); other.Email() != "ada@app.test" {
		t.Errorf("twin: %q", other.Email())
	}
}

func withoutMail(t *testing.T, w *arena.World) {
	b := clients(w)()
	b.Post("/api/auth/signin/email", "email", "ada@app.test")
	for _, path := range []string{"/api/auth/callback/email", "/api/auth/callback/email?email=ada%40app.test", "/api/auth/callback/email?token=&email=ada%40app.test", "/api/auth/verify-request?email=ada%40app.test"} {
		b.Get(path)
		b.Post(strings.Split(path, "?")[0], "email", "ada@app.test", "token", "")
		if b.Email() != "" {
			t.Errorf("%s: %s", path, b.Email())
		}
	}
	if b.Get(arena.Link(t, w.Mail.Next(t))); b.Email() != "ada@app.test" {
		t.Errorf("twin: %q", b.Email())
	}
}
