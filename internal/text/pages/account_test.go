package pages

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// User-Agent headers of browsers.
const (
	firefoxOnLinux   = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	safariOnPhone    = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
	chromeOnWindows  = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
	samsungOnAndroid = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36"
)

// accountView returns the account page as most people see it.
func accountView() AccountView {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	github, google := button("github", "GitHub", "github"), button("google", "Google", "google")
	row := func(id, agent, network, provider string, ago time.Duration) SessionRow {
		return SessionRow{ID: id, Agent: agent, Network: network, Provider: provider, Used: now.Add(-ago), Ago: ago}
	}
	here := row("s1", firefoxOnLinux, "203.0.113.0/24", "GitHub", 0)
	here.Current, here.Place = true, "Berlin"
	return AccountView{CSRFToken: testToken, CallbackURL: testBase + "/account", Fresh: testToken, FreshLink: testToken, Name: "Ada Lovelace", Who: "ada@example.com",
		Email: "ada@example.com", Edits: true, Typed: "Ada Lovelace", Mail: "Email", Add: []Provider{github, google, button("acme", "Acme", "")},
		Identities: []Identity{{ID: "a1", Provider: "github", Name: "GitHub", Style: github.Style, Removable: true}, {ID: "a2", Provider: "google", Name: "Google", Style: google.Style, Removable: true}},
		Sessions:   []SessionRow{here, row("s2", safariOnPhone, "2001:db8:42::/48", "Email", 3*time.Hour), row("s3", chromeOnWindows, "198.51.100.0/24", "GitHub", 26*time.Hour)},
		Listed:     true, Export: true, Readdresses: true}
}

// name100 has 100 characters, among them emoji and right-to-left text.
const name100 = "👩‍🔬 Aḋa עדה לאבלייס Byron-King-Noel-Countess-of-Lovelace 👑 آدا لوفلايس the-enchantress-of-numbers 💫!"

// endless is a name as only a table of another program has it.
var endless = strings.Repeat("W", 10_000)

// accountStates returns states of the account page and the step-up page.
func accountStates() []state {
	only, failed, full, empty, unproved := accountView(), accountView(), accountView(), accountView(), accountView()
	only.Identities, only.Mail, only.Sessions = only.Identities[:1], "", only.Sessions[:1]
	only.Identities[0].Removable = false
	failed.Error, failed.RequestID, failed.Typed = "Invalid", "k3v9x2m7", "\u202eadA"
	last, long, entry := accountView(), accountView(), accountView()
	last.Error, last.RequestID = "LastMethod", "k3v9x2m7"
	long.Name, long.Typed = endless, endless[:255]
	entry.Picture, entry.SignOutPage, entry.Entries = "https://pictures.example.com/ada.png", testOrigin+"/bye", []Entry{{Href: testBase + "/account/tokens", Key: "entry.tokens"}}
	full.Name, full.Typed, full.Email, full.Who = name100, name100, longEmail, longEmail
	for i := range 48 {
		full.Identities = append(full.Identities, Identity{ID: fmt.Sprint("i", i), Provider: "long", Name: fmt.Sprint("The Municipal Library of Greater Exampleton (", i+2, ")"), Removable: true})
	}
	for i := range 97 {
		full.Sessions = append(full.Sessions, SessionRow{ID: fmt.Sprint("t", i), Agent: samsungOnAndroid, Network: "2001:db8:1234::/48", Provider: "The Municipal Library of Greater Exampleton",
			Used: full.Sessions[0].Used, Ago: time.Duration(i) * 20 * time.Hour})
	}
	full.Unlisted = true
	empty.Name, empty.Typed, empty.Email, empty.Who, empty.Mail, empty.Identities, empty.Add, empty.Edits = "", "", "", "user-7", "", nil, nil, false
	empty.Sessions, empty.Export = []SessionRow{{ID: "s1", Current: true}}, false
	unproved.Unproved, unproved.Mail, unproved.Name = true, "", ""
	github, google := button("github", "GitHub", "github"), button("google", "Google", "google")
	step := StepUpView{CSRFToken: testToken, CallbackURL: testBase + "/account", Who: "ada@example.com", Email: "ada@example.com", Ways: []Provider{github, google, emailForm()}}
	one, other, cancelled, none, password := step, step, step, step, step
	one.Ways = []Provider{github}
	other.Error, other.RequestID = "OAuthAccountNotLinked", "k3v9x2m7"
	cancelled.Error, cancelled.Reason, cancelled.Provider = "AccessDenied", "cancelled", "GitHub"
	none.Ways = nil
	password.Ways, password.Error = []Provider{passwordForm()}, "CredentialsSignin"
	limited, down, stale, longStep := step, step, step, step
	longStep.Who = endless
	limited.Error, limited.RequestID, down.Error, down.RequestID, stale.Error, stale.RequestID = "RateLimited", "k3v9x2m7", "OAuthSignin", "k3v9x2m7", "OAuthCallback", "k3v9x2m7"
	down.Reason, down.Provider, stale.Reason, stale.Provider = "unavailable", "GitHub", "stale", "GitHub"
	var results []state
	for _, word := range dones {
		v := accountView()
		v.Done = word
		results = append(results, state{"account-done-" + word, Account, v})
	}
	for _, word := range []string{"NotFound", "RateLimited", "Taken", "csrf"} {
		v := accountView()
		v.Error, v.RequestID = word, "k3v9x2m7"
		results = append(results, state{"account-error-" + strings.ToLower(word), Account, v})
	}
	return append(append(append(deletionStates(), results...), []state{
		{"account", Account, accountView()},
		{"account-one-way", Account, only},
		{"account-bad-name", Account, failed},
		{"account-last-way", Account, last},
		{"account-full", Account, full},
		{"account-long", Account, long},
		{"account-entry", Account, entry},
		{"account-empty", Account, empty},
		{"account-unproved", Account, unproved},
		{"account-away", Error, ErrorView{Code: "Unavailable", RequestID: "k3v9x2m7", BackURL: testOrigin, SignInURL: testBase + "/account"}},
		{"stepup", StepUp, step},
		{"stepup-one", StepUp, one},
		{"stepup-other", StepUp, other},
		{"stepup-cancelled", StepUp, cancelled},
		{"stepup-none", StepUp, none},
		{"stepup-password", StepUp, password},
		{"stepup-long", StepUp, longStep},
		{"stepup-limited", StepUp, limited},
		{"stepup-unavailable", StepUp, down},
		{"stepup-stale", StepUp, stale},
	}...), addressStates()...)
}

// addressStates returns the pages about a change of address.
func addressStates() []state {
	pending := accountView()
	pending.NewAddress = longEmail
	ask := AddressView{CSRFToken: testToken, Fresh: testToken, Email: "ada@example.com", Proved: true}
	none, bad, limited := ask, ask, ask
	none.Email, none.Proved = "", false
	bad.Error, bad.Typed, bad.RequestID = "Invalid", "ada@example", "k3v9x2m7"
	limited.Error, limited.Typed, limited.RequestID = "RateLimited", "new@example.com", "k3v9x2m7"
	asked := ask
	asked.To, asked.NotBefore, asked.Tries = "new@example.com", time.Date(2026, 5, 11, 12, 0, 0, 0, time.UTC), 5
	wrong, spent, proved, due, strong, long, first := asked, asked, asked, asked, asked, asked, asked
	wrong.Error, wrong.Tries, wrong.RequestID = "Code", 4, "k3v9x2m7"
	spent.Error, spent.Tries, spent.RequestID = "Code", 0, "k3v9x2m7"
	proved.NewProved = true
	due.NewProved, due.OldAllowed, due.Due = true, true, true
	strong.Strong = true
	silent, early, failed := asked, asked, asked
	silent.NewProved, silent.Due = true, true
	early.NewProved, early.Error, early.RequestID = true, "Invalid", "k3v9x2m7"
	failed.Error, failed.RequestID = "csrf", "k3v9x2m7"
	long.To, long.Email = longEmail, longEmail
	first.Email, first.Proved = "", false
	list := []state{
		{"account-address-pending", Account, pending},
		{"address", Address, ask}, {"address-first", Address, none}, {"address-bad", Address, bad}, {"address-limited", Address, limited},
		{"address-asked", Address, asked}, {"address-wrong-code", Address, wrong}, {"address-code-spent", Address, spent}, {"address-proved", Address, proved},
		{"address-due", Address, due}, {"address-strong", Address, strong}, {"address-long", Address, long}, {"address-asked-first", Address, first},
		{"address-silent", Address, silent}, {"address-early", Address, early}, {"address-failed", Address, failed},
	}
	for _, s := range []string{AddressNew, AddressOld, AddressSpent, AddressTaken, AddressProved, AddressAllowed, AddressCompleted, AddressStopped} {
		list = append(list, state{"address-confirm-" + s, AddressConfirm, AddressConfirmView{Stage: s, CSRFToken: testToken, To: "new@example.com", ID: "i", Token: testToken}})
	}
	stop := AddressConfirmView{Stage: AddressOld, CSRFToken: testToken, To: longEmail, ID: "i", Token: testToken, Stop: true}
	again := stop
	again.Error, again.RequestID = "csrf", "k3v9x2m7"
	return append(list, state{"address-confirm-stop", AddressConfirm, stop}, state{"address-confirm-failed", AddressConfirm, again})
}

// deletionStates returns the pages of an account that is or may be deleted.
func deletionStates() []state {
	on := time.Date(2026, 5, 18, 12, 0, 0, 0, time.UTC)
	can, pending := accountView(), accountView()
	can.Delete = true
	pending.Delete, pending.Deletion = true, on
	asks := DeleteView{CSRFToken: testToken, Fresh: testToken, Who: "ada@example.com", Word: "ada@example.com", On: on}
	atOnce, wrong, long := asks, asks, asks
	atOnce.On, atOnce.Who, atOnce.Word = time.Time{}, "Ada Lovelace", "delete"
	wrong.Error, wrong.RequestID, wrong.Typed = "Invalid", "k3v9x2m7", "ada@example"
	long.Who, long.Word = longEmail, longEmail
	keep := KeepView{CSRFToken: testToken, Who: "ada@example.com", On: on, SignInURL: testBase + "/signin"}
	limited := asks
	limited.Error, limited.RequestID = "RateLimited", "k3v9x2m7"
	longKeep, kept := keep, KeepView{CSRFToken: testToken, Kept: true, SignInURL: testBase + "/signin"}
	longKeep.Who = name100
	byLink := keep
	byLink.Token = testToken
	failed := keep
	failed.Error, failed.RequestID = "csrf", "k3v9x2m7"
	return []state{
		{"account-can-delete", Account, can},
		{"account-deletion", Account, pending},
		{"delete", Delete, asks},
		{"delete-at-once", Delete, atOnce},
		{"delete-wrong", Delete, wrong},
		{"delete-limited", Delete, limited},
		{"delete-long", Delete, long},
		{"delete-scheduled", Delete, DeleteView{CSRFToken: testToken, Done: "scheduled", On: on}},
		{"delete-scheduled-elsewhere", Delete, DeleteView{CSRFToken: testToken, Done: "scheduled"}},
		{"delete-deleted", Delete, DeleteView{CSRFToken: testToken, Done: "deleted"}},
		{"keep", Keep, keep},
		{"keep-long", Keep, longKeep},
		{"keep-failed", Keep, failed},
		{"keep-kept", Keep, kept},
		{"keep-link", Keep, byLink},
		{"keep-spent", Keep, KeepView{CSRFToken: testToken, Spent: true, SignInURL: testBase + "/signin"}},
	}
}

// TestStepUpLines checks that a person who must prove their identity is never told to use
// a different account.
func TestStepUpLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ code, reason, want string }{
		{"OAuthSignin", "", "The sign-in could not be started. Please try again.|" + report},
		{"OAuthSignin", "unavailable", "GitHub does not answer at the moment. Try again in a few minutes, or sign in another way.|" + report},
		{"Callback", "", "The sign-in was not completed. Please try again.|" + report},
		{"RateLimited", "", "There were too many attempts.|Wait a minute, then try again."},
	} {
		if got, err := wordsOf("en").StepUpLines(tt.code, tt.reason, "GitHub", "k3v9x2m7"); err != nil || strings.Join(got, "|") != tt.want {
			t.Errorf("%s %s: %q, %v", tt.code, tt.reason, got, err)
		}
	}
}

func TestDate(t *testing.T) {
	t.Parallel()
	for lang, want := range map[string]string{"en": "3 March 2026", "de": "3. März 2026"} {
		if got, err := wordsOf(lang).Date(time.Date(2026, 3, 4, 0, 30, 0, 0, time.FixedZone("", 3600))); err != nil || got != want {
			t.Errorf("%s: %q, %v", lang, got, err)
		}
	}
}

func TestName100(t *testing.T) {
	t.Parallel()
	if n := len([]rune(name100)); n != 100 {
		t.Errorf("%d characters", n)
	}
}

// TestSessionRows checks that the list of sessions is in the language of the page.
func TestSessionRows(t *testing.T) {
	t.Parallel()
	p := newTestPages(t, Theme{})
	view := accountView()
	view.Sessions[2].Agent, view.Sessions[2].Provider = "curl/8.14.1", "Credentials"
	for lang, want := range map[string][]string{
		"en": {"Firefox on Linux", "Safari on iPhone", "3 hours ago · Email · ", "Unknown browser", "1 day ago · Credentials · "},
		"de": {"Firefox auf Linux", "Safari auf iPhone", "vor 3 Stunden · E-Mail-Link · ", "Unbekannter Browser", "vor 1 Tag · Zugangsdaten · "},
	} {
		_, elements := parsed(t, p, lang, state{"", Account, view})
		for _, s := range want {
			if !strings.Contains(textOf(elements[0]), s) {
				t.Errorf("%s: no %q in %s", lang, s, textOf(elements[0]))
			}
		}
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Minute: "just now", 0: "just now", 119 * time.Second: "just now", 2 * time.Minute: "2 minutes ago", 59 * time.Minute: "59 minutes ago",
		time.Hour: "1 hour ago", 23 * time.Hour: "23 hours ago", 24 * time.Hour: "1 day ago", 59 * 24 * time.Hour: "59 days ago", 60 * 24 * time.Hour: "2 months ago",
	} {
		if got, err := catalogues()[0].Ago(d); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", d, got, err, want)
		}
	}
}

// TestDoneKey checks that a word typed into the address bar is not reported as done.
func TestDoneKey(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"renamed": "account.done.renamed", "": "", "heading": "", "Renamed": ""} {
		if got := (AccountView{Done: word}).DoneKey(); got != want {
			t.Errorf("%q: %q", word, got)
		}
	}
}
