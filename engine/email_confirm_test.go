package engine_test

import (
	"net/http"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// TestConfirmMailHowever checks that every mail which would be a fresh proof of the
// signed-in person says so, whichever request asks for it. Otherwise a person with a
// borrowed session could replace the warning by a harmless sign-in mail.
func TestConfirmMailHowever(t *testing.T) {
	t.Parallel()
	const ada, signIn = "ada@app.test", "/api/auth/signin/email"
	warning := map[string]string{"en": "someone else is signed in to your account", "de": "Jemand anders ist in Ihrem Konto angemeldet"}
	harmless := map[string]string{"en": "ignore this email", "de": "ignorieren Sie diese E-Mail"}
	for _, codes := range []bool{true, false} {
		strategies(t, func(c *authsvc.Config) {
			for _, p := range c.Providers {
				if e, ok := p.(*authsvc.Email); ok {
					e.Codes = new(codes)
				}
			}
			c.RateLimit.Disabled = true
		}, func(t *testing.T, w *arena.World) {
			b := w.Browser()
			b.SignInByMail(w, ada)
			b.Post("/api/auth/confirm", "provider", "email", "callbackUrl", "/pay")
			w.Mail.Next(t)
			out, other := w.Browser(), w.Browser()
			other.SignInByMail(w, "bob@app.test")
			for name, tt := range map[string]struct {
				by     *arena.Browser
				warns  bool
				fields []string
			}{
				"send another":           {b, true, []string{"email", ada, "callbackUrl", "/pay"}},
				"capitals":               {b, true, []string{"email", "ADA@App.test"}},
				"from the page":          {b, true, []string{"email", ada, "callbackUrl", "/api/auth/confirm"}},
				"with flags":             {b, true, []string{"email", ada, "confirm", "false", "provider", "", "change", "true"}},
				"by a script":            {b, true, []string{"email", ada, "json", "true"}},
				"not signed in":          {out, false, []string{"email", ada, "callbackUrl", "/api/auth/confirm", "confirm", "true"}},
				"as another user":        {other, false, []string{"email", ada}},
				"another user's address": {b, false, []string{"email", "bob@app.test"}},
				"a new address":          {b, false, []string{"email", "eve@app.test"}},
			} {
				for lang := range warning {
					a := tt.by.Post(signIn, append(tt.fields, "ui_locales", lang)...)
					m := w.Mail.Next(t)
					for form, text := range map[string]string{"text": m.Text, "HTML": m.HTML} {
						if strings.Contains(text, warning[lang]) != tt.warns || strings.Contains(text, harmless[lang]) == tt.warns {
							t.Errorf("%s, %s, %s: %d %q: %s", name, lang, form, a.StatusCode, m.Subject, text)
						}
					}
				}
			}
			// The last mail to ada is one that warns, and it is a fresh proof.
			before := b.Clone()
			b.Post(signIn, "email", ada, "callbackUrl", "/pay")
			if a := b.Get(arena.Link(t, w.Mail.Next(t))); a.StatusCode != http.StatusFound || a.Location() != arena.Origin+"/pay" || b.Email() != ada {
				t.Errorf("twin, the proof: %d %s", a.StatusCode, a.Location())
			}
			if w.Config.Session.Strategy == authsvc.StrategyDatabase && before.Email() != "" {
				t.Error("the earlier session is still valid")
			}
			// After a sign-out, the same form asks for a sign-in.
			b.Post("/api/auth/signout")
			b.Post(signIn, "email", ada)
			if m := w.Mail.Next(t); !strings.Contains(m.Text, harmless["en"]) || strings.Contains(m.Text, warning["en"]) {
				t.Errorf("signed out: %s", m.Text)
			}
		})
	}
}

// TestConfirmWaitingPage checks that the page which waits for a fresh proof knows its
// purpose from the sealed cookie, keeps it after another mail, and is the page of a
// sign-in once the session has ended.
func TestConfirmWaitingPage(t *testing.T) {
	t.Parallel()
	const ada, page, change = "ada@app.test", "/api/auth/verify-request?provider=email&type=email", "change=true"
	strategies(t, withCodes, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		b.SignInByMail(w, ada)
		look := func(when string, confirms bool) {
			t.Helper()
			a := b.Get(page)
			if strings.Contains(a.Text, ">Confirm</button>") != confirms || strings.Contains(a.Text, `<a href="`+arena.Origin+`/api/auth/account">Back to your account</a>`) != confirms ||
				strings.Contains(a.Text, change) == confirms || !strings.Contains(a.Text, `name="code"`) {
				t.Errorf("%s: %d %s %s", when, a.StatusCode, a.Location(), a.Text)
			}
			if a := b.Get(page + "&ui_locales=de"); strings.Contains(a.Text, ">Bestätigen</button>") != confirms || strings.Contains(a.Text, "Zurück zu Ihrem Konto") != confirms {
				t.Errorf("%s, in German: %d %s", when, a.StatusCode, a.Text)
			}
		}
		b.Post("/api/auth/confirm", "provider", "email", "callbackUrl", "/pay")
		w.Mail.Next(t)
		look("asked", true)
		b.Post("/api/auth/signin/email", "email", ada, "callbackUrl", "/pay")
		m := w.Mail.Next(t)
		look("sent again", true)
		submit(b, ada, wrong(arena.Code(m)))
		look("a wrong code", true)
		ended := b.Clone()
		if a := submit(b, ada, arena.Code(m)); a.Location() != arena.Origin+"/pay" {
			t.Errorf("the code: %d %s", a.StatusCode, a.Location())
		}
		b = ended
		b.Post("/api/auth/signout")
		look("signed out", false)
		b.Post("/api/auth/signin/email", "email", ada)
		w.Mail.Next(t)
		look("a sign-in", false)
	})
}
