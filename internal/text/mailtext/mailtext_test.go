package mailtext

import (
	"errors"
	"flag"
	htmltemplate "html/template"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"text/template"

	"authsvc/internal/text/pages"
)

var galleryDir = flag.String("gallery", "", "write mails as HTML files into this directory")

func looked(t *testing.T, theme pages.Theme) pages.MailLook {
	t.Helper()
	p, errs := pages.New(theme, "https://app.example.com/api/auth", "https://app.example.com")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return p.MailLook()
}

func mailTo(lang string, minutes int, look pages.MailLook) Data {
	return Data{URL: "https://app.example.com/api/auth/callback/email?callbackUrl=https%3A%2F%2Fapp.example.com%2F&token=3f8c0e1b6d5a49f7a2c4e608&email=ada%40example.com",
		Host: "app.example.com", Site: "Acme & Söhne", Email: "ada@example.com", Minutes: minutes, Language: lang, Device: "Firefox on Linux", Network: "203.0.113.0/24", Look: look}
}

func composer(t *testing.T, c Templates) *Composer {
	t.Helper()
	made, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestDefaults checks that the built-in mail has the requested language and the theme.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c := composer(t, Templates{})
	look := looked(t, pages.Theme{BrandColor: "#ffd400", Logo: "https://cdn.example.com/logo.png"})
	tests := []struct {
		lang       string
		minutes    int
		subject    string
		text, html []string
	}{
		{"en", 10, "Sign in to Acme & Söhne", []string{"for 10 minutes."}, []string{`<html lang="en">`, ">Sign in</a>", "for 10 minutes."}},
		{"en", 1, "Sign in to Acme & Söhne", []string{"for 1 minute."}, []string{"for 1 minute."}},
		{"en", 60, "Sign in to Acme & Söhne", []string{"for 1 hour."}, []string{"for 1 hour."}},
		{"en", 90, "Sign in to Acme & Söhne", []string{"for 90 minutes."}, []string{"for 90 minutes."}},
		{"de", 1, "Bei Acme & Söhne anmelden", []string{"ist 1 Minute gültig."}, []string{`<html lang="de">`, ">Anmelden</a>", "ist 1 Minute gültig."}},
		{"de", 120, "Bei Acme & Söhne anmelden", []string{"ist 2 Stunden gültig."}, []string{"ist 2 Stunden gültig."}},
	}
	for _, tt := range tests {
		d := mailTo(tt.lang, tt.minutes, look)
		subject, text, html, err := c.Compose(d)
		if err != nil || subject != tt.subject {
			t.Errorf("%s: subject %q, %v", tt.lang, subject, err)
		}
		if strings.Contains(text+html, "code") || strings.Contains(text+html, "Code") {
			t.Errorf("%s: a code: %s", tt.lang, text)
		}
		for _, s := range append(tt.text, d.URL, d.Host, d.Email, d.Device, d.Network) {
			if !strings.Contains(text, s) {
				t.Errorf("%s %d: no %q in %s", tt.lang, tt.minutes, s, text)
			}
		}
		for _, s := range append(tt.html, "Acme &amp; Söhne", d.Host, d.Email, d.Device, d.Network, "background:#ffd400;color:#000000", `src="https://cdn.example.com/logo.png" alt="Acme &amp; Söhne"`) {
			if !strings.Contains(html, s) {
				t.Errorf("%s %d: no %q in %s", tt.lang, tt.minutes, s, html)
			}
		}
		if !hasLink(html, d.URL) || strings.Count(html, "href=") != 1 {
			t.Errorf("%s: not exactly the link: %s", tt.lang, html)
		}
	}
}

// TestCode checks that the text begins with the code, and that the subject does not
// contain it.
func TestCode(t *testing.T) {
	t.Parallel()
	c := composer(t, Templates{})
	for lang, want := range map[string][3]string{"en": {"Enter this code", "The code and the link work", "We will never ask you for this code."}, "de": {"Geben Sie diesen Code", "Code und Link", "Wir werden Sie nie nach diesem Code fragen."}} {
		d := mailTo(lang, 10, looked(t, pages.Theme{}))
		d.Code = "1234 5678"
		subject, text, html, err := c.Compose(d)
		if err != nil || strings.Contains(subject, "1234") || !strings.HasPrefix(text, "1234 5678\n\n"+want[0]) || !strings.Contains(text, want[1]) || !strings.Contains(text, want[2]) || !strings.Contains(text, d.URL) {
			t.Errorf("%s: %v %q %s", lang, err, subject, text)
		}
		if strings.Count(html, "1234 5678") != 1 || !strings.Contains(html, ">1234 5678</p>") || !strings.Contains(html, want[0]) || !strings.Contains(html, want[1]) || !strings.Contains(html, want[2]) || !hasLink(html, d.URL) {
			t.Errorf("%s: %s", lang, html)
		}
	}
}

// TestConfirmMail checks that a mail which asks for a fresh proof says so, in no form as
// a sign-in mail does.
func TestConfirmMail(t *testing.T) {
	t.Parallel()
	c := composer(t, Templates{})
	for lang, want := range map[string][]string{
		"en": {"Confirm that it is you", "sign out everywhere else", "Sign in to", "signs you in"},
		"de": {"dass Sie es sind", "überall sonst ab", "anmelden", "Damit melden"},
	} {
		for _, code := range []string{"", "1234 5678"} {
			d := mailTo(lang, 10, looked(t, pages.Theme{}))
			d.Code = code
			signIn, _, _, err := c.Compose(d)
			if err != nil || !strings.Contains(signIn, want[2]) {
				t.Errorf("twin, %s: %v %q", lang, err, signIn)
			}
			d.Confirm = true
			subject, text, html, err := c.Compose(d)
			if err != nil || !strings.Contains(subject, want[0]) || !strings.Contains(text, d.URL) || !hasLink(html, d.URL) || strings.Contains(text, code) != strings.Contains(html, code) {
				t.Errorf("%s: %v %q %s", lang, err, subject, text)
			}
			for form, s := range map[string]string{"subject": subject, "text": text, "HTML": html} {
				if !strings.Contains(s, want[0]) || form != "subject" && !strings.Contains(s, want[1]) || strings.Contains(s, want[2]) || strings.Contains(s, want[3]) {
					t.Errorf("%s, %s: %s", lang, form, s)
				}
			}
		}
	}
}

// TestHostOnce checks that no form of a mail repeats the host if it is also the name of
// the service.
func TestHostOnce(t *testing.T) {
	t.Parallel()
	c := composer(t, Templates{})
	const host = "app.example.com:3455"
	for _, lang := range []string{"en", "de"} {
		look := looked(t, pages.Theme{})
		signIn, notice := mailTo(lang, 10, look), mailTo(lang, 10, look)
		confirm, invited := signIn, signIn
		confirm.Confirm, invited.Invited, invited.Sender, notice.Notice, notice.When = true, true, "Acme <no-reply@example.com>", "linked", "now"
		for name, d := range map[string]Data{"sign-in": signIn, "confirm": confirm, "invitation": invited, "notice": notice, "address": addressMail(lang, ChangeOld, look)} {
			d.Host = host
			for site, brackets := range map[string]bool{host: false, strings.ToUpper(host): false, "Acme": name != "notice" && name != "address"} {
				d.Site = site
				subject, text, html, err := c.Compose(d)
				if err != nil || strings.Contains(text, "Acme ("+host+")") != brackets {
					t.Errorf("%s, %s, %s: %v %s", lang, name, site, err, text)
				}
				for _, s := range []string{subject, text, html} {
					if site != "Acme" && strings.Contains(s, "("+host+")") {
						t.Errorf("%s, %s, %s: the host stands twice in %s", lang, name, site, s)
					}
				}
			}
		}
	}
}

// TestAsked checks the sentence about the browser that requested a mail.
func TestAsked(t *testing.T) {
	t.Parallel()
	c := composer(t, Templates{})
	const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
	for _, tt := range []struct{ lang, agent, network, want string }{
		{"en", chrome, "", "Requested from Chrome on Linux."},
		{"en", chrome, "203.0.113.0/24", "Requested from Chrome on Linux (network 203.0.113.0/24)."},
		{"en", "curl/8.14.1", "", "Requested from an unknown browser."},
		{"de", chrome, "", "Angefordert mit Chrome auf Linux."},
		{"de", chrome, "203.0.113.0/24", "Angefordert mit Chrome auf Linux (Netz 203.0.113.0/24)."},
		{"de", "curl/8.14.1", "203.0.113.0/24", "Angefordert mit einem unbekannten Browser (Netz 203.0.113.0/24)."},
	} {
		for _, d := range []Data{mailTo(tt.lang, 10, looked(t, pages.Theme{})), addressMail(tt.lang, ChangeOld, looked(t, pages.Theme{}))} {
			var err error
			if d.Device, err = c.Device(tt.lang, tt.agent); err != nil {
				t.Fatal(err)
			}
			d.Network = tt.network
			if _, text, html, err := c.Compose(d); err != nil || !strings.Contains(text, tt.want) || !strings.Contains(html, tt.want) {
				t.Errorf("%s %s %s: %v, no %q in\n%s", tt.lang, tt.agent, d.Change, err, tt.want, text)
			}
		}
	}
}

// TestNotices checks that every notice says what happened, when and by whom, and links
// to the account and to its undo link, if it has one.
func TestNotices(t *testing.T) {
	t.Parallel()
	own, err := Parse(files("notice-subject.txt", "News: {{.Notice}}", "de/notice.txt", "{{.What}} {{.URL}} {{.UndoURL}}"))
	if err != nil {
		t.Fatal(err)
	}
	builtIn, custom := composer(t, Templates{}), composer(t, own)
	for _, word := range pages.News() {
		for lang, want := range map[string]string{"en": "If that was you, you do not need to do anything.", "de": "Wenn Sie das waren, müssen Sie nichts tun."} {
			d := mailTo(lang, 72*60, looked(t, pages.Theme{}))
			d.URL, d.UndoURL = "https://app.example.com/api/auth/account", "https://app.example.com/api/auth/account/undo?token=3f8c0e1b6d5a49f7a2c4e608"
			d.Notice, d.When = word, "23 November 2026 at 18:42 UTC"
			if slices.Contains([]string{"linked", "unlinked", "address", "restored", "token", "deletion"}, word) {
				d.About = "Git<Hub>"
			}
			subject, text, html, err := builtIn.Compose(d)
			if err != nil || subject == "" || strings.Contains(subject+text, "%!") || strings.Contains(subject+text, "Sign in to") {
				t.Fatalf("%s %s: %v %q %s", lang, word, err, subject, text)
			}
			final := word == "blocked" || word == "deleted" // the account cannot be opened
			keeping := word == "deletion"                   // the button keeps the account, instead
			for _, s := range []string{want, d.About, d.Email, d.When, d.Device, d.Network, "\n" + d.UndoURL + "\n"} {
				if !strings.Contains(text, s) {
					t.Errorf("%s %s: no %q in %s", lang, word, s, text)
				}
			}
			if hasLink(html, d.URL) == (final || keeping) || strings.Contains(text, "\n"+d.URL+"\n") == (final || keeping) || !hasLink(html, d.UndoURL) || !strings.Contains(html, "<title>"+strings.ReplaceAll(subject, "&", "&amp;")+"</title>") || strings.Contains(html, "<Hub>") || !strings.Contains(html, d.When) {
				t.Errorf("%s %s: %s", lang, word, html)
			}
			d.UndoURL, d.Device, d.Network = "", "", ""
			if _, text, html, err = builtIn.Compose(d); err != nil || strings.Contains(text+html, "undo") || strings.Contains(html, "href=") == final || strings.Count(html, "href=") > 1 || strings.Contains(text, "72") {
				t.Errorf("%s %s: nothing can be undone: %v %s", lang, word, err, text)
			}
			if final == strings.Contains(text, want) {
				t.Errorf("%s %s: %s", lang, word, text)
			}
			keeps := strings.Contains(text, map[string]string{"en": "To keep the account, sign in", "de": "Wenn Sie das Konto behalten"}[lang])
			if keeps != (word == "deletion") || keeps == strings.Contains(text, map[string]string{"en": "open your account, sign out", "de": "öffnen Sie Ihr Konto, melden"}[lang]) && !final {
				t.Errorf("%s %s: what to do: %s", lang, word, text)
			}
			revoke := map[string]string{"en": "revoke the token", "de": "widerrufen Sie das Token"}[lang]
			if told := strings.Contains(text, revoke); told != (word == "token") || told != strings.Contains(html, revoke) {
				t.Errorf("%s %s: the token: %v %s", lang, word, told, text)
			}
			subject, text, html, err = custom.Compose(d)
			if err != nil || subject != "News: "+word || strings.HasPrefix(text, "\n") || (lang == "de") != strings.HasSuffix(text, "account ") || hasLink(html, d.URL) == final {
				t.Errorf("%s %s: %v: %q %q", lang, word, err, subject, text)
			}
		}
	}
	if subject, _, _, err := custom.Compose(mailTo("en", 10, looked(t, pages.Theme{}))); err != nil || subject != "Sign in to Acme & Söhne" {
		t.Errorf("a template of notices made a sign-in mail: %q, %v", subject, err)
	}
}

// addressMail returns a mail about a change of address.
func addressMail(lang, word string, look pages.MailLook) Data {
	d := mailTo(lang, 24*60, look)
	d.URL, d.Change, d.NewEmail = "https://app.example.com/api/auth/account/email/confirm?id=5a49&token=3f8c0e1b", word, "ada@new.example"
	switch word {
	case ChangeNew:
		d.Email, d.Code = d.NewEmail, "1234 5678"
	case ChangeTaken:
		d.Email, d.URL = d.NewEmail, "https://app.example.com/api/auth/signin"
	case ChangeOld:
		d.StopURL, d.Waits = d.URL+"&stop=true", true
	}
	return d
}

// TestAddressMails checks that each mail describes the change, has only its links, and
// uses the operator's templates if there are any.
func TestAddressMails(t *testing.T) {
	t.Parallel()
	own, err := Parse(files("address-subject.txt", "{{.Change}} {{.NewEmail}}", "de/address.txt", "{{.What}} {{.Code}} {{.URL}} {{.StopURL}}"))
	if err != nil {
		t.Fatal(err)
	}
	builtIn, custom, look := composer(t, Templates{}), composer(t, own), looked(t, pages.Theme{})
	for word, want := range map[string]map[string][]string{
		ChangeNew:   {"en": {"Confirm your new address for Acme", "24 hours"}, "de": {"Bestätigen", "24 Stunden"}},
		ChangeTaken: {"en": {"You have an account at Acme", "nothing has changed"}, "de": {"Sie haben", "nichts"}},
		ChangeOld:   {"en": {"will be changed", "7 days"}, "de": {"soll geändert werden", "7 Tage"}},
	} {
		for lang, texts := range want {
			d := addressMail(lang, word, look)
			subject, text, html, err := builtIn.Compose(d)
			if err != nil || !strings.Contains(subject, texts[0]) || strings.Contains(subject+text+html, "%!") || strings.HasPrefix(text, "\n") || strings.Contains(text, "\n\n\n") {
				t.Errorf("%s %s: %v %q\n%s", lang, word, err, subject, text)
			}
			for _, s := range []string{texts[1], d.NewEmail, d.Host, d.Device, d.Network, "\n" + d.URL + "\n", d.StopURL} {
				if !strings.Contains(text, s) || !strings.Contains(html, strings.ReplaceAll(strings.TrimSpace(s), "&", "&amp;")) {
					t.Errorf("%s %s: no %q in\n%s\n%s", lang, word, s, text, html)
				}
			}
			links := 1
			if d.StopURL != "" {
				links = 2
			}
			if strings.Count(html, "href=") != links || strings.HasPrefix(text, "1234 5678\n\n") != (d.Code != "") || strings.Contains(html, ">1234 5678</p>") != (d.Code != "") {
				t.Errorf("%s %s:\n%s\n%s", lang, word, text, html)
			}
			d.Device, d.Network, d.Waits = "", "", false // the application made the change, which waits for no one
			if _, text, _, err = builtIn.Compose(d); err != nil || strings.Contains(text, "Firefox") || word == ChangeOld && strings.Contains(text, texts[1]) {
				t.Errorf("%s %s: %v\n%s", lang, word, err, text)
			}
			subject, text, html, err = custom.Compose(d)
			if err != nil || subject != word+" ada@new.example" || (lang == "de") != strings.HasSuffix(text, strings.TrimSpace(d.URL+" "+d.StopURL)+strings.Repeat(" ", 2-links)) || !strings.Contains(html, "href=") {
				t.Errorf("%s %s: %v %q %q", lang, word, err, subject, text)
			}
		}
	}
}

func TestShowsCode(t *testing.T) {
	t.Parallel()
	with, without := template.Must(template.New("").Parse("{{.Code}} {{.URL}}")), template.Must(template.New("").Parse("{{.URL}}"))
	htmlWithout := htmltemplate.Must(htmltemplate.New("").Parse(`<a href="{{.URL}}">in</a>`))
	for name, tt := range map[string]struct {
		t    Templates
		want bool
	}{
		"built in":          {Templates{}, true},
		"shown":             {Templates{SignIn: Set{Text: with}}, true},
		"not in the text":   {Templates{SignIn: Set{Text: without}}, false},
		"not in the HTML":   {Templates{SignIn: Set{Text: with, HTML: htmlWithout}}, false},
		"not in a language": {Templates{Languages: map[string]Templates{"de": {SignIn: Set{Text: without}}}}, false},
		"in a language":     {Templates{Languages: map[string]Templates{"de": {SignIn: Set{Text: with}}}}, true},
	} {
		if got := composer(t, tt.t).ShowsCode(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestColourSchemes checks that a mail has the scheme of the theme, and both with auto.
func TestColourSchemes(t *testing.T) {
	t.Parallel()
	c := composer(t, Templates{})
	for scheme, want := range map[string]struct {
		meta, background string
		dark             bool
	}{"": {"light dark", "#f6f7f9", true}, "light": {"light", "#f6f7f9", false}, "dark": {"dark", "#0f1013", false}} {
		_, _, html, err := c.Compose(mailTo("en", 10, looked(t, pages.Theme{ColorScheme: scheme})))
		if err != nil || !strings.Contains(html, `name="color-scheme" content="`+want.meta+`"`) || !strings.Contains(html, "color-scheme:"+want.meta+";") ||
			!strings.Contains(html, `padding:32px 16px;background:`+want.background) || strings.Contains(html, "prefers-color-scheme:dark") != want.dark {
			t.Errorf("%s: %v %s", scheme, err, html)
		}
		if strings.Contains(html, "ZgotmplZ") {
			t.Errorf("%s: a value was refused: %s", scheme, html)
		}
	}
	// Mail programs do not show a data: logo, so the name replaces it.
	_, _, html, err := c.Compose(mailTo("en", 10, looked(t, pages.Theme{Logo: "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>"})))
	if err != nil || strings.Contains(html, "<img") || !strings.Contains(html, ">Acme &amp; Söhne</td>") {
		t.Errorf("data: logo: %v %s", err, html)
	}
}

func TestHostileValues(t *testing.T) {
	t.Parallel()
	d := mailTo("en", 10, looked(t, pages.Theme{}))
	d.Site, d.Email = "<script>alert(1)</script>\r\nBcc: x", `"><img src=x>`
	subject, _, html, err := composer(t, Templates{}).Compose(d)
	if err != nil || strings.ContainsAny(subject, "\r\n") || strings.Contains(html, "<script") || strings.Contains(html, "<img") {
		t.Errorf("%q, %v: %s", subject, err, html)
	}

	// No value becomes part of a template.
	d = mailTo("en", 10, looked(t, pages.Theme{Logo: "https://app.example.com/{{.Code}}.png"}))
	d.Site, d.Code = "{{.Code}} [[.Language]]", "1234 5678"
	subject, text, html, err := composer(t, Templates{}).Compose(d)
	if err != nil || !strings.Contains(subject, d.Site) || !strings.Contains(text, d.Site) || !strings.Contains(html, `alt="`+d.Site+`"`) ||
		!strings.Contains(html, `src="https://app.example.com/%7b%7b.Code%7d%7d.png"`) {
		t.Errorf("%q, %q, %v: %s", subject, text, err, html)
	}
}

// TestGallery writes mails to look at: go test ./internal/text/mailtext -gallery DIR
func TestGallery(t *testing.T) {
	t.Parallel()
	dir := *galleryDir
	if dir == "" {
		dir = t.TempDir()
	}
	c := composer(t, Templates{})
	for name, look := range map[string]pages.MailLook{
		"plain":  looked(t, pages.Theme{}),
		"yellow": looked(t, pages.Theme{BrandColor: "#ffd400"}),
		"navy":   looked(t, pages.Theme{BrandColor: "#0b1f4b"}),
		"dark":   looked(t, pages.Theme{ColorScheme: "dark"}),
	} {
		for _, lang := range []string{"en", "de"} {
			d := mailTo(lang, 10, look)
			d.Code = "1234 5678"
			_, _, html, err := c.Compose(d)
			if err != nil {
				t.Fatal(err)
			}
			n := mailTo(lang, 72*60, look)
			n.URL, n.UndoURL, n.Notice, n.When, n.About = "https://app.example.com/api/auth/account", "https://app.example.com/api/auth/account/undo?token=3f8c0e1b", "linked", "23 November 2026 at 18:42 UTC", "GitHub"
			_, _, notice, err := c.Compose(n)
			if err != nil {
				t.Fatal(err)
			}
			mails := map[string]string{name: html, name + ".notice": notice}
			for _, word := range []string{ChangeNew, ChangeTaken, ChangeOld} {
				if _, _, mails[name+".address-"+word], err = c.Compose(addressMail(lang, word, look)); err != nil {
					t.Fatal(err)
				}
			}
			for file, content := range mails {
				if err := os.WriteFile(filepath.Join(dir, file+"."+lang+".html"), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestInvitation checks that an invitation says that it was not requested and who sent
// it, and has its link once, without a code or a browser.
func TestInvitation(t *testing.T) {
	t.Parallel()
	c := composer(t, Templates{})
	for _, tt := range []struct{ lang, subject, life string }{
		{"en", "You are invited to Acme & Söhne", "once and is valid for 7 days."},
		{"de", "Einladung zu Acme & Söhne", "einmal und ist 7 Tage gültig."},
	} {
		d := mailTo(tt.lang, 7*24*60, looked(t, pages.Theme{}))
		d.Invited, d.Sender, d.Device, d.Network = true, "Acme <no-reply@example.com>", "", ""
		subject, text, html, err := c.Compose(d)
		if err != nil || subject != tt.subject || !hasLink(html, d.URL) || !strings.Contains(text, d.URL) {
			t.Errorf("%s: %q %v\n%s\n%s", tt.lang, subject, err, text, html)
		}
		for _, s := range []string{tt.life, d.Host, d.Email} {
			if !strings.Contains(text, s) || !strings.Contains(html, s) {
				t.Errorf("%s: no %q in\n%s\n%s", tt.lang, s, text, html)
			}
		}
		if !strings.Contains(text, d.Sender) || !strings.Contains(html, "Acme &lt;no-reply@example.com&gt;") {
			t.Errorf("%s: the sender is missing:\n%s\n%s", tt.lang, text, html)
		}
		if strings.Contains(text+html, "Requested from") || strings.Contains(text+html, "Angefordert") {
			t.Errorf("%s: it names a request:\n%s", tt.lang, text)
		}
		if dir := *galleryDir; dir != "" {
			if err := os.WriteFile(filepath.Join(dir, "invitation."+tt.lang+".html"), []byte(html), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

const (
	goodText = "Go to {{.URL}} within {{.Lifetime}}."
	goodHTML = `<p style="color:{{.BrandColor}}">{{.Email}}: <a href="{{.URL}}">go</a></p>`
)

func TestParse(t *testing.T) {
	t.Parallel()
	parsed, err := Parse(files("subject.txt", "Enter\n{{.Site}}\n", "mail.txt", goodText, "mail.html", goodHTML,
		"de/mail.txt", "Hierher: {{.URL}}", "fr/subject.txt", "Entrez", ".git/x", "", "mail.txt~", "{{"))
	if err != nil {
		t.Fatal(err)
	}
	c := composer(t, parsed)
	tests := []struct{ accept, lang, subject, text, html string }{
		{"en", "en", "Enter Acme & Söhne", "within 10 minutes.", "ada@example.com: <a"},
		{"de-AT", "de", "Enter Acme & Söhne", "Hierher: https://app.", "ada@example.com: <a"},
		{"fr, de;q=0.5", "fr", "Entrez", "within 10 minutes.", "ada@example.com: <a"},
		{"ja", "en", "Enter Acme & Söhne", "within 10 minutes.", "ada@example.com: <a"},
	}
	for _, tt := range tests {
		lang := c.Language("", tt.accept)
		subject, text, html, err := c.Compose(mailTo(lang, 10, looked(t, pages.Theme{})))
		if err != nil || lang != tt.lang || subject != tt.subject || !strings.Contains(text, tt.text) || !strings.Contains(html, tt.html) {
			t.Errorf("%s: %v: %s %q %q %q", tt.accept, err, lang, subject, text, html)
		}
	}
	// Missing templates are built in.
	parsed, err = Parse(files("de/mail.txt", goodText))
	if err != nil {
		t.Fatal(err)
	}
	subject, text, html, err := composer(t, parsed).Compose(mailTo("de", 60, looked(t, pages.Theme{})))
	if err != nil || subject != "Bei Acme & Söhne anmelden" || !strings.HasSuffix(text, "within 1 Stunde.") || !strings.Contains(html, ">Anmelden</a>") {
		t.Errorf("%v: %q %q %q", err, subject, text, html)
	}
}

func TestParseMistakes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files fstest.MapFS
		want  []string // beginnings of the lines
	}{
		"no action":              {files("mail.txt", "a\nb {{.URL} c"), []string{"mail.txt:2: bad character U+007D"}},
		"no function":            {files("mail.html", "{{.URL}}\n\n{{frob .Site}}"), []string{`mail.html:3: function "frob" not defined; correct`}},
		"no variable":            {files("mail.txt", "{{.URL}}\n{{.Name}}"), []string{"mail.txt:2: there is no {{.Name}}; use {{.URL}}, {{.Code}}, {{.Host}}, {{.Site}}, {{.Email}}, {{.Minutes}}, {{.Lifetime}}, {{.Language}}, {{.Device}}, {{.Network}}, {{.Invited}}, {{.Sender}}, {{.Confirm}}, {{.Notice}}, {{.What}}, {{.Where}}, {{.When}}, {{.UndoURL}}, {{.Change}}, {{.NewEmail}}, {{.StopURL}}, {{.Waits}}, {{.BrandColor}}, {{.ButtonText}}, {{.Logo}}"}},
		"no variable, HTML":      {files("mail.html", "\n<a href=\"{{.Link}}\">go</a>"), []string{"mail.html:2: there is no {{.Link}}; use {{.URL}}"}},
		"no variable, subject":   {files("subject.txt", "{{.Title}}"), []string{"subject.txt:1: there is no {{.Title}}; use {{.URL}}"}},
		"half an attribute":      {files("mail.html", "<a href=\"{{.URL}}\">go</a>\n<p title=\"{{.Site}}>"), []string{"mail.html"}},
		"text without link":      {files("mail.txt", "{{.Site}}"), []string{"mail.txt: must always contain the link; write {{.URL}}"}},
		"HTML without link":      {files("mail.html", "<p>{{.URL}}</p>"), []string{`mail.html: must always contain the link; write <a href="{{.URL}}">`}},
		"link in a comment":      {files("mail.html", `<!-- <a href="{{.URL}}">go</a> -->`), []string{"mail.html: must always contain the link"}},
		"link under a condition": {files("de/mail.txt", "{{if eq .Language \"xx\"}}{{.URL}}{{end}}"), []string{"de/mail.txt: must always contain the link"}},
		"empty subject":          {files("subject.txt", " \n"), []string{"subject.txt: has a subject of 0 bytes; write 1 to 300"}},
		"long subject":           {files("subject.txt", strings.Repeat("a", 301)), []string{"subject.txt: has a subject of 301 bytes"}},
		"other name":             {files("mail.htm", goodHTML), []string{"mail.htm: is not the name of a template; the files are subject.txt, mail.txt, mail.html, notice-subject.txt"}},
		"other name in a folder": {files("de/mail.text", goodText), []string{"de/mail.text: is not the name of a template; the files are"}},
		"no language":            {files("templates old/mail.txt", goodText), []string{"templates old: is not a language; name the folder after a language"}},
		"nothing":                {fstest.MapFS{}, []string{"is empty; the files are"}},
		"too long":               {files("mail.txt", goodText+strings.Repeat(" ", maxFile)), []string{"mail.txt: cannot be read: has "}},
		"notice without a link":  {files("notice.txt", "{{.URL}}", "notice.html", `<a href="{{.UndoURL}}">Undo</a>`), []string{`notice.html: must always contain the link to the account; write <a href="{{.URL}}">Your account</a>`, "notice.txt: must always contain the link that undoes the change; write {{.UndoURL}}"}},
		"notice subject":         {files("notice-subject.txt", "{{.Code}}"), []string{"notice-subject.txt: has a subject of 0 bytes; write 1 to 300 bytes, such as: News about"}},
		"address, no link":       {files("address.txt", "{{.Code}} {{.StopURL}}", "address.html", `{{.Code}} {{.URL}} <a href="{{.StopURL}}">Stop</a>`), []string{"address.txt: must always contain the link; write {{.URL}}", `address.html: must always contain the link; write <a href="{{.URL}}">Continue</a>`}},
		"address, no code":       {files("address.txt", "{{.URL}} {{.StopURL}}", "de/address.html", `<a href="{{.URL}}">Go on</a><a href="{{.StopURL}}">Stop</a>`), []string{"address.txt: must always contain the code; write {{.Code}}", "de/address.html: must always contain the code; write {{.Code}}"}},
		"address, no way out":    {files("address.txt", "{{.URL}} {{.Code}}", "address.html", `{{.Code}} {{.StopURL}} <a href="{{.URL}}">Go on</a>`), []string{"address.txt: must always contain the link that stops the change; write {{.StopURL}}", `address.html: must always contain the link that stops the change; write <a href="{{.StopURL}}">Stop</a>`}},
		"address subject":        {files("address-subject.txt", `{{if ne .Change "taken"}}Your address{{end}}`), []string{"address-subject.txt: has a subject of 0 bytes; write 1 to 300 bytes, such as: Your address"}},
		"all at once":            {files("mail.txt", "{{", "subject.txt", "{{.No}}", "de/mail.html", "{{", "x.html", ""), []string{"mail.txt:1: ", "x.html: is not the name of a template", "subject.txt:1: there is no {{.No}}", "de/mail.html:1: "}},
	}
	for name, tt := range tests {
		_, err := Parse(tt.files)
		var found Mistakes
		if !errors.As(err, &found) || len(found) != len(tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
			continue
		}
		for i, line := range strings.Split(found.Error(), "\n") {
			if !strings.HasPrefix(line, tt.want[i]) {
				t.Errorf("%s: %s\nwant %s", name, line, tt.want[i])
			}
		}
	}
}

// TestNewMistakes checks that templates of a program must follow the same rules.
func TestNewMistakes(t *testing.T) {
	t.Parallel()
	text := func(s string) *template.Template { return template.Must(template.New("own").Parse(s)) }
	html := htmltemplate.Must(htmltemplate.New("own").Parse("<p>no link</p>"))
	for name, tt := range map[string]struct {
		templates Templates
		want      string
	}{
		"text":     {Templates{SignIn: Set{Text: text("no link")}}, "own: must always contain the link"},
		"html":     {Templates{SignIn: Set{HTML: html}}, "own: must always contain the link"},
		"subject":  {Templates{SignIn: Set{Subject: text("{{.No}}")}}, "own:1: there is no {{.No}}"},
		"language": {Templates{Languages: map[string]Templates{"de": {SignIn: Set{Text: text("x")}}}}, "own: must always contain the link"},
		"no tag":   {Templates{Languages: map[string]Templates{"no tag": {}}}, `"no tag" is not a language`},
	} {
		if _, err := New(tt.templates); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %s", name, err, tt.want)
		}
	}
	if _, err := New(Templates{SignIn: Set{Subject: text("Hi"), Text: text("{{.URL}}")}}); err != nil {
		t.Error(err)
	}
}

// TestDocumentedExample checks that the files in docs/mails.md make mails, and that its
// table names every value.
func TestDocumentedExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/mails.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "## An example\n")
	example, _, _ = strings.Cut(example, "\n## ")
	fsys := fstest.MapFS{}
	for _, m := range regexp.MustCompile("(?s)`([a-z./]+)`\n\n```[a-z]*\n(.*?)```").FindAllStringSubmatch(example, -1) {
		fsys[m[1]] = &fstest.MapFile{Data: []byte(m[2])}
	}
	if len(fsys) != 5 {
		t.Fatalf("the example has %d files", len(fsys))
	}
	parsed, err := Parse(fsys)
	if err != nil {
		t.Fatal(err)
	}
	c := composer(t, parsed)
	look := looked(t, pages.Theme{BrandColor: "#0b1f4b", Logo: "https://app.example.com/logo.png"})
	for lang, want := range map[string][3]string{
		"en": {"Your link for Acme & Söhne", "within 10 minutes.", "within 10 minutes."},
		"de": {"Ihr Link für Acme & Söhne", "einmal und ist 10 Minuten gültig.", "within 10 Minuten."},
	} {
		subject, text, html, err := c.Compose(mailTo(lang, 10, look))
		if err != nil || subject != want[0] || !strings.Contains(text, want[1]) || !strings.Contains(html, want[2]) ||
			!strings.Contains(html, "background:#0b1f4b;color:#ffffff") || !strings.Contains(html, `src="https://app.example.com/logo.png"`) {
			t.Errorf("%s: %v: %q %q %s", lang, err, subject, text, html)
		}
	}
	table, _, _ := strings.Cut(string(page), "## An example\n")
	for _, k := range kinds {
		for _, name := range []string{k.subject, k.text, k.html} {
			if !strings.Contains(table, "| `"+name+"` |") {
				t.Errorf("docs/mails.md has no line about %s", name)
			}
		}
	}
	for _, f := range fields() {
		if !strings.Contains(table, "`"+f+"`") {
			t.Errorf("docs/mails.md does not name %s", f)
		}
	}
}
