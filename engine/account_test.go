package engine_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// accountJSON is GET account as a script receives it.
type accountJSON struct {
	User struct {
		ID, Name, Email string
		EmailVerified   bool
	}
	Session  struct{ Fresh bool }
	Accounts []struct {
		ID, Provider, Name string
		Removable          bool
	}
	Providers []struct{ ID, Name string }
	Pending   struct {
		Email *struct{ ID, Address, NotBefore string }
	}
}

func readAccount(t *testing.T, b *arena.Browser) (a accountJSON) {
	t.Helper()
	page := b.Clone()
	page.Header.Set("Accept", "application/json")
	got := page.Get("/api/auth/account")
	if got.StatusCode != http.StatusOK || !strings.HasPrefix(got.Header.Get("Content-Type"), "application/json") {
		t.Fatalf("%d %s", got.StatusCode, got.Text)
	}
	if err := json.Unmarshal([]byte(got.Text), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// answers reports whether a script got a status and an error code.
func answers(a *browser.Answer, status int, word string) bool {
	return a.StatusCode == status && strings.Contains(a.Text, `"error":"`+word+`"`)
}

func TestAccountAnswers(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		if a := b.Get("/api/auth/account"); a.Location() != arena.Origin+"/api/auth/signin?callbackUrl=https%3A%2F%2Fapp.test%2Fapi%2Fauth%2Faccount" {
			t.Errorf("no session, a person: %d %s", a.StatusCode, a.Location())
		}
		b.Header.Set("Accept", "application/json")
		if a := b.Get("/api/auth/account"); !answers(a, http.StatusUnauthorized, "SessionRequired") {
			t.Errorf("no session, a script: %d %s", a.StatusCode, a.Text)
		}
		b.SignIn(w.OP, "ada")
		a := readAccount(t, b)
		if a.User.Email != "ada@example.com" || !a.User.EmailVerified || !a.Session.Fresh || len(a.Accounts) != 1 || a.Accounts[0].Name != "Example" || len(a.Providers) != 1 {
			t.Errorf("%+v", a)
		}
		raw := b.Get("/api/auth/account")
		for _, never := range []string{"providerAccountId", "token", `"ada"`} {
			if strings.Contains(raw.Text, never) {
				t.Errorf("%q is told: %s", never, raw.Text)
			}
		}
		if vary := strings.Join(raw.Header.Values("Vary"), ","); !strings.Contains(vary, "Cookie") || !strings.Contains(vary, "Accept") || raw.Header.Get("Cache-Control") != "private, no-cache, no-store" {
			t.Errorf("caches: %v", raw.Header)
		}
		for _, path := range []string{"account/profile", "account/unlink", "confirm"} {
			if a := b.Post("/api/auth/"+path, "csrfToken", "wrong", "json", "true"); !answers(a, http.StatusForbidden, "csrf") {
				t.Errorf("%s without the token: %d %s", path, a.StatusCode, a.Text)
			}
			if a := w.Browser().Post("/api/auth/"+path, "json", "true"); !answers(a, http.StatusUnauthorized, "SessionRequired") {
				t.Errorf("%s without a session: %d %s", path, a.StatusCode, a.Text)
			}
		}
	})
}

func TestRename(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b, other := w.Browser(), w.Browser()
		b.SignIn(w.OP, "ada")
		other.SignIn(w.OP, "ada")
		name := func(b *arena.Browser) any { user, _ := b.Session()["user"].(map[string]any); return user["name"] }
		for bad, why := range map[string]string{"": "empty", " Ada": "space", "Ada\u202eadA": "bidi", "Ada\nL": "control", strings.Repeat("é", 101): "long"} {
			if a := b.Post("/api/auth/account/profile", "name", bad, "json", "true"); !answers(a, http.StatusBadRequest, "Invalid") {
				t.Errorf("%s: %d %s", why, a.StatusCode, a.Text)
			}
		}
		a := b.Post("/api/auth/account/profile", "name", "Ada\u202e")
		if page := b.Get(a.Location()).Text; !strings.Contains(a.Location(), "/account?error=Invalid") || !strings.Contains(page, "value=\"Ada\u202e\"") || !strings.Contains(page, `aria-invalid="true"`) {
			t.Errorf("the entered text is lost: %s %s", a.Location(), page)
		}
		if page := b.Get("/api/auth/account").Text; strings.Contains(page, "\u202e") {
			t.Error("the entered text is still shown on the next visit")
		}
		const want = "Ada \u00c9. King 👩‍🔬"
		a = b.Post("/api/auth/account/profile", "name", "Ada E\u0301. King 👩‍🔬", "json", "true") // not normalised
		if a.StatusCode != http.StatusOK || !strings.Contains(a.Text, `"name":"`+want+`"`) || !strings.Contains(a.Text, `"url":"`+arena.Origin+`/api/auth/account"`) {
			t.Errorf("%d %s", a.StatusCode, a.Text)
		}
		if got := name(b); got != want {
			t.Errorf("the session of this browser says %q", got)
		}
		if a := b.Post("/api/auth/account/profile", "name", "Ada"); a.Location() != arena.Origin+"/api/auth/account?done=renamed" || !strings.Contains(b.Get(a.Location()).Text, "Your name has been changed.") {
			t.Errorf("a person: %d %s", a.StatusCode, a.Location())
		}
		if readAccount(t, other).User.Name != "Ada" {
			t.Error("another browser does not show the new name")
		}
	})
}

func TestRenameTurnedOff(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.Account.Edit = []string{} })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	if a := b.Post("/api/auth/account/profile", "name", "Eve", "json", "true"); !answers(a, http.StatusBadRequest, "Invalid") {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	if strings.Contains(b.Get("/api/auth/account").Text, "account/profile") {
		t.Error("the page has the form")
	}
}

// withSecondAccount gives a user two accounts at "op", and returns the user's ID.
func withSecondAccount(t *testing.T, w *arena.World, b *arena.Browser) (user string) {
	t.Helper()
	b.SignIn(w.OP, "ada")
	b.SignIn(w.OP, "alan", "link", "true")
	user = w.Person(t, b)
	none, never := "", time.Time{}
	if _, err := w.Store.UpdateUser(t.Context(), user, adapter.UserUpdate{Email: &none, EmailVerified: &never}); err != nil {
		t.Fatal(err)
	}
	return user
}

// idless is a store whose accounts have no ID, as in the schema that Prisma users copy.
type idless struct{ adapter.Adapter }

func (s idless) LinkAccount(ctx context.Context, a authsvc.Account, epoch int64) (authsvc.Account, error) {
	a, err := s.Adapter.LinkAccount(ctx, a, epoch)
	a.ID = ""
	return a, err
}

func (s idless) ListAccounts(ctx context.Context, userID string) ([]authsvc.Account, error) {
	list, err := s.Adapter.ListAccounts(ctx, userID)
	slices.SortFunc(list, func(a, b authsvc.Account) int { return strings.Compare(a.ProviderAccountID, b.ProviderAccountID) })
	for i := range list {
		list[i].ID = ""
	}
	return list, err
}

func TestUnlinkByThePerson(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]func(*authsvc.Config){
		"accounts with ids":    nil,
		"accounts without ids": func(c *authsvc.Config) { c.Adapter = idless{c.Adapter} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategies(t, shape, unlinkByThePerson)
		})
	}
}

func unlinkByThePerson(t *testing.T, w *arena.World) {
	b, stranger := w.Browser(), w.Browser()
	withSecondAccount(t, w, b)
	stranger.SignIn(w.OP, "grace")
	mine, theirs := readAccount(t, b).Accounts, readAccount(t, stranger).Accounts
	if len(mine) != 2 || !mine[0].Removable || !mine[1].Removable || len(theirs) != 1 || mine[0].ID == mine[1].ID {
		t.Fatalf("%+v %+v", mine, theirs)
	}
	unlink := func(id string) *browser.Answer { return b.Post("/api/auth/account/unlink", "id", id, "json", "true") }
	for _, id := range []string{theirs[0].ID, "unknown", "", "ada", "alan"} {
		if a := unlink(id); !answers(a, http.StatusNotFound, "NotFound") {
			t.Errorf("%q: %d %s", id, a.StatusCode, a.Text)
		}
	}
	if a := b.Post("/api/auth/account/unlink", "json", "true"); !answers(a, http.StatusNotFound, "NotFound") {
		t.Errorf("no id: %d %s", a.StatusCode, a.Text)
	}
	if a := unlink(mine[1].ID); a.StatusCode != http.StatusOK || strings.Contains(a.Text, mine[1].ID) || !strings.Contains(a.Text, mine[0].ID) || !strings.Contains(a.Text, `"removable":false`) {
		t.Errorf("the second of two: %d %s", a.StatusCode, a.Text)
	}
	if a := unlink(mine[1].ID); !answers(a, http.StatusNotFound, "NotFound") {
		t.Errorf("once more: %d %s", a.StatusCode, a.Text)
	}
	if a := unlink(mine[0].ID); !answers(a, http.StatusConflict, "LastMethod") {
		t.Errorf("the last: %d %s", a.StatusCode, a.Text)
	}
	page := b.Get("/api/auth/account").Text
	if !strings.Contains(page, "only way to sign in") || strings.Contains(page, `name="id"`) {
		t.Errorf("the last has a button: %s", page)
	}
	if a := b.Post("/api/auth/account/unlink", "id", mine[0].ID); a.Location() == "" || !strings.Contains(b.Get(a.Location()).Text, "could no longer sign in") {
		t.Errorf("a person: %d %s", a.StatusCode, a.Location())
	}
	if len(readAccount(t, stranger).Accounts) != 1 || len(readAccount(t, b).Accounts) != 1 {
		t.Error("more was removed")
	}
}

// TestUnlinkLastTwoAtOnce checks that, of two concurrent requests that would each leave
// only the other account, one succeeds.
func TestUnlinkLastTwoAtOnce(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.RateLimit.Disabled = true })
	b := w.Browser()
	withSecondAccount(t, w, b)
	b.CSRF()
	var wg sync.WaitGroup
	for _, one := range readAccount(t, b).Accounts {
		tab := b.Clone()
		wg.Go(func() { tab.Post("/api/auth/account/unlink", "id", one.ID, "json", "true") })
	}
	wg.Wait()
	if left := readAccount(t, b).Accounts; len(left) != 1 {
		t.Errorf("%+v are left", left)
	}
}

// TestUnlinkNeedsFreshProof checks that removing a way to sign in needs a fresh proof:
// of the session, or from when the form was opened in it.
func TestUnlinkNeedsFreshProof(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b, stranger := w.Browser(), w.Browser()
	user := withSecondAccount(t, w, b)
	stranger.SignIn(w.OP, "grace")
	_, form := formTo(t, b.Get("/api/auth/account").Text, "account/unlink")
	_, other := formTo(t, stranger.Get("/api/auth/account").Text, "account/unlink")
	_, link := formTo(t, b.Get("/api/auth/signin").Text, "signin/op")
	id := readAccount(t, b).Accounts[0].ID
	makeOld(t, w, user)
	if readAccount(t, b).Session.Fresh {
		t.Error("an hour later the session says that it is fresh")
	}
	if page := b.Get("/api/auth/account").Text; strings.Contains(page, `name="fresh"`) {
		t.Error("the page of a stale session has a fresh form")
	}
	for name, fresh := range map[string]string{"none": "", "another session's": other.Get("fresh"), "another form's": link.Get("fresh"), "garbage": "x"} {
		if a := b.Post("/api/auth/account/unlink", "id", id, "fresh", fresh, "json", "true"); !answers(a, http.StatusUnauthorized, "FreshRequired") || !strings.Contains(a.Text, "/confirm?callbackUrl=") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Text)
		}
	}
	if a := b.Post("/api/auth/account/unlink", "id", id); !strings.HasPrefix(a.Location(), arena.Origin+"/api/auth/confirm?callbackUrl=") {
		t.Errorf("a person: %d %s", a.StatusCode, a.Location())
	}
	if a := b.Post("/api/auth/account/unlink", "id", id, "fresh", form.Get("fresh"), "json", "true"); a.StatusCode != http.StatusOK {
		t.Errorf("twin: opened in time: %d %s", a.StatusCode, a.Text)
	}
}

func TestAccountStoreAway(t *testing.T) {
	t.Parallel()
	w := arena.Enter(t, nil)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	b.CSRF()
	w.Ledger.BreakAt(func(_ int, method string) arena.Failure {
		if method == "ListAccounts" || method == "UpdateUser" {
			return arena.FailBefore
		}
		return arena.Works
	})
	if a := b.Get("/api/auth/account"); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.Contains(a.Text, "cannot be shown") {
		t.Errorf("the page: %d %s", a.StatusCode, a.Text)
	}
	for path, fields := range map[string][]string{"account/profile": {"name", "Ada"}, "account/unlink": {"id", "x"}, "confirm": {"provider", "op"}} {
		if a := b.Post("/api/auth/"+path, append(fields, "json", "true")...); !answers(a, http.StatusServiceUnavailable, "Unavailable") || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.Text)
		}
	}
}

func TestAccountLimit(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.RateLimit.Account = authsvc.Rate{N: 1, Per: time.Hour} })
	b, other := w.Browser(), w.Browser()
	b.SignIn(w.OP, "ada")
	other.SignIn(w.OP, "grace")
	rename := func(b *arena.Browser) *browser.Answer {
		return b.Post("/api/auth/account/profile", "name", "Ada", "json", "true")
	}
	if a := rename(b); a.StatusCode != http.StatusOK {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	if a := rename(b); !answers(a, http.StatusTooManyRequests, "RateLimited") || a.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	if a := rename(other); a.StatusCode != http.StatusOK {
		t.Errorf("another user: %d %s", a.StatusCode, a.Text)
	}
}

// TestAccountIsNotThere checks that there is no account page without storage, or if it
// is turned off.
func TestAccountIsNotThere(t *testing.T) {
	t.Parallel()
	for name, tune := range map[string]func(*authsvc.Config){
		"no storage": func(c *authsvc.Config) {
			c.Adapter, c.Providers = nil, c.Providers[:1]
		},
		"turned off": func(c *authsvc.Config) { c.Account.Disabled = true },
	} {
		w := arena.Start(t, tune)
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		if a := b.Get("/api/auth/account"); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
		if a := b.Post("/api/auth/account/unlink", "id", "x"); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
		if a := b.Get("/api/auth/confirm"); (a.StatusCode == http.StatusNotFound) != (name == "no storage") {
			t.Errorf("%s, confirm: %d", name, a.StatusCode)
		}
		if a := b.Get("/api/auth/signin"); !strings.Contains(a.Text, "You are signed in") || strings.Contains(a.Text, "/account") {
			t.Errorf("%s: the sign-in page offers the account: %s", name, a.Text)
		}
	}
}

// TestAccountOfUnstored checks that a user whom only the application stores sees the
// session's data.
func TestAccountOfUnstored(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.Session.Strategy = "jwt" })
	b := w.Browser()
	b.Login("ada")
	if a := readAccount(t, b); a.User.ID != "ada-id" || a.User.Name != "Ada" || len(a.Accounts) != 0 {
		t.Errorf("%+v", a)
	}
	if page := b.Get("/api/auth/account").Text; strings.Contains(page, "account/profile") || !strings.Contains(page, "This site manages your account itself") {
		t.Errorf("%s", page)
	}
	if a := b.Post("/api/auth/account/profile", "name", "Eve", "json", "true"); !answers(a, http.StatusNotFound, "NotFound") {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
}

func TestAccountOptions(t *testing.T) {
	t.Parallel()
	for field, o := range map[string]authsvc.AccountOptions{
		"": {Fresh: time.Minute}, "Account.Fresh": {Fresh: time.Second}, "Account.Edit[1]": {Edit: []string{"name", "email"}},
	} {
		_, err := engine.NewOperator(authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Adapter: memory.New(), Account: o,
			Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) { return authsvc.User{}, nil }}}})
		list := authsvc.ConfigErrors(err)
		if field == "" && err != nil || field != "" && (len(list) != 1 || list[0].Field != field) {
			t.Errorf("%q: %v", field, err)
		}
	}
}

// shownSessions returns the sessions that GET account lists.
func shownSessions(t *testing.T, b *arena.Browser) (list []struct {
	ID, Device, Provider string
	Current              bool
}) {
	t.Helper()
	page := b.Clone()
	page.Header.Set("Accept", "application/json")
	v := struct{ Sessions any }{&list}
	if err := json.Unmarshal([]byte(page.Get("/api/auth/account").Text), &v); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAccountSignOut(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		here, phone, laptop, stranger := w.Browser(), w.Browser(), w.Browser(), w.Browser()
		phone.Header.Set("User-Agent", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1")
		for _, b := range []*arena.Browser{here, phone, laptop} {
			b.SignIn(w.OP, "ada")
		}
		stranger.SignIn(w.OP, "grace")
		end := func(fields ...string) *browser.Answer {
			return here.Post("/api/auth/account/signout", append(fields, "json", "true")...)
		}
		all := shownSessions(t, here)
		if len(all) != 3 || len(shownSessions(t, stranger)) != 1 {
			t.Fatalf("%+v", all)
		}
		for _, id := range []string{shownSessions(t, stranger)[0].ID, "nobodys"} {
			if a := end("session", id); !answers(a, http.StatusNotFound, "NotFound") || stranger.Email() == "" {
				t.Errorf("%s: %d %s", id, a.StatusCode, a.Text)
			}
		}
		for _, fields := range [][]string{nil, {"others", "true", "all", "true"}, {"session", all[0].ID, "all", "true"}, {"others", "false"}} {
			if a := end(fields...); !answers(a, http.StatusBadRequest, "Invalid") {
				t.Errorf("%v: %d %s", fields, a.StatusCode, a.Text)
			}
		}
		for _, one := range all {
			if one.Device == "Safari on iPhone" {
				if a := end("session", one.ID); a.StatusCode != http.StatusOK || strings.Contains(a.Text, one.ID) {
					t.Errorf("the phone: %d %s", a.StatusCode, a.Text)
				}
			}
		}
		if phone.Email() != "" || laptop.Email() == "" || here.Email() == "" {
			t.Error("the sign-out did not end the phone's session only")
		}
		if a := here.Post("/api/auth/account/signout", "others", "true"); a.Location() != arena.Origin+"/api/auth/account?done=others" || laptop.Email() != "" || here.Email() == "" {
			t.Errorf("others: %d %s", a.StatusCode, a.Location())
		}
		laptop.SignIn(w.OP, "ada")
		if a := end("all", "true"); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, `"account":null`) || laptop.Email() != "" || here.Email() != "" || stranger.Email() == "" {
			t.Errorf("all: %d %s", a.StatusCode, a.Text)
		}
		here.SignIn(w.OP, "ada")
		if a := here.Post("/api/auth/account/signout", "session", shownSessions(t, here)[0].ID); !strings.HasPrefix(a.Location(), arena.Origin+"/api/auth/signin?") || here.Email() != "" {
			t.Errorf("this one: %d %s", a.StatusCode, a.Location())
		}
	})
}
