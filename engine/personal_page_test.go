package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

const tokensRoute = "/api/auth/account/tokens"

type tokenSeen struct {
	ID, Name               string
	Audiences, Hosts       []string
	Created, Used, Expires *string
}

// tokensOf returns GET account/tokens for a script.
func tokensOf(t *testing.T, b *arena.Browser) (o struct {
	Tokens           []tokenSeen
	Audiences, Hosts []string
	MaxDays          int
}) {
	t.Helper()
	a := askForData(b, tokensRoute)
	if err := json.Unmarshal([]byte(a.Text), &o); a.StatusCode != http.StatusOK || err != nil {
		t.Fatalf("%d %s", a.StatusCode, a.Text)
	}
	return o
}

func askForData(b *arena.Browser, path string) *browser.Answer {
	r, err := http.NewRequest(http.MethodGet, b.Abs(path), nil)
	if err != nil {
		panic(err)
	}
	r.Header.Set("Accept", "application/json")
	return b.Do(r)
}

// made returns the token in the answer to a script.
func made(t *testing.T, a *browser.Answer) (token, id string) {
	t.Helper()
	var o struct {
		Token string
		Info  struct{ ID string }
	}
	if err := json.Unmarshal([]byte(a.Text), &o); a.StatusCode != http.StatusOK || err != nil || !strings.HasPrefix(o.Token, "asv1_") {
		t.Fatalf("%d %s", a.StatusCode, a.Text)
	}
	return o.Token, o.Info.ID
}

// TestTokensPage checks that a user makes a token that a program can use, sees it in
// the list, and revokes it.
func TestTokensPage(t *testing.T) {
	t.Parallel()
	strategies(t, forPersonal, func(t *testing.T, w *arena.World) {
		b, stranger := w.Browser(), w.Browser()
		b.SignIn(w.OP, "ada")
		stranger.SignIn(w.OP, "grace")
		if a := w.Browser().Get(tokensRoute); a.Location() != arena.Origin+"/api/auth/signin?callbackUrl="+url.QueryEscape(arena.Origin+tokensRoute) {
			t.Errorf("signed out: %d %s", a.StatusCode, a.Location())
		}
		if page := b.Get("/api/auth/account").Text; !strings.Contains(page, `href="https://app.test`+tokensRoute+`"`) {
			t.Error("the account page does not link to it")
		}
		if page := b.Get(tokensRoute).Text; !strings.Contains(page, "You have no access tokens") || !strings.Contains(page, `name="audience.0" value="api"`) {
			t.Error(page)
		}
		if o := tokensOf(t, b); len(o.Tokens) != 0 || !slices.Equal(o.Audiences, []string{"api", "other"}) || o.MaxDays != 366 || len(o.Hosts) != 0 {
			t.Errorf("%+v", o)
		}
		token, id := made(t, b.Post(tokensRoute, "name", "nightly", "audiences", "api", "days", "7", "json", "true"))
		if a := bear(w, token, "api"); a.StatusCode != http.StatusOK {
			t.Errorf("%d %s", a.StatusCode, a.Text)
		}
		if a := bear(w, token, "other"); a.StatusCode == http.StatusOK {
			t.Error("it is valid for an audience that was not chosen")
		}
		shown := b.Post(tokensRoute, "name", "in a form", "audience.1", "other", "days", "30")
		if n := strings.Count(shown.Text, "asv1_"); shown.StatusCode != http.StatusOK || n != 1 || !strings.Contains(shown.Header.Get("Cache-Control"), "no-store") {
			t.Errorf("%d, shown %d times: %s", shown.StatusCode, n, shown.Text)
		}
		if again := b.Get(tokensRoute).Text; strings.Contains(again, "asv1_") || !strings.Contains(again, "nightly") || !strings.Contains(again, "in a form") {
			t.Error("the list is not names alone: " + again)
		}
		o := tokensOf(t, b)
		slices.SortFunc(o.Tokens, func(one, two tokenSeen) int { return strings.Compare(two.Name, one.Name) }) // both may be of the same millisecond
		if len(o.Tokens) != 2 || o.Tokens[0].ID != id || !slices.Equal(o.Tokens[1].Audiences, []string{"other"}) {
			t.Fatalf("%+v", o)
		}
		if created, expires := parseTime(t, o.Tokens[0].Created), parseTime(t, o.Tokens[0].Expires); expires.Sub(created) != 7*24*time.Hour {
			t.Errorf("it is valid for %v", expires.Sub(created))
		}
		if a := stranger.Post(tokensRoute+"/revoke", "id", id, "json", "true"); !answers(a, http.StatusNotFound, "NotFound") {
			t.Errorf("of another person: %d %s", a.StatusCode, a.Text)
		}
		if len(tokensOf(t, stranger).Tokens) != 0 {
			t.Error("another user sees them")
		}
		if a := b.Post(tokensRoute+"/revoke", "id", id); a.Location() != arena.Origin+tokensRoute+"?done=revoked" || !strings.Contains(b.Get(a.Location()).Text, "has been revoked") {
			t.Errorf("%d %s", a.StatusCode, a.Location())
		}
		if a := bear(w, token, "api"); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("a revoked one: %d", a.StatusCode)
		}
		if a := b.Post(tokensRoute+"/revoke", "id", o.Tokens[1].ID, "json", "true"); a.StatusCode != http.StatusOK || len(tokensOf(t, b).Tokens) != 0 {
			t.Errorf("the other: %d %s", a.StatusCode, a.Text)
		}
	})
}

func parseTime(t *testing.T, s *string) time.Time {
	t.Helper()
	if s == nil {
		t.Fatal("no time")
	}
	at, err := time.Parse(time.RFC3339, *s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestTokensPageRefuses checks that a request that is not allowed makes no token.
func TestTokensPageRefuses(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, forPersonal)
	b := w.Browser()
	user := withSecondAccount(t, w, b)
	for name, fields := range map[string][]string{
		"no name":          {"audiences", "api"},
		"a long name":      {"name", strings.Repeat("n", 65), "audiences", "api"},
		"control":          {"name", "a\x07b", "audiences", "api"},
		"no audience":      {"name", "n"},
		"unknown audience": {"name", "n", "audiences", "api elsewhere"},
		"a host":           {"name", "n", "audiences", "api", "hosts", "https://evil.test"},
		"a box of a host":  {"name", "n", "host.0", "https://evil.test"},
		"not a number":     {"name", "n", "audiences", "api", "days", "x"},
		"negative":         {"name", "n", "audiences", "api", "days", "-1"},
		"too long":         {"name", "n", "audiences", "api", "days", "367"},
		"far too long":     {"name", "n", "audiences", "api", "days", "9223372036854775807"},
	} {
		if a := b.Post(tokensRoute, append(fields, "json", "true")...); !answers(a, http.StatusBadRequest, "Invalid") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Text)
		}
	}
	a := b.Post(tokensRoute, "name", "typed")
	if page := b.Get(a.Location()).Text; !strings.Contains(page, "cannot be created") || !strings.Contains(page, `value="typed"`) {
		t.Errorf("a person: %s", page)
	}
	if a := b.Form(tokensRoute, map[string][]string{"name": {"n"}, "audiences": {"api"}, "json": {"true"}}); a.StatusCode != http.StatusForbidden {
		t.Errorf("without the CSRF token: %d", a.StatusCode)
	}
	_, form := formTo(t, b.Get(tokensRoute).Text, "account/tokens")
	makeOld(t, w, user)
	if a := b.Post(tokensRoute, "name", "n", "audiences", "api", "json", "true"); !answers(a, http.StatusUnauthorized, "FreshRequired") {
		t.Errorf("an old proof: %d %s", a.StatusCode, a.Text)
	}
	if n := len(tokensOf(t, b).Tokens); n != 0 {
		t.Errorf("%d tokens", n)
	}
	if a := b.Post(tokensRoute, "name", "n", "audiences", "api", "fresh", form.Get("fresh"), "json", "true"); a.StatusCode != http.StatusOK {
		t.Errorf("a form that was opened in time: %d %s", a.StatusCode, a.Text)
	}
	if page := b.Get(tokensRoute).Text; strings.Count(page, `name="name" value=""`) != 1 {
		t.Error("the text entered for an earlier token is shown again")
	}
	guest := w.Browser()
	if a := guest.Post(tokensRoute, "name", "n", "audiences", "api", "json", "true"); !answers(a, http.StatusUnauthorized, "SessionRequired") {
		t.Errorf("no session: %d %s", a.StatusCode, a.Text)
	}
	if a := askForData(guest, tokensRoute); !answers(a, http.StatusUnauthorized, "SessionRequired") {
		t.Errorf("no session, reading: %d %s", a.StatusCode, a.Text)
	}
}

// TestTokensPageJSON checks that lists and numbers of JSON do not count as omitted
// fields.
func TestTokensPageJSON(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, forPersonal)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	post := func(body string) *browser.Answer {
		return b.Raw(tokensRoute, "application/json", `{`+body+`,"json":"true","csrfToken":"`+b.CSRF()+`"}`)
	}
	for _, body := range []string{`"name":"n","audiences":"api","days":7`, `"name":"n","audiences":["api"]`, `"name":"n","audiences":"api","hosts":["https://app.test"]`, `"name":7,"audiences":"api"`} {
		if a := post(body); !answers(a, http.StatusBadRequest, "Invalid") {
			t.Errorf("%s: %d %s", body, a.StatusCode, a.Text)
		}
	}
	made(t, post(`"name":"n","audiences":"api","days":"7"`))
}

// A tokenOvertaken runs a function before the first credential is stored.
type tokenOvertaken struct {
	adapter.Adapter
	before func()
}

func (s *tokenOvertaken) PutCredential(ctx context.Context, c adapter.Credential, epoch int64, most int) error {
	if c.Kind == adapter.CredentialToken && s.before != nil {
		before := s.before
		s.before = nil
		before()
	}
	return s.Adapter.PutCredential(ctx, c, epoch, most)
}

// TestTokensPageOvertaken checks that a session that ends while a token is made, or
// that another replica has ended, makes none: a token outlives a sign-out.
func TestTokensPageOvertaken(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{"database", "jwt"} {
		store := &tokenOvertaken{Adapter: memory.New()}
		w := arena.Start(t, func(c *authsvc.Config) {
			forPersonal(c)
			c.Session.Strategy, c.Adapter = strategy, store
		})
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		user := w.Person(t, b)
		b.CSRF()
		store.before = func() {
			if err := w.EndSessions(t.Context(), user); err != nil {
				t.Error(err)
			}
		}
		if a := b.Post(tokensRoute, "name", "n", "audiences", "api", "json", "true"); !answers(a, http.StatusUnauthorized, "SessionRequired") {
			t.Errorf("%s, meanwhile: %d %s", strategy, a.StatusCode, a.Text)
		}
		b.SignIn(w.OP, "ada")
		b.CSRF()
		w.Replica(t).At(func(s *engine.Service) {
			if err := s.EndSessions(t.Context(), user); err != nil {
				t.Error(err)
			}
		})
		if a := b.Post(tokensRoute, "name", "n", "audiences", "api", "json", "true"); a.StatusCode == http.StatusOK {
			t.Errorf("%s, elsewhere: %d %s", strategy, a.StatusCode, a.Text)
		}
		if list, err := w.PersonalTokens(t.Context(), user); err != nil || len(list) != 0 {
			t.Errorf("%s: %v, %v", strategy, list, err)
		}
	}
}

// TestTokensPageFull checks that a user has at most 100 tokens, and the page says so.
func TestTokensPageFull(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { forPersonal(c); c.RateLimit.Disabled = true })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	for i := range 100 {
		if _, _, err := w.CreatePersonalToken(t.Context(), w.Person(t, b), authsvc.PersonalTokenRequest{Name: fmt.Sprint(i), Audiences: []string{"api"}}); err != nil {
			t.Fatal(err)
		}
	}
	if a := b.Post(tokensRoute, "name", "n", "audiences", "api", "json", "true"); !answers(a, http.StatusConflict, "Invalid") {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
	if page := b.Get(tokensRoute).Text; !strings.Contains(page, "the maximum number of tokens") || strings.Contains(page, `name="days"`) {
		t.Error(page)
	}
}

// TestTokensPageHosts checks that hosts of the gate that accept tokens can be chosen.
func TestTokensPageHosts(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.PersonalTokens.Enabled = true
		c.Gate.Hosts = []authsvc.GateHost{{Origin: arena.Origin, Rules: []authsvc.GateRule{{Match: "/api/", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{Tokens: true}}}}}},
			{Origin: "https://people.app.test"}, {Origin: "https://WIKI.app.test:443", Default: authsvc.Allow{AnyOf: []authsvc.Condition{{Tokens: true}}}}}
	})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	if o := tokensOf(t, b); !slices.Equal(o.Hosts, []string{"https://app.test", "https://wiki.app.test"}) {
		t.Fatalf("%v", o.Hosts)
	}
	made(t, b.Post(tokensRoute, "name", "n", "hosts", "https://wiki.app.test", "json", "true"))
	if a := b.Post(tokensRoute, "name", "n", "hosts", "https://people.app.test", "json", "true"); !answers(a, http.StatusBadRequest, "Invalid") {
		t.Errorf("a host that takes none: %d %s", a.StatusCode, a.Text)
	}
}

// TestTokensPageIsNotThere checks that there is no page, and no link to it, without the
// required configuration.
func TestTokensPageIsNotThere(t *testing.T) {
	t.Parallel()
	for name, tune := range map[string]func(*authsvc.Config){
		"no tokens":       nil,
		"no account page": func(c *authsvc.Config) { forPersonal(c); c.Account.Disabled = true },
		"no audiences":    func(c *authsvc.Config) { c.PersonalTokens.Enabled = true },
	} {
		w := arena.Start(t, tune)
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		if a := b.Get(tokensRoute); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
		if a := b.Post(tokensRoute, "name", "n"); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
		if strings.Contains(b.Get("/api/auth/account").Text, "account/tokens") {
			t.Errorf("%s: the account page links to it", name)
		}
	}
}
