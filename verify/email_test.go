package verify

import (
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
)

// email-06 and email-07 run in real browsers: see inBrowser.
var emailChecks = checks{
	"01": {title: "reuse", run: email01},
	"02": {title: "links that live too long", run: email02},
	"03": {title: "weak or plain-text token", run: email03},
	"04": {title: "identifier not checked", run: email04},
	"05": {title: "link scanner", run: email05},
	"08": {title: "recipient splitting", run: email08},
	"09": {title: "header injection", run: email09},
	"10": {title: "HTML injection", run: email10},
	"11": {title: "enumeration", run: email11, once: true, alone: true},
	"12": {title: "mail bomb", run: email12},
	"13": {title: "many live links", run: email13},
	"14": {title: "guessing", run: email14, once: true, alone: true},
	"15": {title: "address normalisation", run: email15},
	"16": {title: "tampered link", run: email16},
	"17": {title: "parser blow-up", run: email17, once: true, alone: true},
	"18": {title: "STARTTLS stripped", run: email18, once: true},
	"19": {title: "STARTTLS injection, SMTP smuggling", run: email19, once: true},
	"20": {title: "vetoed user", run: email20},
}

// emailBubble runs f in a bubble, where time passes only in sleeps.
func emailBubble(t *T, f func(t *T)) {
	t.Helper()
	synctest.Test(t.T, func(inner *testing.T) {
		inner.Cleanup(func() { time.Sleep(time.Minute) }) // connections that wait for another mail end
		f(&T{T: inner, Mode: t.Mode, id: t.id, report: t.report, figures: t.figures})
	})
}

// emailStores runs f with all stores in mode none, and with memory only in the other
// modes: stores behave the same in each.
func emailStores(t *T, f func(t *T, kind stores.Kind)) {
	t.Helper()
	if t.Mode != modeNone && t.Mode != "" {
		f(t, stores.All()[0])
		return
	}
	t.Stores(f)
}

// emailAsk requests a link and returns it as mailed.
func emailAsk(t *T, w *arena.World, b *arena.Browser, address string, fields ...string) string {
	t.Helper()
	a := b.Post("/api/auth/signin/email", append([]string{"email", address}, fields...)...)
	if !strings.Contains(a.Location(), "/verify-request") {
		t.Fatalf("%q is refused: %d %s %.100s", address, a.StatusCode, a.Location(), a.Text)
	}
	return arena.Link(t, w.Mail.Next(t))
}

// emailQuery returns the parameters of a link.
func emailQuery(t *T, link string) url.Values {
	t.Helper()
	return arena.MustURL(t, link).Query()
}

// emailConfirm posts the form of the confirmation page.
func emailConfirm(t *T, b *arena.Browser, link string) *browser.Answer {
	t.Helper()
	q := emailQuery(t, link)
	return b.Post("/api/auth/callback/email", "token", q.Get("token"), "email", q.Get("email"), "callbackUrl", q.Get("callbackUrl"))
}

// emailVoid checks that a link is refused, whether followed or confirmed.
func emailVoid(t *T, w *arena.World, b *arena.Browser, link string) {
	t.Helper()
	for name, try := range map[string]func() *browser.Answer{
		"confirmed": func() *browser.Answer { return emailConfirm(t, b, link) },
		"with a form of its own": func() *browser.Answer {
			q := emailQuery(t, link)
			q.Set("csrfToken", b.CSRF())
			return b.Form("/api/auth/callback/email", q)
		},
	} {
		if a := w.MustRefuse(t, try); !strings.Contains(a.Location(), "error=Verification") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Location())
		}
	}
}
