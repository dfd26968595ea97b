package pages

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var verb = regexp.MustCompile(`%(\[\d+\])?[a-z]`)

func TestCataloguesAreComplete(t *testing.T) {
	t.Parallel()
	en := catalogues()[0]
	for _, c := range catalogues() {
		if c.Lang == "" || c.Dir != "ltr" && c.Dir != "rtl" {
			t.Errorf("catalogue %q, direction %q", c.Lang, c.Dir)
		}
		for key, text := range en.text {
			got, ok := c.text[key]
			if !ok {
				t.Errorf("%s: no text %q", c.Lang, key)
				continue
			}
			if (got == "") != (text == "") {
				t.Errorf("%s: %q is empty in one language only", c.Lang, key)
			}
			want, have := verb.FindAllString(text, -1), verb.FindAllString(got, -1)
			slices.Sort(want)
			slices.Sort(have)
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("%s: verbs of %q (-en +%s):\n%s", c.Lang, key, c.Lang, diff)
			}
		}
		for key, text := range c.text {
			if _, ok := en.text[key]; !ok {
				t.Errorf("%s: text %q is not in English", c.Lang, key)
			}
			if strings.ContainsAny(text, "!<>&{[") {
				t.Errorf("%s: %q holds markup, an action of a template or an exclamation mark", c.Lang, key)
			}
		}
	}
}

// errorCodes lists the error codes of the interface.
func errorCodes() []string {
	return []string{"OAuthSignin", "OAuthCallback", "OAuthCreateAccount", "EmailCreateAccount", "Callback", "OAuthAccountNotLinked", "EmailSignin",
		"CredentialsSignin", "SessionRequired", "Configuration", "AccessDenied", "Verification", "RateLimited", "Code"}
}

func TestEveryKeyIsUsedAndKnown(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for name := range pageNames() {
		used["title."+string(name)] = true
	}
	used["device"], used["device.unknown"] = true, true
	used["mail.asked"], used["mail.place"], used["mail.unknown"] = true, true, true
	used["provider.Email"], used["provider.Credentials"] = true, true
	for _, unit := range []string{"seconds", "minutes", "hours", "days", "tries", "ago.minutes", "ago.hours", "ago.days", "ago.months"} {
		used[unit+".one"], used[unit+".other"] = true, true
	}
	for _, code := range append(errorCodes(), "Signin", "csrf", "default", "LastMethod", "Invalid", "NotFound", "Unavailable", "Taken") {
		used["error."+string(code)], used["help."+string(code)] = true, true
	}
	for _, code := range []string{"default", "Configuration", "AccessDenied", "Verification", "RateLimited"} {
		used["heading."+code] = true
	}
	for month := range 12 {
		used[fmt.Sprint("month.", month+1)] = true
	}
	used["ago.now"], used["date"], used["time"], used["error.report"] = true, true, true, true
	for _, word := range dones {
		used["account.done."+word] = true
	}
	for _, reason := range slices.Concat(faultReasons, codeReasons, []string{"service", "store", "mail"}) {
		used["reason."+reason] = true
	}
	for _, word := range News() {
		used["news."+word], used["news."+word+".subject"] = true, true
	}
	for _, change := range []string{"new", "taken", "old"} {
		for _, part := range []string{"subject", "lead", "button", "ignore"} {
			used["mail."+change+"."+part] = true
		}
	}
	key := regexp.MustCompile(`[.{[ (](?:T |Rich |Beside |text\()"([^"]+)"`)
	for _, file := range []string{"mail.html", "mail.txt", "subject.txt", "address.html", "address.txt", "notice.html", "notice.txt"} {
		text, err := os.ReadFile("../mailtext/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range key.FindAllStringSubmatch(string(text), -1) {
			used[m[1]] = true
		}
	}
	files, err := fs.Glob(pageFiles, "templates/*.html")
	if err != nil || len(files) == 0 {
		t.Fatalf("templates: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := pageFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range key.FindAllStringSubmatch(string(text), -1) {
			used[m[1]] = true
		}
	}
	known := map[string]bool{}
	for k := range catalogues()[0].text {
		known[k] = true
		if strings.HasPrefix(k, "entry.") { // Entry.Key
			used[k] = true
		}
	}
	if diff := cmp.Diff(used, known); diff != "" {
		t.Errorf("keys (-used +in the catalogue):\n%s", diff)
	}
}

// TestMailsAreApart checks that the texts of mails are only in the file for mails.
func TestMailsAreApart(t *testing.T) {
	t.Parallel()
	mails := map[string]map[string]string{"en": englishMails(), "de": germanMails()}
	for _, c := range catalogues() {
		for key, text := range c.text {
			mail, there := mails[c.Lang][key]
			if isMail := strings.HasPrefix(key, "mail.") || strings.HasPrefix(key, "news."); there != isMail || there && mail != text {
				t.Errorf("%s: %q among the mails: %t", c.Lang, key, there)
			}
		}
	}
}

func TestUnknownKeyFails(t *testing.T) {
	t.Parallel()
	if s, err := catalogues()[0].T("no.such.key"); err == nil {
		t.Errorf("T = %q; want an error", s)
	}
	if s, err := catalogues()[0].T("continue"); err != nil || s != "Continue" {
		t.Errorf("T = %q, %v", s, err)
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	tests := []struct{ name, uiLocales, accept, want string }{
		{"nothing", "", "", "en"},
		{"german", "", "de", "de"},
		{"region", "", "de-CH,de;q=0.9,en;q=0.8", "de"},
		{"quality", "", "de;q=0.2, en;q=0.9", "en"},
		{"unknown first", "", "ja, de;q=0.5", "de"},
		{"only unknown", "", "ja", "en"},
		{"ui_locales wins", "de-AT", "en", "de"},
		{"ui_locales in order", "xx de en", "en", "de"},
		{"unknown ui_locales", "ja", "de", "de"},
		{"malformed", "@@@ ;;; de-", ";q=;,,", "en"},
		{"malformed, then good", "@@@", "de", "de"},
		{"too long", "", "de" + strings.Repeat(",de", maxLocales), "en"},
		{"underscores", strings.Repeat("de_", 300), strings.Repeat("-", 300), "en"},
		{"wildcard", "", "*", "en"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := p.Language(tt.uiLocales, tt.accept); got != tt.want {
				t.Errorf("language(%.40q, %.40q) = %q; want %q", tt.uiLocales, tt.accept, got, tt.want)
			}
		})
	}
}

// TestChooserWithMore checks that mails can have languages that the pages do not have.
func TestChooserWithMore(t *testing.T) {
	t.Parallel()
	c, err := NewChooser("fr", "de")
	if err != nil {
		t.Fatal(err)
	}
	for accept, want := range map[string]string{"": "en", "fr-CA, de": "fr", "de": "de", "ja": "en"} {
		if got := c.Choose("", accept); got != want {
			t.Errorf("%q: %s; want %s", accept, got, want)
		}
	}
	if _, err := NewChooser("not a language"); err == nil {
		t.Error("a language of no sense was taken")
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	w := catalogues()[0]
	for n, want := range map[int]string{1: "1 second", 42: "42 seconds", 90: "90 seconds", 91: "2 minutes", 600: "10 minutes", 3600: "1 hour"} {
		if got, err := w.Seconds(n); err != nil || got != want {
			t.Errorf("Seconds(%d) = %q, %v; want %q", n, got, err, want)
		}
	}
	for n, want := range map[int]string{1: "1 minute", 10: "10 minutes", 60: "1 hour", 90: "90 minutes", 1440: "24 hours"} {
		if got, err := w.Minutes(n); err != nil || got != want {
			t.Errorf("Minutes(%d) = %q, %v; want %q", n, got, err, want)
		}
	}
}
