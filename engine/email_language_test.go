package engine_test

import (
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

// TestMailLanguage checks that a mail is in the language of the page that asked for it,
// and has the theme.
func TestMailLanguage(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Theme = authsvc.Theme{SiteName: "Acme", BrandColor: "#ffd400", Logo: "https://cdn.app.test/logo.png"}
		for _, p := range c.Providers {
			if e, ok := p.(*authsvc.Email); ok {
				e.MaxAge = time.Hour
			}
		}
	})
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	tests := []struct{ query, accept, agent, subject, life, asked string }{
		{"", "", "", "Sign in to Acme", "within 1 hour.", "Requested from an unknown browser (network 203.0.113.0/24)."},
		{"", "de-DE,de;q=0.9,en;q=0.8", firefox, "Bei Acme anmelden", "1 Stunde gültig.", "Angefordert mit Firefox auf Linux (Netz 203.0.113.0/24)."},
		{"?ui_locales=de", "en", "<b>", "Bei Acme anmelden", "1 Stunde gültig.", "Angefordert mit einem unbekannten Browser (Netz"},
		{"?ui_locales=" + strings.Repeat("de+", 40), "en", firefox, "Sign in to Acme", "within 1 hour.", "Requested from Firefox on Linux (network"},
		{"?ui_locales=en", "de", firefox, "Sign in to Acme", "within 1 hour.", "Requested from Firefox on Linux (network"},
	}
	field := regexp.MustCompile(`name="ui_locales" value="([^"]*)"`)
	for i, tt := range tests {
		b := w.Browser()
		b.IP = "203.0.113." + string(rune('1'+i)) + ":4711"
		b.Header.Set("User-Agent", tt.agent)
		if tt.accept != "" {
			b.Header.Set("Accept-Language", tt.accept)
		}
		form := []string{"email", "ada@app.test"}
		if m := field.FindStringSubmatch(b.Get("/api/auth/signin" + tt.query).Text); m != nil {
			form = append(form, "ui_locales", m[1])
		}
		if a := b.Post("/api/auth/signin/email", form...); !strings.Contains(a.Location(), "/verify-request") {
			t.Fatalf("signin/email: %d %s", a.StatusCode, a.Location())
		} else if len(form) == 4 {
			if m := field.FindStringSubmatch(b.Get(a.Location()).Text); m == nil || m[1] != form[3] {
				t.Errorf("%q: the form for another link asks for %q", tt.query, m)
			}
		}
		m := w.Mail.Next(t)
		if m.Subject != tt.subject || !strings.Contains(m.Text, tt.life) || !strings.Contains(m.HTML, tt.life) || !strings.Contains(m.Text, tt.asked) || !strings.Contains(m.HTML, tt.asked) {
			t.Errorf("%q, %q: %q %s", tt.query, tt.accept, m.Subject, m.Text)
		}
		for _, want := range []string{"background:#ffd400;color:#000000", `<img src="https://cdn.app.test/logo.png" alt="Acme"`} {
			if !strings.Contains(m.HTML, want) {
				t.Errorf("no %s in %s", want, m.HTML)
			}
		}
		if a := b.Get(arena.Link(t, m)); a.StatusCode != 302 || b.Email() != "ada@app.test" {
			t.Errorf("the link of %q: %d", m.Subject, a.StatusCode)
		}
	}
}

// TestMailTemplates checks that mails are made from an application's folder of
// templates.
func TestMailTemplates(t *testing.T) {
	t.Parallel()
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	templates, err := authsvc.ParseMailTemplates(fstest.MapFS{
		"subject.txt":    file("Enter {{.Site}}"),
		"fr/subject.txt": file("Entrez"), "fr/mail.txt": file("Ici : {{.URL}}"),
		"fr/address-subject.txt": file("Adresse : {{.Change}}"), "fr/address.txt": file("{{.NewEmail}} {{.URL}} {{.Code}} {{.StopURL}}"), "notice-subject.txt": file("News: {{.Notice}}"),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := arena.Start(t, func(c *authsvc.Config) {
		for _, p := range c.Providers {
			if e, ok := p.(*authsvc.Email); ok {
				e.Templates = templates
			}
		}
	})
	for accept, want := range map[string][2]string{"fr-CA": {"Entrez", "Ici : https://"}, "de": {"Enter app.test", "Anmelden bei"}} {
		b := w.Browser()
		b.Header.Set("Accept-Language", accept)
		b.Post("/api/auth/signin/email", "email", accept+"@app.test")
		if m := w.Mail.Next(t); m.Subject != want[0] || !strings.Contains(m.Text, want[1]) {
			t.Errorf("%s: %q %s", accept, m.Subject, m.Text)
		}
	}
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	b.Header.Set("Accept-Language", "fr")
	id := readAccount(t, b).User.ID
	b.Post("/api/auth/account/email", "email", newAddress)
	for address, m := range mailsTo(t, w, 2) {
		word := map[string]string{newAddress: "new", oldAddress: "old"}[address]
		if m.Subject != "Adresse : "+word || !strings.HasPrefix(m.Text, newAddress+" https://") {
			t.Errorf("%s: %q %s", address, m.Subject, m.Text)
		}
	}
	if err := w.EndSessions(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if m := w.Mail.Any(t); m.Subject != "News: ended" {
		t.Errorf("%q %s", m.Subject, m.Text)
	}
	if _, err := authsvc.ParseMailTemplates(fstest.MapFS{"mail.txt": file("no link")}); err == nil || !strings.Contains(err.Error(), "mail.txt: must always contain the link; write {{.URL}}") {
		t.Errorf("a mail without a link: %v", err)
	}
	c := w.Config
	c.Providers = []authsvc.Provider{&authsvc.Email{From: "a@app.test", Send: w.Mail.Send, Templates: authsvc.MailTemplates{Languages: map[string]authsvc.MailTemplates{"no tag": {}}}}}
	if err := engine.Check(c); err == nil || !strings.Contains(err.Error(), "Providers[0].Templates") || !strings.Contains(err.Error(), "is not a language") {
		t.Errorf("an invalid language tag: %v", err)
	}
}

// TestNoticeLanguage checks that mails which others cause are in the language of the
// last sign-in. The language is written when it changes, and only by a sign-in.
func TestNoticeLanguage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := arena.EnterOffline(t, nil)
		var writes atomic.Int64
		w.Ledger.BreakAt(func(_ int, method string) arena.Failure {
			if method == "SetPerson" {
				writes.Add(1)
			}
			return arena.Works
		})
		signIn := func(accept string, fields ...string) *arena.Browser {
			b := w.Browser()
			b.Header.Set("Accept-Language", accept)
			if accept == "" {
				b.Header.Del("Accept-Language")
			}
			b.Login("ada", fields...)
			synctest.Wait()
			return b
		}
		for _, step := range []struct {
			accept, ui string
			writes     int64
			subject    string
		}{
			{"", "", 0, "You were signed"},
			{"de-AT,de;q=0.9", "", 1, "abgemeldet"},
			{"de", "", 0, "abgemeldet"},
			{"", "", 0, "abgemeldet"},            // names no language
			{"de", "en", 1, "You were signed"},   // the person's choice
			{"ja", "", 0, "You were signed out"}, // mailed in English
			{"de", "", 1, "abgemeldet"},
		} {
			before := writes.Load()
			var fields []string
			if step.ui != "" {
				fields = []string{"ui_locales", step.ui}
			}
			b := signIn(step.accept, fields...)
			b.Header.Set("Accept-Language", "en") // reading is not a sign-in
			b.Get("/api/auth/account")
			b.Session()
			synctest.Wait()
			if got := writes.Load() - before; got != step.writes {
				t.Errorf("%+v: %d writes", step, got)
			}
			w.Mail.Notices() // about the new browser
			if err := w.EndSessions(t.Context(), "ada-id"); err != nil {
				t.Fatal(err)
			}
			if m := w.Mail.Notice(t); !strings.Contains(m.Subject, step.subject) {
				t.Errorf("%+v: %s", step, m.Subject)
			}
		}
		thief := w.Browser()
		thief.Header.Set("Accept-Language", "en")
		thief.Header.Set("User-Agent", "another browser")
		thief.Login("ada")
		synctest.Wait() // until its language is stored
		if m := w.Mail.Notice(t); !strings.Contains(m.Subject, "Neue Anmeldung") {
			t.Errorf("an attacker's browser chose the language: %s", m.Subject)
		}
		signIn("de")
		w.Mail.Notices()
		if _, err := w.ScheduleDeletion(t.Context(), "ada-id"); err != nil {
			t.Fatal(err)
		}
		if m := w.Mail.Notice(t); !strings.Contains(m.Subject, "gelöscht") {
			t.Errorf("a deletion: %s", m.Subject)
		}
	})
}
