package verify

import (
	"context"
	"io"
	"net/http/httptest"
	netmail "net/mail"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/mail"
)

// emailGivenUp also signals given when a mail is not sent.
func emailGivenUp(c *authsvc.Config, given chan struct{}) func(context.Context, authsvc.AuditEvent) {
	before := c.Events.Audit
	return func(ctx context.Context, e authsvc.AuditEvent) {
		before(ctx, e)
		if e.Name == "email.given_up" {
			given <- struct{}{}
		}
	}
}

// emailHeader returns the unfolded header lines of a mail, and the parsed mail.
func emailHeader(t *T, raw string) (names []string, m *netmail.Message) {
	t.Helper()
	head, _, ok := strings.Cut(raw, "\r\n\r\n")
	if !ok {
		t.Fatalf("no header in %q", raw)
	}
	for _, line := range strings.Split(raw, "\r\n") {
		if len(line) > 998 || strings.ContainsAny(line, "\r\n") {
			t.Errorf("a line of %d bytes: %.100q", len(line), line)
		}
	}
	for _, line := range strings.Split(head, "\r\n") {
		if line[0] != ' ' && line[0] != '\t' {
			name, _, _ := strings.Cut(line, ":")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	m, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return names, m
}

// emailInjections change content that goes into a mail, by the method of the attack.
var emailInjections = map[string]struct {
	tune   func(*authsvc.Config, *authsvc.Email)
	fields []string
	header map[string]string
	host   string
}{
	"nothing":                        {},
	"CR LF in the sender's name":     {tune: emailFrom("Acme\r\nBcc: v@y.test <no-reply@app.test>")},
	"LF in the sender's name":        {tune: emailFrom("\"Acme\nBcc: v@y.test\" <no-reply@app.test>")},
	"encoded CR LF in the name":      {tune: emailFrom("=?utf-8?q?Acme=0D=0ABcc:_v@y.test?= <no-reply@app.test>")},
	"encoded address in the name":    {tune: emailFrom("=?utf-8?b?QWNtZSA8dkB5LnRlc3Q+LCA=?= <no-reply@app.test>")},
	"CR LF in the site's name":       {tune: emailSite("Acme\r\nBcc: v@y.test\r\n\r\n<b>body</b>")},
	"lines in the site's name":       {tune: emailSite("Acme\u2028Bcc: v@y.test\u0085X: y\x00")},
	"encoded word in the name":       {tune: emailSite("=?utf-8?q?Acme=0D=0ABcc:_v@y.test?=")},
	"a long name of the site":        {tune: emailSite(strings.Repeat("größer ", 400))},
	"CR LF in callbackUrl":           {fields: []string{"callbackUrl", "/x\r\nBcc: v@y.test\r\n\r\nbody"}},
	"encoded CR LF in callbackUrl":   {fields: []string{"callbackUrl", "/x%0d%0aBcc:%20v@y.test"}},
	"a long callbackUrl":             {fields: []string{"callbackUrl", "/" + strings.Repeat("x", 2000)}},
	"CR LF in the Host":              {host: "evil.test\r\nBcc: v@y.test"},
	"another Host":                   {host: "evil.test", header: map[string]string{"X-Forwarded-Host": "evil.test", "Forwarded": "host=evil.test", "Origin": ""}},
	"CR LF in the language":          {header: map[string]string{"Accept-Language": "de\r\nBcc: v@y.test"}},
	"other fields of the form":       {fields: []string{"from", "v@y.test", "to", "v@y.test", "subject", "x\r\nBcc: v@y.test"}},
	"CR LF in the user agent":        {header: map[string]string{"User-Agent": "x\r\nBcc: v@y.test"}},
	"an encoded word in callbackUrl": {fields: []string{"callbackUrl", "/=?utf-8?q?=0D=0ABcc:_v@y.test?="}},
}

func emailFrom(from string) func(*authsvc.Config, *authsvc.Email) {
	return func(_ *authsvc.Config, e *authsvc.Email) { e.From = from }
}

func emailSite(name string) func(*authsvc.Config, *authsvc.Email) {
	return func(c *authsvc.Config, _ *authsvc.Email) { c.Theme.SiteName = name }
}

func email09(t *T) {
	for name, c := range emailInjections {
		t.Run(name, func(t *T) {
			s := smtpfaultNew()
			w := t.EnterOffline(nil)
			config := w.Config
			e := &authsvc.Email{From: "Acme <no-reply@app.test>", Send: s.sender(t, "smtp://localhost", mail.Options{})}
			if c.tune != nil {
				c.tune(&config, e)
			}
			config.Providers, config.Adapter = []authsvc.Provider{e}, memory.New()
			given := make(chan struct{}, 1)
			config.Events.Audit = emailGivenUp(&config, given)
			service, err := engine.New(config)
			if err != nil {
				if e.From == "Acme <no-reply@app.test>" || !strings.Contains(err.Error(), ".From ") {
					t.Errorf("no start: %v", err)
				}
				return // refused where it is written
			}
			defer service.Close(t.Context())
			b := w.Browser()
			b.H = service
			form := url.Values{"email": {"ada@app.test"}, "csrfToken": {b.CSRF()}}
			for i := 0; i+1 < len(c.fields); i += 2 {
				form.Set(c.fields[i], c.fields[i+1])
			}
			r := httptest.NewRequest("POST", b.Abs("/api/auth/signin/email"), strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			for k, v := range c.header {
				r.Header[k] = []string{v}
			}
			if c.header["Origin"] == "" {
				delete(r.Header, "Origin")
			}
			if c.host != "" {
				r.Host = c.host
			}
			if a := b.Do(r); !strings.Contains(a.Location(), "/verify-request") {
				t.Fatalf("%d %s", a.StatusCode, a.Location())
			}
			select {
			case m := <-s.arrived:
				emailIntact(t, m)
			case <-given: // package mail refuses ambiguous text
				if name != "encoded word in the name" {
					t.Errorf("not sent: %s", w.Logs)
				}
			case <-time.After(patience):
				t.Error("no mail came")
			}
		})
	}
}

// emailIntact checks that the header has the usual fields once each, that there is
// one recipient, and that the link leads to us.
func emailIntact(t *T, got smtpfaultMail) {
	t.Helper()
	names, m := emailHeader(t, got.raw)
	if want := []string{"Auto-Submitted", "Content-Type", "Date", "From", "MIME-Version", "Message-ID", "Subject", "To"}; !slices.Equal(names, want) {
		t.Errorf("header %v, want %v", names, want)
	}
	from, err := m.Header.AddressList("From")
	to, err2 := m.Header.AddressList("To")
	if err != nil || err2 != nil || len(from) != 1 || len(to) != 1 || from[0].Address != "no-reply@app.test" || to[0].Address != "ada@app.test" ||
		!slices.Equal(got.to, []string{"ada@app.test"}) || got.from != "no-reply@app.test" {
		t.Errorf("from %v to %v, envelope %q %q", from, to, got.from, got.to)
	}
	if body, err := io.ReadAll(m.Body); err != nil || strings.Contains(string(body), "evil.test") {
		t.Errorf("the body names another host, %v", err)
	}
	if d, err := m.Header.Date(); err != nil || time.Since(d).Abs() > time.Hour {
		t.Errorf("Date %v %v", d, err)
	}
}

func email10(t *T) {
	const markup = `<img src=x onerror=alert(1)>"'><script>alert(1)</script>&amp;`
	for name, c := range map[string]struct {
		site, callbackURL string
		refused           bool
		address           string
	}{
		"nothing":                {address: "ada@app.test"},
		"the site's name":        {address: "ada@app.test", site: markup},
		"quotes in callbackUrl":  {address: "ada@app.test", callbackURL: `/x"><img src=x onerror=alert(1)><a href="https://evil.test">`},
		"single quotes":          {address: "ada@app.test", callbackURL: `/x'><img src=x>`},
		"foreign callbackUrl":    {address: "ada@app.test", callbackURL: `https://evil.test/"><b>`},
		"javascript callbackUrl": {address: "ada@app.test", callbackURL: `javascript:alert(1)`},
		"entity in the address":  {address: "a&lt@app.test"},
		"quote in the address":   {address: "o'neil'onclick='x@app.test"},
		"braces in the address":  {address: "{{.URL}}@app.test"},
		"tag in the address":     {address: `<b>a</b>@app.test`, refused: true},
		"image in the address":   {address: `"><img/src=x>@app.test`, refused: true},
	} {
		t.Run(name, func(t *T) {
			w := t.EnterOffline(func(config *authsvc.Config) { config.Theme.SiteName = c.site })
			b := w.Browser()
			ask := func() *browser.Answer {
				return b.Post("/api/auth/signin/email", "email", c.address, "callbackUrl", c.callbackURL)
			}
			if c.refused {
				w.MustRefuse(t, ask)
				return
			}
			if a := ask(); !strings.Contains(a.Location(), "/verify-request") {
				t.Fatalf("%d %s", a.StatusCode, a.Location())
			}
			m := w.Mail.Next(t)
			emailOneLink(t, m.HTML)
			if strings.Count(m.Text, "://") != 1 {
				t.Errorf("text %q", m.Text)
			}
			if b.Get(arena.Link(t, m)); b.Email() == "" {
				t.Error("twin: the link does not sign in")
			}
		})
	}
}

// emailOneLink checks that a mail's HTML has only one link, to our origin, and no
// scripts or remote content.
func emailOneLink(t *T, text string) {
	t.Helper()
	links := 0
	for z := html.NewTokenizer(strings.NewReader(text)); ; {
		switch z.Next() {
		case html.ErrorToken:
			if links != 1 {
				t.Errorf("%d links in %s", links, text)
			}
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := z.Token()
			if slices.Contains([]string{"script", "img", "iframe", "form", "object", "link", "base", "svg", "input"}, tag.Data) {
				t.Errorf("<%s> in a mail", tag.Data)
			}
			for _, a := range tag.Attr {
				switch {
				case strings.HasPrefix(a.Key, "on"):
					t.Errorf("%s in a mail", a.Key)
				case a.Key == "href" || a.Key == "src" || a.Key == "action":
					if links++; !strings.HasPrefix(a.Val, arena.Origin+"/api/auth/callback/email?") {
						t.Errorf("a link to %s", a.Val)
					}
				}
			}
		}
	}
}
