package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

const (
	oldAddress = "ada@example.com" // of ada at op
	newAddress = "new@app.test"
)

func changesEmail(c *authsvc.Config) { c.Account.ChangeEmail = new(true) }

// A linkMail is a mail about a change of address.
type linkMail struct {
	authsvc.Message
	links []string
}

// mailsTo collects n mails by recipient, except those about new browsers.
func mailsTo(t testing.TB, w *arena.World, n int) map[string]linkMail {
	t.Helper()
	all := map[string]linkMail{}
	for n > 0 {
		m := w.Mail.Any(t)
		if strings.HasPrefix(m.Subject, "New sign-in") {
			continue
		}
		n--
		all[m.To] = linkMail{m, regexp.MustCompile(`(?m)^https?://\S+$`).FindAllString(m.Text, -1)}
	}
	return all
}

// linkFields returns the fields that the page behind a link about an address posts.
func linkFields(t testing.TB, link string, more ...string) []string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"id", u.Query().Get("id"), "token", u.Query().Get("token")}, more...)
}

const emailConfirmPath = "/api/auth/account/email/confirm"

func confirmEmail(t testing.TB, b *arena.Browser, link string, more ...string) *browser.Answer {
	t.Helper()
	return b.Post(emailConfirmPath, linkFields(t, link, more...)...)
}

func askEmail(b *arena.Browser, address string, more ...string) *browser.Answer {
	return b.Post("/api/auth/account/email", append([]string{"email", address, "json", "true"}, more...)...)
}

// pendingChange returns the pending change in GET account, or nil.
func pendingChange(t testing.TB, b *arena.Browser) (p *struct {
	ID, Address          string
	NewProved, OldProved bool
	NotBefore            time.Time
}) {
	t.Helper()
	page := b.Clone()
	page.Header.Set("Accept", "application/json")
	a := page.Get("/api/auth/account")
	v := struct{ Pending struct{ Email any } }{}
	v.Pending.Email = &p
	if err := json.Unmarshal([]byte(a.Text), &v); err != nil {
		t.Fatalf("%d %s: %v", a.StatusCode, a.Text, err)
	}
	return p
}

// storedEmail returns the address of a user in the store.
func storedEmail(t testing.TB, w *arena.World, id string) string {
	t.Helper()
	u, err := w.Store.GetUser(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return u.Email
}

// TestEmailChangeByLinks checks a change by links, which need no session: the pages,
// the posts, and the sessions that end.
func TestEmailChangeByLinks(t *testing.T) {
	t.Parallel()
	strategies(t, changesEmail, func(t *testing.T, w *arena.World) {
		b, other, phone := w.Browser(), w.Browser(), w.Browser()
		b.SignIn(w.OP, "ada")
		other.SignIn(w.OP, "ada")
		id := readAccount(t, b).User.ID
		if a := askEmail(b, " New@App.test"); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, `"url":"`+arena.Origin+emailConfirmPath+`"`) || !strings.Contains(a.Text, `"address":"`+newAddress+`","newProved":false,"oldProved":false`) {
			t.Fatalf("%d %s", a.StatusCode, a.Text)
		}
		mails := mailsTo(t, w, 2)
		toNew, toOld := mails[newAddress], mails[oldAddress]
		if len(toNew.links) != 1 || len(toOld.links) != 2 || toOld.links[1] != toOld.links[0]+"&stop=true" || arena.Code(toNew.Message) == "" || arena.Code(toOld.Message) != "" ||
			!strings.Contains(toOld.Text, newAddress) || strings.Contains(toNew.Text, oldAddress) || toNew.From != "Acme <no-reply@app.test>" {
			t.Fatalf("%+v", mails)
		}
		for range 3 { // a scanner looks at it first
			if a := phone.Get(toNew.links[0]); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, newAddress) || !strings.Contains(a.Text, "Is ") {
				t.Fatalf("the page for the new address: %d %s", a.StatusCode, a.Text)
			}
		}
		if p := pendingChange(t, b); p == nil || p.NewProved || storedEmail(t, w, id) != oldAddress {
			t.Fatalf("viewing a link changes something: %+v", p)
		}
		if a := confirmEmail(t, phone, toNew.links[0]); a.Location() != arena.Origin+emailConfirmPath+"?done=proved" || !strings.Contains(phone.Get(a.Location()).Text, "the old address can still object") {
			t.Fatalf("the new end: %d %s", a.StatusCode, a.Location())
		}
		if p := pendingChange(t, b); p == nil || !p.NewProved || p.OldProved || time.Until(p.NotBefore) < 6*24*time.Hour || storedEmail(t, w, id) != oldAddress {
			t.Fatalf("one proof is enough: %+v", p)
		}
		if page := b.Get("/api/auth/account").Text; !strings.Contains(page, "to be changed to") || !strings.Contains(page, "/account/email/confirm") {
			t.Error("the account page does not show the pending change")
		}
		if a := phone.Get(toOld.links[0]); !strings.Contains(a.Text, "Change the address to") || strings.Index(a.Text, "Allow") > strings.Index(a.Text, "Stop") {
			t.Errorf("the page of the old end: %s", a.Text)
		}
		if a := confirmEmail(t, phone, toOld.links[0]); a.Location() != arena.Origin+emailConfirmPath+"?done=completed" || !strings.Contains(phone.Get(a.Location()).Text, "The address has been changed") {
			t.Fatalf("the old end: %d %s", a.StatusCode, a.Location())
		}
		u, err := w.Store.GetUser(t.Context(), id)
		if err != nil || u.Email != newAddress || u.EmailVerified.IsZero() {
			t.Errorf("%+v %v", u, err)
		}
		keeps := w.Config.Session.Strategy == authsvc.StrategyDatabase // other strategies keep the old address
		if other.Email() != "" || (b.Email() == newAddress) != keeps || b.Email() == oldAddress {
			t.Errorf("sessions: %q and %q", b.Email(), other.Email())
		}
		if m := mailsTo(t, w, 1)[oldAddress].Message; m.To != oldAddress || !strings.Contains(m.Text, newAddress) || !strings.Contains(m.Subject, "was changed") || arena.Undo(m) == "" {
			t.Errorf("the notice: %+v", m)
		}
		for _, link := range []string{toNew.links[0], toOld.links[0], toOld.links[1]} {
			if a := phone.Get(link); a.StatusCode != http.StatusNotFound || !strings.Contains(a.Text, "no longer works") {
				t.Errorf("afterwards: %d %s", a.StatusCode, a.Text)
			}
			if a := confirmEmail(t, phone, link, "json", "true"); !answers(a, http.StatusNotFound, "NotFound") {
				t.Errorf("afterwards: %d %s", a.StatusCode, a.Text)
			}
		}
	})
}

// TestEmailChangeByCode checks a change by code, in the session, which then has the new
// address.
func TestEmailChangeByCode(t *testing.T) {
	t.Parallel()
	strategies(t, changesEmail, func(t *testing.T, w *arena.World) {
		b, other := w.Browser(), w.Browser()
		b.SignIn(w.OP, "ada")
		other.SignIn(w.OP, "ada")
		askEmail(b, newAddress)
		mails := mailsTo(t, w, 2)
		code, stranger := arena.Code(mails[newAddress].Message), w.Browser()
		if a := stranger.Post(emailConfirmPath, "code", code, "json", "true"); !answers(a, http.StatusUnauthorized, "SessionRequired") {
			t.Errorf("a code without a session: %d %s", a.StatusCode, a.Text)
		}
		stranger.SignIn(w.OP, "grace")
		if a := stranger.Post(emailConfirmPath, "code", code, "json", "true"); !answers(a, http.StatusNotFound, "NotFound") {
			t.Errorf("a code in another user's session: %d %s", a.StatusCode, a.Text)
		}
		if a := confirmEmail(t, b, mails[oldAddress].links[0], "json", "true"); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, `"oldProved":true`) {
			t.Fatalf("the old end first: %d %s", a.StatusCode, a.Text)
		}
		if a := b.Post(emailConfirmPath, "code", wrong(code), "json", "true"); !answers(a, http.StatusBadRequest, "Code") {
			t.Errorf("a wrong code: %d %s", a.StatusCode, a.Text)
		}
		if a := b.Post(emailConfirmPath, "id", "another", "code", code, "json", "true"); !answers(a, http.StatusNotFound, "NotFound") {
			t.Errorf("another id: %d %s", a.StatusCode, a.Text)
		}
		if page := b.Get(emailConfirmPath + "?error=Code").Text; !strings.Contains(page, `name="code"`) || !strings.Contains(page, "That code is not correct") {
			t.Errorf("%s", page)
		}
		reader := w.Browser()
		reader.Post("/api/auth/signin/email", "email", oldAddress)
		link := arena.Link(t, w.Mail.Next(t))
		a := b.Post(emailConfirmPath, "code", strings.ReplaceAll(code, " ", "-"))
		if a.Location() != arena.Origin+"/api/auth/account?done=address" || !strings.Contains(b.Get(a.Location()).Text, "Your email address has been changed.") {
			t.Fatalf("%d %s", a.StatusCode, a.Location())
		}
		if reader.Get(link); reader.Email() != "" {
			t.Error("a link to the old address signs in")
		}
		if b.Email() != newAddress || other.Email() != "" || stranger.Email() == "" {
			t.Errorf("sessions: %q %q %q", b.Email(), other.Email(), stranger.Email())
		}
		if got := readAccount(t, b); got.User.Email != newAddress || !got.User.EmailVerified {
			t.Errorf("%+v", got)
		}
	})
}

// TestEmailChangeCodeTries checks that five codes are compared and then the right one
// is refused. The link still works.
func TestEmailChangeCodeTries(t *testing.T) {
	t.Parallel()
	w := arena.Enter(t, nil)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	askEmail(b, newAddress)
	mails := mailsTo(t, w, 2)
	code := arena.Code(mails[newAddress].Message)
	for range 5 {
		b.Post(emailConfirmPath, "code", wrong(code))
	}
	if a := b.Post(emailConfirmPath, "code", code, "json", "true"); !answers(a, http.StatusBadRequest, "Code") || pendingChange(t, b).NewProved {
		t.Fatalf("the sixth: %d %s", a.StatusCode, a.Text)
	}
	if page := b.Get(emailConfirmPath).Text; strings.Contains(page, `name="code"`) {
		t.Error("the page has a field for a code that is no longer checked")
	}
	if a := confirmEmail(t, b, mails[newAddress].links[0]); a.Location() != arena.Origin+emailConfirmPath || !pendingChange(t, b).NewProved {
		t.Errorf("the link: %d %s", a.StatusCode, a.Location())
	}
}

// TestEmailChangeWithoutOldEnd checks that users without a verified address only prove
// the new one.
func TestEmailChangeWithoutOldEnd(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]adapter.UserUpdate{"none": {Email: new(""), EmailVerified: &time.Time{}}, "unproved": {EmailVerified: &time.Time{}}} {
		w := arena.Start(t, nil)
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		id := readAccount(t, b).User.ID
		if _, err := w.Store.UpdateUser(t.Context(), id, before); err != nil {
			t.Fatal(err)
		}
		askEmail(b, newAddress)
		mails := mailsTo(t, w, 1)
		if a := confirmEmail(t, b, mails[newAddress].links[0]); a.Location() != arena.Origin+"/api/auth/account?done=address" || storedEmail(t, w, id) != newAddress {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Location())
		}
		if w.Mail.Count() != 1 {
			t.Errorf("%s: %d mails, one of them to an unproved address", name, w.Mail.Count())
		}
	}
}

func TestEmailChangeStops(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(t *testing.T, w *arena.World, b *arena.Browser, user string, mails map[string]linkMail){
		"the old address": func(t *testing.T, w *arena.World, _ *arena.Browser, _ string, mails map[string]linkMail) {
			phone := w.Browser()
			if page := phone.Get(mails[oldAddress].links[1]).Text; strings.Index(page, "Stop") > strings.Index(page, "Allow") {
				t.Error("the page of the link that stops the change begins with the button that allows it")
			}
			if a := confirmEmail(t, phone, mails[oldAddress].links[1], "stop", "true"); a.Location() != arena.Origin+emailConfirmPath+"?done=stopped" {
				t.Errorf("%d %s", a.StatusCode, a.Location())
			}
		},
		"the person": func(t *testing.T, _ *arena.World, b *arena.Browser, _ string, _ map[string]linkMail) {
			if a := b.Post("/api/auth/account/email/cancel"); a.Location() != arena.Origin+"/api/auth/account?done=unchanged" {
				t.Errorf("%d %s", a.StatusCode, a.Location())
			}
			if a := b.Post("/api/auth/account/email/cancel", "json", "true"); !answers(a, http.StatusNotFound, "NotFound") {
				t.Errorf("once more: %d %s", a.StatusCode, a.Text)
			}
		},
		"all sessions ended": func(t *testing.T, w *arena.World, _ *arena.Browser, user string, _ map[string]linkMail) {
			if err := w.EndSessions(t.Context(), user); err != nil {
				t.Error(err)
			}
		},
		"blocked": func(t *testing.T, w *arena.World, _ *arena.Browser, user string, _ map[string]linkMail) {
			if err := errors.Join(w.Block(t.Context(), user, "spam"), w.Unblock(t.Context(), user)); err != nil {
				t.Error(err)
			}
		},
		"another change": func(t *testing.T, w *arena.World, b *arena.Browser, _ string, _ map[string]linkMail) {
			askEmail(b, "other@app.test")
			mailsTo(t, w, 2)
		},
		"the address was changed elsewhere": func(t *testing.T, w *arena.World, _ *arena.Browser, user string, _ map[string]linkMail) {
			if _, err := w.Store.UpdateUser(t.Context(), user, adapter.UserUpdate{Email: new("third@app.test")}); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, nil)
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			user := readAccount(t, b).User.ID
			askEmail(b, newAddress)
			mails := mailsTo(t, w, 2)
			stop(t, w, b, user, mails)
			for _, address := range []string{newAddress, oldAddress} {
				if a := confirmEmail(t, w.Browser(), mails[address].links[0]); a.Location() != arena.Origin+emailConfirmPath+"?done=spent" {
					t.Errorf("%s: %d %s", address, a.StatusCode, a.Location())
				}
			}
			if storedEmail(t, w, user) == newAddress {
				t.Error("the address is changed")
			}
		})
	}
}

func TestEmailChangeRefused(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	if a := b.Get("/api/auth/account/email"); !strings.Contains(a.Location(), "/signin?") {
		t.Errorf("no session: %d %s", a.StatusCode, a.Location())
	}
	for _, path := range []string{"account/email", "account/email/finish", "account/email/cancel", "account/email/confirm"} {
		if a := w.Browser().Post("/api/auth/"+path, "email", newAddress, "json", "true"); !answers(a, http.StatusUnauthorized, "SessionRequired") {
			t.Errorf("%s without a session: %d %s", path, a.StatusCode, a.Text)
		}
	}
	b.SignIn(w.OP, "ada")
	for _, path := range []string{"account/email", "account/email/finish", "account/email/cancel", "account/email/confirm"} {
		if a := b.Post("/api/auth/"+path, "email", newAddress, "csrfToken", "wrong", "json", "true"); !answers(a, http.StatusForbidden, "csrf") {
			t.Errorf("%s without the token: %d %s", path, a.StatusCode, a.Text)
		}
	}
	for _, bad := range []string{"", "ada", "a@b@c.example", "a b@example.com", oldAddress, " ADA@example.com", "ada@example.com\r\nBcc: x@y.example", "a\x00da@example.com",
		"ada@exam\u202eple.com", strings.Repeat("a", 10_000) + "@example.com"} {
		if a := askEmail(b, bad); !answers(a, http.StatusBadRequest, "Invalid") {
			t.Errorf("%q: %d %s", bad, a.StatusCode, a.Text)
		}
	}
	a := b.Post("/api/auth/account/email", "email", "ada@nowhere@")
	if page := b.Get(a.Location()).Text; !strings.Contains(a.Location(), "/account/email?error=Invalid") || !strings.Contains(page, `value="ada@nowhere@"`) || !strings.Contains(page, `aria-invalid="true"`) {
		t.Errorf("the entered text is lost: %s %s", a.Location(), page)
	}
	for _, path := range []string{"finish", "cancel"} {
		if a := b.Post("/api/auth/account/email/"+path, "json", "true"); !answers(a, http.StatusNotFound, "NotFound") {
			t.Errorf("%s of nothing: %d %s", path, a.StatusCode, a.Text)
		}
	}
	if a := b.Get(emailConfirmPath); a.Location() != arena.Origin+"/api/auth/account" {
		t.Errorf("progress of nothing: %d %s", a.StatusCode, a.Location())
	}
	for _, query := range []string{"?id=x&token=y", "?token=" + strings.Repeat("a", 43), "?id=" + strings.Repeat("x", 500) + "&token=y"} {
		if a := b.Get(emailConfirmPath + query); a.StatusCode != http.StatusNotFound || !strings.Contains(a.Text, "no longer works") {
			t.Errorf("%s: %d %s", query, a.StatusCode, a.Text)
		}
	}
	askEmail(b, newAddress)
	if a := b.Post("/api/auth/account/email/finish", "json", "true"); !answers(a, http.StatusBadRequest, "Invalid") || pendingChange(t, b) == nil {
		t.Errorf("finish before it is due: %d %s", a.StatusCode, a.Text)
	}
	mailsTo(t, w, 2)
}

// TestEmailChangeNeedsFreshProof checks that a change needs a fresh proof, after which
// the typed address is still there.
func TestEmailChangeNeedsFreshProof(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	_, form := formTo(t, b.Get("/api/auth/account/email").Text, "account/email")
	_, other := formTo(t, b.Get("/api/auth/account").Text, "account/unlink")
	makeOld(t, w, readAccount(t, b).User.ID)
	if a := b.Get("/api/auth/account/email"); a.Location() != arena.Origin+"/api/auth/confirm?callbackUrl=https%3A%2F%2Fapp.test%2Fapi%2Fauth%2Faccount%2Femail" {
		t.Errorf("the form: %d %s", a.StatusCode, a.Location())
	}
	if a := askEmail(b, newAddress, "fresh", other.Get("fresh")); !answers(a, http.StatusUnauthorized, "FreshRequired") {
		t.Errorf("the seal of another form: %d %s", a.StatusCode, a.Text)
	}
	if a := b.Post("/api/auth/account/email", "email", newAddress); !strings.Contains(a.Location(), "/confirm?") {
		t.Errorf("a person: %d %s", a.StatusCode, a.Location())
	}
	if pendingChange(t, b) != nil || w.Mail.Count() != 0 {
		t.Error("a change was requested without a fresh proof")
	}
	late := b.Clone()
	again := b.Post("/api/auth/confirm", "provider", "op", "callbackUrl", "/api/auth/account/email").Location()
	if a := b.Get(b.Approve(w.OP, again, "ada")); a.Location() != arena.Origin+"/api/auth/account/email" {
		t.Errorf("confirmed: %d %s", a.StatusCode, a.Location())
	}
	if page := b.Get("/api/auth/account/email").Text; !strings.Contains(page, `value="`+newAddress+`"`) {
		t.Errorf("the text entered before the proof is lost: %s", page)
	}
	if a := askEmail(late, newAddress, "fresh", form.Get("fresh")); !answers(a, http.StatusUnauthorized, "SessionRequired") {
		t.Errorf("in the earlier session: %d %s", a.StatusCode, a.Text)
	}
	_, form = formTo(t, b.Get("/api/auth/account/email").Text, "account/email")
	makeOld(t, w, readAccount(t, b).User.ID)
	if a := askEmail(b, newAddress, "fresh", form.Get("fresh")); a.StatusCode != http.StatusOK {
		t.Errorf("twin, opened in time: %d %s", a.StatusCode, a.Text)
	}
	mailsTo(t, w, 2)
}

// TestEmailChangeTaken checks that, if a user already has the address, the answers are
// the same and the mails differ.
func TestEmailChangeTaken(t *testing.T) {
	t.Parallel()
	w := arena.Enter(t, nil)
	b, owner := w.Browser(), w.Browser()
	b.SignIn(w.OP, "ada")
	owner.SignInByMail(w, "grace@app.test")
	varying := regexp.MustCompile(`"id":"[^"]*"|"\d{4}-[^"]*Z"|"address":"[^"]*"`)
	seen := map[string][]string{}
	for _, address := range []string{"grace@app.test", "nobod@app.test"} { // of one length
		script, form, page := askEmail(b, address), b.Post("/api/auth/account/email", "email", address), b.Get(emailConfirmPath)
		mails := mailsTo(t, w, 4)
		text := strings.ReplaceAll(regexp.MustCompile(`value="[^"]*"|\d{4}-\d\d-\d\d`).ReplaceAllString(page.Text, ""), address, "ADDRESS")
		seen[address] = []string{fmt.Sprint(script.StatusCode, len(script.Text), headerNames(script), varying.ReplaceAllString(script.Text, "")),
			fmt.Sprint(form.StatusCode, form.Location(), headerNames(form)), fmt.Sprint(len(page.Text), headerNames(page), strings.ReplaceAll(text, "<wbr>", ""))}
		if len(mails[oldAddress].links) != 2 {
			t.Errorf("%s: the old address was not asked: %+v", address, mails)
		}
		taken := address == "grace@app.test"
		if m := mails[address]; (arena.Code(m.Message) == "") != taken || strings.Contains(m.Text, "token=") == taken || strings.Contains(m.Text, "already belongs to an account") != taken {
			t.Errorf("%s: %s", address, m.Text)
		}
	}
	if !slices.Equal(seen["grace@app.test"], seen["nobod@app.test"]) {
		t.Errorf("the answers reveal whether an account exists: %q", seen)
	}
}

func headerNames(a *browser.Answer) []string { return slices.Sorted(maps.Keys(a.Header)) }

func TestEmailChangeLimit(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.RateLimit.EmailPerAddress = authsvc.Rate{N: 2, Per: time.Hour} })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	for range 2 {
		if a := askEmail(b, newAddress); a.StatusCode != http.StatusOK {
			t.Errorf("%d %s", a.StatusCode, a.Text)
		}
	}
	if a := askEmail(b, newAddress); !answers(a, http.StatusTooManyRequests, "RateLimited") || a.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	a := b.Post("/api/auth/account/email", "email", "else@app.test") // the old mailbox has also reached its limit
	if page := b.Get(a.Location()).Text; !strings.Contains(a.Location(), "error=RateLimited") || !strings.Contains(page, "too many attempts") || !strings.Contains(page, `value="else@app.test"`) {
		t.Errorf("%s %s", a.Location(), page)
	}
	mailsTo(t, w, 4)
}

func TestEmailChangeTokenLimit(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.RateLimit.Link = authsvc.Rate{N: 2, Per: time.Hour} })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	for _, want := range []int{http.StatusBadRequest, http.StatusBadRequest, http.StatusTooManyRequests} {
		askEmail(b, newAddress)
		if a := b.Post(emailConfirmPath, "code", "no digits", "json", "true"); a.StatusCode != want {
			t.Errorf("%d %s; want %d", a.StatusCode, a.Text, want)
		}
	}
}

func TestEmailChangeStoreAway(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GetUserByEmail", "DeleteCredentials", "PutCredential", "PutMail", "GetPerson"} {
		w := arena.Enter(t, nil)
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		b.CSRF()
		w.Ledger.BreakAt(func(_ int, called string) arena.Failure {
			if called == method {
				return arena.FailBefore
			}
			return arena.Works
		})
		if a := askEmail(b, newAddress); !answers(a, http.StatusServiceUnavailable, "Unavailable") || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", method, a.StatusCode, a.Text)
		}
		w.Ledger.BreakAt(nil)
		if a := askEmail(b, newAddress); a.StatusCode != http.StatusOK {
			t.Errorf("%s, again: %d %s", method, a.StatusCode, a.Text)
		}
	}
}

// TestEmailChangeMailsAway checks that no change is pending if one of its mails cannot
// be queued, and that the new address gets no mail unless the old one can object.
func TestEmailChangeMailsAway(t *testing.T) {
	t.Parallel()
	for failing, reaches := range [][]string{{}, {oldAddress}} { // the first or the second mail
		w := arena.Enter(t, nil)
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		b.CSRF()
		var put atomic.Int32
		w.Ledger.BreakAt(func(_ int, called string) arena.Failure {
			if called == "PutMail" && int(put.Add(1)) == failing+1 {
				return arena.FailBefore
			}
			return arena.Works
		})
		if a := askEmail(b, newAddress); !answers(a, http.StatusServiceUnavailable, "Unavailable") {
			t.Errorf("%d %s", a.StatusCode, a.Text)
		}
		if p := pendingChange(t, b); p != nil {
			t.Errorf("a change is pending that no one can confirm: %+v", p)
		}
		for address, m := range mailsTo(t, w, len(reaches)) {
			if !slices.Contains(reaches, address) {
				t.Errorf("a mail to %s, want %v", address, reaches)
			}
			if a := w.Browser().Get(m.links[0]); a.StatusCode != http.StatusNotFound {
				t.Errorf("its link: %d", a.StatusCode)
			}
		}
		w.Ledger.BreakAt(nil)
		askEmail(b, newAddress)
		if mailsTo(t, w, 2); pendingChange(t, b) == nil {
			t.Error("twin: a change whose mails are queued is not pending")
		}
	}
}

func TestRequestEmailChange(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	id := readAccount(t, b).User.ID
	if err := w.Store.SetPerson(t.Context(), id, adapter.PersonUpdate{Locale: new("de")}, nil); err != nil {
		t.Fatal(err)
	}
	for address, user := range map[string]string{"no address": id, oldAddress: id, newAddress: "u-none"} {
		if err := w.RequestEmailChange(t.Context(), user, address); err == nil || user == "u-none" && !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("%s of %s: %v", address, user, err)
		}
	}
	if err := w.RequestEmailChange(t.Context(), id, " NEW@app.test"); err != nil {
		t.Fatal(err)
	}
	mails := mailsTo(t, w, 2)
	if m := mails[newAddress]; !strings.Contains(m.Subject, "Bestätigen") || strings.Contains(m.Text, "Angefordert wurde") {
		t.Errorf("%s %s", m.Subject, m.Text)
	}
	confirmEmail(t, w.Browser(), mails[newAddress].links[0])
	confirmEmail(t, w.Browser(), mails[oldAddress].links[0])
	if got := storedEmail(t, w, id); got != newAddress {
		t.Error(got)
	}
	if err := w.Block(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if err := w.RequestEmailChange(t.Context(), id, "third@app.test"); !errors.Is(err, authsvc.ErrAccessDenied) {
		t.Errorf("of a blocked user: %v", err)
	}
}

// TestEmailChangeIsThere checks when users can change their address, and that nothing
// shows it otherwise.
func TestEmailChangeIsThere(t *testing.T) {
	t.Parallel()
	withoutMail := func(c *authsvc.Config) { c.Providers = append(c.Providers[:1:1], c.Providers[2]) }
	for name, tt := range map[string]struct {
		tune func(*authsvc.Config)
		want bool
	}{
		"as it is":                      {nil, true},
		"off":                           {func(c *authsvc.Config) { c.Account.ChangeEmail = new(false) }, false},
		"compat":                        {func(c *authsvc.Config) { c.Compat = authsvc.NextAuthV4 }, false},
		"compat, on":                    {func(c *authsvc.Config) { c.Compat, c.Account.ChangeEmail = authsvc.AuthJSV5, new(true) }, true},
		"no mails":                      {withoutMail, false},
		"no account page":               {func(c *authsvc.Config) { c.Account.Disabled = true }, false},
		"mail for address changes only": {func(c *authsvc.Config) { c.Providers[1].(*authsvc.Email).NoSignIn = true }, true},
		"no page, but enabled":          {func(c *authsvc.Config) { c.Account.Disabled, c.Account.ChangeEmail = true, new(true) }, false},
	} {
		w := arena.Start(t, tt.tune)
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		if a := b.Get("/api/auth/account/email"); (a.StatusCode == http.StatusOK) != tt.want || !tt.want && a.StatusCode/100 != 4 {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
		if page := b.Get("/api/auth/account").Text; strings.Contains(page, "account/email") != tt.want {
			t.Errorf("%s: the account page", name)
		}
		if err := w.RequestEmailChange(t.Context(), "u-none", newAddress); errors.Is(err, authsvc.ErrNoEmailChange) == tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Adapter: arena.Start(t, nil).Store, Account: authsvc.AccountOptions{ChangeEmail: new(true)},
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}}}
	if list := authsvc.ConfigErrors(engine.Check(c)); len(list) != 1 || list[0].Field != "Account.ChangeEmail" {
		t.Errorf("%v", list)
	}
}
